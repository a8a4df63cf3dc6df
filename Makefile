# sealane. The two commands: make run, make test.

CC ?= cc
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR ?=
B ?= build

VERSION := $(shell sed -n 's/^.define SEALANE_VERSION "\(.*\)"/\1/p' include/sealane.h)
SONAME := libsealane.so.0

WARNINGS := -Wall -Wextra -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wcast-align
LIB_FLAGS := -std=c11 -Iinclude -fPIC -fvisibility=hidden $(WARNINGS)
# Intel CET: indirect calls land on endbr64. Compilers for other targets do not know the option.
CET := $(shell echo 'int x;' | $(CC) -fcf-protection -x c -c -o /dev/null - 2>/dev/null && echo -fcf-protection)

C_SOURCES := $(sort $(wildcard src/*.c))
ASM_SOURCES := $(sort $(wildcard asm/x86_64/*.S))
HEADERS := $(wildcard include/*.h src/*.h asm/*.h asm/asm.S test/*.h)

.PHONY: all lib
all: lib $(B)/check

# ---- a variant of the library and its tests: $(call variant,folder,flags) ----

define variant
$(1)/src/%.o: src/%.c $(HEADERS) $(ASM_SOURCES)
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS) $(LIB_FLAGS) $(2) -c -o $$@ $$<

$(1)/asm/%.o: asm/%.S $(HEADERS)
	@mkdir -p $$(@D)
	$(CC) $(LIB_FLAGS) $(2) -c -o $$@ $$<

$(1)/libsealane.a: $(C_SOURCES:%.c=$(1)/%.o) $(ASM_SOURCES:%.S=$(1)/%.o)
	rm -f $$@
	$(AR) rcs $$@ $$^
endef

$(eval $(call variant,$(B),$(CET)))

lib: $(B)/libsealane.a $(B)/$(SONAME)

$(B)/$(SONAME): $(B)/libsealane.a src/libsealane.map
	$(CC) $(CFLAGS) -shared -o $@ -Wl,-soname,$(SONAME) -Wl,--version-script=src/libsealane.map -Wl,-z,defs \
	    -Wl,-z,noexecstack -Wl,-z,relro -Wl,-z,now -Wl,--whole-archive $(B)/libsealane.a -Wl,--no-whole-archive $(LDFLAGS)
	ln -sf $(SONAME) $(B)/libsealane.so

clean:
	rm -rf $(B)

TEST_FLAGS := -std=c11 -Iinclude $(WARNINGS)
$(B)/check: test/check.c test/abi_x86_64.S $(B)/libsealane.a $(HEADERS)
	$(CC) $(CFLAGS) $(TEST_FLAGS) $(CET) -o $@ test/check.c test/abi_x86_64.S $(B)/libsealane.a
