# Included by the Makefile. sealane.so, the OpenSSL 3 provider: build, install, tests.

PROVIDER_SOURCES := $(sort $(wildcard provider/*.c))
PROVIDER_HEADERS := $(wildcard provider/*.h)
C_FILES += $(wildcard provider/*.[ch] provider/test/*.[ch])
SHELL_FILES += provider/bulk $(addprefix provider/test/,programs loading versions) provider/sealane-openssl.in

# Below PREFIX like all installed files: the configuration names the module by its full path. For a package, pass
# MODULESDIR=$(pkg-config --variable=modulesdir libcrypto), where OpenSSL looks for providers by name.
MODULESDIR ?= $(LIBDIR)/ossl-modules
PROVIDER_CNF := $(PREFIX)/share/sealane/sealane.cnf

# $(call provider,folder,compiler,flags,linker flags): the provider with the library that is built there. It may depend
# only on libc, because a program's libcrypto may not be where the provider would find it.
define provider
$(1)/provider/%.o: provider/%.c $(PROVIDER_HEADERS) $(HEADERS)
	@mkdir -p $$(@D)
	$(2) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS) -Wno-pedantic $(3) -c -o $$@ $$<

$(1)/provider/sealane.so: $(PROVIDER_SOURCES:%.c=$(1)/%.o) $(1)/libsealane.a provider/provider.map
	$(2) $(CPPFLAGS) $(CFLAGS) $(3) -shared -o $$@ -Wl,--version-script=provider/provider.map -Wl,-z,noexecstack -Wl,-z,relro \
	    -Wl,-z,now $(4) $$(filter %.o %.a,$$^) $(LDFLAGS)

$(1)/provider/test-%: provider/test/%.c provider/test/providers.h
	@mkdir -p $$(@D)
	$(2) $(CPPFLAGS) $(CFLAGS) -std=c11 $(WARNINGS) -Wno-pedantic $(3) -o $$@ $$< -lssl -lcrypto -pthread
endef

$(eval $(call provider,$(B),$(CC),$(CET),-Wl$(comma)-z$(comma)defs))
$(eval $(call provider,$(B)/clang,$(CLANG),,-Wl$(comma)-z$(comma)defs))
$(eval $(call provider,$(B)/asan,$(CC),$(SANITIZE)))

.PHONY: provider install-provider
provider: $(B)/provider/sealane.so ## the OpenSSL 3 provider, sealane.so

PROVIDER_TEMPLATE = sed -e 's|@MODULE@|$(MODULESDIR)/sealane.so|g' -e 's|@CNF@|$(PROVIDER_CNF)|g'

install-provider: provider ## the provider alone: into OpenSSL's modules directory, and sealane-openssl, which turns it on
	install -d $(DESTDIR)$(MODULESDIR) $(DESTDIR)$(dir $(PROVIDER_CNF)) $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(B)/provider/sealane.so $(DESTDIR)$(MODULESDIR)
	$(PROVIDER_TEMPLATE) provider/sealane.cnf.in > $(DESTDIR)$(PROVIDER_CNF)
	$(PROVIDER_TEMPLATE) provider/sealane-program.cnf.in > $(DESTDIR)$(PROVIDER_CNF:%.cnf=%-program.cnf)
	$(PROVIDER_TEMPLATE) provider/sealane-openssl.in > $(DESTDIR)$(PREFIX)/bin/sealane-openssl
	chmod 755 $(DESTDIR)$(PREFIX)/bin/sealane-openssl
	$(MANUAL) -v name=sealane-openssl -v section=1 -v summary="turns the OpenSSL provider sealane on and off" provider/sealane-openssl.in \
	    > $(DESTDIR)$(MANDIR)/man1/sealane-openssl.1

INSTALLED += $(MODULESDIR)/sealane.so $(PROVIDER_CNF) $(PROVIDER_CNF:%.cnf=%-program.cnf) $(PREFIX)/bin/sealane-openssl $(MANDIR)/man1/sealane-openssl.1

# Built together with the library if there is an OpenSSL 3.
ifeq ($(APPLE)$(shell pkg-config --atleast-version=3 libcrypto 2>/dev/null || echo none),)
install: install-provider
endif

# A provider whose self-test expects another tag.
$(B)/broken/provider/sealane.so: $(B)/provider/sealane.so
	@mkdir -p $(@D)
	sed 's/0x1a, 0xe1/0x1a, 0xe0/' provider/selftest.c > $(B)/broken/provider/selftest.c
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS) -Wno-pedantic -Iprovider -c -o $(B)/broken/provider/selftest.o $(B)/broken/provider/selftest.c
	$(CC) -shared -o $@ $(B)/broken/provider/selftest.o $(filter-out %/selftest.o,$(PROVIDER_SOURCES:%.c=$(B)/%.o)) $(B)/libsealane.a

# ---- Figures ----

CPU_NAME := $(shell awk -F': ' '/^model name/ { n = tolower($$2) } /^cpu family/ { f = $$2 } /^model\t/ { m = $$2 } \
    END { gsub(/[^a-z0-9]+/, "-", n); print n "-family-" f "-model-" m }' /proc/cpuinfo 2>/dev/null)
PROVIDER_RESULTS = bench/results/provider-$(CPU_NAME).md

.PHONY: bench-provider bench-provider-versions
bench-provider-versions: $(B)/provider/sealane.so ## the provider beside the newest of each line of OpenSSL, with AVX-512 and without
	provider/test/versions bench $(B) > $(B)/provider/versions.md
	cp $(B)/provider/versions.md bench/results/provider-versions-$(CPU_NAME).md
	cat $(B)/provider/versions.md

bench-provider: $(B)/provider/sealane.so $(B)/provider/test-bench $(B)/bench-go bench-provider-versions ## the provider beside OpenSSL's default one; writes bench/results
	@tools/bootstrap bench
	{ sed 's|@MACHINE@|$(CPU_NAME)|; s|@OPENSSL@|'"$$(openssl version | sed 's/.*Library: \(OpenSSL [^ ]*\).*/\1/')"'|' provider/figures.md.in && \
	    SEALANE_BENCH_CLASS="$$($(B)/bench-go -class)" $(B)/provider/test-bench $(B)/provider && echo && provider/bulk $(B)/provider/sealane.so 512 12 && \
	    echo && provider/bulk $(B)/provider/sealane.so 512 12 TLS_AES_128_GCM_SHA256 ""; } > $(B)/provider/figures.md
	cp $(B)/provider/figures.md $(PROVIDER_RESULTS)
	cat $(PROVIDER_RESULTS)

# ---- Tests ----

PROVIDER := $(B)/provider/sealane.so
EVP_VECTORS := $(B)/vectors.txt $(B)/aeads.txt
PROVIDER_ASAN := $(B)/asan/provider/sealane.so
# Without the AVX-512 levels, the default on a CPU that has AVX-512.
PROVIDER_LEVELS := $(filter-out avx512%,$(LEVELS))
leaks := env LSAN_OPTIONS=exitcode=1

# Short runs always use the same sequences of calls; test-long uses new ones.
DIFFERENTIAL := --seed=8439
$(eval $(call suite,provider-differential,$(PROVIDER) $(B)/provider/test-differential,\
    $(B)/provider/test-differential $(B)/provider $(DIFFERENTIAL) --seconds=3))
$(eval $(call suite,provider-differential-asan,$(PROVIDER_ASAN) $(B)/asan/provider/test-differential,\
    $(B)/asan/provider/test-differential $(B)/asan/provider $(DIFFERENTIAL) --seconds=4))
$(eval $(call long_suite,long-provider-differential,$(PROVIDER_ASAN) $(B)/asan/provider/test-differential,\
    $(B)/asan/provider/test-differential $(B)/asan/provider --seconds=$(LONG_SECONDS)))
$(foreach l,$(PROVIDER_LEVELS),$(eval $(call suite,provider-differential-$(l),$(PROVIDER) $(B)/provider/test-differential,\
    env SEALANE_CPU=$(l) $(B)/provider/test-differential $(B)/provider $(DIFFERENTIAL) --seconds=1)))
$(eval $(call suite,provider-differential-planted,$(PROVIDER) $(B)/provider/test-differential,\
    --must-fail "$(B)/provider/test-differential $(B)/provider --plant=%" return length output tag error parameter))
$(eval $(call suite,provider-evp,$(PROVIDER) $(B)/provider/test-evp $(EVP_VECTORS),\
    $(B)/provider/test-evp $(B)/provider $(EVP_VECTORS)))
$(eval $(call suite,provider-evp-asan,$(PROVIDER_ASAN) $(B)/asan/provider/test-evp $(EVP_VECTORS),\
    $(leaks) $(B)/asan/provider/test-evp $(B)/asan/provider $(EVP_VECTORS)))
$(eval $(call suite,provider-evp-planted,$(PROVIDER_ASAN) $(B)/asan/provider/test-evp $(EVP_VECTORS),\
    --must-fail "$(leaks) $(B)/asan/provider/test-evp $(B)/asan/provider $(EVP_VECTORS) --plant=%" \
    vectors stream copies tampering refusals allocations threads reloading self-test leak))
# A level without its own ChaCha20.
$(eval $(call suite,provider-evp-planted-avx2,$(PROVIDER) $(B)/provider/test-evp $(EVP_VECTORS),\
    --must-fail "env SEALANE_CPU=avx2 $(B)/provider/test-evp $(B)/provider $(EVP_VECTORS) --plant=%" vectors stream))
$(eval $(call suite,provider-modes,$(PROVIDER) $(B)/provider/test-modes,$(B)/provider/test-modes $(B)/provider))
$(foreach l,avx2 aesni portable,$(eval $(call suite,provider-modes-$(l),$(PROVIDER) $(B)/provider/test-modes,\
    env SEALANE_CPU=$(l) $(B)/provider/test-modes $(B)/provider)))
$(eval $(call suite,provider-modes-asan,$(PROVIDER_ASAN) $(B)/asan/provider/test-modes,\
    $(leaks) $(B)/asan/provider/test-modes $(B)/asan/provider))
$(eval $(call suite,provider-modes-planted,$(PROVIDER) $(B)/provider/test-modes,\
    --must-fail "$(B)/provider/test-modes $(B)/provider --plant=%" \
    vectors names copies places padding refusals allocations threads preference random))
# Removal of padding: results, and secret-dependent branches under valgrind (which may not read clang's debugging
# information).
$(B)/provider/test-padding: CC_PADDING = $(CC)
$(B)/clang/provider/test-padding: CC_PADDING = $(CLANG)
$(B)/provider/test-padding $(B)/clang/provider/test-padding: provider/test/padding.c provider/padding.c provider/padding.h
	@mkdir -p $(@D)
	$(CC_PADDING) $(CFLAGS) -g0 $(TEST_FLAGS) -DSEALANE_TEST_VALGRIND -o $@ $(filter %.c,$^)

$(eval $(call suite,provider-padding,$(B)/provider/test-padding,$(B)/provider/test-padding))
$(eval $(call suite,provider-padding-secret,$(B)/provider/test-padding,valgrind --quiet $(B)/provider/test-padding --secret))
$(eval $(call suite,provider-padding-secret-clang,$(B)/clang/provider/test-padding,\
    valgrind --quiet $(B)/clang/provider/test-padding --secret))
$(eval $(call suite,provider-padding-planted,$(B)/provider/test-padding,\
    --must-fail "$(B)/provider/test-padding --plant=%" mac text pkcs7))
$(eval $(call suite,provider-padding-secret-planted,$(B)/provider/test-padding,\
    --must-fail "valgrind --quiet $(B)/provider/test-padding --secret --plant=%" plain))
$(eval $(call suite,provider-tls,$(PROVIDER) $(B)/provider/test-tls,$(B)/provider/test-tls $(B)/provider))
$(eval $(call suite,provider-tls-asan,$(PROVIDER_ASAN) $(B)/asan/provider/test-tls,\
    $(leaks) $(B)/asan/provider/test-tls $(B)/asan/provider))
$(eval $(call suite,provider-tls-planted,$(PROVIDER) $(B)/provider/test-tls,\
    --must-fail "$(B)/provider/test-tls $(B)/provider --plant=%" stock data resumption new-keys damage alert))
$(eval $(call suite,provider-programs,$(PROVIDER),provider/test/programs $(PROVIDER)))
$(eval $(call suite,provider-programs-planted,$(PROVIDER),\
    --must-fail "provider/test/programs $(PROVIDER) --plant=%" stock data))
LOADING := $(PROVIDER) $(B)/broken/provider/sealane.so $(B)/provider/test-config
$(eval $(call suite,provider-loading,$(LOADING),provider/test/loading $(B)))
$(eval $(call suite,provider-loading-planted,$(LOADING),\
    --must-fail "provider/test/loading $(B) --plant=%" broken name symbols python included on gone odd))
$(eval $(call suite,provider-clang,$(B)/clang/provider/sealane.so $(B)/clang/provider/test-evp $(EVP_VECTORS),\
    $(B)/clang/provider/test-evp $(B)/clang/provider $(EVP_VECTORS)))

# Every other OpenSSL in Debian, by release line. make test runs the newest release of the oldest and of the newest
# line, except the system's; make test-long runs the rest. Neither installs them.
OPENSSL_LINES := 3.0 3.5 3.6 4.0
SYSTEM_OPENSSL := $(shell openssl version 2>/dev/null | sed 's/^OpenSSL \([0-9]*\.[0-9]*\).*/\1/')
$(foreach l,$(filter-out $(SYSTEM_OPENSSL),3.0 4.0),$(eval $(call suite,provider-openssl-$(l),$(LOADING) $(EVP_VECTORS),\
    provider/test/versions test $(B) newest $(l) 1)))
$(foreach l,$(OPENSSL_LINES),$(eval $(call long_suite,provider-openssl-$(l)-programs,$(LOADING) $(EVP_VECTORS),\
    provider/test/versions test $(B) all $(l) 60 nginx-light curl haproxy nodejs python3)))

.PHONY: test-provider
test-provider: $(filter test-provider-%,$(SUITES:%=test-%)) ## the provider's own suites
