# Included by the Makefile. Package afalg on real kernels, in virtual machines: see afalg/vm/run.

VM := $(CURDIR)/$(B)/vm

$(eval $(call suite,vm-arm,,env LIMIT=240 afalg/vm/run arm $(VM) -test.v))
$(eval $(call suite,vm-amd64,,env LIMIT=240 afalg/vm/run amd64 $(VM) -test.v))

.PHONY: test-vm bench-vm
test-vm: test-vm-arm test-vm-amd64 ## package afalg on Debian's kernels for arm and x86-64, in qemu-system

BENCH_VM := bench/results/afalg-instructions.txt

bench-vm: ## instructions per packet in the kernel and in the process; writes bench/results
	@{ echo "Written by make bench-vm. Instructions for one packet sealed, as qemu-system counts them: in Linux 6.1 by way of AF_ALG"; \
	echo "(system calls and copies included), and in the process. Counts on the two sides of the kernel boundary do not predict"; \
	echo "times: a system call costs more than its instructions. On the machine in question, run the benchmark itself:"; \
	echo "go test -bench . github.com/sealane/sealane/afalg"; \
	for run in "arm Cortex-A15" "amd64 qemu's max, with AVX2 and AES-NI"; do \
	    echo; echo "GOARCH=$${run%% *}, CPU $${run#* }"; \
	    ICOUNT=1 LIMIT=300 afalg/vm/run $${run%% *} $(VM) -test.run=NONE -test.bench=Seal -test.benchtime=1000x -test.cpu=1 | \
	        awk '/^BenchmarkSeal/ { sub("BenchmarkSeal/", "", $$1); printf "%-46s %10d instructions\n", $$1, $$3; n++ } END { exit n != 12 }' || exit 1; \
	done; } >$(BENCH_VM)
	@cat $(BENCH_VM)
