module github.com/sealane/sealane/examples/https

go 1.24.0
