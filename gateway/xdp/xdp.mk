# Included by the Makefile. BPF objects are committed, so users need no BPF compiler.

XDP := gateway/xdp
KEYS_SOURCES := $(addprefix gateway/internal/uprobes/bpf/sealane_keys,.c _arm64.c)
BPF_SOURCES := gateway/xdp/bpf/sealane_xdp.c $(KEYS_SOURCES)
C_FILES += $(KEYS_SOURCES)
BPF_CLANG ?= clang-19
BPF_FLAGS := -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-parentheses -Wno-unused-parameter \
    -fdebug-compilation-dir=. -I/usr/include/$(shell $(CC) -dumpmachine)

.PHONY: gen-bpf check-bpf bench-xdp
gen-bpf: ## compile the BPF programs (needs clang-19 and libbpf-dev)
	$(foreach f,$(BPF_SOURCES),cd $(CURDIR)/$(dir $(f)) && $(BPF_CLANG) $(BPF_FLAGS) -c $(notdir $(f)) -o $(notdir $(f:.c=.elf)) &&) :

# The same compiler makes the same bytes, except for debug information, which depends on the system's headers. Another
# compiler makes a different program, and then there is nothing to compare.
check-bpf:
	@command -v $(BPF_CLANG) >/dev/null || { echo "not run: there is no $(BPF_CLANG)"; exit 77; }
	@mkdir -p $(B)/bpf
	@for f in $(BPF_SOURCES:.c=); do \
	    made=$(CURDIR)/$(B)/bpf/$${f##*/}; \
	    (cd $${f%/*} && $(BPF_CLANG) $(BPF_FLAGS) -c $${f##*/}.c -o $$made.elf) && \
	    llvm-objcopy --strip-debug $$made.elf && llvm-objcopy --strip-debug $$f.elf $$made.committed.elf && \
	    cmp $$made.elf $$made.committed.elf || { echo "run make gen-bpf"; exit 1; }; \
	done

$(eval $(call suite,bpf-objects,,$(MAKE) --no-print-directory check-bpf))

bench-xdp: ## nanoseconds for a packet in XDP, by the kernel's own clock, and packets a second through a pair of interfaces
	cd $(XDP) && CGO_ENABLED=0 $(GO) test -run NONE -bench 'Clock|Pass|Open' -benchtime 20000x .
	cd $(XDP) && CGO_ENABLED=0 $(GO) test -run NONE -bench Veth -benchtime 30x .
