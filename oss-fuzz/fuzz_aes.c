/* Unauthenticated AES modes: pieces and the whole text agree, batches and single texts agree, and decryption reverses
 * encryption. */
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t text[LONGEST], whole[LONGEST], other[LONGEST], back[LONGEST];
    input from = {data, size};
    uint8_t raw[64], iv[16], iv2[16];
    sealane_aes_key key;
    sealane_aes_ctr ctr;
    sealane_xts_key xts;

    const size_t key_bytes = 16 + 8 * number(&from, 3), bytes = number(&from, LONGEST), cut = number(&from, bytes + 1);
    const size_t blocks = bytes / 16 * 16, block_cut = cut / 16 * 16;
    take(&from, raw, sizeof raw);
    take(&from, iv, sizeof iv);
    take(&from, text, bytes);
    must(sealane_aes_key_init(&key, raw, key_bytes) == 0, "a key is made");

    must(sealane_aes_ecb_encrypt(&key, whole, text, blocks) == 0 &&
             sealane_aes_ecb_decrypt(&key, back, whole, blocks) == 0,
         "ECB");
    must(!memcmp(back, text, blocks), "ECB: decryption undoes encryption");

    must(sealane_aes_ctr_init(&ctr, iv, 128) == 0 && sealane_aes_ctr_xor(&key, &ctr, whole, text, bytes) == 0, "CTR");
    must(sealane_aes_ctr_init(&ctr, iv, 128) == 0 && sealane_aes_ctr_xor(&key, &ctr, other, text, cut) == 0 &&
             sealane_aes_ctr_xor(&key, &ctr, other + cut, text + cut, bytes - cut) == 0,
         "CTR in two pieces");
    must(!memcmp(whole, other, bytes), "CTR: pieces and the whole agree");

    memcpy(iv2, iv, 16);
    must(sealane_aes_cbc_encrypt(&key, iv2, whole, text, blocks) == 0, "CBC");
    memcpy(iv2, iv, 16);
    must(sealane_aes_cbc_encrypt(&key, iv2, other, text, block_cut) == 0 &&
             sealane_aes_cbc_encrypt(&key, iv2, other + block_cut, text + block_cut, blocks - block_cut) == 0,
         "CBC in two pieces");
    must(!memcmp(whole, other, blocks), "CBC: pieces and the whole agree");
    memcpy(iv2, iv, 16);
    must(sealane_aes_cbc_decrypt(&key, iv2, back, whole, blocks) == 0 && !memcmp(back, text, blocks),
         "CBC: decryption undoes encryption");
    memcpy(iv2, iv, 16);
    sealane_cbc_op op = {.key = &key, .iv = iv2, .out = other, .in = text, .in_bytes = blocks};
    must(sealane_aes_cbc_encrypt_batch(&op, 1) == 1 && !memcmp(whole, other, blocks),
         "CBC: a batch and the whole agree");

    const size_t xts_bytes = key_bytes == 32 ? 64 : 32;
    const int made = sealane_aes_xts_key_init(&xts, raw, xts_bytes);
    must((made == 0) == (memcmp(raw, raw + xts_bytes / 2, xts_bytes / 2) != 0),
         "XTS: a key is made, but of two equal halves none");
    if (made == 0) {
        const int done = sealane_aes_xts_encrypt(&xts, iv, whole, text, bytes);
        must((done == 0) == (bytes >= 16), "XTS: whole blocks and more");
        must(done || (sealane_aes_xts_decrypt(&xts, iv, back, whole, bytes) == 0 && !memcmp(back, text, bytes)),
             "XTS: decryption undoes encryption");
    }
    sealane_aes_xts_key_wipe(&xts);
    sealane_aes_key_wipe(&key);
    return 0;
}
