# Included by the Makefile. The C library for ARM, cross-built and run under qemu-user: check, its corrupters and the public API.

ARM_TRIPLES := arm-linux-gnueabihf arm-linux-gnueabi aarch64-linux-gnu

# $(call arm,triple): build/<triple>/check and api, static, by a make of their own, since the compiler decides on the sources.
define arm
.PHONY: $(B)/$(1)/built
$(B)/$(1)/built:
	+@$(MAKE) --no-print-directory -s B=$(B)/$(1) CC=$(1)-gcc CFLAGS="-O2 -static" $(B)/$(1)/check $(B)/$(1)/api

$$(eval $$(call suite,$(1),$(B)/$(1)/built $(B)/wycheproof.txt,test/arm $(B) $(1)))
endef

ifneq ($(filter x86_64,$(ISA)),)
$(foreach t,$(ARM_TRIPLES),$(if $(shell command -v $(t)-gcc),$(eval $(call arm,$(t))),$(eval $(call suite,$(t),,test/arm --missing $(t)-gcc))))
endif
