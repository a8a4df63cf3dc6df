# Other C libraries and systems for which this machine can build: musl, and Windows with mingw-w64 under wine.

ifneq ($(filter x86_64,$(ISA)),)
$(eval $(call variant,$(B)/musl,musl-gcc))
$(eval $(call suite,check-musl,$(B)/musl/check,$(B)/musl/check --some))
$(eval $(call long_suite,long-check-musl,$(B)/musl/check,$(B)/musl/check))
$(eval $(call suite,setuid-musl,$(B)/musl/api,test/setuid $(B)/musl/api))
$(eval $(call suite,api-musl,$(B)/musl/api $(B)/vectors.txt,$(B)/musl/api $(B)/vectors.txt))

WINDOWS := $(B)/windows
WINDOWS_CC ?= x86_64-w64-mingw32-gcc
$(eval $(call variant,$(WINDOWS),$(WINDOWS_CC),-DSEALANE_BUILD_SHARED))
WINDOWS_OBJECTS := $(C_SOURCES:%.c=$(WINDOWS)/%.o) $(ASM_SOURCES:%.S=$(WINDOWS)/%.o)

$(WINDOWS)/sealane.dll: $(WINDOWS_OBJECTS)
	$(WINDOWS_CC) $(CFLAGS) -shared -o $@ $^

$(WINDOWS)/api.exe: test/api.c $(WINDOWS_OBJECTS)
	$(WINDOWS_CC) $(CFLAGS) $(TEST_FLAGS) -static -o $@ $^ -pthread

$(WINDOWS)/api-dll.exe: test/api.c $(WINDOWS)/sealane.dll
	$(WINDOWS_CC) $(CFLAGS) $(TEST_FLAGS) -DSEALANE_USE_SHARED -o $@ $^ -static -pthread

WINDOWS_PROGRAMS := $(addprefix $(WINDOWS)/,sealane.dll api.exe api-dll.exe)
$(eval $(call suite,windows,$(WINDOWS_PROGRAMS),test/windows $(WINDOWS)))
$(eval $(call long_suite,long-windows,$(WINDOWS_PROGRAMS) $(B)/vectors.txt,test/windows $(WINDOWS) --run $(LEVELS)))
endif
