# sealane. The two commands: make run, make test. At each step of a change: make check.

CC ?= cc
CLANG ?= clang
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=
GO ?= go
B ?= build
comma := ,
PROCESSORS := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)

VERSION := $(shell sed -n 's/^.define SEALANE_VERSION "\(.*\)"/\1/p' include/sealane.h)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Warnings are errors in tests. Users whose compiler is newer still get the library.
WERROR ?= $(if $(filter-out all lib run install install-files,$(or $(MAKECMDGOALS),all)),-Werror)
WARNINGS := -Wall -Wextra $(WERROR) -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wcast-align
LIB_FLAGS := -std=c11 -fPIC -fvisibility=hidden $(WARNINGS)
TEST_FLAGS := -std=c11 -Iinclude $(WARNINGS)
# Intel CET: indirect calls land on endbr64. Compilers for other targets do not know the option.
CET := $(shell echo 'int x;' | $(CC) -fcf-protection -x c -c -o /dev/null - 2>/dev/null && echo -fcf-protection)

TARGET := $(shell $(CC) -dumpmachine)
APPLE := $(findstring apple,$(TARGET))
ISA := $(patsubst mipsel,mips,$(patsubst mips64el,mips64,$(patsubst arm64,aarch64,$(patsubst amd64,x86_64,$(firstword $(subst -, ,$(TARGET)))))))
C_SOURCES := $(sort $(wildcard src/*.c))
ASM_SOURCES := $(sort $(wildcard asm/$(ISA)/*.S))
# The levels for which this instruction set has kernels, from the file names.
LEVELS := $(sort $(foreach s,$(basename $(ASM_SOURCES)),$(lastword $(subst _, ,$(s))))) portable
HEADERS := $(wildcard include/*.h src/*.h asm/*.h asm/*.S asm/*/*.h test/*.h)
C_FILES := $(wildcard include/*.h src/*.[ch] test/*.[ch] bench/c/*.[ch] gateway/xdp/bpf/*.c afalg/c/*.[ch] tools/prove/mutation/*.c)
SHELL_FILES := tools/bootstrap tools/prove/quick .ci/run $(addprefix test/,suite suites choices fresh installed assembles emulated setuid arm routers qemu linked windows streams unused release package debian rpm cluster workflows) $(addprefix rust/,check oldest peers targets) afalg/vm/run gateway/demo gateway/test/quic/record-nginx

.DEFAULT_GOAL := all
.PHONY: all help lib
all: lib $(B)/check ## library and check program

help: ## the targets there are
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 20

# ---- The library, and its variants for tests: $(call variant,folder,compiler,flags) ----

define variant
$(1)/src/%.o: src/%.c $(HEADERS) $(ASM_SOURCES)
	@mkdir -p $$(@D)
	$(2) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS) $(3) -c -o $$@ $$<

$(1)/asm/%.o: asm/%.S $(HEADERS)
	@mkdir -p $$(@D)
	$(2) $(CPPFLAGS) $(CFLAGS) $(LIB_FLAGS) $(3) -c -o $$@ $$<

$(1)/libsealane.a: $(C_SOURCES:%.c=$(1)/%.o) $(ASM_SOURCES:%.S=$(1)/%.o)
	@rm -f $$@
	$(AR) rcs $$@ $$^

$(1)/check: test/check.c $(wildcard test/abi_$(ISA:mips64=mips).S) $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^ -pthread

$(1)/api: test/api.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^ -pthread

$(1)/quic: test/quic.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^ -pthread

$(1)/aeads: test/aeads.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^

$(1)/residue: test/residue.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^ -pthread

$(1)/sandbox: test/sandbox.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^

$(1)/unwind: test/unwind.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^

$(1)/dit: test/dit.c $(1)/libsealane.a
	$(2) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(3) -o $$@ $$^
endef

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
$(eval $(call variant,$(B),$(CC),$(CET)))
$(eval $(call variant,$(B)/clang,$(CLANG)))
$(eval $(call variant,$(B)/asan,$(CC),$(SANITIZE)))
# Fuzzers use this variant too.
$(eval $(call variant,$(B)/asan-clang,$(CLANG),$(SANITIZE) -fsanitize=fuzzer-no-link))
$(eval $(call variant,$(B)/tsan,$(CC),-fsanitize=thread))
$(eval $(call variant,$(B)/win64,$(CC),-DSEALANE_TEST_WIN64))
$(eval $(call variant,$(B)/limbs26,$(CC),-DSEALANE_TEST_NO_INT128 -DSEALANE_TEST_WORDS32 -DSEALANE_NO_ASM))
$(eval $(call variant,$(B)/valgrind,$(CC),-DSEALANE_TEST_VALGRIND))

# The shared library: the name that programs record, the file name, and the name that linkers search.
ifeq ($(APPLE),)
SONAME := libsealane.so.0
SHARED := $(SONAME).$(VERSION)
SHARED_LINK := libsealane.so
LINK_SHARED = -shared -Wl,-soname,$(SONAME) -Wl,--version-script=src/libsealane.map -Wl,-z,defs -Wl,-z,noexecstack -Wl,-z,relro \
    -Wl,-z,now -Wl,--whole-archive $< -Wl,--no-whole-archive
else
SONAME := libsealane.0.dylib
SHARED := libsealane.$(VERSION).dylib
SHARED_LINK := libsealane.dylib
LINK_SHARED = -dynamiclib -Wl,-install_name,$(LIBDIR)/$(SONAME) -Wl,-current_version,$(VERSION) \
    -Wl,-exported_symbols_list,$(B)/exported -Wl,-force_load,$<
endif

lib: $(B)/libsealane.a $(B)/$(SONAME) ## static and shared library

$(B)/$(SONAME): $(B)/libsealane.a src/libsealane.map
	sed -n 's/^ *\(sealane_[a-z0-9_]*\);.*/_\1/p' src/libsealane.map > $(B)/exported
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(LINK_SHARED) $(LDFLAGS)
	ln -sf $(SONAME) $(B)/$(SHARED_LINK)

# Installed files below $(DESTDIR). uninstall removes the same list.
INSTALLED = $(INCLUDEDIR)/sealane.h $(addprefix $(LIBDIR)/,libsealane.a $(SHARED) $(SONAME) $(SHARED_LINK) \
    pkgconfig/sealane.pc cmake/sealane/sealaneConfig.cmake cmake/sealane/sealaneConfigVersion.cmake) \
    $(addprefix $(MANDIR)/man3/,$(MAN3:%=%.3))

# The manual: one page, to which each function's name links. Its source is the header.
FUNCTIONS = $(shell sed -n 's/^ *\(sealane_[a-z0-9_]*\);.*/\1/p' src/libsealane.map)
MAN3 = sealane $(FUNCTIONS)
MANUAL = awk -v version=$(VERSION) -f packaging/manual.awk

.PHONY: install install-files uninstall clean
install: install-files ## into $(DESTDIR)$(PREFIX): library, header, pkg-config file, CMake package; the provider, where OpenSSL 3 is
	@[ -n "$(DESTDIR)$(APPLE)" ] || PATH=$$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q ' $(LIBDIR)/$(SONAME)$$' || \
	    echo "Programs find $(SONAME) after: sudo ldconfig; or with LD_LIBRARY_PATH=$(LIBDIR)"

install-files: lib
	install -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/sealane $(DESTDIR)$(MANDIR)/man3
	$(MANUAL) -v name=sealane -v section=3 -v summary="authenticated encryption of network packets" include/sealane.h \
	    > $(DESTDIR)$(MANDIR)/man3/sealane.3
	for f in $(FUNCTIONS); do echo '.so man3/sealane.3' > $(DESTDIR)$(MANDIR)/man3/$$f.3 || exit 1; done
	install -m 644 include/sealane.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(B)/libsealane.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(B)/$(SONAME) $(DESTDIR)$(LIBDIR)/$(SHARED)
	ln -sf $(SHARED) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/$(SHARED_LINK)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' packaging/sealane.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/sealane.pc
	for f in sealaneConfig sealaneConfigVersion; do \
	    sed -e 's|@SONAME@|$(SONAME)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	        packaging/$$f.cmake.in > $(DESTDIR)$(LIBDIR)/cmake/sealane/$$f.cmake || exit 1; \
	done

uninstall: ## remove the files that install wrote with the same PREFIX, LIBDIR, INCLUDEDIR and DESTDIR
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@rmdir $(addprefix $(DESTDIR),$(LIBDIR)/cmake/sealane $(PREFIX)/share/sealane) 2>/dev/null || true

clean: ## remove build/
	rm -rf $(B)

# ---- Targets of the parts of the project ----

-include tools/gas2go/gas2go.mk cmd/sealane/cli.mk bench/bench.mk examples/wireguard/wireguard.mk examples/https/https.mk

# ---- make run ----

.PHONY: run bootstrap
bootstrap:
	@tools/bootstrap run

run: bootstrap ## build everything and show it at work; ends with a WireGuard tunnel
	@$(MAKE) --no-print-directory -s all
	@echo "== The C library on this machine"
	@$(B)/check --bench --short
	@if [ -d cmd/sealane ]; then echo "== The command, and the Go package"; \
	    $(MAKE) --no-print-directory -s $(B)/sealane && $(B)/sealane info && $(B)/sealane bench; fi
	@if [ -f examples/wireguard/wireguard.mk ]; then echo "== The tunnel"; $(MAKE) --no-print-directory -s wireguard-demo; fi
	@if [ -f examples/https/https.mk ]; then echo "== HTTPS"; $(MAKE) --no-print-directory -s https-demo; fi

# ---- make test: runs every suite, then counts the results ----

SUITE := B=$(B) test/suite
# Put this before a recipe that runs make: it passes the job server on, except with make -n, which must start nothing.
IN_FULL := $(if $(findstring n,$(firstword -$(MAKEFLAGS))),,+)

BOOTSTRAP := tools/bootstrap

# The set of suites depends on the installed programs. A make that starts after the bootstrap therefore knows all
# suites.
.PHONY: check check-suites test test-long installed-test installed-test-long first suites long-suites
check: ## the checks to run after each change: they need only a C compiler and Go, and at most 2 minutes
	$(IN_FULL)@$(SUITE) --begin $(words $(CHECK_SUITES))
	@SUITES_RUN=yes $(MAKE) --no-print-directory -k -j$(PROCESSORS) -Otarget check-suites || true
	$(IN_FULL)@$(SUITE) --sum $(CHECK_SUITES)

test: ## all tests
	@$(BOOTSTRAP) test
	@$(MAKE) --no-print-directory installed-test

.PHONY: times
times: ## the elapsed and processor seconds of each suite's last run here, longest first
	@[ -s $(B)/results/counts ] || { echo "no suite has run here: $(B)/results/counts"; exit 1; }
	@sort -k 6,6nr -k 5,5nr $(B)/results/counts | awk '!seen[$$1]++ { printf "%6d %6d  %s\n", $$5, $$6, $$1 }'

# All random tests start with one seed here, so that the result depends only on the change; make test-long tries new
# seeds. Two more suites than processors run at once, because some wait.
installed-test:
	$(IN_FULL)@$(SUITE) --begin $(words $(SUITES))
	@$(MAKE) --no-print-directory -k -j$(PROCESSORS) -Otarget first || true
	@SUITES_RUN=yes SEALANE_SEED=$${SEALANE_SEED-1} $(MAKE) --no-print-directory -k -j$$(($(PROCESSORS) + 2)) -Otarget suites || true
	$(IN_FULL)@$(SUITE) --sum $(SUITES)

SUITES :=
LONG_SUITES :=
# The time limit of a suite in make test-long, in seconds.
LONG_LIMIT ?= 1800
# The duration of suites that run until a time limit.
LONG_SECONDS ?= 180
# The duration per level in a trace; one suite has about twenty.
LONG_TRACE_SECONDS ?= $(shell echo $$(($(LONG_SECONDS) / 6 + 1)))
# The duration of each Go fuzzer: 5 minutes. Rust's fuzzer gets twice that.
LONG_FUZZ_SECONDS ?= $(shell echo $$(($(LONG_SECONDS) * 5 / 3)))
# The duration per level in a random test of all levels.
LONG_LEVEL_SECONDS ?= $(shell echo $$(($(LONG_SECONDS) / 12 + 1)))
CHECK_SUITES := check gofmt gen-check

# $(call suite,name,prerequisites,command): a target test-name that make test includes. long_suite: for make test-long;
# check_suite: for make check, which also includes some of the other suites.
suite = $(call suite_of,SUITES,$(1),$(2),$(3))
long_suite = $(call suite_of,LONG_SUITES,$(1),$(2),$(3),SUITE_LIMIT=$(LONG_LIMIT))
check_suite = $(call suite_of,CHECK_SUITES,$(1),$(2),$(3))
define suite_of
$(1) += $(2)
.PHONY: test-$(2)
test-$(2): $(3)
	$(IN_FULL)@$(5) $(SUITE) $(2) $(4)
endef

-include provider/provider.mk oss-fuzz/fuzz.mk

AEAD_VECTORS := $(addprefix test/vectors/wycheproof/aes_,ccm_test.json cmac_test.json gcm_siv_test.json)
VECTORS := $(filter-out %/aes_cbc_pkcs5_test.json %/aes_xts_test.json $(AEAD_VECTORS),$(wildcard \
    test/vectors/wycheproof/*.json test/vectors/nist/*.rsp test/vectors/nist/aes/*.rsp))
$(B)/vectors.txt: test/vectors/flatten.go $(VECTORS)
	@mkdir -p $(@D)
	$(GO) run $< $(VECTORS) > $@

$(B)/aeads.txt: test/vectors/flatten.go $(AEAD_VECTORS)
	@mkdir -p $(@D)
	$(GO) run $< $(AEAD_VECTORS) > $@

$(B)/fuzz_openssl: test/fuzz_openssl.c $(B)/libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $^ -lcrypto

$(B)/quic.txt: test/vectors/quic/flatten.go test/vectors/quic/appendix_a.json
	@mkdir -p $(@D)
	$(GO) run $^ > $@

$(B)/modes_openssl: test/modes_openssl.c $(B)/libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $^ -lcrypto

$(B)/fuzz_libfuzzer: test/fuzz_openssl.c $(B)/asan-clang/libsealane.a
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -fsanitize=fuzzer -DSEALANE_LIBFUZZER -o $@ $^ -lcrypto

$(B)/secret_valgrind: test/secret_valgrind.c $(B)/valgrind/libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -DSEALANE_TEST_VALGRIND -o $@ $^

$(B)/modes_secret $(B)/valgrind/modes_secret: $(B)/%modes_secret: test/modes_secret.c $(B)/%libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $^ -pthread

$(B)/clang/modes_secret: test/modes_secret.c $(B)/clang/libsealane.a
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $^ -pthread

$(B)/secret_trace: test/secret_trace.c $(B)/libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -static -o $@ $^

$(B)/stream_example: test/stream_example.c $(B)/libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $^

# The example with one mistake each: it ignores the tag's verdict, does not mark the last chunk, or does not number
# chunks.
PLANT_tag := s/_open_final(&s, part) == 0/_open_final(\&s, part) <= 0/
PLANT_last := s/(uint8_t)is_last/0 * is_last/
PLANT_number := s/(uint8_t)(number >>/(uint8_t)(0 * number >>/
$(B)/planted/stream_%: test/stream_example.c $(B)/libsealane.a
	@mkdir -p $(@D)
	sed '$(PLANT_$*)' $< >$@.c
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $@.c $(B)/libsealane.a

$(eval $(call suite,check,$(B)/check,$(B)/check))
$(eval $(call suite,corrupters,$(B)/check,--must-fail "$(B)/check --level=portable --corrupt=%" $$$$($(B)/check --list)))
$(eval $(call suite,corrupters-aesgcm,$(B)/check,--must-fail "$(B)/check --primitive=aesgcm --level=portable --corrupt=%" \
    $$$$($(B)/check --primitive=aesgcm --list)))
$(foreach p,aes chacha20masks,$(eval $(call suite,corrupters-$(p),$(B)/check,\
    --must-fail "$(B)/check --primitive=$(p) --level=portable --corrupt=%" $$$$($(B)/check --primitive=$(p) --list))))
# The same machine code in other builds: a fifth of the cases, and in make test-long all.
$(foreach v,clang asan,$(eval $(call suite,check-$(v),$(B)/$(v)/check,$(B)/$(v)/check --some)))
$(foreach v,clang asan asan-clang,$(eval $(call long_suite,long-check-$(v),$(B)/$(v)/check,$(B)/$(v)/check)))
$(eval $(call suite,check-limbs26,$(B)/limbs26/check,$(B)/limbs26/check))
$(eval $(call check_suite,api,$(B)/api $(B)/vectors.txt,$(B)/api $(B)/vectors.txt))
# Portable code is slow, so only some bits are flipped.
$(foreach l,$(LEVELS),$(eval $(call suite,api-$(l),$(B)/api $(B)/vectors.txt,\
    env SEALANE_CPU=$(l) $(B)/api $(B)/vectors.txt $(if $(filter portable,$(l)),--some))))
$(foreach v,$(B) $(B)/limbs26,$(eval $(call long_suite,long-api-portable$(if $(filter %limbs26,$(v)),-limbs26),$(v)/api $(B)/vectors.txt,\
    env SEALANE_CPU=portable $(v)/api $(B)/vectors.txt)))
$(eval $(call suite,api-planted,$(B)/api $(B)/vectors.txt,\
    --must-fail "$(B)/api $(B)/vectors.txt --plant=%" ECBVarKey192/150 CBCMMT256/19 XTSGenAES128/25 XTSGenAES256Number/29))
$(eval $(call suite,api-asan,$(B)/asan-clang/api $(B)/vectors.txt,$(B)/asan-clang/api $(B)/vectors.txt))
# The tampering test has one thread, so few bits are sufficient.
$(eval $(call suite,api-tsan,$(B)/tsan/api $(B)/vectors.txt,$(B)/tsan/api $(B)/vectors.txt --some))
$(eval $(call suite,api-limbs26,$(B)/limbs26/api $(B)/vectors.txt,$(B)/limbs26/api $(B)/vectors.txt --some))
$(eval $(call suite,streams,$(B)/stream_example,test/streams $(CURDIR)/$(B)/stream_example))
$(eval $(call suite,streams-planted,$(addprefix $(B)/planted/stream_,tag last number),\
    --must-fail "test/streams $(CURDIR)/$(B)/planted/stream_%" tag last number))
$(eval $(call suite,unused,,test/unused $(CC)))
$(eval $(call suite,residue,$(B)/residue,$(B)/residue))
$(eval $(call suite,residue-clang,$(B)/clang/residue,$(B)/clang/residue))
$(eval $(call suite,residue-limbs26,$(B)/limbs26/residue,$(B)/limbs26/residue))
$(eval $(call suite,residue-planted,$(B)/residue,--must-fail "$(B)/residue --plant=%" copy spill tag deep))
$(eval $(call suite,sandbox,$(B)/sandbox,$(B)/sandbox))
$(eval $(call suite,sandbox-planted,$(B)/sandbox,--must-fail "$(B)/sandbox --plant=%" getppid open))
$(eval $(call suite,emulated,$(B)/check $(B)/api $(B)/vectors.txt,test/emulated $(B)))
$(eval $(call suite,setuid,$(B)/api,test/setuid $(B)/api))
$(eval $(call suite,fuzz-openssl,$(B)/fuzz_openssl,$(B)/fuzz_openssl --seconds=4))
$(eval $(call suite,fuzz-openssl-corrupt,$(B)/fuzz_openssl,--must-fail "$(B)/fuzz_openssl --seconds=10 --%" corrupt))
$(eval $(call suite,quic,$(B)/quic $(B)/quic.txt,$(B)/quic $(B)/quic.txt))
$(foreach l,avx2 aesni ssse3 portable,$(eval $(call suite,quic-$(l),$(B)/quic $(B)/quic.txt,env SEALANE_CPU=$(l) $(B)/quic $(B)/quic.txt)))
$(eval $(call suite,quic-asan,$(B)/asan-clang/quic $(B)/quic.txt,$(B)/asan-clang/quic $(B)/quic.txt))
$(eval $(call suite,quic-planted,$(B)/quic $(B)/quic.txt,\
    --must-fail "$(B)/quic $(B)/quic.txt --plant=%" packet mask retry batch alike single))
$(eval $(call suite,aeads,$(B)/aeads $(B)/aeads.txt,$(B)/aeads $(B)/aeads.txt))
$(foreach l,$(filter avx2 aesni ssse3 portable,$(LEVELS)),$(eval $(call suite,aeads-$(l),$(B)/aeads $(B)/aeads.txt,\
    env SEALANE_CPU=$(l) $(B)/aeads $(B)/aeads.txt)))
$(eval $(call suite,aeads-asan,$(B)/asan-clang/aeads $(B)/aeads.txt,$(B)/asan-clang/aeads $(B)/aeads.txt))
$(eval $(call suite,aeads-planted,$(B)/aeads $(B)/aeads.txt,\
    --must-fail "$(B)/aeads $(B)/aeads.txt --plant=%" vector seal forgery text piece stream carry mac verified batch opened))
$(eval $(call suite,modes-openssl,$(B)/modes_openssl,$(B)/modes_openssl --seconds=2))
$(eval $(call suite,modes-openssl-corrupt,$(B)/modes_openssl,--must-fail "$(B)/modes_openssl --seconds=2 --%" corrupt))
$(eval $(call suite,secret-valgrind,$(B)/secret_valgrind,valgrind --quiet $(B)/secret_valgrind))
$(eval $(call suite,secret-valgrind-planted,$(B)/secret_valgrind,\
    --must-fail "valgrind --quiet $(B)/secret_valgrind --plant=%" branch table compare))
$(eval $(call suite,modes-secret,$(B)/modes_secret,$(B)/modes_secret))
$(foreach l,$(filter avx2 aesni ssse3 portable,$(LEVELS)),$(eval $(call suite,modes-secret-$(l),$(B)/modes_secret,\
    env SEALANE_CPU=$(l) $(B)/modes_secret)))
$(eval $(call suite,modes-secret-clang,$(B)/clang/modes_secret,$(B)/clang/modes_secret))
$(eval $(call suite,modes-secret-planted,$(B)/modes_secret,--must-fail "$(B)/modes_secret --plant=%" copy spill))
$(eval $(call suite,modes-undefined,$(B)/valgrind/modes_secret,valgrind --quiet $(B)/valgrind/modes_secret --undefined))
$(eval $(call suite,modes-undefined-portable,$(B)/valgrind/modes_secret,\
    env SEALANE_CPU=portable valgrind --quiet $(B)/valgrind/modes_secret --undefined))
$(eval $(call suite,modes-undefined-planted,$(B)/valgrind/modes_secret,\
    --must-fail "valgrind --quiet $(B)/valgrind/modes_secret --undefined --plant=%" branch))
ifeq ($(ISA),x86_64)
$(eval $(call suite,check-win64,$(B)/win64/check,$(B)/win64/check --some))
$(eval $(call long_suite,long-check-win64,$(B)/win64/check,$(B)/win64/check))
$(eval $(call suite,corrupters-win64,$(B)/win64/check,\
    --must-fail "$(B)/win64/check --level=portable --corrupt=%" rbx rdi rsi xmm6 xmm15))
$(eval $(call suite,unwind,$(B)/unwind,$(B)/unwind))
$(eval $(call suite,unwind-win64,$(B)/win64/unwind,$(B)/win64/unwind))
$(eval $(call suite,unwind-planted,$(B)/unwind,--must-fail "$(B)/unwind --plant=%" register stack silence))
$(eval $(call suite,secret-trace,$(B)/secret_trace,$(B)/secret_trace))
$(eval $(call suite,secret-trace-planted,$(B)/secret_trace,\
    --must-fail "$(B)/secret_trace --plant=%" branch table compare divide))
endif
ifeq ($(ISA),aarch64)
$(eval $(call suite,unwind,$(B)/unwind,$(B)/unwind))
$(eval $(call suite,dit,$(B)/dit,$(B)/dit))
endif
$(eval $(call suite,installed,lib $(B)/vectors.txt,test/installed $(B)))
$(eval $(call suite,assembles,,test/assembles $(B)))
$(eval $(call suite,suites,,test/suites))
# Versions in between break a few lines differently.
$(eval $(call suite,clang-format,,sh -c 'clang-format --version | grep -qE " (14|19)\." || exit 77; clang-format --dry-run -Werror $(C_FILES)'))
$(eval $(call suite,shellcheck,,shellcheck $(SHELL_FILES)))

# Go. Nested modules keep heavy dependencies away from users, and have the same tests as the root module.
GO_MODULES := $(patsubst %/go.mod,%,$(wildcard go.mod */go.mod */*/go.mod))
GO_MODULES := $(patsubst go.mod,.,$(GO_MODULES))
GO_ENV := env CGO_ENABLED=0
module_name = $(if $(filter .,$(1)),root,$(subst /,-,$(1)))

$(eval $(call suite,gofmt,,sh -c 'gofmt -l . | tee /dev/stderr | { ! grep -q .; }'))
ifneq ($(wildcard tools/gas2go/gas2go.mk),)
$(eval $(call suite,gen-check,,$(MAKE) --no-print-directory gen-check))
endif
ifneq ($(wildcard bench/bench.mk),)
$(eval $(call suite,bench-check,lib,$(MAKE) --no-print-directory bench-check))
endif
# Skips tests that only repeat others; make test-long runs them: gateway/gateway.mk. go-vet-* vets separately.
GO_SKIP_gateway := -skip '^TestForgedEnds$$|^TestBudget$$|^TestSoak$$|^TestTshark$$|^TestAnySegments|^TestForgedBeforeTLS$$|^TestInline$$/^(drop_1|pass_2)$$'
$(foreach m,$(GO_MODULES),$(eval $(call suite,go-$(call module_name,$(m)),,\
    $(GO_ENV) $(GO) test -C $(m) -timeout 1h -v -vet=off $$(GO_SKIP_$(call module_name,$(m))) ./...)))
ifneq ($(wildcard examples/wireguard/wireguard.mk),)
$(eval $(call suite,upstream,,$(MAKE) --no-print-directory wireguard-transfers))
# gVisor takes minutes to compile.
$(eval $(call long_suite,long-upstream-arm,,$(MAKE) --no-print-directory wireguard-transfers-arm))
$(eval $(call suite,https-demo,,$(MAKE) --no-print-directory -s https-transfers))
endif
$(foreach m,$(GO_MODULES),$(eval $(call suite,go-vet-$(call module_name,$(m)),,$(GO_ENV) $(GO) vet -C $(m) ./...)))
# One after the other, so that the standard library's analysis is reused.
$(eval $(call long_suite,long-staticcheck,,sh -c 'export CGO_ENABLED=0; GOBIN=$(abspath $(B)) $(GO) install $(STATICCHECK) || exit 1; failed=0; \
    for m in $(GO_MODULES); do (cd $$$$m && $(abspath $(B))/staticcheck ./...) || { echo "FAIL $$$$m"; failed=1; }; done; exit $$$$failed'))
ifneq ($(wildcard chacha20poly1305/*.go),)
GO_LIBRARY := . ./aes/... ./aesgcm/... ./batch/... ./chacha20/... ./chacha20poly1305/... ./openssh/... ./quic/... ./afalg/... ./internal/... ./test/peers/...
# Packages without kernels behave the same on all CPUs, and are left out.
GO_ON_KERNELS := $(filter-out ./afalg/... ./internal/... ./test/peers/...,$(GO_LIBRARY)) $(addprefix ./internal/,aead dispatch gcm kernel keystream modes)
$(eval $(call check_suite,go-short,,$(GO_ENV) $(GO) test -v -short $(filter-out ./afalg/...,$(GO_LIBRARY)) ./test/levels))
$(eval $(call check_suite,vet-short,,$(GO_ENV) $(GO) vet ./...))
$(eval $(call suite,go-purego,,$(GO_ENV) $(GO) test -timeout 1h -v -short -vet=off -tags purego $(GO_ON_KERNELS)))
# Packages with goroutines. It skips kernels alone, and tests that start programs; make test-long runs those too.
$(eval $(call suite,go-race,,env CGO_ENABLED=1 $(GO) test -timeout 1h -v -race -short -vet=off -skip "^Test(SetMaxLevel|Environment|EmulatedCPUs|SetUID|FIPS140|Tamper|Corrupted|Counters|RandomNonce|LongAD|BatchPeer|BatchCorrupt|Peer|CAVP|Wycheproof|.*AllLengths)|^Fuzz" \
    $(patsubst ./internal/...,./internal/aead ./internal/dispatch,$(filter-out ./test/peers/...,$(GO_LIBRARY)))))
$(eval $(call long_suite,long-go-race,,env CGO_ENABLED=1 $(GO) test -v -race -count=1 $(GO_LIBRARY)))
$(eval $(call long_suite,long-go-fips140,,env GOWORK=off $(GO) test -v -count=1 -run "^TestFIPS140" ./internal/aead -toolchains=go1.24.0$(comma)go1.25.0$(comma)local))
# The tests of these packages, linked once for all levels.
GO_LEVELS := aes aesgcm batch chacha20 chacha20poly1305 openssh
.PHONY: $(B)/levels/built
$(B)/levels/built:
	@$(GO_ENV) $(GO) test -vet=off -c -o $(B)/levels/ $(GO_LEVELS:%=./%)

$(foreach l,$(LEVELS),$(eval $(call suite,go-$(l),$(B)/levels/built,env SEALANE_CPU=$(l) sh -c 'failed=0; for p in $(GO_LEVELS); do \
    (cd $$$$p && exec $(abspath $(B))/levels/$$$$p.test -test.v) || failed=1; done; exit $$$$failed')))
.PHONY: test-levels
test-levels: $(foreach l,$(LEVELS),test-api-$(l) test-go-$(l))
# Other systems: checks the types in all packages. long-platforms-vet compiles them, and those for ARM run under qemu.
GO_TYPES := $(GO_ENV) $(GO) run ./test/types
$(eval $(call suite,types,,sh -ec '$(GO_TYPES) windows/amd64 ./... ./cmd/sealane/...; $(GO_TYPES) darwin/arm64 ./... ./cmd/sealane/...; \
    $(GO_TYPES) linux/arm64 ./gateway/...; $(GO_TYPES) linux/arm $$(GATEWAY_32)'))
$(eval $(call suite,types-planted,,--must-fail "$(GO_TYPES) % ./test/types/testdata/planted" windows/amd64 linux/arm))
endif

-include test/placements.mk tools/prove/prove.mk test/arm.mk test/routers.mk test/long.mk test/systems.mk tools/armcost/armcost.mk tools/x86cost/x86cost.mk afalg/afalg.mk gateway/gateway.mk packaging/packaging.mk gateway/xdp/xdp.mk dpdk/dpdk.mk gateway/nicmodel/nicmodel.mk rust/rust.mk

# ---- Prose ----

# Vale checks Markdown, and the comments of code. It does not parse shell scripts, makefiles and assembly. So it reads copies of them
# that have only the comments, as those of C.
VALE := github.com/vale-cli/vale/v3/cmd/vale@v3.21.0
PROSE := $(filter-out bench/results/% .vale/planted/% asm/%.h,$(shell git ls-files "*.md" "*.go" "*.[ch]" "*.rs" "*.py" 2>/dev/null))
PROSE_COPIES := $(filter-out tools/prove/%,$(wildcard asm/*.[hS] asm/*/*.[hS] test/*.S) $(SHELL_FILES) $(filter Makefile %.mk,$(MAKEFILE_LIST)))
PROSE_COPIES := $(PROSE_COPIES:%=$(B)/prose/%.c)
PLANTED := long.md banned.md british.md terms.md comment.h message.go long.go long.h long.py long.rs
$(eval $(call check_suite,prose,$(B)/vale $(PROSE_COPIES),$(B)/vale --output=line $(PROSE) $(PROSE_COPIES)))
$(eval $(call check_suite,prose-planted,$(B)/vale $(B)/prose/.vale/planted/long.c,--must-fail "$(B)/vale --output=line %" \
    $(PLANTED:%=.vale/planted/%) $(B)/prose/.vale/planted/long.c))
$(B)/vale:
	@mkdir -p $(@D)
	GOBIN=$(abspath $(@D)) CGO_CFLAGS=-w $(GO) install $(VALE)

$(B)/prose/%.c: %
	@mkdir -p $(@D)
	@awk '$(if $(filter asm/% %.S,$<),/\/\*/ { c = 1 } { print c || /\/\// ? $$0 : "" } /\*\// { c = 0 },\
	    { print sub(/^[ \t]*#( |$$)/, "// ") ? $$0 : "" })' $< >$@

# ---- One kernel ----

KERNEL_WORDS = $(subst _, ,$(KERNEL))
KERNEL_ISAS = $(patsubst asm/%/$(KERNEL).S,%,$(wildcard asm/*/$(KERNEL).S))
KERNEL_TESTS_aarch64 := aarch64-linux-gnu go-arm64-cortex-a53 secret-trace-arm
KERNEL_TESTS_arm := arm-linux-gnueabihf go-arm1176 go-arm-cortex-a7 secret-trace-arm
ifeq ($(ISA),x86_64)
KERNEL_TESTS_x86_64 := kernel-native secret-trace
endif

.PHONY: test-kernel test-kernel-native
test-kernel-native: $(B)/check
	$(B)/check --primitive=$(firstword $(KERNEL_WORDS)) --level=$(lastword $(KERNEL_WORDS))
	$(GO_ENV) SEALANE_CPU=$(lastword $(KERNEL_WORDS)) $(GO) test -short ./internal/kernel ./internal/aead

test-kernel: ## everything that concerns one kernel, in minutes: KERNEL=name
	@[ -n "$(KERNEL_ISAS)" ] || { echo "make test-kernel KERNEL=NAME: one of $(sort $(basename $(notdir $(wildcard asm/*/*.S))))" >&2; exit 2; }
	@$(MAKE) --no-print-directory gen-check $(sort $(foreach i,$(KERNEL_ISAS),$(KERNEL_TESTS_$i:%=test-%)))
	@$(MAKE) --no-print-directory prove KERNEL=$(KERNEL)

check-suites: $(CHECK_SUITES:%=test-%)

# The longest suites start first, since at the end they would leave other processors idle. Go suites start one after the
# other, because two at a time would compile the same packages. Their prerequisites are made before, because make delays
# a suite that lacks one.
SUITES_FIRST := go-cmd-sealane riscv64-linux-gnu aarch64-linux-gnu go-root prove-faults rust secret-trace-arm go-gateway gateway-race
first: $(B)/vectors.txt $(ARMCOST_PYTHON)
suites: $(patsubst %,test-%,$(foreach s,$(SUITES_FIRST),$(filter $(s),$(SUITES))) $(SUITES))

long-suites: $(LONG_SUITES:%=test-%)

test-long: ## the long tests, of minutes each: fuzzing, all traces, all systems, the gateway with a browser
	@$(BOOTSTRAP) test
	@$(BOOTSTRAP) long
	@$(MAKE) --no-print-directory installed-test-long

installed-test-long:
	$(IN_FULL)@$(SUITE) --begin $(words $(LONG_SUITES))
	@SUITES_RUN=yes $(MAKE) --no-print-directory -k -j$(PROCESSORS) -Otarget long-suites || true
	$(IN_FULL)@$(SUITE) --sum $(LONG_SUITES)
