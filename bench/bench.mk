# make bench: compares sealane with its peers, in Go, C and Rust. Results go to bench/results/.

BENCH_TIME ?= 4m
BENCH_GCM_TIME ?= 1m
BENCH_ALGORITHMS := ChaCha20-Poly1305 AES-128-GCM AES-256-GCM
BENCH_FLAGS ?=

# For newer peers than the system's: a prefix with include/ and lib/, for example from make install of ipsec-mb or
# libsodium.
BENCH_PREFIX ?=
BENCH_CFLAGS := $(if $(BENCH_PREFIX),-I$(BENCH_PREFIX)/include)
BENCH_LDFLAGS := $(if $(BENCH_PREFIX),-L$(BENCH_PREFIX)/lib -Wl$(comma)-rpath$(comma)$(BENCH_PREFIX)/lib)

# A number sign would start a comment in some versions of make.
bench_peer = $(shell printf '\043include <%s>\n' '$(1)' | $(CC) $(BENCH_CFLAGS) -E -x c - >/dev/null 2>&1 && echo $(2))
BENCH_LIBS = $(BENCH_LDFLAGS) $(call bench_peer,openssl/evp.h,-lcrypto) $(call bench_peer,sodium.h,-lsodium) \
    $(call bench_peer,gcrypt.h,-lgcrypt) \
    $(call bench_peer,intel-ipsec-mb.h,-lIPSec_MB)

$(B)/bench-c: bench/c/bench.c bench/c/peers.c bench/c/peers.h $(HEADERS) $(B)/libsealane.a
	$(CC) $(CFLAGS) -std=c11 -Iinclude $(BENCH_CFLAGS) -Wall -Wextra -Werror -no-pie -o $@ bench/c/bench.c bench/c/peers.c $(B)/libsealane.a $(BENCH_LIBS)

$(B)/bench-modes: bench/c/modes.c $(HEADERS) $(B)/libsealane.a
	$(CC) $(CFLAGS) -std=c11 -Iinclude $(BENCH_CFLAGS) -Wall -Wextra -Werror -o $@ bench/c/modes.c $(B)/libsealane.a $(BENCH_LDFLAGS) -lcrypto \
	    $(call bench_peer,intel-ipsec-mb.h,-lIPSec_MB)

bench-modes: $(B)/bench-modes ## AES without authentication and QUIC's packets beside OpenSSL and ipsec-mb
	$<

.PHONY: bench bench-modes bench-measure bench-check $(B)/bench-go
$(B)/bench-go:
	cd bench && CGO_ENABLED=0 $(GO) build -o $(abspath $@) .

bench: ## compares sealane with its peers, in about 7 minutes plus Rust's build time; writes bench/results
	@tools/bootstrap bench
	@$(MAKE) --no-print-directory bench-measure

bench-measure: $(B)/bench-c $(B)/bench-go
	rust=$(abspath $(B))/rust-bench/release/sealane-bench; status=0; \
	rust/check $(B) bench-program || status=$$?; \
	if [ $$status -eq 77 ]; then rust=; elif [ $$status -ne 0 ]; then exit $$status; fi; \
	cd bench && for a in $(BENCH_ALGORITHMS); do \
	    case $$a in AES*) t=$(BENCH_GCM_TIME) ;; *) t=$(BENCH_TIME) ;; esac; \
	    $(abspath $(B))/bench-go -c $(abspath $(B)/bench-c) -rust "$$rust" -alg $$a -time $$t $(BENCH_FLAGS) || exit 1; \
	done

# Tests the harness: all candidates agree, and a wrong byte in any of them is found.
bench-check: $(B)/bench-c $(B)/bench-modes ## the benchmark itself: it finds a wrong byte in any candidate
	$(B)/bench-modes --seconds=0.005
	$(B)/bench-modes --list | while IFS= read -r row; do \
	    if $(B)/bench-modes --seconds=0.001 --fault="$$row" >/dev/null 2>&1; then \
	        echo "bench-modes: a wrong byte in $$row was not found" >&2; exit 1; \
	    fi; \
	done
	for a in $(BENCH_ALGORITHMS); do \
	    $(B)/bench-c --alg $$a --seconds 0.02 >$(B)/bench-check.json || exit 1; \
	    $(B)/bench-c --alg $$a --list | while IFS= read -r peer; do \
	        if $(B)/bench-c --alg $$a --seconds 0.02 --fault "$$peer" >/dev/null 2>&1; then \
	            echo "bench: a wrong byte from $$peer was not found" >&2; exit 1; \
	        fi; \
	    done || exit 1; \
	done
