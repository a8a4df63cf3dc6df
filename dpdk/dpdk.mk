# Included by the Makefile. crypto_sealane, a cryptodev driver for DPDK: build, figures, tests. docs/dpdk.md says how to use it.

C_FILES += $(wildcard dpdk/*.c dpdk/test/*.c)
SHELL_FILES += dpdk/headers dpdk/bench

DPDK_DRIVER := $(B)/dpdk/librte_crypto_sealane.so
# Drivers use parts of DPDK outside its stable interface, so a driver fits only the DPDK version that it was built for.
DPDK_FLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra $(WERROR) -DALLOW_INTERNAL_API -DALLOW_EXPERIMENTAL_API \
    $(shell pkg-config --cflags libdpdk) -isystem $(shell pkg-config --variable=includedir libdpdk)/dpdk -I$(B)/dpdk/headers
DPDK_LIBRARIES = $(shell pkg-config --libs libdpdk) -lrte_bus_vdev

$(B)/dpdk/headers/cryptodev_pmd.h: dpdk/headers
	dpdk/headers $(@D) $(DPDK_SOURCE)

$(DPDK_DRIVER): dpdk/sealane_pmd.c $(B)/libsealane.a $(B)/dpdk/headers/cryptodev_pmd.h $(HEADERS)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(DPDK_FLAGS) -fPIC -fvisibility=hidden -shared -Wl,-z,defs -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now \
	    -o $@ $(filter %.c %.a,$^) $(LDFLAGS) $(DPDK_LIBRARIES)

# The driver is linked into its test.
$(B)/dpdk/test-driver: dpdk/test/driver.c dpdk/sealane_pmd.c $(B)/asan/libsealane.a $(B)/dpdk/headers/cryptodev_pmd.h $(HEADERS)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(DPDK_FLAGS) $(SANITIZE) -o $@ $(filter %.c %.a,$^) $(LDFLAGS) $(DPDK_LIBRARIES)

.PHONY: dpdk bench-dpdk
dpdk: $(DPDK_DRIVER) ## the DPDK driver, librte_crypto_sealane.so; DPDK_SOURCE names DPDK's source; by default the package's is fetched

DPDK_RESULTS = bench/results/dpdk-$(CPU_NAME).md
bench-dpdk: dpdk ## the driver beside DPDK's own; writes bench/results
	dpdk/bench $(DPDK_DRIVER) "$(CPU_NAME)" > $(B)/dpdk/figures.md
	cp $(B)/dpdk/figures.md $(DPDK_RESULTS)
	cat $(DPDK_RESULTS)

# LeakSanitizer would report memory that DPDK keeps until exit.
dpdk_test = env ASAN_OPTIONS=detect_leaks=0 $(B)/dpdk/test-driver --no-huge --no-pci --no-telemetry --file-prefix=sealane-test --log-level=3 -m 256 -l 0 --vdev crypto_sealane
$(eval $(call long_suite,long-dpdk,,sh -c 'pkg-config --exists libdpdk || exit 77; \
    [ -e $(B)/dpdk/headers/cryptodev_pmd.h ] || dpdk/headers $(B)/dpdk/headers $(DPDK_SOURCE) || exit $$$$?; \
    $(MAKE) -s $(DPDK_DRIVER) $(B)/dpdk/test-driver && $(dpdk_test)'))
$(eval $(call long_suite,long-dpdk-planted,test-long-dpdk,--must-fail "$(dpdk_test) -- --plant=%" \
    text tag status order statistics mistakes synchronous))
