# Included by the Makefile. Woven instructions: see tools/weave. Generated assembly for Go and Rust: see tools/gas2go.

.PHONY: gen gen-check gen-size

gen: ## regenerate asm/*/*_woven.h, internal/kernel, rust/sealane/src/kernel and the tables of levels from asm/
	go run ./tools/weave gen
	go run ./tools/gas2go gen

gen-check: ## fail if they differ from the output of gen, or if kernels are too large
	go run ./tools/weave check
	go run ./tools/gas2go check

gen-size: ## machine code sizes
	go run ./tools/gas2go size
