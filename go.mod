module github.com/sealane/sealane

go 1.26.0

