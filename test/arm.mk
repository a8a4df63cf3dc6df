# Included by the Makefile, before its line "suites:". Everything again for ARM, cross-built and run under qemu-user.

ARM_TRIPLES := arm-linux-gnueabihf arm-linux-gnueabi aarch64-linux-gnu

# $(call arm,triple): build/cross/<triple>/check, api, residue, modes_secret and on AArch64 unwind and dit, static, in a
# separate make, because the compiler determines the sources.
define arm
.PHONY: $(B)/cross/$(1)/built
$(B)/cross/$(1)/built:
	+@$(MAKE) --no-print-directory -s B=$(B)/cross/$(1) CC=$(1)-gcc CFLAGS="-O2 -static" $(B)/cross/$(1)/check $(B)/cross/$(1)/api $(B)/cross/$(1)/residue $(B)/cross/$(1)/modes_secret $(if $(findstring aarch64,$(1)),$(B)/cross/$(1)/unwind $(B)/cross/$(1)/dit)

$$(eval $$(call suite,$(1),$(B)/vectors.txt,sh -c '$(MAKE) --no-print-directory $(B)/cross/$(1)/built && exec test/arm $(B) $(1)'))
$$(eval $$(call long_suite,long-$(1),$(B)/cross/$(1)/built $(B)/vectors.txt,test/arm --all $(B) $(1)))
endef

# $(call go_arm,suite or long_suite,name,environment,qemu and its options,options and packages). Tests that start
# programs find the emulator in SEALANE_TEST_EXEC.
define go_arm
$$(eval $$(call $(1),$(2),,env CGO_ENABLED=0 $(3) SEALANE_TEST_EXEC="$(4)" $(GO) test -timeout 1h -v -vet=off -exec "$(4)" $(5)))
endef

# $(call go_linked,folder,environment): the tests, linked once for all CPUs that run them.
define go_linked
.PHONY: $(B)/linked/$(1)/built
$(B)/linked/$(1)/built:
	@env CGO_ENABLED=0 $(2) $(GO) test -vet=off -c -o $(B)/linked/$(1)/ $(GO_LIBRARY) >/dev/null
endef

# $(call go_cpu,name,folder,environment,qemu and its options,options -- packages): runs these on one CPU.
go_cpu = $(call suite,$(1),$(B)/linked/$(2)/built,env CGO_ENABLED=0 $(3) SEALANE_TEST_EXEC="$(4)" test/linked $(B)/linked/$(2) "$(4)" $(5))

# A kernel gives the same results on every CPU that has it. So each kernel runs on one CPU, and the others only test
# the choice of a level. The C suites try other lengths of the same machine code. The suite go-root tries all lengths,
# and the code that does not depend on a kernel; make test-long also does so here.
GO_KERNELS := -test.short '-test.skip=^TestSetMaxLevel|^TestEnvironment|NoAllocations$$$$|^TestFIPS140|/^portable|//^portable' -- $(GO_ON_KERNELS)
GO_CHOICE := -test.short -- . ./aesgcm ./batch ./chacha20poly1305 ./internal/dispatch

# Without the compilers or qemu-user, a single suite reports this.
ifneq ($(filter x86_64,$(ISA)),)
$(foreach t,$(ARM_TRIPLES),$(if $(shell command -v $(t)-gcc),$(eval $(call arm,$(t))),$(eval $(call suite,$(t),,test/arm --missing $(t)-gcc))))
ifneq ($(shell command -v qemu-arm),)
$(eval $(call go_linked,arm,GOARCH=arm GOARM=5))
$(eval $(call go_linked,arm64,GOARCH=arm64))
$(eval $(call go_cpu,go-arm926,arm,GOARCH=arm GOARM=5,qemu-arm -cpu arm926,$(GO_CHOICE)))
$(eval $(call go_cpu,go-arm1176,arm,GOARCH=arm GOARM=5,qemu-arm -cpu arm1176,$(GO_CHOICE)))
$(eval $(call go_cpu,go-arm-cortex-a7,arm,GOARCH=arm GOARM=5,qemu-arm -cpu cortex-a7,$(GO_KERNELS)))
# GOARM=5 here too: with 7 the standard library would be compiled again, as in the long suites.
$(eval $(call go_cpu,go-arm-max,arm,GOARCH=arm GOARM=5,qemu-arm -cpu max,\
    '-test.run=^(TestAll.*|TestAssociatedData|TestParts|TestRandomLengths|TestEdgeBytes|TestWipe|TestPeer|TestTamper|TestWycheproof|TestNIST)/(aesgcm|AES)/ce32' -- ./internal/kernel ./internal/aead))
$(foreach c,arm1176 cortex-a7,$(eval $(call go_arm,long_suite,long-go-$(c),GOARCH=arm GOARM=5,qemu-arm -cpu $(c),$(GO_LIBRARY))))
$(eval $(call go_arm,long_suite,long-go-arm64-cortex-a53,GOARCH=arm64,qemu-aarch64 -cpu cortex-a53,$(GO_LIBRARY)))
$(eval $(call go_arm,long_suite,long-go-arm926,GOARCH=arm GOARM=5,qemu-arm -cpu arm926,$(GO_LIBRARY)))
$(foreach c,cortex-a15 max,$(eval $(call go_arm,long_suite,long-go-arm-$(c),GOARCH=arm GOARM=7,qemu-arm -cpu $(c),$(GO_LIBRARY))))
$(eval $(call go_cpu,go-arm64-cortex-a53,arm64,GOARCH=arm64,qemu-aarch64 -cpu cortex-a53,$(GO_KERNELS)))
$(eval $(call go_cpu,go-arm64-cortex-a72,arm64,GOARCH=arm64,qemu-aarch64 -cpu cortex-a72,$(GO_CHOICE)))
$(eval $(call go_arm,long_suite,long-go-arm64-cortex-a72,GOARCH=arm64,qemu-aarch64 -cpu cortex-a72,$(GO_LIBRARY)))
else
$(eval $(call suite,go-arm,,test/arm --missing qemu-arm))
endif
ifneq ($(and $(shell command -v aarch64-linux-gnu-gcc),$(shell command -v qemu-aarch64)),)
.PHONY: $(B)/cross/bti/built
$(B)/cross/bti/built:
	+@$(MAKE) --no-print-directory -s B=$(B)/cross/bti CC=aarch64-linux-gnu-gcc LDFLAGS=-nostartfiles \
	    CFLAGS="-O2 -mbranch-protection=standard -mno-outline-atomics" $(B)/cross/bti/libsealane.so.0

$(eval $(call suite,bti,$(B)/cross/bti/built $(B)/vectors.txt,test/arm --bti $(B)))
else
$(eval $(call suite,bti,,test/arm --missing "aarch64-linux-gnu-gcc and qemu-aarch64"))
endif
endif
