package planted

import "syscall"

// Wait uses a call that only Unix has.
var Wait = syscall.Wait4
