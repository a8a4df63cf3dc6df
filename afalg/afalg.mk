# Included by the Makefile. Package afalg on real kernels, in virtual machines: see afalg/vm/run.

ifneq ($(findstring linux,$(shell $(CC) -dumpmachine)),)
$(B)/libsealane_afalg.a: afalg/c/sealane_afalg.c afalg/c/sealane_afalg.h $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CET) $(LIB_FLAGS) -Iinclude -c -o $(B)/sealane_afalg.o $<
	@rm -f $@
	$(AR) rcs $@ $(B)/sealane_afalg.o

lib: $(B)/libsealane_afalg.a
install: install-afalg
.PHONY: install-afalg
install-afalg: $(B)/libsealane_afalg.a
	install -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 afalg/c/sealane_afalg.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $< $(DESTDIR)$(LIBDIR)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' packaging/sealane_afalg.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/sealane_afalg.pc
INSTALLED += $(INCLUDEDIR)/sealane_afalg.h $(LIBDIR)/libsealane_afalg.a $(LIBDIR)/pkgconfig/sealane_afalg.pc
endif

VM := $(CURDIR)/$(B)/vm

# $(call vm,name,machine,alternative to the tests)
vm = $(call long_suite,$(1),$(B)/vectors.txt,env LIMIT=900 VECTORS=$(CURDIR)/$(B)/vectors.txt afalg/vm/run $(2) $(VM) $(or $(3),test))
$(foreach m,amd64 arm armv6,$(eval $(call vm,long-vm-$(m),$(m))))
$(eval $(call vm,long-vm-keys-arm64,arm64,keys))

.PHONY: test-vm bench-vm
test-vm: test-long-vm-amd64 test-long-vm-arm test-long-vm-armv6 ## package afalg on Debian's kernels for x86-64, arm and ARMv6, in qemu-system

BENCH_VM := bench/results/afalg-instructions.txt

bench-vm: ## instructions per packet in the kernel and in the process; writes bench/results
	@{ echo "Written by make bench-vm. Instructions for one packet sealed, as qemu-system counts them: in Linux 6.1 by way of AF_ALG"; \
	echo "(system calls and copies included), and in the process. Counts on the two sides of the kernel boundary do not predict"; \
	echo "times: a system call costs more than its instructions. On the machine in question, run the benchmark itself:"; \
	echo "go test -bench . github.com/sealane/sealane/afalg"; \
	for run in "arm Cortex-A15" "amd64 qemu's max, with AVX2 and AES-NI"; do \
	    echo; echo "GOARCH=$${run%% *}, CPU $${run#* }"; \
	    ICOUNT=1 LIMIT=300 afalg/vm/run $${run%% *} $(VM) bench | \
	        awk '/^BenchmarkSeal/ { sub("BenchmarkSeal/", "", $$1); printf "%-46s %10d instructions\n", $$1, $$3; n++ } END { exit n != 12 }' || exit 1; \
	done; } >$(BENCH_VM)
	@cat $(BENCH_VM)
