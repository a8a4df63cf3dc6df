module github.com/sealane/sealane/bench

go 1.26.0

replace github.com/sealane/sealane => ../
