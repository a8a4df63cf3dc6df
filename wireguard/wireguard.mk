# The tunnel demonstration: one program, built by the go command and by sealane.

GO ?= go
TUNNEL := $(CURDIR)/$(B)/wireguard

.PHONY: wireguard-programs wireguard-demo test-wireguard
wireguard-programs: $(B)/sealane
	@mkdir -p $(TUNNEL)
	cd wireguard && CGO_ENABLED=0 $(GO) build -o $(TUNNEL)/demonstration .
	cd wireguard && CGO_ENABLED=0 $(GO) build -o $(TUNNEL)/stock ./tunnel
	cd wireguard && CGO_ENABLED=0 $(CURDIR)/$(B)/sealane build -o $(TUNNEL)/sealane ./tunnel

wireguard-demo: wireguard-programs
	$(TUNNEL)/demonstration -stock $(TUNNEL)/stock -sealane $(TUNNEL)/sealane

# wireguard-go's and x/crypto's own tests on sealane, and a short download.
test-wireguard: wireguard-programs
	cd wireguard && $(GO) vet ./... && $(GO) test ./...
	cd wireguard && $(CURDIR)/$(B)/sealane test golang.zx2c4.com/wireguard/device -- -count=1
	$(B)/sealane build -o $(TUNNEL)/wireguard-go golang.zx2c4.com/wireguard@$$(cd wireguard && $(GO) list -m -f '{{.Version}}' golang.zx2c4.com/wireguard)
	$(B)/sealane info --binary $(TUNNEL)/wireguard-go
	$(B)/sealane test golang.org/x/crypto/chacha20poly1305@$$(cd wireguard && $(GO) list -m -f '{{.Version}}' golang.org/x/crypto) -- -count=1
	cd wireguard && $(GO) mod verify # nothing was changed in the module cache
	$(TUNNEL)/demonstration -size 0.0625 -rounds 1 -stock $(TUNNEL)/stock -sealane $(TUNNEL)/sealane
