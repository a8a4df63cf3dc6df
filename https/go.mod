module github.com/sealane/sealane/https

go 1.24.0
