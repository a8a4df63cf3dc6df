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

# Includes wireguard-go's and x/crypto's own tests on sealane; ends with a short download.
test-wireguard: wireguard-programs
	cd wireguard && $(GO) vet ./... && $(GO) test ./...
	$(TUNNEL)/demonstration -size 0.0625 -rounds 1 -stock $(TUNNEL)/stock -sealane $(TUNNEL)/sealane
