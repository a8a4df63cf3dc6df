/* No branch and no address here depends on a byte of the text, the MAC or the padding. A peer could use such timing to
 * decrypt (Vaudenay 2002; AlFardan and Paterson, "Lucky Thirteen", 2013). */
#include "padding.h"

#include "../src/bytes.h"

enum { PADDING_MAX = 256 /* padding bytes including the length byte */ };

/* All ones if a <= b, otherwise 0; both below 2^63. Hides a as well: compilers derive loop counts from b - a. */
static uint64_t at_most(uint64_t a, uint64_t b)
{
    return hide((b - hide(a)) >> 63) - 1;
}

/* All ones if the last `count` bytes equal the very last byte. */
static uint64_t repeats(const uint8_t *text, size_t bytes, uint64_t count)
{
    const uint8_t last = text[bytes - 1];
    uint64_t different = 0;
    for (size_t i = 2; i <= bytes; i++)
        different |= (uint64_t)(text[bytes - i] ^ last) & at_most(i, count);
    return at_most(different, 0);
}

int padding_pkcs7(const uint8_t block[PADDING_BLOCK])
{
    const uint64_t count = block[PADDING_BLOCK - 1];
    const uint64_t good = at_most(1, count) & at_most(count, PADDING_BLOCK) & repeats(block, PADDING_BLOCK, count);
    int text_bytes = (int)(((PADDING_BLOCK - count) & good) | ~good);
    return text_bytes;
}

/* If mask is set, moves the window's bytes from `from` on, and `step` bytes before it, up by `step`. It starts at the
 * highest word, so no source word is overwritten too early. */
static void move_up(uint8_t *window, size_t from, size_t end, size_t step, uint64_t mask)
{
    for (size_t i = end; i > from;) {
        uint64_t here, below;
        i -= sizeof here;
        memcpy(&here, window + i, sizeof here);
        memcpy(&below, window + i - step, sizeof below);
        here = (below & mask) | (here & ~mask);
        memcpy(window + i, &here, sizeof here);
    }
}

/* Takes the MAC that ends `removed` bytes, at most 256, before the end of the record. A window of the record's end
 * moves up by that distance, one bit of the number at a time, the highest first. Each step covers only bytes that lower
 * bits can reach. */
static void take_mac(uint8_t *mac, size_t mac_bytes, const uint8_t *record, size_t bytes, uint64_t removed)
{
    uint8_t window[PADDING_MAC_MAX + 2 * PADDING_MAX + sizeof(uint64_t)] = {0};
    const size_t end = sizeof window, most = mac_bytes + PADDING_MAX, n = bytes < most ? bytes : most;
    memcpy(window + end - n, record + bytes - n, n);
    for (int bit = 8; bit >= 0; bit--) {
        const size_t step = (size_t)1 << bit;
        move_up(window, end - mac_bytes - (step - 1), end, step, 0 - hide(removed >> bit & 1));
    }
    memcpy(mac, window + end - mac_bytes, mac_bytes);
    wipe(window, sizeof window);
}

int padding_tls(const uint8_t *record, size_t bytes, int is_ssl3, size_t mac_bytes, const uint8_t fake[PADDING_MAC_MAX],
                uint8_t mac[PADDING_MAC_MAX], size_t *text_bytes)
{
    if (mac_bytes > PADDING_MAC_MAX || bytes < mac_bytes + 1)
        return 0;
    const uint64_t count = (uint64_t)record[bytes - 1] + 1;
    const size_t checked = bytes < PADDING_MAX ? bytes : PADDING_MAX;
    uint64_t good = at_most(count + mac_bytes, bytes);
    if (is_ssl3) /* SSL 3 padding may have any value, but at most one block */
        good &= at_most(count, PADDING_BLOCK);
    else
        good &= repeats(record + bytes - checked, checked, count);
    const uint64_t removed = count & good;
    if (mac_bytes == 0) {
        int is_good = hide(good) != 0;
        DECLASSIFY(is_good);
        if (!is_good)
            return 0;
    } else {
        take_mac(mac, mac_bytes, record, bytes, removed);
        for (size_t i = 0; i < mac_bytes; i++)
            mac[i] = (uint8_t)((mac[i] & good) | (fake[i] & ~good));
    }
    *text_bytes = bytes - mac_bytes - (size_t)removed;
    return 1;
}
