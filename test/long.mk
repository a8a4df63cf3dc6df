# make test-long: suites that take minutes. Each fuzzer uses one processor.

$(eval $(call long_suite,long-check,$(B)/check,sh -ec 'end=$$$$(($$$$(date +%s) + $(LONG_SECONDS))); n=0; \
    while [ $$$$(date +%s) -lt $$$$end ]; do $(B)/check >$(B)/long-check.log || { cat $(B)/long-check.log; exit 1; }; n=$$$$((n + 1)); done; \
    tail -n 1 $(B)/long-check.log; echo "$$$$n times"'))
# Starts a thousand processes in each language on a busy machine.
$(B)/choice: test/choice.c $(B)/libsealane.a
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -o $@ $^
$(eval $(call long_suite,long-choices,$(B)/choice,sh -ec '$(GO_ENV) $(GO) build -o $(B)/choice-go ./test/choice; \
    rust=; ! command -v cargo >$(B)/choice-cargo || { rust/check $(B) choice-program; \
    rust="$(B)/rust-choice --exact level::tests::chooses --ignored --nocapture"; }; \
    test/choices 1000 $(B)/choice $(B)/choice-go $$$${rust:+"$$$$rust"}'))
$(B)/planted/choice_%: test/choice.c $(B)/libsealane.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -DPLANT=$* -o $@ $^
$(eval $(call long_suite,long-choices-planted,$(addprefix $(B)/planted/choice_,1 2 3),--must-fail "test/choices 4 $(B)/planted/choice_%" 1 2 3))
$(eval $(call long_suite,long-secret-trace,$(B)/secret_trace,$(B)/secret_trace --long=$(LONG_TRACE_SECONDS)))
$(foreach part,vet test,$(eval $(call long_suite,long-platforms-$(part),,$(GO_ENV) $(GO) test . -v -count=1 -timeout $(LONG_LIMIT)s \
    -run Platforms/$(part) -args -long)))
$(eval $(call long_suite,long-go,,$(GO_ENV) $(GO) test -v -count=1 -timeout $(LONG_LIMIT)s ./internal/kernel ./internal/aead \
    -run 'RandomLengths|BatchMixes|Stress' -args -long $(LONG_LEVEL_SECONDS)s))
$(eval $(call long_suite,long-weave,,$(GO_ENV) $(GO) test ./tools/weave -v -count=1 -run OneChange -args -long))
$(eval $(call long_suite,long-fuzz-openssl,$(B)/fuzz_openssl,$(B)/fuzz_openssl --seconds=$(LONG_SECONDS)))
$(eval $(call long_suite,long-fuzz-libfuzzer,$(B)/fuzz_libfuzzer,sh -ec 'mkdir -p $(B)/corpus; \
    $(B)/fuzz_libfuzzer -max_total_time=$(LONG_SECONDS) -max_len=9000 -artifact_prefix=$(B)/ $(B)/corpus'))

# $(call go_fuzzer,module,package,function)
define go_fuzzer
$(call long_suite,long-$(3),,$(GO_ENV) $(GO) test -C $(1) ./$(2) -run '^$$$$' -fuzz '^$(3)$$$$' -fuzztime $(LONG_FUZZ_SECONDS)s -fuzzminimizetime 100x -parallel 1)
endef
$(foreach f,FuzzPeer FuzzBatch,$(eval $(call go_fuzzer,.,internal/aead,$(f))))
$(eval $(call long_suite,long-govulncheck,,$(GO_ENV) $(GO) test -C cmd/sealane ./internal/accelerate -v -count=1 -run Govulncheck -args -long))
$(eval $(call long_suite,long-install,,$(GO_ENV) $(GO) test -C cmd/sealane . -v -count=1 -timeout 1h -run Install -args -long))
$(eval $(call long_suite,long-build,,$(GO_ENV) $(GO) test -C cmd/sealane ./internal/accelerate -v -count=1 -timeout 1h -run '^TestBuild$$$$|SSHTests|Reproducible' -args -long))
$(eval $(call long_suite,long-std,,$(GO_ENV) $(GO) test -C cmd/sealane ./internal/accelerate -v -count=1 -timeout 2h -run Std -args -long))
$(eval $(call long_suite,long-tailscaled,,$(GO_ENV) $(GO) test -C cmd/sealane ./internal/accelerate -v -count=1 -timeout 2h -run Tailscaled -args -long))
$(eval $(call long_suite,long-gains,https-programs,$(GO_ENV) SEALANE=$(CURDIR)/$(B)/sealane DEMONSTRATION=$(HTTPS)/demonstration \
    $(GO) test -C test/long/gains -v -count=1 -timeout 2h .))
$(eval $(call long_suite,long-quic,,env GOWORK=off $(GO_ENV) $(GO) test -C test/long/quic -v -count=1 -timeout $(LONG_LIMIT)s .))
