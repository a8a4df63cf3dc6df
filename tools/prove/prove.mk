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
PROVE_BODY := $(B)/prove/body
# $(call prove_objects,architectures): of those that have a compiler
prove_objects = $(foreach a,$(1),$(if $(shell command -v $(PROVE_CC_$(a))),\
    $(patsubst asm/$(a:el=)/%.S,$(PROVE_BODY)/$(a)/%.o,$(sort $(wildcard asm/$(a:el=)/*.S)))))
PROVE_RISCV := $(shell command -v riscv64-linux-gnu-gcc)
PROVE_OBJECTS := $(call prove_objects,x86_64)
PROVE_ARM := $(call prove_objects,aarch64 arm)
PROVE_RISC := $(call prove_objects,mips mipsel mips64 mips64el) \
    $(if $(PROVE_RISCV),$(foreach l,rv64 zbb,$(PROVE_BODY)/riscv64/chacha20poly1305_$(l).o))
PROVE_VECTORS := $(if $(PROVE_RISCV),$(foreach v,$(PROVE_VLENS),\
    $(foreach k,chacha20poly1305_rvv chacha20poly1305_zvkb aes_zvkned aesgcm_zvkned,$(PROVE_BODY)/riscv64v$(v)/$(k).o))\
    $(foreach l,rvv zvkb,$(PROVE_BODY)/riscv64v128fewest/chacha20poly1305_$(l).o))
PROVE_EVERY := $(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC) $(PROVE_VECTORS)
PROVE_X86 := $(PROVE_BODY)/x86_64
PROVE_CHACHA := chacha20poly1305
# The kernels with an induction over long texts, over associated data, and over modes.
PROVE_LOOPS := $(foreach l,ssse3 avx2 avx512vl,$(PROVE_X86)/$(PROVE_CHACHA)_$(l).o)
PROVE_GCM_LOOPS := $(filter-out %/aesgcm_ssse3.o,$(filter $(PROVE_X86)/aesgcm_%,$(PROVE_OBJECTS))) $(filter %/aesgcm_ce32.o,$(PROVE_ARM))
PROVE_CE_LOOPS := $(filter %/aesgcm_ce.o,$(PROVE_ARM))
PROVE_ARM_LOOPS := $(filter %/$(PROVE_CHACHA)_neon.o %/$(PROVE_CHACHA)_neon6.o,$(PROVE_ARM))
PROVE_ARM6_LOOPS := $(filter %/$(PROVE_CHACHA)_armv6.o,$(PROVE_ARM))
PROVE_AD_LOOPS := $(PROVE_LOOPS) $(PROVE_X86)/$(PROVE_CHACHA)_avx512.o $(filter $(PROVE_X86)/%,$(PROVE_GCM_LOOPS))
PROVE_ARM_AD_LOOPS := $(PROVE_ARM_LOOPS) $(PROVE_ARM6_LOOPS) $(PROVE_CE_LOOPS) $(filter %/aesgcm_ce32.o,$(PROVE_ARM))
PROVE_MODE_LOOPS := $(filter-out %/aes_ssse3.o,$(filter $(PROVE_X86)/aes_%,$(PROVE_OBJECTS))) \
    $(filter %/aes_ce.o %/aes_ce32.o,$(PROVE_ARM))
# The kernels with bit-sliced AES, whose calls are shown in sections.
PROVE_PERMUTE := $(filter %/aes_ssse3.o %/aesgcm_ssse3.o,$(PROVE_OBJECTS))
PROVE_MIPS_BLOCKS := $(filter %/aesgcm_mips32r2.o %/aesgcm_mips64r2.o,$(PROVE_RISC))
PROVE_ARM_BLOCKS := $(filter %/aesgcm_neon.o %/aesgcm_armv6.o,$(PROVE_ARM))
PROVE_ARM_MODES := $(filter %/aes_neon.o %/aes_armv6.o,$(PROVE_ARM))
PROVE_BITWISE := $(PROVE_ARM_MODES) $(PROVE_ARM_BLOCKS) $(PROVE_MIPS_BLOCKS) $(PROVE_PERMUTE)
# make prove KERNEL=chacha20poly1305_avx2: the kernels of that name in all architectures.
KERNEL ?=
PROVE_CHOSEN = $(foreach o,$(PROVE_EVERY),$(if $(filter $(or $(KERNEL),%),$(basename $(notdir $(o)))),$(o)))

# $(call prove_object,architecture,folder of its sources)
define prove_object
$(PROVE_BODY)/$(1)/%.o: asm/$(2)/%.S $(wildcard asm/*.h asm/*.S asm/$(2)/*.h asm/$(2:64=)/*.h)
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
prove-all: $(PROVE_PYTHON) $(PROVE_EVERY) ## prove all kernels, and record it in tools/prove/proved.jsonl
	$(if $(PROVE_ARM),,$(error no compilers for ARM: $(PROVE_CC_aarch64), $(PROVE_CC_arm)))
	$(PROVE_PYTHON) tools/prove all --record tools/prove/proved.jsonl $(PROVE_ALL) $(PROVE_EVERY)

.PHONY: prove-mutants
MUTANTS ?= 1000
prove-mutants: $(PROVE_PYTHON) $(PROVE_CHOSEN) ## make MUTANTS mutants, which the proof must refuse: KERNEL=name, or all kernels
	$(PROVE_PYTHON) tools/prove mutation.mutate --calls 120 --count $(MUTANTS) $(PROVE_CHOSEN)

# make test-long uses a new seed each time.
PROVE_ANY_SEED = --seed $$$$(date +%s)
PROVE_MUTANTS_FOR_LONG = mutation.mutate --calls 60 --count 100 --seconds $(LONG_SECONDS) $(PROVE_ANY_SEED)

# $(call proof,name,objects,module and options): the suite prove-name of a part of the prover. long_proof: long-prove-name.
# planted_proof: prove-name, whose options have % for each of the faults of its last argument.
proof = $(call suite,prove-$(1),$(PROVE_PYTHON) $(2),$(PROVE_PYTHON) tools/prove $(3) $(2))
long_proof = $(call long_suite,long-prove-$(1),$(PROVE_PYTHON) $(2),$(PROVE_PYTHON) tools/prove $(3) $(2))
planted_proof = $(call suite,prove-$(1),$(PROVE_PYTHON) $(2),--must-fail "$(PROVE_PYTHON) tools/prove $(3) $(2)" $(4))
# $(call induction,name,module,objects of prove-name,objects of long-prove-name), both with planted faults
define induction
$(call proof,$(1),$(3),induction.$(2) --quick --planted)
$(call long_proof,$(1),$(4),induction.$(2) --planted)
endef
# $(call proof_of_each,objects,module and options,part of the names): a suite such as long-prove-x86_64-aesgcm_avx2 for each object
proof_of_each = $(foreach o,$(1),$(eval $(call long_proof,$(3)$(subst /,-,$(o:$(PROVE_BODY)/%.o=%)),$(o),$(2))))

$(eval $(call check_suite,prove-changed,,python3 tools/prove all --changed tools/prove/proved.jsonl))
# $(call quick_proof,name,objects): without bit-sliced AES
quick_proof = $(call suite,$(1),$(PROVE_PYTHON) $(2),tools/prove/quick $(PROVE_PYTHON) $(filter-out $(PROVE_BITWISE),$(2)))
$(eval $(call quick_proof,prove,$(PROVE_OBJECTS)))
$(eval $(call suite,prove-record,,python3 tools/prove tests.record))
$(eval $(call suite,prove-record-planted,,--must-fail "python3 tools/prove tests.record --%" plant))
$(eval $(call proof,imports,,tests.imports))
$(eval $(call planted_proof,imports-planted,,tests.imports --plant %,up circle missing))
$(eval $(call proof,terms,,tests.terms_z3 --count 40))
$(eval $(call long_proof,terms,,tests.terms_z3 --count 2000 $(PROVE_ANY_SEED)))
$(eval $(call planted_proof,terms-planted,,tests.terms_z3 --plant=%,value bound))
$(eval $(call proof,semantics,$(PROVE_OBJECTS),tests.semantics --inputs 20))
ifneq ($(and $(PROVE_ARM),$(shell command -v qemu-arm)),)
$(eval $(call quick_proof,prove-arm,$(PROVE_ARM)))
$(eval $(call proof,semantics-arm,$(PROVE_ARM),tests.semantics --inputs 20))
$(eval $(call planted_proof,planted-arm,$(PROVE_BODY)/aarch64/$(PROVE_CHACHA)_neon.o,tests.semantics --inputs 2 --%,plant))
$(eval $(call proof,neighbors-arm,$(PROVE_ARM),tests.semantics --neighbors --inputs 10 --part 1/10))
$(eval $(call planted_proof,neighbors-planted-arm,$(PROVE_BODY)/arm/aes_ce32.o,tests.semantics --neighbors --inputs 2 --part 1/4 --%,plant))
$(eval $(call proof,classic,$(addprefix $(PROVE_BODY)/,$(foreach k,x86_64/ssse3 aarch64/neon arm/armv6,$(subst /,/$(PROVE_CHACHA)_,$(k)).o)) \
    $(filter %/aes_aesni.o %/aes_ce.o %/aes_ce32.o,$(PROVE_MODE_LOOPS)),mutation.classic))
$(eval $(call long_proof,linked,$(wildcard asm/x86_64/*.S asm/aarch64/*.S asm/arm/*.S),run.linked))
$(eval $(call proof,faults,,mutation.faults))
$(eval $(call induction,celoops,gcm_ce,$(PROVE_CE_LOOPS),$(PROVE_CE_LOOPS)))
$(eval $(call induction,arm6loops,chacha_scalar,$(PROVE_ARM6_LOOPS),$(PROVE_ARM6_LOOPS)))
$(eval $(call long_proof,armopen,$(filter %/arm/$(PROVE_CHACHA)_neon.o,$(PROVE_ARM_LOOPS)),induction.chacha_skew --planted))
$(eval $(call long_proof,armloops,$(PROVE_ARM_LOOPS),induction.chacha_loop --planted))
# The planted faults of the other kernels take 25 to 200 CPU seconds, so they are in long-prove-armblocks and long-prove-armmodes.
$(eval $(call induction,armblocks,blocks_gcm,$(filter %/aesgcm_armv6.o,$(PROVE_ARM_BLOCKS)),$(PROVE_ARM_BLOCKS)))
$(eval $(call induction,armmodes,blocks_modes,$(filter %/aes_armv6.o,$(PROVE_ARM_MODES)),$(PROVE_ARM_MODES)))
$(eval $(call proof,armblocks-neon,$(filter %/aesgcm_neon.o,$(PROVE_ARM_BLOCKS)),induction.blocks_gcm --quick))
$(eval $(call proof,armmodes-neon,$(filter %/aes_neon.o,$(PROVE_ARM_MODES)),induction.blocks_modes --quick))
$(eval $(call proof,adloops-arm,$(PROVE_CE_LOOPS),induction.ad --quick))
$(eval $(call long_proof,adloops-arm,$(PROVE_ARM_AD_LOOPS),induction.ad --planted))
$(eval $(call long_proof,classic,$(PROVE_OBJECTS) $(PROVE_ARM),mutation.classic))
$(eval $(call long_proof,mutants-arm,$(PROVE_ARM),$(PROVE_MUTANTS_FOR_LONG)))
$(eval $(call long_proof,semantics-arm,$(PROVE_ARM),tests.semantics --inputs 10000 $(PROVE_ANY_SEED)))
$(eval $(call long_proof,neighbors-arm,$(PROVE_ARM),tests.semantics --neighbors --inputs 1000 $(PROVE_ANY_SEED)))
else
$(eval $(call suite,prove-arm,,test/arm --missing "compilers for ARM and qemu-arm"))
endif
# Each kernel in one byte order.
PROVE_RISC_SOME := $(foreach o,$(PROVE_RISC),$(if $(findstring /mips/,$(o))$(findstring /mips64el/,$(o))$(filter %_zbb.o,$(o)),$(o)))
PROVE_RISC_LOOPS := $(foreach o,$(PROVE_RISC_SOME),$(if $(findstring chacha,$(o)),$(o)))
ifneq ($(PROVE_RISC),)
$(eval $(call quick_proof,prove-risc,$(PROVE_RISC_LOOPS)))
$(eval $(call induction,mipsblocks,blocks_gcm,$(filter $(PROVE_RISC_SOME),$(PROVE_MIPS_BLOCKS)),$(PROVE_MIPS_BLOCKS)))
$(eval $(call induction,riscloops,chacha_scalar,$(PROVE_RISC_LOOPS),$(filter-out $(PROVE_MIPS_BLOCKS),$(PROVE_RISC))))
ifneq ($(and $(shell command -v qemu-mips),$(shell command -v qemu-riscv64)),)
$(eval $(call proof,semantics-risc,$(PROVE_RISC),tests.semantics --inputs 20))
$(eval $(call planted_proof,planted-risc,$(filter %_zbb.o,$(PROVE_RISC)),tests.semantics --inputs 2 --%,plant))
$(eval $(call proof,mutants-risc,$(filter %/mips/$(PROVE_CHACHA)_mips32r2.o %/$(PROVE_CHACHA)_mips64r2.o,$(PROVE_RISC_SOME)),\
    mutation.mutate --calls 6 --count 12))
$(eval $(call long_proof,mutants-risc,$(PROVE_RISC),$(PROVE_MUTANTS_FOR_LONG)))
$(eval $(call long_proof,semantics-risc,$(PROVE_RISC),tests.semantics --inputs 10000 $(PROVE_ANY_SEED)))
endif
$(eval $(call long_proof,linked-risc,$(wildcard asm/mips/*.S asm/mips64/*.S asm/riscv64/*.S),run.linked))
$(eval $(call proof,encodings,,tests.encodings))
$(eval $(call planted_proof,encodings-planted,,tests.encodings --%,plant))
ifneq ($(PROVE_VECTORS),)
# One kernel with each length of vectors.
PROVE_VECTORS_SOME := $(addprefix $(PROVE_BODY)/riscv64v,1024/$(PROVE_CHACHA)_rvv.o 512/$(PROVE_CHACHA)_zvkb.o 256/aes_zvkned.o 128/aesgcm_zvkned.o)
PROVE_VECTORS_CHACHA := $(filter %_rvv.o %_zvkb.o,$(PROVE_VECTORS))
PROVE_VECTORS_AES := $(filter %_zvkned.o,$(PROVE_VECTORS))
PROVE_ZVKB := $(filter %v128/$(PROVE_CHACHA)_zvkb.o,$(PROVE_VECTORS))
$(eval $(call proof,vectors,$(filter $(PROVE_VECTORS_CHACHA),$(PROVE_VECTORS_SOME)),run.prove --quick --part 1/4))
$(eval $(call proof,vectors-aes,$(filter $(PROVE_VECTORS_AES),$(PROVE_VECTORS_SOME)),run.prove --quick --part 1/2))
$(eval $(call induction,vectorloops,chacha_skew,$(PROVE_ZVKB),$(PROVE_VECTORS_CHACHA)))
$(call proof_of_each,$(PROVE_VECTORS_CHACHA) $(PROVE_VECTORS_AES),run.prove --jobs 1)
ifneq ($(shell command -v qemu-riscv64),)
PROVE_VECTORS_FORMS := $(filter %v128/aes_zvkned.o %v128/aesgcm_zvkned.o %v256/$(PROVE_CHACHA)_rvv.o %v256/$(PROVE_CHACHA)_zvkb.o,$(PROVE_VECTORS))
# Older versions of qemu have no Zvkb.
$(eval $(call proof,mutants-vectors,$(filter %v128/$(PROVE_CHACHA)_rvv.o,$(PROVE_VECTORS)),mutation.mutate --calls 4 --count 12))
$(eval $(call long_proof,mutants-vectors,$(PROVE_VECTORS_CHACHA),$(PROVE_MUTANTS_FOR_LONG)))
$(eval $(call proof,semantics-vectors,$(PROVE_VECTORS_FORMS),tests.semantics --inputs 6))
$(eval $(call planted_proof,planted-vectors,$(filter %/aesgcm_zvkned.o,$(PROVE_VECTORS_FORMS)),tests.semantics --inputs 2 --part 1/10 --%,plant))
$(eval $(call long_proof,semantics-vectors,$(filter-out %v128fewest/$(PROVE_CHACHA)_rvv.o %v128fewest/$(PROVE_CHACHA)_zvkb.o,$(PROVE_VECTORS)),\
    tests.semantics --inputs 10000 $(PROVE_ANY_SEED)))
endif
endif
else
$(eval $(call suite,prove-risc,,test/routers --missing "compilers for MIPS and RISC-V"))
endif
$(eval $(call induction,loops,chacha_loop,$(PROVE_X86)/$(PROVE_CHACHA)_ssse3.o,$(PROVE_LOOPS)))
$(eval $(call induction,gcmloops,gcm,$(PROVE_X86)/aesgcm_aesni.o,$(PROVE_GCM_LOOPS)))
$(eval $(call proof,adloops,$(PROVE_X86)/$(PROVE_CHACHA)_ssse3.o $(PROVE_X86)/aesgcm_aesni.o,induction.ad --quick --planted))
$(foreach i,1 2 3,$(eval $(call long_proof,adloops-$(i),$(PROVE_AD_LOOPS),induction.ad $(if $(filter 1,$(i)),--planted) --part $(i)/3)))
$(eval $(call induction,permute,permute,$(filter %/aesgcm_ssse3.o,$(PROVE_PERMUTE)),$(PROVE_PERMUTE)))
$(eval $(call proof,permute-modes,$(filter %/aes_ssse3.o,$(PROVE_PERMUTE)),induction.permute --quick))
# The planted faults take 42 CPU seconds for one kernel, so they are in long-prove-modeloops.
$(eval $(call proof,modeloops,$(filter %/aes_aesni.o,$(PROVE_MODE_LOOPS)),induction.aes_modes --quick))
$(eval $(call long_proof,modeloops,$(PROVE_MODE_LOOPS),induction.aes_modes --planted))
# The planted faults take 17 CPU seconds, so they are in long-prove-loops512-1.
$(eval $(call proof,loops512,$(PROVE_X86)/$(PROVE_CHACHA)_avx512.o,induction.chacha_avx512 --quick))
# chacha20poly1305_avx512 has many exits and calls, so they have several suites.
$(foreach i,1 2 3 4,$(eval $(call long_proof,loops512-$(i),$(PROVE_X86)/$(PROVE_CHACHA)_avx512.o,\
    induction.chacha_avx512 --all $(if $(filter 1,$(i)),--planted) --part $(i)/4)))
$(foreach i,1 2,$(eval $(call long_proof,avx512-$(i),$(PROVE_X86)/$(PROVE_CHACHA)_avx512.o,run.prove --sizes 641-2048 --part $(i)/2)))
# With associated data, the induction of opening begins with longer texts.
$(eval $(call long_proof,avx512-ad,$(PROVE_X86)/$(PROVE_CHACHA)_avx512.o,\
    run.prove --sizes 2049-2304 --ad 1$(comma)13$(comma)16$(comma)40$(comma)200 --jobs 1))
# Every length that front ends pass to a lane, in four suites for each batch kernel.
$(foreach i,1 2 3 4,$(call proof_of_each,$(foreach o,$(PROVE_OBJECTS) $(PROVE_ARM),$(if $(findstring _batch_,$(o)),$(o))),\
    run.prove --lanes --part $(i)/4 --jobs 1,lanes-$(i)-))
$(eval $(call proof,neighbors,$(PROVE_OBJECTS),tests.semantics --neighbors --inputs 10 --part 1/30))
$(eval $(call planted_proof,neighbors-planted,$(PROVE_X86)/aesgcm_aesni.o,tests.semantics --neighbors --inputs 4 --part 1/4 --%,plant))
$(eval $(call planted_proof,planted,$(PROVE_X86)/aesgcm_aesni.o,tests.semantics --inputs 4 --%,plant))
$(eval $(call proof,mutants,$(PROVE_X86)/$(PROVE_CHACHA)_ssse3.o $(PROVE_X86)/aes_avx2.o,mutation.mutate --calls 12 --count 20))
$(eval $(call planted_proof,mutants-planted,$(PROVE_X86)/$(PROVE_CHACHA)_ssse3.o,mutation.mutate --calls 6 --count 5 --%,plant refuse))
# All calls of a kernel.
$(call proof_of_each,$(filter-out $(PROVE_BITWISE),$(PROVE_OBJECTS) $(PROVE_ARM) $(PROVE_RISC)),run.prove --jobs 1)
$(eval $(call long_proof,semantics,$(PROVE_OBJECTS),tests.semantics --inputs 10000 $(PROVE_ANY_SEED)))
$(eval $(call long_proof,neighbors,$(PROVE_OBJECTS),tests.semantics --neighbors --inputs 100 $(PROVE_ANY_SEED)))
$(eval $(call long_proof,mutants,$(PROVE_OBJECTS),$(PROVE_MUTANTS_FOR_LONG)))
endif
