# Included by the Makefile. What is shown of the machine code for all keys and texts: see PROOF.md.

PROVE_VENV ?= $(B)/prove/venv
PROVE_PYTHON ?= $(PROVE_VENV)/bin/python
# Kernels that it knows: all of x86-64.
PROVE_KERNELS := $(sort $(wildcard asm/x86_64/chacha20poly1305_*.S asm/x86_64/aesgcm_*.S))
PROVE_OBJECTS := $(PROVE_KERNELS:%.S=$(B)/%.o)
# make prove KERNEL=chacha20poly1305_avx2
KERNEL ?=

$(PROVE_VENV)/bin/python:
	python3 -m venv $(PROVE_VENV)
	$(PROVE_VENV)/bin/pip install --quiet --disable-pip-version-check capstone==5.0.9 pyelftools==0.33 z3-solver==5.4.1.0

.PHONY: prove
ifeq ($(ISA),x86_64)
prove: $(PROVE_PYTHON) $(B)/libsealane.a ## a kernel's machine code against its specification, for all data: KERNEL=name, or all
	$(PROVE_PYTHON) tools/prove/prove.py --queries $(B)/prove/queries \
	    $(if $(KERNEL),$(B)/asm/x86_64/$(KERNEL).o,$(PROVE_OBJECTS))

$(eval $(call suite,prove,$(PROVE_PYTHON) $(B)/libsealane.a,$(PROVE_PYTHON) tools/prove/prove.py --quick $(PROVE_OBJECTS)))
$(eval $(call suite,prove-semantics,$(PROVE_PYTHON) $(B)/libsealane.a,\
    $(PROVE_PYTHON) tools/prove/test_semantics.py --inputs 6 $(PROVE_OBJECTS)))
$(eval $(call suite,prove-planted,$(PROVE_PYTHON) $(B)/libsealane.a,\
    --must-fail "$(PROVE_PYTHON) tools/prove/test_semantics.py --inputs 4 --% $(firstword $(PROVE_OBJECTS))" plant))
$(eval $(call suite,prove-mutants,$(PROVE_PYTHON) $(B)/libsealane.a,\
    $(PROVE_PYTHON) tools/prove/mutate.py --count 30 --least 80 $(B)/asm/x86_64/chacha20poly1305_ssse3.o))
$(eval $(call long_suite,long-prove,$(PROVE_PYTHON) $(B)/libsealane.a,$(PROVE_PYTHON) tools/prove/prove.py $(PROVE_OBJECTS)))
$(eval $(call long_suite,long-prove-semantics,$(PROVE_PYTHON) $(B)/libsealane.a,\
    $(PROVE_PYTHON) tools/prove/test_semantics.py --inputs 10000 $(PROVE_OBJECTS)))
$(eval $(call long_suite,long-prove-mutants,$(PROVE_PYTHON) $(B)/libsealane.a,\
    $(PROVE_PYTHON) tools/prove/mutate.py --count 1000 --least 90 $(PROVE_OBJECTS)))
endif
