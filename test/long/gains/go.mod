module github.com/sealane/sealane/test/long/gains

go 1.24.0

require (
	filippo.io/age v1.2.1
	github.com/quic-go/quic-go v0.57.1
	golang.org/x/crypto v0.48.0
)

require (
	golang.org/x/net v0.49.0 // indirect
	golang.org/x/sys v0.41.0 // indirect
)
