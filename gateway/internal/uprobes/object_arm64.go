package uprobes

import _ "embed"

//go:embed bpf/sealane_keys_arm64.elf
var object []byte
