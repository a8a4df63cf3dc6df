# The command sealane.

GO ?= go

.PHONY: $(B)/sealane test-cli
$(B)/sealane: # the go command knows best what is out of date
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO) build -o $@ ./cmd/sealane

test-cli:
	$(GO) vet ./cmd/...
	$(GO) test ./cmd/...
