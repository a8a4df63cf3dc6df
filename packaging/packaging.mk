# Included by the Makefile. Releases and packages: docs/releasing.md.

.PHONY: release deb
release: ## set the version everywhere, write archives, checksums, bill of materials and notes: VERSION=x.y.z
	@$(GO) run ./tools/release $(if $(filter line,$(origin VERSION)),-out $(B)/release/$(VERSION) $(VERSION))

$(eval $(call long_suite,long-release,,test/release $(B)))

# Builds Debian packages of the current files. Their tests do not run here, and Debian's own Go need not be installed.
DEB := $(B)/deb
DEB_COMPRESSION ?= -Zxz
deb: ## the Debian packages, into build/deb
	rm -rf $(DEB)
	mkdir -p $(DEB)/source
	git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -C $(DEB)/source -xf -
	cd $(DEB)/source && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL GO=$(GO) GOCACHE=$$($(GO) env GOCACHE) GOMODCACHE=$$($(GO) env GOMODCACHE) \
	    DEB_BUILD_OPTIONS=nocheck DEB_COMPRESSION="$(DEB_COMPRESSION)" dpkg-buildpackage -b -d -us -uc >../log 2>&1 || { tail -n 40 ../log; exit 1; }
	rm -rf $(DEB)/source

# Builds the packages with little compression, then runs the four commands of the gateway's README with its package.
$(eval $(call long_suite,long-deb,,sh -ec 'command -v dpkg-buildpackage dh >/dev/null || exit 77; \
    $(MAKE) --no-print-directory -s deb DEB_COMPRESSION="-Zgzip -z1"; test/package $(DEB); \
    $(GO_ENV) SEALANE_GATEWAY_DEB=$(CURDIR)/$(DEB) $(GO) test -C gateway ./cmd/sealane-gateway -v -vet=off -count=1 -run FourCommands'))

# The source package in a fresh Debian 13 system: built, checked by lintian, installed, used and purged.
$(eval $(call long_suite,long-debian,,sh -c 'command -v debootstrap >/dev/null && [ "$$$$(id -u)" = 0 ] || exit 77; \
    test/fresh --worktree --only debian trixie'))

# RPM packages, in a separate root folder.
$(eval $(call long_suite,long-rpm,,sh -c 'command -v rpmbuild rpmlint >/dev/null || exit 77; test/rpm'))

# Checks the DaemonSet with the schemas of a Python package.
$(B)/kubernetes/bin/kubernetes-validate:
	rm -rf $(B)/kubernetes
	python3 -m venv $(B)/kubernetes
	$(B)/kubernetes/bin/pip install -q kubernetes-validate==1.37.0

$(eval $(call long_suite,long-cluster,gateway $(B)/kubernetes/bin/kubernetes-validate,\
    test/cluster $(B)/kubernetes/bin/kubernetes-validate $(B)/sealane-gateway))

.PHONY: debian
debian:
	test/debian $(B)

# Hosted continuous integration.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
$(B)/actionlint:
	@mkdir -p $(@D)
	GOBIN=$(abspath $(@D)) $(GO) install $(ACTIONLINT)

$(eval $(call suite,workflows,$(B)/actionlint,test/workflows $(B)/actionlint))

# Compares the binary interface with the stored one: additions pass; changed structures and missing functions do not.
# Planted faults: a key of another size, and a missing function.
ABI := packaging/abi/$(ISA).abi
ABIDW := abidw --no-corpus-path --no-comp-dir-path --no-show-locs --drop-undefined-syms --headers-dir include
.PHONY: abi
abi: $(B)/$(SONAME) ## store the binary interface of the C library, when it is meant to change
	@mkdir -p $(dir $(ABI))
	$(ABIDW) $< >$(ABI)

ABIDIFF := abidiff --no-added-syms --no-show-locs
$(eval $(call suite,abi,$(B)/$(SONAME),sh -c 'command -v abidiff >/dev/null && [ -e $(ABI) ] || exit 77; $(ABIDIFF) $(ABI) $(B)/$(SONAME)'))
$(eval $(call suite,abi-planted,$(B)/$(SONAME),sh -c 'command -v abidiff >/dev/null && [ -e $(ABI) ] || exit 77; \
    sed "/sealane_key. size-in-bits/s/size-in-bits=.[0-9]*/size-in-bits='"'"'64/" $(ABI) >$(B)/planted.abi; ! $(ABIDIFF) $(B)/planted.abi $(B)/$(SONAME) && \
    sed "s/name=.sealane_seal. /name='"'"'sealane_none'"'"' /" $(ABI) >$(B)/planted.abi; ! $(ABIDIFF) $(B)/planted.abi $(B)/$(SONAME)'))

# Licenses of all files. Planted fault: a license without its text.
REUSE := $(B)/reuse/bin/reuse
$(REUSE):
	rm -rf $(B)/reuse
	python3 -m venv $(B)/reuse
	$(B)/reuse/bin/pip install -q 'reuse[charset-normalizer]==6.2.0'

$(eval $(call suite,reuse,$(REUSE),sh -c 'git rev-parse >/dev/null 2>&1 || exit 77; $(REUSE) lint -q || { $(REUSE) lint | tail -n 30; exit 1; }; \
    planted=$$$$(mktemp -d); cp REUSE.toml Makefile $$$$planted; ! $(REUSE) --root $$$$planted lint -q; found=$$$$?; rm -r $$$$planted; exit $$$$found'))
