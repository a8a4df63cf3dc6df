# Included by the Makefile. The Rust crates, which need only cargo. rust/check reports the checks that it could not
# run.

$(eval $(call suite,rust,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) test))
$(eval $(call suite,rust-lint,,rust/check $(B) lint))
$(eval $(call suite,rust-objects,,rust/check $(B) objects))
$(eval $(call long_suite,long-rust-deny,,rust/check $(B) deny))
$(eval $(call long_suite,long-rust-no-cc,,rust/check $(B) no-cc))
$(eval $(call long_suite,long-rust-features,,rust/check $(B) features))
$(eval $(call long_suite,long-rust-versions,,rust/check $(B) versions))
$(eval $(call long_suite,long-rust-minimal,,rust/check $(B) minimal))
$(eval $(call long_suite,long-rust-package,,rust/check $(B) package))
$(eval $(call long_suite,long-rust-oldest,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) oldest))
# Targets that are built, and tested if this machine can run them.
RUST_TARGETS := x86_64-unknown-linux-musl x86_64-pc-windows-gnu x86_64-pc-windows-msvc x86_64-pc-cygwin x86_64-apple-darwin \
    x86_64-unknown-freebsd x86_64-unknown-none x86_64-unknown-uefi aarch64-unknown-linux-gnu aarch64-unknown-linux-musl \
    aarch64-apple-darwin aarch64-pc-windows-msvc aarch64-unknown-uefi armv7-unknown-linux-gnueabihf arm-unknown-linux-gnueabihf \
    armv5te-unknown-linux-gnueabi riscv64gc-unknown-linux-gnu riscv64gc-unknown-linux-musl loongarch64-unknown-linux-musl \
    mips-unknown-linux-gnu powerpc64-unknown-linux-gnu s390x-unknown-linux-gnu wasm32-unknown-unknown wasm32-wasip1
RUST_CPUS_aarch64-unknown-linux-gnu := cortex-a72 max
RUST_CPUS_aarch64-unknown-linux-musl := max
RUST_CPUS_armv7-unknown-linux-gnueabihf := cortex-a7 max
RUST_CPUS_arm-unknown-linux-gnueabihf := arm1176
RUST_CPUS_armv5te-unknown-linux-gnueabi := arm1176 arm926
RUST_CPUS_riscv64gc-unknown-linux-gnu := max rv64 rv64,zbb=off
RUST_CPUS_riscv64gc-unknown-linux-musl := max
$(foreach target,$(RUST_TARGETS),$(eval $(call long_suite,long-rust-$(target),$(B)/vectors.txt $(B)/aeads.txt,rust/targets $(B) $(target) $(RUST_CPUS_$(target)))))
$(eval $(call long_suite,long-rust-rustls,,rust/check $(B) rustls))
$(eval $(call long_suite,long-rust-bases,,rust/check $(B) bases))
$(eval $(call long_suite,long-rust-rustls-oldest,,rust/check $(B) rustls-oldest))
$(eval $(call long_suite,long-rust-rustcrypto,,rust/peers $(B) rustcrypto))
$(eval $(call long_suite,long-rust-ring,,rust/peers $(B) ring))
$(eval $(call long_suite,long-rust-boringtun,,rust/peers $(B) boringtun))
$(eval $(call long_suite,long-rust-quinn,,rust/peers $(B) quinn))
$(eval $(call long_suite,long-rust-tls,,rust/peers $(B) tls))
$(eval $(call long_suite,long-rust-sockets,,rust/peers $(B) sockets))
$(eval $(call long_suite,long-rust-fuzz,,rust/check $(B) fuzz $(shell echo $$((2 * $(LONG_FUZZ_SECONDS))))))
$(eval $(call long_suite,long-rust-bench,$(B)/libsealane.a,rust/check $(B) bench))
$(eval $(call long_suite,long-rust-residue,,rust/check $(B) residue))
$(eval $(call long_suite,long-rust-miri,,rust/check $(B) miri))
$(eval $(call long_suite,long-rust-asan,$(B)/vectors.txt $(B)/aeads.txt,rust/check $(B) asan))

.PHONY: bench-rust
bench-rust: $(B)/libsealane.a ## the crate beside ring, aws-lc-rs, RustCrypto's crates and the C library, in one run; writes bench/results
	rust/check $(B) bench-results
