# Included by the Makefile. The XDP program's object is committed: users need no compiler for BPF.

XDP := gateway/xdp
BPF_CLANG ?= clang-19
BPF_FLAGS := -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-parentheses -Wno-unused-parameter \
    -fdebug-compilation-dir=. -I/usr/include/$(shell $(CC) -dumpmachine)

.PHONY: gen-xdp check-xdp bench-xdp
gen-xdp: ## compile the XDP program (needs clang-19 and libbpf-dev)
	cd $(XDP)/bpf && $(BPF_CLANG) $(BPF_FLAGS) -c sealane_xdp.c -o sealane_xdp.elf

# The same compiler makes the same bytes but for the debug information, which tells of the headers of the system; another one
# makes a program of its own, and then there is nothing to compare.
check-xdp:
	@command -v $(BPF_CLANG) >/dev/null || { echo "not run: there is no $(BPF_CLANG)"; exit 77; }
	@mkdir -p $(B)
	@cd $(XDP)/bpf && $(BPF_CLANG) $(BPF_FLAGS) -c sealane_xdp.c -o $(CURDIR)/$(B)/sealane_xdp.elf
	@llvm-objcopy --strip-debug $(B)/sealane_xdp.elf
	@llvm-objcopy --strip-debug $(XDP)/bpf/sealane_xdp.elf $(B)/sealane_xdp_committed.elf
	@cmp $(B)/sealane_xdp.elf $(B)/sealane_xdp_committed.elf || { echo "run make gen-xdp"; exit 1; }

$(eval $(call suite,xdp-object,,$(MAKE) --no-print-directory check-xdp))

bench-xdp: ## nanoseconds for a packet in XDP, by the kernel's own clock, and packets a second through a pair of interfaces
	cd $(XDP) && CGO_ENABLED=0 $(GO) test -run NONE -bench 'Clock|Pass|Open' -benchtime 20000x .
	cd $(XDP) && CGO_ENABLED=0 $(GO) test -run NONE -bench Veth -benchtime 30x .
