# Included by the Makefile. Modeled cycles of x86-64 code on CPUs that are not available: see tools/x86cost/README.md.

# The same version of capstone as armcost.
X86COST_PYTHON := $(ARMCOST_PYTHON)
X86COST_ALGORITHMS ?= ChaCha20-Poly1305,AES-128-GCM
X86COST_LANGUAGES ?= Go,C
X86COST_SIZES ?= 64,256,576,1420,16384
X86COST_SWEEP ?= 0,1,16,31,48,64,65,100,128,192,256,320,448,512,576,1024,1420,4096,8192,16384
X86COST_CPUS ?= haswell,skylake,icelake-server,alderlake,znver2,znver3,znver4
X86COST_OUTPUT ?= bench/results/x86-modelled.md
X86COST_FLAGS ?=

.PHONY: bench-x86 bench-x86-sweep
bench-x86: $(X86COST_PYTHON) $(B)/bench-c $(B)/bench-go ## modelled cycles beside the peers on x86-64 CPUs that are not at hand; writes bench/results
	$(X86COST_PYTHON) tools/x86cost/table.py --c-program $(B)/bench-c --go-program $(B)/bench-go \
	    --cache $(B)/x86cost-cycles --algorithms $(X86COST_ALGORITHMS) --languages $(X86COST_LANGUAGES) \
	    --sizes $(X86COST_SIZES) --cpus $(X86COST_CPUS) $(X86COST_FLAGS) $(X86COST_OUTPUT) \
	    --measured $(wildcard bench/results/*-model-*.json)

bench-x86-sweep: $(X86COST_PYTHON) $(B)/bench-go ## modelled: ChaCha20-Poly1305 in Go beside x/crypto at twenty sizes; writes bench/results
	$(X86COST_PYTHON) tools/x86cost/table.py --c-program $(B)/bench-c --go-program $(B)/bench-go \
	    --cache $(B)/x86cost-cycles --algorithms ChaCha20-Poly1305 --languages Go --sizes 64 --sweep $(X86COST_SWEEP) \
	    --cpus $(X86COST_CPUS) $(X86COST_FLAGS) bench/results/x86-modelled-sweep.md

.PHONY: bench-x86-old
bench-x86-old: $(X86COST_PYTHON) $(B)/bench-c $(B)/bench-go ## modelled: every candidate on CPUs before AVX2; writes bench/results
	$(X86COST_PYTHON) tools/x86cost/table.py --c-program $(B)/bench-c --go-program $(B)/bench-go \
	    --cache $(B)/x86cost-cycles --algorithms $(X86COST_ALGORITHMS) --languages $(X86COST_LANGUAGES) \
	    --sizes $(X86COST_SIZES) --cpus ivybridge,nehalem,goldmont,btver2 $(X86COST_FLAGS) bench/results/x86-before-avx2.md

$(B)/x86cost-modes: tools/x86cost/modes.c asm/args.h $(HEADERS) $(B)/libsealane.a
	$(CC) $(CFLAGS) -no-pie -std=c11 -Iinclude -Wall -Wextra -Werror -o $@ $< $(B)/libsealane.a -lcrypto

# Runs OpenSSL as on a CPU without AVX-512 and VAES. OpenSSL 3.0 uses neither for these modes.
X86COST_MODES := GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD OPENSSL_ia32cap=:~0xd0230000

.PHONY: bench-x86-modes
bench-x86-modes: $(X86COST_PYTHON) $(B)/x86cost-modes ## modelled: AES without authentication beside OpenSSL on x86-64 CPUs that are not at hand
	@for n in $(X86COST_SIZES); do for m in ctr cbc xts; do \
	    [ $$((n % 16)) = 0 ] || continue; \
	    for l in "avx2 $$m" "aesni $$m" "avx2 openssl-$$m"; do set -- $$l; echo "$$1 $$2 $$n bytes"; \
	    $(X86COST_MODES) SEALANE_CPU=$$1 $(X86COST_PYTHON) tools/x86cost/x86cost.py --cpus $(X86COST_CPUS) --bytes $$n -- \
	        $(B)/x86cost-modes $$2 $$n || exit 1; done; done; done
	@for m in masks-avx2 masks-aesni chacha20masks-avx2; do echo "$$m, 32"; \
	    $(X86COST_PYTHON) tools/x86cost/x86cost.py --cpus $(X86COST_CPUS) --bytes 32 -- $(B)/x86cost-modes $$m 32 || exit 1; done

ifeq ($(ISA),x86_64)
$(eval $(call suite,x86cost,$(X86COST_PYTHON),$(X86COST_PYTHON) tools/x86cost/test_x86cost.py))
endif
