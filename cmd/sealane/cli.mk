# The command sealane.

GO ?= go

.PHONY: $(B)/sealane test-cli
$(B)/sealane: # the go command decides what to rebuild
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO) build -C cmd/sealane -o $(abspath $@) .

test-cli:
	$(GO) vet -C cmd/sealane ./...
	$(GO) test -C cmd/sealane ./...
