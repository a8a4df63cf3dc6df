# Included by the Makefile: the proofs of machine code (docs/proof.md).

PROVE_PACKAGES := capstone==5.0.9 pyelftools==0.33 z3-solver==5.4.1.0 numpy==2.2.6
# The name depends on the packages, so that a change installs them.
PROVE_VENV ?= $(B)/prove/venv-$(firstword $(shell echo $(PROVE_PACKAGES) | cksum))
PROVE_PYTHON ?= $(PROVE_VENV)/bin/python
PROVE_CC_x86_64 := $(CC)
PROVE_CC_aarch64 := aarch64-linux-gnu-gcc
PROVE_CC_arm := arm-linux-gnueabihf-gcc
PROVE_CC_mips := mips-linux-gnu-gcc
PROVE_CC_mipsel := mipsel-linux-gnu-gcc
PROVE_CC_mips64 := mips64-linux-gnuabi64-gcc
PROVE_CC_mips64el := mips64el-linux-gnuabi64-gcc
# RISC-V needs linking, because the assembler leaves branches to the linker.
PROVE_CC_riscv64 := riscv64-linux-gnu-gcc -nostdlib -static -Wl,--no-relax,-e,0,--build-id=none
# One for each length of vectors in bits (isa/riscv_vector.py).
PROVE_VLENS := 128 256 512 1024
$(foreach v,$(PROVE_VLENS),$(eval PROVE_CC_riscv64v$(v) := $(PROVE_CC_riscv64),--defsym,vlen=$(v)))
PROVE_CC_riscv64v128fewest := $(PROVE_CC_riscv64v128),--defsym,fewest=1
# The kernels of all architectures in Go's form. Those of ARM, MIPS and RISC-V need cross compilers.
PROVE_KERNELS := $(sort $(wildcard asm/x86_64/*.S))
PROVE_OBJECTS := $(PROVE_KERNELS:asm/%.S=$(B)/prove/body/%.o)
PROVE_ARM := $(foreach a,aarch64 arm,$(if $(shell command -v $(PROVE_CC_$(a))),$(patsubst asm/$(a)/%.S,$(B)/prove/body/$(a)/%.o,$(sort $(wildcard asm/$(a)/*.S)))))
PROVE_RISC := $(foreach a,mips mipsel mips64 mips64el,$(if $(shell command -v $(PROVE_CC_$(a))),\
    $(patsubst asm/$(a:el=)/%.S,$(B)/prove/body/$(a)/%.o,$(sort $(wildcard asm/$(a:el=)/*.S))))) \
    $(if $(shell command -v riscv64-linux-gnu-gcc),$(foreach l,rv64 zbb,$(B)/prove/body/riscv64/chacha20poly1305_$(l).o))
PROVE_VECTORS := $(if $(shell command -v riscv64-linux-gnu-gcc),$(foreach v,$(PROVE_VLENS),\
    $(foreach k,chacha20poly1305_rvv chacha20poly1305_zvkb aes_zvkned aesgcm_zvkned,$(B)/prove/body/riscv64v$(v)/$(k).o))\
    $(foreach l,rvv zvkb,$(B)/prove/body/riscv64v128fewest/chacha20poly1305_$(l).o))
# The kernels with an induction over long texts.
PROVE_LOOPS := $(foreach l,ssse3 avx2 avx512vl,$(B)/prove/body/x86_64/chacha20poly1305_$(l).o)
PROVE_GCM_LOOPS := $(filter-out %/aesgcm_ssse3.o,$(filter $(B)/prove/body/x86_64/aesgcm_%,$(PROVE_OBJECTS))) \
    $(filter %/aesgcm_ce32.o,$(PROVE_ARM))
PROVE_CE_LOOPS := $(filter %/aesgcm_ce.o,$(PROVE_ARM))
PROVE_ARM_LOOPS := $(filter %/chacha20poly1305_neon.o %/chacha20poly1305_neon6.o,$(PROVE_ARM))
PROVE_ARM6_LOOPS := $(filter %/chacha20poly1305_armv6.o,$(PROVE_ARM))
# The kernels with an induction over associated data.
PROVE_AD_LOOPS := $(PROVE_LOOPS) $(B)/prove/body/x86_64/chacha20poly1305_avx512.o \
    $(filter $(B)/prove/body/x86_64/%,$(PROVE_GCM_LOOPS))
PROVE_ARM_AD_LOOPS := $(PROVE_ARM_LOOPS) $(PROVE_ARM6_LOOPS) $(PROVE_CE_LOOPS) $(filter %/aesgcm_ce32.o,$(PROVE_ARM))
PROVE_LANES := $(foreach o,$(PROVE_OBJECTS) $(PROVE_ARM),$(if $(findstring _batch_,$(o)),$(o)))
PROVE_MODE_LOOPS := $(filter-out %/aes_ssse3.o,$(filter $(B)/prove/body/x86_64/aes_%,$(PROVE_OBJECTS))) \
    $(filter %/aes_ce.o %/aes_ce32.o %/aes_neon.o %/aes_armv6.o,$(PROVE_ARM))
PROVE_PERMUTE := $(filter %/aes_ssse3.o %/aesgcm_ssse3.o,$(PROVE_OBJECTS))
PROVE_MIPS_BLOCKS := $(filter %/aesgcm_mips32r2.o %/aesgcm_mips64r2.o,$(PROVE_RISC))
PROVE_ARM_BLOCKS := $(filter %/aesgcm_neon.o %/aesgcm_armv6.o,$(PROVE_ARM))
PROVE_ARM_MODES := $(filter %/aes_neon.o %/aes_armv6.o,$(PROVE_ARM))
# The kernels with bit-sliced AES.
PROVE_BITWISE := $(PROVE_ARM_MODES) $(PROVE_ARM_BLOCKS) $(PROVE_MIPS_BLOCKS) $(PROVE_PERMUTE)
# make prove KERNEL=chacha20poly1305_avx2: the kernels of that name in all architectures.
KERNEL ?=
PROVE_CHOSEN = $(foreach o,$(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC) $(PROVE_VECTORS),$(if $(filter $(or $(KERNEL),%),$(basename $(notdir $(o)))),$(o)))

# $(call prove_object,architecture,folder of its sources)
define prove_object
$(B)/prove/body/$(1)/%.o: asm/$(2)/%.S $(wildcard asm/*.h asm/*.S asm/$(2)/*.h asm/$(2:64=)/*.h)
	@mkdir -p $$(@D)
	$(PROVE_CC_$(1)) -DSEALANE_GO -g $(if $(filter riscv64%,$(1)),,-c) -o $$@ $$<
endef
$(foreach a,x86_64 aarch64 arm mips mipsel mips64 mips64el riscv64,$(eval $(call prove_object,$(a),$(a:el=))))
$(foreach v,$(PROVE_VLENS) 128fewest,$(eval $(call prove_object,riscv64v$(v),riscv64)))

$(PROVE_VENV)/bin/python:
	python3 -m venv $(PROVE_VENV)
	$(PROVE_VENV)/bin/pip install --quiet --disable-pip-version-check --no-compile $(PROVE_PACKAGES)

.PHONY: prove
ifeq ($(ISA),x86_64)
prove: $(PROVE_PYTHON) $(PROVE_CHOSEN) ## prove a kernel's machine code for all data: KERNEL=name, or all kernels
	$(PROVE_PYTHON) tools/prove all --queries $(B)/prove/queries $(PROVE_CHOSEN)

.PHONY: prove-all
# PROVE_ALL=--again repeats proofs that the record has.
PROVE_ALL ?=
prove-all: $(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC) $(PROVE_VECTORS) ## prove all kernels, and record it in tools/prove/proved.jsonl
	$(if $(PROVE_ARM),,$(error no compilers for ARM: $(PROVE_CC_aarch64), $(PROVE_CC_arm)))
	$(PROVE_PYTHON) tools/prove all --record tools/prove/proved.jsonl $(PROVE_ALL) $(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC) $(PROVE_VECTORS)

.PHONY: prove-mutants
MUTANTS ?= 1000
# The results of mutants, which do not run again.
PROVE_RECORD = $(B)/prove/mutants.jsonl
PROVE_MANY = $(filter-out $(PROVE_BITWISE),$(PROVE_CHOSEN))
PROVE_FEW = $(filter $(PROVE_BITWISE),$(PROVE_CHOSEN))
prove-mutants: $(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC) ## make MUTANTS mutants, which the proof must refuse: KERNEL=name, or all kernels
	$(if $(PROVE_FEW),$(PROVE_PYTHON) tools/prove mutation.native --first $(MUTANTS) --calls 120 $(PROVE_RECORD) $(PROVE_FEW))
	$(PROVE_PYTHON) tools/prove mutation.mutate --settle --calls 120 --count $(MUTANTS) --least 99 --record $(PROVE_RECORD) $(PROVE_CHOSEN)
	$(if $(PROVE_MANY),$(PROVE_PYTHON) tools/prove mutation.native --calls 600 $(PROVE_RECORD) $(PROVE_MANY))
	$(if $(PROVE_FEW),$(PROVE_PYTHON) tools/prove mutation.native --calls 100 $(PROVE_RECORD) $(PROVE_FEW))

# make test-long uses a new seed each time.
PROVE_ANY_SEED = --seed $$$$(date +%s)
PROVE_FOR_LONG = --seconds $(LONG_SECONDS) $(PROVE_ANY_SEED)
# $(call prove_mutants,record,objects)
prove_mutants = sh -ec 'rm -f $(1); $(PROVE_PYTHON) tools/prove mutation.mutate --settle --calls 60 --count 100 --least 90 --record $(1) \
    $(PROVE_FOR_LONG) $(2); $(PROVE_PYTHON) tools/prove mutation.native --calls 50 $(1) $(2)'

$(eval $(call check_suite,prove-changed,,python3 tools/prove all --changed tools/prove/proved.jsonl))
$(eval $(call suite,prove,$(PROVE_PYTHON) $(PROVE_OBJECTS),tools/prove/quick $(PROVE_PYTHON) $(PROVE_OBJECTS)))
$(eval $(call suite,prove-record,,python3 tools/prove tests.record))
$(eval $(call suite,prove-record-planted,,--must-fail "python3 tools/prove tests.record --%" plant))
$(eval $(call suite,prove-imports,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove tests.imports))
$(eval $(call suite,prove-imports-planted,$(PROVE_PYTHON),--must-fail "$(PROVE_PYTHON) tools/prove tests.imports --plant %" up circle missing))
$(eval $(call suite,prove-terms,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove tests.terms_z3 --count 40))
$(eval $(call long_suite,long-prove-terms,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove tests.terms_z3 --count 2000 $(PROVE_ANY_SEED)))
$(eval $(call suite,prove-terms-planted,$(PROVE_PYTHON),--must-fail "$(PROVE_PYTHON) tools/prove tests.terms_z3 --plant=%" value bound))
$(eval $(call suite,prove-semantics,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove tests.semantics --inputs 20 $(PROVE_OBJECTS)))
ifneq ($(and $(PROVE_ARM),$(shell command -v qemu-arm)),)
$(eval $(call suite,prove-arm,$(PROVE_PYTHON) $(PROVE_ARM),tools/prove/quick $(PROVE_PYTHON) $(PROVE_ARM)))
$(eval $(call suite,prove-semantics-arm,$(PROVE_PYTHON) $(PROVE_ARM),\
    $(PROVE_PYTHON) tools/prove tests.semantics_arm --inputs 20 $(PROVE_ARM)))
$(eval $(call suite,prove-planted-arm,$(PROVE_PYTHON) $(PROVE_ARM),\
    --must-fail "$(PROVE_PYTHON) tools/prove tests.semantics_arm --inputs 2 --% $(B)/prove/body/aarch64/chacha20poly1305_neon.o" plant))
$(eval $(call suite,prove-neighbors-arm,$(PROVE_PYTHON) $(PROVE_ARM),\
    $(PROVE_PYTHON) tools/prove tests.semantics_arm --neighbors --inputs 10 --part 1/10 $(PROVE_ARM)))
$(eval $(call suite,prove-neighbors-planted-arm,$(PROVE_PYTHON) $(PROVE_ARM),\
    --must-fail "$(PROVE_PYTHON) tools/prove tests.semantics_arm --neighbors --inputs 2 --part 1/4 --% \
    $(B)/prove/body/arm/aes_ce32.o" plant))
$(eval $(call suite,prove-classic,$(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_ARM),$(PROVE_PYTHON) tools/prove mutation.classic \
    $(B)/prove/body/x86_64/chacha20poly1305_ssse3.o $(B)/prove/body/aarch64/chacha20poly1305_neon.o \
    $(B)/prove/body/arm/chacha20poly1305_armv6.o \
    $(filter %/aes_aesni.o %/aes_ce.o %/aes_ce32.o,$(PROVE_MODE_LOOPS))))
$(eval $(call long_suite,long-prove-branches,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove tests.branches))
$(eval $(call long_suite,long-prove-branches-planted,$(PROVE_PYTHON),--must-fail "$(PROVE_PYTHON) tools/prove tests.branches --%" plant))
$(eval $(call long_suite,long-prove-abi,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove run.abi))
$(eval $(call suite,prove-faults,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove mutation.faults))
$(eval $(call suite,prove-celoops,$(PROVE_PYTHON) $(PROVE_CE_LOOPS),$(PROVE_PYTHON) tools/prove induction.gcm_ce --quick --planted $(PROVE_CE_LOOPS)))
$(eval $(call suite,prove-arm6loops,$(PROVE_PYTHON) $(PROVE_ARM6_LOOPS),$(PROVE_PYTHON) tools/prove induction.chacha_armv6 --quick --planted $(PROVE_ARM6_LOOPS)))
$(eval $(call long_suite,long-prove-celoops,$(PROVE_PYTHON) $(PROVE_CE_LOOPS),$(PROVE_PYTHON) tools/prove induction.gcm_ce --planted $(PROVE_CE_LOOPS)))
$(eval $(call long_suite,long-prove-arm6loops,$(PROVE_PYTHON) $(PROVE_ARM6_LOOPS),$(PROVE_PYTHON) tools/prove induction.chacha_armv6 --planted $(PROVE_ARM6_LOOPS)))
$(eval $(call long_suite,long-prove-armopen,$(PROVE_PYTHON) $(PROVE_ARM_LOOPS),$(PROVE_PYTHON) tools/prove induction.chacha_arm_open --planted $(filter %/arm/chacha20poly1305_neon.o,$(PROVE_ARM_LOOPS))))
$(eval $(call long_suite,long-prove-armloops,$(PROVE_PYTHON) $(PROVE_ARM_LOOPS),$(PROVE_PYTHON) tools/prove induction.chacha_arm --planted $(PROVE_ARM_LOOPS)))
# The planted faults of the other kernels take 25 to 200 CPU seconds, so they are in long-prove-armblocks and long-prove-armmodes.
$(eval $(call suite,prove-armblocks,$(PROVE_PYTHON) $(PROVE_ARM_BLOCKS),\
    $(PROVE_PYTHON) tools/prove induction.blocks_arm --quick --planted $(filter %/aesgcm_armv6.o,$(PROVE_ARM_BLOCKS))))
$(eval $(call suite,prove-armmodes,$(PROVE_PYTHON) $(PROVE_ARM_MODES),\
    $(PROVE_PYTHON) tools/prove induction.blocks_modes --quick --planted $(filter %/aes_armv6.o,$(PROVE_ARM_MODES))))
$(eval $(call long_suite,long-prove-armblocks,$(PROVE_PYTHON) $(PROVE_ARM_BLOCKS),\
    $(PROVE_PYTHON) tools/prove induction.blocks_arm --planted $(PROVE_ARM_BLOCKS)))
$(eval $(call long_suite,long-prove-armmodes,$(PROVE_PYTHON) $(PROVE_ARM_MODES),\
    $(PROVE_PYTHON) tools/prove induction.blocks_modes --planted $(PROVE_ARM_MODES)))
$(eval $(call suite,prove-adloops-arm,$(PROVE_PYTHON) $(PROVE_ARM_AD_LOOPS),\
    $(PROVE_PYTHON) tools/prove induction.ad --quick $(PROVE_CE_LOOPS)))
$(eval $(call long_suite,long-prove-adloops-arm,$(PROVE_PYTHON) $(PROVE_ARM_AD_LOOPS),\
    $(PROVE_PYTHON) tools/prove induction.ad --planted $(PROVE_ARM_AD_LOOPS)))
$(eval $(call long_suite,long-prove-classic,$(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_ARM),$(PROVE_PYTHON) tools/prove mutation.classic $(PROVE_OBJECTS) $(PROVE_ARM)))
$(eval $(call long_suite,long-prove-mutants-arm,$(PROVE_PYTHON) $(PROVE_ARM),$(call prove_mutants,$(B)/prove/mutants-arm.jsonl,$(PROVE_ARM))))
$(eval $(call long_suite,long-prove-semantics-arm,$(PROVE_PYTHON) $(PROVE_ARM),\
    $(PROVE_PYTHON) tools/prove tests.semantics_arm --inputs 10000 $(PROVE_ANY_SEED) $(PROVE_ARM)))
$(eval $(call long_suite,long-prove-neighbors-arm,$(PROVE_PYTHON) $(PROVE_ARM),\
    $(PROVE_PYTHON) tools/prove tests.semantics_arm --neighbors --inputs 1000 $(PROVE_ANY_SEED) $(PROVE_ARM)))
else
$(eval $(call suite,prove-arm,,test/arm --missing "compilers for ARM and qemu-arm"))
endif
# Each kernel in one byte order.
PROVE_RISC_SOME := $(foreach o,$(PROVE_RISC),$(if $(findstring /mips/,$(o))$(findstring /mips64el/,$(o))$(filter %_zbb.o,$(o)),$(o)))
PROVE_RISC_LOOPS := $(foreach o,$(PROVE_RISC_SOME),$(if $(findstring chacha,$(o)),$(o)))
ifneq ($(PROVE_RISC),)
$(eval $(call suite,prove-risc,$(PROVE_PYTHON) $(PROVE_RISC_LOOPS),tools/prove/quick $(PROVE_PYTHON) $(PROVE_RISC_LOOPS)))
$(eval $(call suite,prove-mipsblocks,$(PROVE_PYTHON) $(PROVE_RISC_SOME),\
    $(PROVE_PYTHON) tools/prove induction.blocks_mips --quick --planted $(filter $(PROVE_RISC_SOME),$(PROVE_MIPS_BLOCKS))))
$(eval $(call long_suite,long-prove-mipsblocks,$(PROVE_PYTHON) $(PROVE_RISC),$(PROVE_PYTHON) tools/prove induction.blocks_mips --planted $(PROVE_MIPS_BLOCKS)))
$(eval $(call suite,prove-riscloops,$(PROVE_PYTHON) $(PROVE_RISC_LOOPS),\
    $(PROVE_PYTHON) tools/prove induction.chacha_risc --quick --planted $(PROVE_RISC_LOOPS)))
ifneq ($(and $(shell command -v qemu-mips),$(shell command -v qemu-riscv64)),)
$(eval $(call suite,prove-semantics-risc,$(PROVE_PYTHON) $(PROVE_RISC),$(PROVE_PYTHON) tools/prove tests.semantics_risc --inputs 20 $(PROVE_RISC)))
$(eval $(call suite,prove-planted-risc,$(PROVE_PYTHON) $(PROVE_RISC),\
    --must-fail "$(PROVE_PYTHON) tools/prove tests.semantics_risc --inputs 2 --% $(filter %_zbb.o,$(PROVE_RISC))" plant))
$(eval $(call suite,prove-mutants-risc,$(PROVE_PYTHON) $(PROVE_RISC_SOME),\
    $(PROVE_PYTHON) tools/prove mutation.mutate --settle --calls 4 --count 12 --least 80 $(filter %/chacha20poly1305_mips32r2.o,$(PROVE_RISC_SOME))))
$(eval $(call suite,prove-native-risc,$(PROVE_PYTHON) $(PROVE_RISC_SOME),$(PROVE_PYTHON) tools/prove mutation.native --first 6 --calls 6 --tries 4 /dev/null \
    $(filter %/chacha20poly1305_mips64r2.o,$(PROVE_RISC_SOME))))
$(eval $(call long_suite,long-prove-mutants-risc,$(PROVE_PYTHON) $(PROVE_RISC),$(call prove_mutants,$(B)/prove/mutants-risc.jsonl,\
    $(filter-out $(PROVE_BITWISE),$(PROVE_RISC)))))
$(eval $(call long_suite,long-prove-native-risc,$(PROVE_PYTHON) $(PROVE_RISC),$(PROVE_PYTHON) tools/prove mutation.native --first 40 --calls 40 /dev/null \
    $(filter $(PROVE_BITWISE),$(PROVE_RISC))))
$(eval $(call long_suite,long-prove-semantics-risc,$(PROVE_PYTHON) $(PROVE_RISC),\
    $(PROVE_PYTHON) tools/prove tests.semantics_risc --inputs 10000 $(PROVE_ANY_SEED) $(PROVE_RISC)))
endif
$(eval $(call long_suite,long-prove-frame,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove run.frame \
    $(wildcard asm/mips/*.S asm/mips64/*.S asm/riscv64/*.S)))
$(eval $(call long_suite,long-prove-riscloops,$(PROVE_PYTHON) $(PROVE_RISC),\
    $(PROVE_PYTHON) tools/prove induction.chacha_risc --planted $(filter-out $(PROVE_MIPS_BLOCKS),$(PROVE_RISC))))
$(eval $(call suite,prove-encodings,$(PROVE_PYTHON),$(PROVE_PYTHON) tools/prove tests.encodings))
$(eval $(call suite,prove-encodings-planted,$(PROVE_PYTHON),--must-fail "$(PROVE_PYTHON) tools/prove tests.encodings --%" plant))
ifneq ($(PROVE_VECTORS),)
# One kernel with each length of vectors.
PROVE_VECTORS_SOME := $(addprefix $(B)/prove/body/riscv64v,1024/chacha20poly1305_rvv.o 512/chacha20poly1305_zvkb.o 256/aes_zvkned.o 128/aesgcm_zvkned.o)
PROVE_VECTORS_CHACHA := $(filter %_rvv.o %_zvkb.o,$(PROVE_VECTORS))
PROVE_VECTORS_AES := $(filter %_zvkned.o,$(PROVE_VECTORS))
$(eval $(call suite,prove-vectors,$(PROVE_PYTHON) $(PROVE_VECTORS_SOME),\
    $(PROVE_PYTHON) tools/prove run.prove --quick --part 1/4 $(filter $(PROVE_VECTORS_CHACHA),$(PROVE_VECTORS_SOME))))
$(eval $(call suite,prove-vectorloops,$(PROVE_PYTHON) $(PROVE_VECTORS_CHACHA),\
    $(PROVE_PYTHON) tools/prove induction.chacha_vector --quick --planted $(filter %v128/chacha20poly1305_zvkb.o,$(PROVE_VECTORS_CHACHA))))
$(eval $(call long_suite,long-prove-vectorloops,$(PROVE_PYTHON) $(PROVE_VECTORS_CHACHA),\
    $(PROVE_PYTHON) tools/prove induction.chacha_vector --planted $(PROVE_VECTORS_CHACHA)))
$(eval $(call suite,prove-mutants-vectors,$(PROVE_PYTHON) $(PROVE_VECTORS_CHACHA),\
    $(PROVE_PYTHON) tools/prove mutation.mutate --settle --calls 4 --count 12 --least 80 $(filter %v128/chacha20poly1305_zvkb.o,$(PROVE_VECTORS_CHACHA))))
$(eval $(call long_suite,long-prove-mutants-vectors,$(PROVE_PYTHON) $(PROVE_VECTORS_CHACHA),\
    $(PROVE_PYTHON) tools/prove mutation.mutate --settle --calls 60 --count 100 --least 90 $(PROVE_FOR_LONG) $(PROVE_VECTORS_CHACHA)))
$(eval $(call suite,prove-vectors-aes,$(PROVE_PYTHON) $(PROVE_VECTORS_SOME),\
    $(PROVE_PYTHON) tools/prove run.prove --quick --part 1/2 $(filter $(PROVE_VECTORS_AES),$(PROVE_VECTORS_SOME))))
$(foreach o,$(PROVE_VECTORS_AES),$(eval $(call long_suite,long-prove-$(notdir $(patsubst %/,%,$(dir $(o))))-$(basename $(notdir $(o))),\
    $(PROVE_PYTHON) $(o),$(PROVE_PYTHON) tools/prove run.prove --jobs 1 $(o))))
ifneq ($(shell command -v qemu-riscv64),)
PROVE_VECTORS_FORMS := $(filter %v128/aes_zvkned.o %v128/aesgcm_zvkned.o %v256/chacha20poly1305_rvv.o %v256/chacha20poly1305_zvkb.o,$(PROVE_VECTORS))
$(eval $(call suite,prove-semantics-vectors,$(PROVE_PYTHON) $(PROVE_VECTORS_FORMS),\
    $(PROVE_PYTHON) tools/prove tests.semantics_risc --inputs 6 $(PROVE_VECTORS_FORMS)))
$(eval $(call suite,prove-planted-vectors,$(PROVE_PYTHON) $(PROVE_VECTORS_FORMS),\
    --must-fail "$(PROVE_PYTHON) tools/prove tests.semantics_risc --inputs 2 --part 1/10 --% $(filter %/aesgcm_zvkned.o,$(PROVE_VECTORS_FORMS))" plant))
$(eval $(call long_suite,long-prove-semantics-vectors,$(PROVE_PYTHON) $(PROVE_VECTORS),\
    $(PROVE_PYTHON) tools/prove tests.semantics_risc --inputs 10000 $(PROVE_ANY_SEED) $(filter-out $(B)/prove/body/riscv64v128fewest/%,$(PROVE_VECTORS))))
endif
endif
else
$(eval $(call suite,prove-risc,,test/routers --missing "compilers for MIPS and RISC-V"))
endif
$(eval $(call suite,prove-loops,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.chacha_x86 --quick --planted $(B)/prove/body/x86_64/chacha20poly1305_ssse3.o))
$(eval $(call long_suite,long-prove-loops,$(PROVE_PYTHON) $(PROVE_OBJECTS),$(PROVE_PYTHON) tools/prove induction.chacha_x86 --planted $(PROVE_LOOPS)))
$(eval $(call suite,prove-gcmloops,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.gcm --quick --planted $(B)/prove/body/x86_64/aesgcm_aesni.o))
$(eval $(call long_suite,long-prove-gcmloops,$(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_GCM_LOOPS),$(PROVE_PYTHON) tools/prove induction.gcm --planted $(PROVE_GCM_LOOPS)))
$(eval $(call suite,prove-adloops,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.ad --quick --planted \
    $(addprefix $(B)/prove/body/x86_64/,chacha20poly1305_ssse3.o aesgcm_aesni.o)))
$(foreach i,1 2 3,$(eval $(call long_suite,long-prove-adloops-$(i),$(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_AD_LOOPS),\
    $(PROVE_PYTHON) tools/prove induction.ad $(if $(filter 1,$(i)),--planted) --part $(i)/3 $(PROVE_AD_LOOPS))))
# long-prove-permute plants faults in the other kernel too.
$(eval $(call suite,prove-permute,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.permute --quick --planted $(filter %/aesgcm_ssse3.o,$(PROVE_PERMUTE))))
$(eval $(call long_suite,long-prove-permute,$(PROVE_PYTHON) $(PROVE_OBJECTS),$(PROVE_PYTHON) tools/prove induction.permute --planted $(PROVE_PERMUTE)))
# The planted faults take 42 CPU seconds for one kernel, so they are in long-prove-modeloops.
$(eval $(call suite,prove-modeloops,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.aes_modes --quick $(filter %/aes_aesni.o,$(PROVE_MODE_LOOPS))))
$(eval $(call long_suite,long-prove-modeloops,$(PROVE_PYTHON) $(PROVE_OBJECTS) $(PROVE_MODE_LOOPS),\
    $(PROVE_PYTHON) tools/prove induction.aes_modes --planted $(filter-out $(PROVE_BITWISE),$(PROVE_MODE_LOOPS))))
$(foreach o,$(filter $(PROVE_BITWISE),$(PROVE_MODE_LOOPS)),$(eval $(call long_suite,long-prove-modeloops-$(notdir $(patsubst %/,%,$(dir $(o))))-$(basename $(notdir $(o))),\
    $(PROVE_PYTHON) $(o),$(PROVE_PYTHON) tools/prove induction.aes_modes --planted --jobs 1 $(o))))
# The planted faults take 17 CPU seconds, so they are in long-prove-loops512-1.
$(eval $(call suite,prove-loops512,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.chacha_avx512 --quick $(B)/prove/body/x86_64/chacha20poly1305_avx512.o))
# chacha20poly1305_avx512 has many exits and calls, so they have several suites.
$(foreach i,1 2 3 4,$(eval $(call long_suite,long-prove-loops512-$(i),$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove induction.chacha_avx512 --all $(if $(filter 1,$(i)),--planted) --part $(i)/4 $(B)/prove/body/x86_64/chacha20poly1305_avx512.o)))
$(foreach i,1 2,$(eval $(call long_suite,long-prove-avx512-$(i),$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove run.prove --sizes 641-2048 --part $(i)/2 $(B)/prove/body/x86_64/chacha20poly1305_avx512.o)))
# With associated data, the induction of opening begins with longer texts.
$(eval $(call long_suite,long-prove-avx512-ad,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove run.prove --sizes 2049-2304 --ad 1$(comma)13$(comma)16$(comma)40$(comma)200 --jobs 1 $(B)/prove/body/x86_64/chacha20poly1305_avx512.o))
# Every length that front ends pass to a lane, in four suites for each batch kernel.
$(foreach i,1 2 3 4,$(foreach o,$(PROVE_LANES),$(eval $(call long_suite,long-prove-lanes-$(i)-$(notdir $(patsubst %/,%,$(dir $(o))))-$(basename $(notdir $(o))),\
    $(PROVE_PYTHON) $(PROVE_OBJECTS) $(o),$(PROVE_PYTHON) tools/prove run.prove --lanes --part $(i)/4 --jobs 1 $(o)))))
$(eval $(call suite,prove-neighbors,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove tests.semantics --neighbors --inputs 10 --part 1/30 $(PROVE_OBJECTS)))
$(eval $(call suite,prove-neighbors-planted,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    --must-fail "$(PROVE_PYTHON) tools/prove tests.semantics --neighbors --inputs 4 --part 1/4 --% \
    $(B)/prove/body/x86_64/aesgcm_aesni.o" plant))
$(eval $(call suite,prove-planted,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    --must-fail "$(PROVE_PYTHON) tools/prove tests.semantics --inputs 4 --% $(B)/prove/body/x86_64/aesgcm_aesni.o" plant))
$(eval $(call suite,prove-mutants,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove mutation.mutate --count 20 --least 80 $(B)/prove/body/x86_64/chacha20poly1305_ssse3.o $(B)/prove/body/x86_64/aes_avx2.o))
$(eval $(call suite,prove-native,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove mutation.native --first 20 --calls 6 /dev/null $(B)/prove/body/x86_64/chacha20poly1305_ssse3.o))
$(eval $(call suite,prove-native-planted,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    --must-fail "$(PROVE_PYTHON) tools/prove mutation.native --first 5 --calls 6 --% /dev/null \
    $(B)/prove/body/x86_64/chacha20poly1305_ssse3.o" plant refuse))
# All calls of a kernel, in a suite such as long-prove-x86_64-aesgcm_avx2.
$(foreach o,$(filter-out $(PROVE_PERMUTE) $(PROVE_ARM_BLOCKS) $(PROVE_ARM_MODES) $(PROVE_MIPS_BLOCKS),$(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC) $(PROVE_VECTORS_CHACHA)),$(eval $(call long_suite,long-prove-$(notdir $(patsubst %/,%,$(dir $(o))))-$(basename $(notdir $(o))),\
    $(PROVE_PYTHON) $(PROVE_OBJECTS) $(o),$(PROVE_PYTHON) tools/prove run.prove --jobs 1 $(o))))
$(eval $(call long_suite,long-prove-semantics,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove tests.semantics --inputs 10000 $(PROVE_ANY_SEED) $(PROVE_OBJECTS)))
$(eval $(call long_suite,long-prove-neighbors,$(PROVE_PYTHON) $(PROVE_OBJECTS),\
    $(PROVE_PYTHON) tools/prove tests.semantics --neighbors --inputs 100 $(PROVE_ANY_SEED) $(PROVE_OBJECTS)))
$(eval $(call long_suite,long-prove-mutants,$(PROVE_PYTHON) $(PROVE_OBJECTS),$(call prove_mutants,$(B)/prove/mutants-long.jsonl,$(PROVE_OBJECTS))))
endif
