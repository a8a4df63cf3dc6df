# Included by the Makefile. Modeled cycles and traces of the ARM kernels: see tools/armcost/README.md.

ARMCOST_VENV ?= $(B)/armcost
ARMCOST_PYTHON ?= $(ARMCOST_VENV)/bin/python
ARMCOST = $(ARMCOST_PYTHON) tools/armcost/armcost.py
# Titles of the rows that bench-arm measures again, by default all: make bench-arm ARMCOST_ONLY='level ce,'
ARMCOST_ONLY ?=
ARMCOST_SIZES ?= 64 256 1420 8192
ARMCOST_CT_SIZES ?= 0 1 64 255 1420
ARMCOST_BATCH := 32
ARMCOST_BATCH_SIZES ?= 64 128 256
ARMCOST_CT_BATCH_SIZES ?= 0 64 255
commas = $(subst $(eval) ,$(comma),$(strip $(1)))
ARMCOST_MARKS := --start main.markStart --end main.markEnd

$(ARMCOST_VENV)/bin/python:
	python3 -m venv $(ARMCOST_VENV)
	$(ARMCOST_VENV)/bin/pip install --quiet --disable-pip-version-check capstone==5.0.9

.PHONY: bench-arm ct-arm $(B)/seal.arm $(B)/seal.arm5 $(B)/seal.arm7 $(B)/seal.arm64
$(B)/seal.arm:
	CGO_ENABLED=0 GOARCH=arm GOARM=6 $(GO) build -o $@ ./tools/armcost/seal

# For traces. Other tests have already compiled the standard library for GOARM=5.
$(B)/seal.arm5:
	CGO_ENABLED=0 GOARCH=arm GOARM=5 $(GO) build -o $@ ./tools/armcost/seal

# Planning a batch uses atomic instructions. With GOARM=5 and 6 these call the Linux kernel, which is not modeled.
$(B)/seal.arm7:
	CGO_ENABLED=0 GOARCH=arm GOARM=7 $(GO) build -o $@ ./tools/armcost/seal

$(B)/seal.arm64:
	CGO_ENABLED=0 GOARCH=arm64 $(GO) build -o $@ ./tools/armcost/seal

# program, CPU, cipher, level
ARMCOST_RUNS := arm,cortex-a7,chacha,neon arm,arm1176,chacha,armv6 arm64,cortex-a53,chacha,neon
ARMCOST_RUNS += arm64,cortex-a53,chacha,neon6
ARMCOST_RUNS += arm64,cortex-a53,gcm128,ce arm64,cortex-a53,gcm256,ce
ARMCOST_RUNS += arm64,cortex-a53,gcm128,neon arm64,cortex-a53,gcm256,neon
ARMCOST_RUNS += arm,max,gcm128,ce32 arm,max,gcm256,ce32 arm,cortex-a7,gcm128,neon arm,cortex-a7,gcm256,neon
ARMCOST_RUNS += arm,arm1176,gcm128,armv6 arm,arm1176,gcm256,armv6
ARMCOST_BATCH_RUNS := arm7,cortex-a7,chacha,neon arm64,cortex-a53,chacha,neon arm64,cortex-a53,chacha,neon6
# Only for traces: nonces that make the counter secret.
ARMCOST_CT_RUNS := $(ARMCOST_RUNS) arm,max,gcm128n16,ce32 arm,cortex-a7,gcm128n16,neon arm,arm1176,gcm128n16,armv6
ARMCOST_CT_RUNS += arm64,cortex-a53,gcm128n16,ce arm64,cortex-a53,gcm128n16,neon
# Unauthenticated AES modes, only for traces.
ARMCOST_MODES_RUNS := arm64,cortex-a53,modes,ce arm64,cortex-a53,modes,neon arm,max,modes,ce32 arm,cortex-a7,modes,neon arm,arm1176,modes,armv6
# AEADs composed of these and of AES-GCM, which takes a hash key for AES-GCM-SIV.
ARMCOST_MODES_RUNS += arm64,cortex-a53,siv128,ce arm64,cortex-a53,siv128,neon arm,max,siv128,ce32 arm,cortex-a7,siv128,neon
ARMCOST_MODES_RUNS += arm,arm1176,siv128,armv6 arm64,cortex-a53,ccm128,neon
ARMCOST_CT_MODES_SIZES ?= 16 176
# make test runs each kernel with one key length, and AES-GCM only with a secret counter. GOARM=7, which batches need,
# would compile the standard library again.
ARMCOST_QUICK := ARMCOST_CT_RUNS="$(filter %chacha$(comma)neon %chacha$(comma)neon6 %chacha$(comma)armv6,$(ARMCOST_RUNS)) $(filter-out $(ARMCOST_RUNS),$(ARMCOST_CT_RUNS))" \
    ARMCOST_BATCH_RUNS=arm64,cortex-a53,chacha,neon ARMCOST_CT_SIZES="0 255 700" ARMCOST_CT_BATCH_SIZES="64 255" \
    ARMCOST_MODES_RUNS="$(filter-out arm$(comma)%$(comma)siv128$(comma)% %$(comma)siv128$(comma)neon,$(ARMCOST_MODES_RUNS))"
