# The TLS gateway. Its packages are tested like those of all modules; these are additional suites.

.PHONY: gateway
gateway: ## the TLS gateway, build/sealane-gateway
	cd gateway && CGO_ENABLED=0 $(GO) build -o $(CURDIR)/$(B)/sealane-gateway ./cmd/sealane-gateway

# For programs with OpenSSL on kernels that do not allow BPF.
C_FILES += gateway/preload/sealane_keylog.c
.PHONY: gateway-keylog
gateway-keylog: $(B)/sealane_keylog.so ## a library that has programs with OpenSSL write a key log, by LD_PRELOAD
$(B)/sealane_keylog.so: gateway/preload/sealane_keylog.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -std=c11 -Wall -Wextra -Werror -fPIC -shared -o $@ $< $(LDFLAGS) -ldl

# Only packages with data shared between goroutines; elsewhere the detector checks only pointers, as in
# long-gateway-race-alone. Tests that start programs are skipped, because with cgo, which the detector needs, root's
# privileges stay. go-vet-gateway has vetted it.
gateway_race = env CGO_ENABLED=1 $(GO) test -C gateway -timeout 1h -v -race -vet=off
$(eval $(call suite,gateway-race,,sh -c 'failed=0; \
    $(gateway_race) -skip "^Test(Inline|Read$$$$|WriteEncrypted$$$$)|Synthetic|DropsRoot|KeysOf|Doctor|XDP" ./cmd/... $(addprefix ./internal/,control exchange keys listen output) || failed=1; \
    $(gateway_race) -run "Captures|QUIC|TunnelsAndFragments|Handshakes|KeyUpdatesRace" ./internal/engine || failed=1; exit $$$$failed'))

# The captures on arm64, the architecture of data processing units.
gateway_arm64 = sh -c 'command -v qemu-aarch64 >/dev/null || exit 77; cd gateway && CGO_ENABLED=0 GOARCH=arm64 \
    $(GO) test -v -vet=off -exec "qemu-aarch64 -cpu max" -run "$(1)" $(2)'
$(eval $(call suite,gateway-arm64,,$(call gateway_arm64,Captures,./internal/engine)))
$(eval $(call long_suite,long-gateway-arm64,,$(call gateway_arm64,Captures|Parse|Files|Feed|Given|Late|KeyLog,./internal/engine ./internal/packet ./internal/capture ./internal/keys ./handover)))

# Structures are designed for 64 bits, but must compile for 32.
GATEWAY_32 = $(addprefix ./gateway/,cmd/... handover/... xdp/... $(addprefix internal/,attack control engine flow held packet reassembly rules tls))
$(foreach p,arm 386,$(eval $(call long_suite,long-gateway-$(p),,env CGO_ENABLED=0 GOARCH=$(p) $(GO) vet -tests=false $(GATEWAY_32))))

$(eval $(call suite,gateway-demo,gateway,gateway/demo $(B)/sealane-gateway))

# The systemd unit, with a command that exists on this machine in place of the one that is not installed yet.
$(eval $(call suite,gateway-systemd,,sh -c 'command -v systemd-analyze >/dev/null || exit 77; mkdir -p $(B)/systemd; \
    sed "s|/usr/local/bin/sealane-gateway|/bin/true|" gateway/systemd/sealane-gateway.service >$(B)/systemd/sealane-gateway.service; \
    ! systemd-analyze verify $(B)/systemd/sealane-gateway.service 2>&1 | grep .'))

.PHONY: install-gateway
install-gateway: gateway ## the gateway, its systemd unit and settings, into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/etc/sealane-gateway
	install -m 755 $(B)/sealane-gateway $(DESTDIR)$(PREFIX)/bin
	sed 's|/usr/local/|$(PREFIX)/|g' gateway/systemd/sealane-gateway.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/sealane-gateway.service
	[ -e $(DESTDIR)$(PREFIX)/etc/sealane-gateway/gateway.toml ] || \
	    install -m 644 gateway/packaging/gateway.toml $(DESTDIR)$(PREFIX)/etc/sealane-gateway

GATEWAY_RESULTS = bench/results/gateway-$(CPU_NAME).md

# The second binary accepts segments without authentication: the difference is the cost of authenticated reassembly.
.PHONY: gateway-bench-trusting
gateway-bench-trusting:
	cd gateway && CGO_ENABLED=0 $(GO) build -tags trusting -o $(CURDIR)/$(B)/$@ ./bench

