# Included by the Makefile. sealane.so, the OpenSSL 3 provider: build, install, tests.

comma := ,
PROVIDER_SOURCES := $(sort $(wildcard provider/*.c))
PROVIDER_HEADERS := $(wildcard provider/*.h)

# $(call provider,folder,compiler,flags): the provider over the library that is built there.
define provider
$(1)/provider/%.o: provider/%.c $(PROVIDER_HEADERS) $(HEADERS)
	@mkdir -p $$(@D)
	$(2) $(CFLAGS) $(LIB_FLAGS) -Wno-pedantic $(3) -c -o $$@ $$<

$(1)/provider/sealane.so: $(PROVIDER_SOURCES:%.c=$(1)/%.o) $(1)/libsealane.a provider/provider.map
	$(2) $(CFLAGS) $(3) -shared -o $$@ -Wl,--version-script=provider/provider.map $(4) \
	    -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now $$(filter %.o %.a,$$^) $(LDFLAGS)
endef

$(eval $(call provider,$(B),$(CC),$(CET),-Wl$(comma)-z$(comma)defs))
$(eval $(call provider,$(B)/asan,$(CC),$(SANITIZE),))

.PHONY: provider
provider: $(B)/provider/sealane.so ## the OpenSSL 3 provider, sealane.so
