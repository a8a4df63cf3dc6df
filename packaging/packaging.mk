# Included by the Makefile. Releases and packages: docs/releasing.md.

.PHONY: release
release: ## set the version everywhere, write archives, checksums, bill of materials and notes: VERSION=x.y.z
	@$(GO) run ./tools/release $(if $(filter line,$(origin VERSION)),-out $(B)/release/$(VERSION) $(VERSION))

$(eval $(call long_suite,long-release,,test/release $(B)))
