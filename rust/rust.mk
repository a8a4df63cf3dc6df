# Included by the Makefile. The Rust crates, which need cargo and nothing else: rust/check says what it could not run.

$(eval $(call suite,rust,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) test))
$(eval $(call suite,rust-planted,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) planted))
$(eval $(call suite,rust-lint,,rust/check $(B) lint))
$(eval $(call long_suite,long-rust-deny,,rust/check $(B) deny))
$(eval $(call long_suite,long-rust-no-cc,,rust/check $(B) no-cc))
$(eval $(call long_suite,long-rust-features,,rust/check $(B) features))
$(eval $(call long_suite,long-rust-versions,,rust/check $(B) versions))
$(eval $(call long_suite,long-rust-minimal,,rust/check $(B) minimal))
$(eval $(call long_suite,long-rust-package,,rust/check $(B) package))
$(eval $(call long_suite,long-rust-oldest,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) oldest))
$(eval $(call long_suite,long-rust-arm64,$(B)/vectors.txt $(B)/aeads.txt,rust/emulated $(B) arm64 cortex-a72 max))
$(eval $(call long_suite,long-rust-armhf,$(B)/vectors.txt $(B)/aeads.txt,rust/emulated $(B) armhf cortex-a7 max))
$(eval $(call long_suite,long-rust-armel,$(B)/vectors.txt $(B)/aeads.txt,rust/emulated $(B) armel arm1176 arm926))
$(eval $(call long_suite,long-rust-armv6hf,$(B)/vectors.txt $(B)/aeads.txt,rust/emulated $(B) armv6hf arm1176))
$(eval $(call long_suite,long-rust-targets,$(B)/vectors.txt $(B)/aeads.txt,rust/targets $(B)))
$(eval $(call long_suite,long-rust-rustls,,rust/check $(B) rustls))
$(eval $(call long_suite,long-rust-rustls-oldest,,rust/check $(B) rustls-oldest))
$(eval $(call long_suite,long-rust-rustcrypto,,rust/peers $(B) rustcrypto))
$(eval $(call long_suite,long-rust-ring,,rust/peers $(B) ring))
$(eval $(call long_suite,long-rust-boringtun,,rust/peers $(B) boringtun))
$(eval $(call long_suite,long-rust-quinn,,rust/peers $(B) quinn))
$(eval $(call long_suite,long-rust-tls,,rust/peers $(B) tls))
$(eval $(call long_suite,long-rust-sockets,,rust/peers $(B) sockets))
$(eval $(call long_suite,long-rust-fuzz,,rust/check $(B) fuzz $(shell echo $$((2 * $(LONG_FUZZ_SECONDS))))))
$(eval $(call long_suite,long-rust-bench,$(B)/libsealane.a,rust/check $(B) bench))
$(eval $(call long_suite,long-rust-miri,,rust/check $(B) miri))
$(eval $(call long_suite,long-rust-asan,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) asan))

.PHONY: bench-rust
bench-rust: $(B)/libsealane.a ## the crate beside ring, aws-lc-rs, RustCrypto's crates and the C library, in one run; writes bench/results
	rust/check $(B) bench-results
