# The TLS gateway. Its packages are tested like those of all modules; here is what else there is to run.

.PHONY: gateway
gateway: ## the TLS gateway, build/sealane-gateway
	cd gateway && CGO_ENABLED=0 $(GO) build -o $(CURDIR)/$(B)/sealane-gateway ./cmd/sealane-gateway

$(eval $(call suite,gateway-race,,env CGO_ENABLED=1 $(GO) test -C gateway -v -race ./...))

# The captures on arm64, as data processing units have it.
$(eval $(call suite,gateway-arm64,,sh -c 'command -v qemu-aarch64 >/dev/null || exit 77; \
    cd gateway && CGO_ENABLED=0 GOARCH=arm64 $(GO) test -v -exec "qemu-aarch64 -cpu max" \
    -run "Captures|Parse|Files" ./internal/engine ./internal/packet ./internal/capture'))

GATEWAY_RESULTS = bench/results/gateway-$(CPU_NAME).md

.PHONY: bench-gateway
bench-gateway: gateway ## the gateway's figures and what bounds them; writes bench/results
	cd gateway && CGO_ENABLED=0 $(GO) build -o $(CURDIR)/$(B)/gateway-bench ./bench
	$(B)/gateway-bench -gateway $(B)/sealane-gateway -out $(GATEWAY_RESULTS)

$(eval $(call suite,bench-gateway-check,gateway,$(GO) run -C gateway ./bench -short -gateway $(CURDIR)/$(B)/sealane-gateway))
