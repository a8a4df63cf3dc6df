module github.com/sealane/sealane/cmd/sealane

go 1.24.0

require (
	github.com/sealane/sealane v0.1.0
	github.com/spf13/cobra v1.10.2
	golang.org/x/crypto v0.48.0
	golang.org/x/mod v0.33.0
)

require (
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sys v0.41.0 // indirect
)
