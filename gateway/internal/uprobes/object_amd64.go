package uprobes

import _ "embed"

//go:embed bpf/sealane_keys.elf
var object []byte
