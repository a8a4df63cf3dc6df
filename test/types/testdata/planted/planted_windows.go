package planted

import "syscall"

// Wait is what only Unix has.
var Wait = syscall.Wait4
