module github.com/sealane/sealane/gateway/xdp

go 1.25.0

require (
	github.com/cilium/ebpf v0.22.0
	github.com/gopacket/gopacket v1.7.7
	github.com/sealane/sealane v0.0.0
	github.com/sealane/sealane/gateway v0.0.0
)

require golang.org/x/sys v0.45.0

replace (
	github.com/sealane/sealane => ../..
	github.com/sealane/sealane/gateway => ..
)
