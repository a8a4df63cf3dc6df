# The HTTPS demonstration: one program, built with the go command, and with sealane and the standard library's ciphers
# replaced.

GO ?= go
HTTPS := $(CURDIR)/$(B)/https
HTTPS_SUITES := TLS_AES_128_GCM_SHA256 TLS_CHACHA20_POLY1305_SHA256

.PHONY: https-programs https-demo https-transfers
https-programs: $(B)/sealane
	@mkdir -p $(HTTPS)
	cd examples/wireguard && CGO_ENABLED=0 $(GO) build -o $(HTTPS)/demonstration .
	cd examples/https && CGO_ENABLED=0 $(GO) build -o $(HTTPS)/stock .
	cd examples/https && CGO_ENABLED=0 $(CURDIR)/$(B)/sealane build --std -o $(HTTPS)/sealane .

https-demo: https-programs ## downloads by HTTPS with an unmodified Go program, without and with sealane
	@for s in $(HTTPS_SUITES); do \
	    $(HTTPS)/demonstration -tls $$s -size 2 -rounds 3 -limit 20s -stock $(HTTPS)/stock -sealane $(HTTPS)/sealane || exit 1; done

https-transfers: https-programs
	@for s in $(HTTPS_SUITES); do \
	    $(HTTPS)/demonstration -tls $$s -size 0.125 -rounds 1 -stock $(HTTPS)/stock -sealane $(HTTPS)/sealane || exit 1; done
	@$(MAKE) --no-print-directory -s bench-std BENCH_STD="-repeats 1"

# Compares the cost of the standard library's AES-GCM, stock and replaced, in alternation.
.PHONY: bench-std
bench-std: $(B)/sealane
	@mkdir -p $(HTTPS)
	cd examples/https && CGO_ENABLED=0 $(GO) build -o $(HTTPS)/measure-stock ./measure
	cd examples/https && CGO_ENABLED=0 $(CURDIR)/$(B)/sealane build --std -o $(HTTPS)/measure-sealane ./measure
	@for i in 1 2 3; do for p in stock sealane; do echo "$$p"; $(HTTPS)/measure-$$p $(BENCH_STD) || exit 1; done; done
