# Included by the Makefile, before its line "suites:". CPUs of routers and small boards, cross-built and run under qemu-user.

ROUTER_TRIPLES := riscv64-linux-gnu mips-linux-gnu mips64el-linux-gnuabi64
# go-mipsle and go-mips64 run their kernels in make test.
ROUTER_LONG_TRIPLES := mipsel-linux-gnu mips64-linux-gnuabi64

# $(call router,triple): build/cross/<triple>/check, api, aeads and residue, static, in a separate make.
define router
.PHONY: $(B)/cross/$(1)/built
$(B)/cross/$(1)/built:
	+@$(MAKE) --no-print-directory -s B=$(B)/cross/$(1) CC=$(1)-gcc CFLAGS="-O2 -static -fno-pie" $(addprefix $(B)/cross/$(1)/,check api aeads residue)

$$(if $(filter $(1),$(ROUTER_TRIPLES)),$$(eval $$(call suite,$(1),$(B)/cross/$(1)/built $(B)/vectors.txt $(B)/aeads.txt,test/routers $(B) $(1))))
$$(eval $$(call long_suite,long-$(1),$(B)/cross/$(1)/built $(B)/vectors.txt $(B)/aeads.txt,test/routers --all $(B) $(1)))
endef

# $(call go_router,GOARCH,qemu's name of it,CPU,environment,long_suite or suite,its name): the kernels' tests in Go, and
# the choice of a level. It skips portable code, and rvv, which is part of rvvmix.
define go_router
ifneq ($(shell command -v qemu-$(2)),)
$$(eval $$(call $(or $(5),suite),$(or $(6),go-$(1)),,env CGO_ENABLED=0 GOARCH=$(1) $(4) $(GO) test -timeout 1h -v -exec "$(shell realpath "$$(command -v $$(test/qemu $(B) $(2)))" 2>/dev/null) -cpu $(3)" \
    -short -vet=off -skip '/^portable|/^rvv$$$$$$$$|//^portable|//^rvv$$$$$$$$' ./internal/kernel ./internal/dispatch))
else
$$(eval $$(call $(or $(5),suite),$(or $(6),go-$(1)),,test/routers --missing qemu-$(2)))
endif
endef

# The suites of make test-kernel.
KERNEL_TESTS_mips := mips-linux-gnu long-go-mips go-mipsle
KERNEL_TESTS_mips64 := mips64el-linux-gnuabi64 go-mips64
KERNEL_TESTS_riscv64 := riscv64-linux-gnu go-riscv64

ifneq ($(filter x86_64,$(ISA)),)
$(foreach t,$(ROUTER_TRIPLES) $(ROUTER_LONG_TRIPLES),$(if $(and $(shell command -v $(t)-gcc),$(shell command -v qemu-$(firstword $(subst -, ,$(t))))),\
    $(eval $(call router,$(t))),$(eval $(call suite,$(t),,test/routers --missing "$(t)-gcc and qemu-user"))))
$(eval $(call go_router,riscv64,riscv64,max))
$(eval $(call go_router,mipsle,mipsel,24Kf,GOMIPS=hardfloat))
$(eval $(call go_router,mips64,mips64,MIPS64R2-generic,GOMIPS64=softfloat))
# The C suites run the other byte orders in make test.
$(eval $(call go_router,mips,mips,24Kc,GOMIPS=softfloat,long_suite,long-go-mips))
$(eval $(call go_router,mips64le,mips64el,MIPS64R2-generic,GOMIPS64=hardfloat,long_suite,long-go-mips64le))
endif
