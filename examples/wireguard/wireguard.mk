# The tunnel demonstration: one program, built with the go command, with sealane, and with sealane and batches.

GO ?= go
TUNNEL := $(CURDIR)/$(B)/wireguard

.PHONY: wireguard-programs wireguard-demo wireguard-transfers test-wireguard
wireguard-programs: $(B)/sealane
	@mkdir -p $(TUNNEL)
	cd examples/wireguard && CGO_ENABLED=0 $(GO) build -o $(TUNNEL)/demonstration .
	cd examples/wireguard && CGO_ENABLED=0 $(GO) build -o $(TUNNEL)/stock ./tunnel
	cd examples/wireguard && CGO_ENABLED=0 $(CURDIR)/$(B)/sealane build -o $(TUNNEL)/sealane ./tunnel
	cd examples/wireguard && CGO_ENABLED=0 $(CURDIR)/$(B)/sealane build --batch -o $(TUNNEL)/batch ./tunnel

wireguard-demo: wireguard-programs
	$(TUNNEL)/demonstration -stock $(TUNNEL)/stock -sealane $(TUNNEL)/sealane -batch $(TUNNEL)/batch

# The module's tests include wireguard-go's and x/crypto's own tests on sealane.
test-wireguard: wireguard-transfers
	cd examples/wireguard && $(GO) vet ./... && $(GO) test ./...

# Short downloads.
wireguard-transfers: wireguard-programs
	$(TUNNEL)/demonstration -size 0.0625 -rounds 1 -stock $(TUNNEL)/stock -sealane $(TUNNEL)/sealane -batch $(TUNNEL)/batch

.PHONY: wireguard-transfers-arm
wireguard-transfers-arm: $(B)/sealane
	@mkdir -p $(TUNNEL)
	@if command -v qemu-arm >/dev/null && command -v qemu-aarch64 >/dev/null; then \
	    set -e; for run in "arm qemu-arm -cpu cortex-a7" "arm qemu-arm -cpu arm1176" "arm64 qemu-aarch64 -cpu cortex-a53"; do \
	        set -- $$run; arch=$$1; shift; \
	        echo "A download of 4 MiB, GOARCH=$$arch, $$*"; \
	        (cd examples/wireguard && CGO_ENABLED=0 GOARCH=$$arch GOARM=5 $(CURDIR)/$(B)/sealane build -o $(TUNNEL)/sealane.$$arch ./tunnel); \
	        "$$@" $(TUNNEL)/sealane.$$arch -size 4194304; \
	    done; \
	else echo "The tunnel for ARM: not run, there is no qemu-user"; exit 77; fi