.PHONY: bench-gateway
bench-gateway: gateway gateway-bench-trusting ## measures the gateway and the limits of its speed; writes bench/results
	cd gateway && CGO_ENABLED=0 $(GO) build -o $(CURDIR)/$(B)/gateway-bench ./bench
	$(B)/gateway-bench -gateway $(B)/sealane-gateway -without $(B)/gateway-bench-trusting \
	    -attack gateway/internal/attack -go $(GO) -out $(GATEWAY_RESULTS)

$(eval $(call suite,bench-gateway-check,gateway gateway-bench-trusting,$(GO) run -C gateway ./bench -short -gateway $(CURDIR)/$(B)/sealane-gateway \
    -without $(CURDIR)/$(B)/gateway-bench-trusting))

$(eval $(call long_suite,long-gateway-soak,,$(GO_ENV) $(GO) test -C gateway ./internal/engine -v -count=1 -timeout $(LONG_LIMIT)s -run Soak -args -long $(LONG_SECONDS)s))
$(eval $(call long_suite,long-gateway-properties,,$(GO_ENV) $(GO) test -C gateway ./internal/engine -v -count=1 -timeout $(LONG_LIMIT)s \
    -run 'AnySegments|FlippedBits|Tshark|ForgedBeforeTLS' -args -long $(LONG_SECONDS)s))
$(eval $(call long_suite,long-gateway-race,,env CGO_ENABLED=1 $(GO) test -C gateway -v -race -count=1 -timeout $(LONG_LIMIT)s -run '^Test(Inline|Read$$$$|WriteEncrypted$$$$)|Doctor|XDP|^TestBudget$$$$|^TestTable$$$$|TestMemory|TestClosedRefuses' ./cmd/sealane-gateway ./internal/attack))
# Packages with one goroutine: the detector checks only pointers.
$(eval $(call long_suite,long-gateway-race-alone,,env CGO_ENABLED=1 $(GO) test -C gateway -v -race -count=1 -timeout $(LONG_LIMIT)s \
    -skip '^TestBudget$$$$|^TestTable$$$$|TestRandomAttackers|TestClosedAttackers|TestWork|TestForgedCost|TestForgedEnds|FuzzForged' \
    ./handover/... $(addprefix ./internal/,about attack capture engine flow h3 held packet quic reassembly rules tls)))
$(eval $(call long_suite,long-gateway-live,,$(GO_ENV) $(GO) test -C gateway ./cmd/sealane-gateway -v -count=1 -run '^TestInline$$$$|Chromium|Firefox|Suricata'))
$(eval $(call long_suite,long-gateway-attackers,,$(GO_ENV) $(GO) test -C gateway ./internal/attack -v -count=1 -timeout $(LONG_LIMIT)s \
    -run 'ClosedAttackers|Budget|ForgedEnds' -args -runs 100000 -long $(LONG_SECONDS)s))
# Runs all, unless the machine is so slow that the time limit is reached.
$(eval $(call long_suite,long-gateway-random,,$(GO_ENV) $(GO) test -C gateway ./internal/attack -v -count=1 -timeout $(LONG_LIMIT)s \
    -run 'RandomAttackers$$$$' -args -runs 340000 -long $$$$(($(LONG_LIMIT)*5/6))s))
$(eval $(call long_suite,long-gateway-quic,,$(GO_ENV) $(GO) test -C gateway ./internal/quic -v -count=1 -timeout $(LONG_LIMIT)s \
    -run 'RandomAttackers|TestTshark' -args -long $(LONG_SECONDS)s))
$(foreach f,engine:FuzzSegments held:FuzzHeld packet:FuzzParse packet:FuzzTunnels packet:FuzzFragments about:FuzzMessage doctor:FuzzExamine uprobes:FuzzFind uprobes:FuzzLine attack:FuzzForged rules:FuzzFrame rules:FuzzRule control:FuzzPut capture:FuzzReader keys:FuzzLog tls:FuzzMessages tls:FuzzStreams quic:FuzzDatagram quic:FuzzFrames h3:FuzzHTTP3 h3:FuzzQPACK,\
    $(eval $(call go_fuzzer,gateway,internal/$(word 1,$(subst :, ,$(f))),$(word 2,$(subst :, ,$(f))))))
$(eval $(call go_fuzzer,gateway,cmd/sealane-gateway,FuzzConfig))
