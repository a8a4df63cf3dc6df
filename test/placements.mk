# Included by the Makefile. Where the parts of a packet may lie; and the same with the front end's fast way lacking one of its
# tests, which must be found.

$(B)/placements: test/placements.c $(B)/libsealane.a
	$(CC) $(CFLAGS) $(TEST_FLAGS) -o $@ $^

$(B)/asan-clang/placements: test/placements.c $(B)/asan-clang/libsealane.a
	$(CLANG) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) -o $@ $^

# By name, the test that is left out.
PLACEMENTS_LACK_no_output := out == NULL
PLACEMENTS_LACK_no_input := in == NULL
PLACEMENTS_LACK_no_tag := tag == NULL
PLACEMENTS_LACK_no_ad := ad == NULL
PLACEMENTS_LACK_no_nonce := nonce == NULL
PLACEMENTS_LACK_no_key := k == NULL
PLACEMENTS_LACK_much_ad := ad_bytes >= PLAIN_BYTES
PLACEMENTS_LACK_output_input := touch(in, n, out, n)
PLACEMENTS_LACK_output_ad := touch(ad, ad_bytes, out, n)
PLACEMENTS_LACK_output_nonce := touch(nonce, 12, out, n)
PLACEMENTS_LACK_output_tag := touch(tag, SEALANE_TAG_BYTES, out, n)
PLACEMENTS_LACK_tag_ad := !open && touch(ad, ad_bytes, tag, SEALANE_TAG_BYTES)
PLACEMENTS_LACK_tag_nonce := !open && touch(nonce, 12, tag, SEALANE_TAG_BYTES)
PLACEMENTS_PLANTED := $(patsubst PLACEMENTS_LACK_%,%,$(sort $(filter PLACEMENTS_LACK_%,$(.VARIABLES))))

$(B)/planted/placements.o: test/placements.c include/sealane.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TEST_FLAGS) -c -o $@ $<

$(B)/planted/placements_%: src/sealane.c $(B)/planted/placements.o $(B)/libsealane.a
	sed 's/GIVE_UP_IF($(PLACEMENTS_LACK_$*));//' $< >$@.c
	$(CC) $(TEST_FLAGS) -Wno-unused-function -iquote src -c -o $@.o $@.c
	$(CC) -o $@ $(B)/planted/placements.o $@.o $(B)/libsealane.a

$(eval $(call suite,placements,$(B)/placements,$(B)/placements))
$(eval $(call suite,placements-asan,$(B)/asan-clang/placements,$(B)/asan-clang/placements))
$(eval $(call suite,placements-planted,$(addprefix $(B)/planted/placements_,$(PLACEMENTS_PLANTED)),\
    --must-fail "$(B)/planted/placements_%" $(PLACEMENTS_PLANTED)))