# Shell fragment: the fields of $run become $1 to $4, and $seal is the program.
ARMCOST_RUN = set -- $$(echo $$run | tr , ' '); seal=$(B)/seal.$$1; export SEALANE_CPU=$$4

ARMCOST_RESULTS := bench/results/arm-modelled.txt

bench-arm: $(ARMCOST_PYTHON) $(B)/seal.arm $(B)/seal.arm7 $(B)/seal.arm64 ## modelled cycles and exact instruction counts on ARM; writes bench/results
	$(ARMCOST_PYTHON) tools/armcost/table.py --programs $(B) --cache $(B)/armcost-cycles \
	    --runs "$(ARMCOST_RUNS)" --sizes "$(ARMCOST_SIZES)" \
	    --batch-runs "$(ARMCOST_BATCH_RUNS)" --batch-sizes "$(ARMCOST_BATCH_SIZES)" --batch $(ARMCOST_BATCH) \
	    --only '$(ARMCOST_ONLY)' $(ARMCOST_RESULTS)

ct-arm: $(ARMCOST_PYTHON) $(B)/seal.arm5 $(if $(filter arm7%,$(ARMCOST_BATCH_RUNS)),$(B)/seal.arm7) $(B)/seal.arm64 ## the same branches and addresses for two secrets
	@p=0 f=0; ct() { cpu=$$1; shift; \
	    if $(ARMCOST) ct --cpu $$cpu $(ARMCOST_MARKS) -- "$$@" >$(B)/ct-arm.log 2>&1; \
	    then p=$$((p + 1)); else f=$$((f + 1)); echo "FAIL $$run $$*"; tail -n 5 $(B)/ct-arm.log; fi; }; \
	for run in $(ARMCOST_CT_RUNS:arm$(comma)%=arm5$(comma)%); do $(ARMCOST_RUN); \
	    ct $$2 $$seal $(call commas,$(ARMCOST_CT_SIZES)) '{seed}' both $$3; done; \
	for run in $(ARMCOST_BATCH_RUNS); do $(ARMCOST_RUN); \
	    ct $$2 $$seal $(call commas,$(ARMCOST_CT_BATCH_SIZES)) '{seed}' both batch17; done; \
	for run in $(ARMCOST_MODES_RUNS:arm$(comma)%=arm5$(comma)%); do $(ARMCOST_RUN); \
	    ct $$2 $$seal $(call commas,$(ARMCOST_CT_MODES_SIZES)) '{seed}' both $$3; done; \
	for plant in aes 'plant ctr128'; do \
	    SEALANE_CPU=neon $(ARMCOST) ct --cpu cortex-a7 $(ARMCOST_MARKS) -- $(B)/seal.arm5 64 '{seed}' $$plant >$(B)/ct-arm.log 2>&1; \
	    if [ $$? -eq 1 ] && grep -q "the traces part" $(B)/ct-arm.log; \
	    then p=$$((p + 1)); else f=$$((f + 1)); echo "FAIL not found: $$plant"; fi; done; \
	echo "ct-arm: $$p passed, $$f failed, 0 not run"; [ $$f -eq 0 ]

$(eval $(call suite,armcost,$(ARMCOST_PYTHON),$(ARMCOST_PYTHON) tools/armcost/test_armcost.py))

# Traces come from a plugin of qemu-user. Debian 13's qemu-user is linked statically, and cannot load plugins.
# "|| :": where a command is missing, make would print that.
ifneq ($(filter x86_64,$(ISA)),)
ifneq ($(and $(findstring -plugin,$(shell qemu-arm -help 2>&1 || :)),$(findstring -plugin,$(shell qemu-aarch64 -help 2>&1 || :))),)
$(eval $(call suite,secret-trace-arm,$(ARMCOST_PYTHON),$(MAKE) --no-print-directory ct-arm $(ARMCOST_QUICK)))
$(eval $(call long_suite,long-secret-trace-arm,$(ARMCOST_PYTHON),$(MAKE) --no-print-directory ct-arm))
else
$(eval $(call suite,secret-trace-arm,,test/arm --missing "qemu-user that loads plugins"))
endif
endif
