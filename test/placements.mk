# Included by the Makefile. Tests where the parts of a packet may lie. In each planted fault, the front end's fast path
# lacks one of its tests, which must be found.

$(B)/placements: test/placements.c $(B)/libsealane.a
	$(CC) $(CFLAGS) $(TEST_FLAGS) -o $@ $^

$(B)/asan-clang/placements: test/placements.c $(B)/asan-clang/libsealane.a
	$(CLANG) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -o $@ $^

# The omitted test of src/contract.h or src/sealane.c, by name.
PLACEMENTS_LACK_no_text := out == NULL || in == NULL
PLACEMENTS_LACK_no_tag := p->tag == NULL
PLACEMENTS_LACK_no_ad := p->ad == NULL
PLACEMENTS_LACK_no_nonce := p->nonce == NULL
PLACEMENTS_LACK_no_key := p->key == NULL
PLACEMENTS_LACK_much_text := bytes > most
PLACEMENTS_LACK_much_ad := p->ad_bytes > most.ad
PLACEMENTS_LACK_output_input := in != out && overlap(in, bytes, out, bytes)
PLACEMENTS_LACK_output_ad := overlap(p->ad, p->ad_bytes, p->out, p->bytes)
PLACEMENTS_LACK_output_nonce := overlap(p->nonce, p->nonce_bytes, p->out, p->bytes)
PLACEMENTS_LACK_output_tag := overlap(p->tag, most.tag, p->out, p->bytes)
PLACEMENTS_LACK_tag_ad := overlap(p->ad, p->ad_bytes, p->tag, tag_written)
PLACEMENTS_LACK_tag_nonce := overlap(p->nonce, p->nonce_bytes, p->tag, tag_written)
PLACEMENTS_PLANTED := $(patsubst PLACEMENTS_LACK_%,%,$(sort $(filter PLACEMENTS_LACK_%,$(.VARIABLES))))

# A copy of the sources without the test; it must differ from the original.
$(B)/planted/placements_%: test/placements.c $(wildcard src/*.[ch]) include/sealane.h asm/args.h $(B)/libsealane.a
	@rm -rf $@.d && mkdir -p $@.d/asm
	@cp -r src include $@.d && cp asm/args.h $@.d/asm
	sed -i 's/REFUSE_IF($(PLACEMENTS_LACK_$*), [A-Z_]*);//' $@.d/src/contract.h $@.d/src/sealane.c
	! diff -rq src $@.d/src >/dev/null
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -Wno-unused -o $@ test/placements.c $@.d/src/sealane.c $@.d/src/batch.c $(B)/libsealane.a

$(eval $(call suite,placements,$(B)/placements,$(B)/placements))
$(eval $(call suite,placements-asan,$(B)/asan-clang/placements,$(B)/asan-clang/placements))
$(eval $(call suite,placements-planted,$(addprefix $(B)/planted/placements_,$(PLACEMENTS_PLANTED)),\
    --must-fail "$(B)/planted/placements_%" $(PLACEMENTS_PLANTED)))
