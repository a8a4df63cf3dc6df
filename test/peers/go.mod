module github.com/sealane/sealane/test/peers

go 1.24.0

require (
	github.com/sealane/sealane v0.1.0
	golang.org/x/crypto v0.48.0
)

require golang.org/x/sys v0.41.0 // indirect
