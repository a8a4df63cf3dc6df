module github.com/sealane/sealane/gateway

go 1.24.0

require (
	github.com/google/gopacket v1.1.19
	github.com/schollz/progressbar/v3 v3.18.0
	github.com/sealane/sealane v0.0.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/sys v0.41.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/term v0.38.0 // indirect
)

replace github.com/sealane/sealane => ../
