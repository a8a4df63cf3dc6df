# make bench: sealane beside its peers, in Go and in C. The results go to bench/results/.

BENCH_TIME ?= 4m
BENCH_FLAGS ?=

# A number sign would start a comment in some versions of make.
bench_peer = $(shell printf '\043include <%s>\n' '$(1)' | $(CC) -E -x c - >/dev/null 2>&1 && echo $(2))
BENCH_LIBS = $(call bench_peer,openssl/evp.h,-lcrypto) $(call bench_peer,sodium.h,-lsodium) \
    $(call bench_peer,intel-ipsec-mb.h,-lIPSec_MB)

$(B)/bench-c: bench/c/bench.c bench/c/peers.c bench/c/peers.h $(HEADERS) $(B)/libsealane.a
	$(CC) $(CFLAGS) -std=c11 -Iinclude -Wall -Wextra -Werror -o $@ bench/c/bench.c bench/c/peers.c $(B)/libsealane.a $(BENCH_LIBS)

.PHONY: bench bench-measure bench-check
bench: ## sealane beside its peers, in at most 6 minutes; writes bench/results
	@tools/bootstrap bench
	@$(MAKE) --no-print-directory bench-measure

bench-measure: $(B)/bench-c
	cd bench && CGO_ENABLED=0 go run . -c $(abspath $(B)/bench-c) -time $(BENCH_TIME) $(BENCH_FLAGS)

# The harness itself: all candidates agree, and a wrong byte in any of them is found.
bench-check: $(B)/bench-c ## the benchmark itself: it finds a wrong byte in any candidate
	cd bench && CGO_ENABLED=0 go test .
	$(B)/bench-c --seconds 0.1 >$(B)/bench-check.json
	$(B)/bench-c --list | while IFS= read -r peer; do \
	    if $(B)/bench-c --seconds 0.1 --fault "$$peer" >/dev/null 2>&1; then \
	        echo "bench: a wrong byte from $$peer was not found" >&2; exit 1; \
	    fi; \
	done
