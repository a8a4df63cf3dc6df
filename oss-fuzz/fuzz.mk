# Included by the Makefile. Fuzzers of the C interface, which OSS-Fuzz builds with oss-fuzz/build.sh.

FUZZERS := packets quic aes
C_FILES += $(wildcard oss-fuzz/*.[ch])
SHELL_FILES += oss-fuzz/build.sh

$(B)/fuzz/fuzz_%: oss-fuzz/fuzz_%.c oss-fuzz/input.h $(B)/asan-clang/libsealane.a
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -fsanitize=fuzzer -o $@ $< $(B)/asan-clang/libsealane.a

# Runs the corpora, and a few seconds of fuzzing. In each planted fuzzer, the library gets other input than the
# reference.
FUZZ_FLAGS = -max_len=6000 -error_exitcode=1 -artifact_prefix=$(B)/fuzz/
PLANT_packets := s/\^= (uint8_t)(1 << flip/^= (uint8_t)(0 << flip/
PLANT_quic := s/back.number == asked/back.number != asked/
PLANT_aes := s/other + cut, text + cut/other + cut, text/
$(B)/planted/fuzz_%: oss-fuzz/fuzz_%.c oss-fuzz/input.h $(B)/asan-clang/libsealane.a
	@mkdir -p $(@D)
	sed '$(PLANT_$*)' $< >$@.c
	! cmp -s $< $@.c
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -Ioss-fuzz $(SANITIZE) -fsanitize=fuzzer -o $@ $@.c $(B)/asan-clang/libsealane.a

$(foreach f,$(FUZZERS),$(eval $(call suite,fuzz-$(f),$(B)/fuzz/fuzz_$(f),sh -c 'mkdir -p $(B)/fuzz/$(f) && \
    $(B)/fuzz/fuzz_$(f) $(FUZZ_FLAGS) -seed=1 -max_total_time=3 $(B)/fuzz/$(f) oss-fuzz/corpus/$(f)')))
$(eval $(call suite,fuzz-planted,$(FUZZERS:%=$(B)/planted/fuzz_%),\
    --must-fail "$(B)/planted/fuzz_% $(FUZZ_FLAGS) -seed=1 -max_total_time=20" $(FUZZERS)))
$(foreach f,$(FUZZERS),$(eval $(call long_suite,long-fuzz-$(f),$(B)/fuzz/fuzz_$(f),sh -c 'mkdir -p $(B)/fuzz/$(f) && \
    $(B)/fuzz/fuzz_$(f) $(FUZZ_FLAGS) -max_total_time=$(LONG_SECONDS) $(B)/fuzz/$(f) oss-fuzz/corpus/$(f)')))
