# Included by the Makefile. Releases and packages: docs/releasing.md.

.PHONY: release deb
release: ## set the version everywhere, write archives, checksums, bill of materials and notes: VERSION=x.y.z
	@$(GO) run ./tools/release $(if $(filter line,$(origin VERSION)),-out $(B)/release/$(VERSION) $(VERSION))

$(eval $(call long_suite,long-release,,test/release $(B)))

# Debian's packages of the files as they are now. Their tests do not run here, nor need Debian's own Go be installed.
DEB := $(B)/deb
DEB_COMPRESSION ?= -Zxz
deb: ## the Debian packages, into build/deb
	rm -rf $(DEB)
	mkdir -p $(DEB)/source
	git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -C $(DEB)/source -xf -
	cd $(DEB)/source && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL GO=$(GO) GOCACHE=$$($(GO) env GOCACHE) GOMODCACHE=$$($(GO) env GOMODCACHE) \
	    DEB_BUILD_OPTIONS=nocheck DEB_COMPRESSION="$(DEB_COMPRESSION)" dpkg-buildpackage -b -d -us -uc >../log 2>&1 || { tail -n 40 ../log; exit 1; }
	rm -rf $(DEB)/source

# The packages, hardly compressed; then the four commands of the gateway's README, with its package.
$(eval $(call suite,deb,,sh -ec 'command -v dpkg-buildpackage dh >/dev/null || exit 77; \
    $(MAKE) --no-print-directory -s deb DEB_COMPRESSION="-Zgzip -z1"; test/package $(DEB); \
    $(GO_ENV) SEALANE_GATEWAY_DEB=$(CURDIR)/$(DEB) $(GO) test -C gateway ./cmd/sealane-gateway -v -count=1 -run FourCommands'))

# The source package, in a new system of Debian 13: built, checked by lintian, installed, used and purged.
$(eval $(call long_suite,long-debian,,sh -c 'command -v debootstrap >/dev/null && [ "$$$$(id -u)" = 0 ] || exit 77; \
    test/fresh --worktree --only debian trixie'))

.PHONY: debian
debian:
	test/debian $(B)

# Hosted continuous integration.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
$(B)/actionlint:
	@mkdir -p $(@D)
	GOBIN=$(abspath $(@D)) $(GO) install $(ACTIONLINT)

$(eval $(call suite,workflows,$(B)/actionlint,test/workflows $(B)/actionlint))
