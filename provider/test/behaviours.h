/* Differences between the default providers of OpenSSL versions, as far as these tests see them. Only here may the
 * tests expect different results from different versions.
 *
 * Each is observed from the default provider itself, not derived from its version number, because distributions
 * backport fixes. sealane behaves the same with every OpenSSL. */
#ifndef SEALANE_TEST_BEHAVIOURS_H
#define SEALANE_TEST_BEHAVIOURS_H

#include "providers.h"

typedef enum {
    AD_AFTER_TEXT_IS_REFUSED,
    TEXT_AFTER_FINAL_IS_REFUSED,
    CIPHER_OF_NOTHING_ENDS_A_PACKET,
    NEW_KEY_LEAVES_THE_SPENT_BLOCK,
    STREAM_TELLS_ITS_IV,
    PACKET_WITHOUT_TAG_IS_REFUSED,
    BEHAVIOURS
} behaviour;

/* A context that seals, after 7 bytes of text. */
static inline EVP_CIPHER_CTX *behaviour_context(EVP_CIPHER *cipher, int enc)
{
    static const uint8_t key[32] = {1}, iv[16] = {2};
    uint8_t text[7] = {3};
    int n;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(c, cipher, NULL, key, iv, enc);
    EVP_CipherUpdate(c, text, &n, text, sizeof text);
    return c;
}

static inline int refuses_ad_after_text(EVP_CIPHER_CTX *c)
{
    int n;
    return EVP_CipherUpdate(c, NULL, &n, (const uint8_t *)"ad", 2) <= 0;
}

static inline int refuses_text_after_final(EVP_CIPHER_CTX *c)
{
    uint8_t text[7] = {0};
    int n;
    EVP_CipherFinal_ex(c, text, &n);
    return EVP_CipherUpdate(c, text, &n, text, sizeof text) <= 0;
}

/* The tag changes when the packet ends; before that it is zero. */
static inline int ends_by_cipher(EVP_CIPHER_CTX *c)
{
    static const uint8_t none[16];
    uint8_t tag[16];
    EVP_Cipher(c, NULL, NULL, 0);
    return EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) > 0 && memcmp(tag, none, sizeof tag) != 0;
}

/* Plain ChaCha20: the same key again, without an IV, after 7 bytes. */
static inline int leaves_spent_block(EVP_CIPHER_CTX *c)
{
    uint8_t key[32] = {1}, first[8] = {0}, text[8] = {0}, none[16] = {0};
    int n;
    EVP_CipherInit_ex(c, NULL, NULL, key, none, 1);
    EVP_CipherUpdate(c, first, &n, first, sizeof first);
    EVP_CipherInit_ex(c, NULL, NULL, key, NULL, 1);
    EVP_CipherUpdate(c, text, &n, text, sizeof text);
    return memcmp(first, text, sizeof text) != 0;
}

static inline int tells_iv(EVP_CIPHER_CTX *c)
{
    uint8_t iv[16];
    return EVP_CIPHER_CTX_get_updated_iv(c, iv, sizeof iv) > 0 && iv[0] == 3;
}

static inline int refuses_no_tag(EVP_CIPHER_CTX *c)
{
    uint8_t text[12] = {0};
    int n;
    EVP_CipherInit_ex(c, NULL, NULL, NULL, text, 0);
    return EVP_CipherFinal_ex(c, text, &n) <= 0;
}

/* sealane does each of these with every OpenSSL. */
static const struct {
    const char *name;
    const char *cipher;
    int (*asked)(EVP_CIPHER_CTX *);
} behaviour_table[BEHAVIOURS] = {
    [AD_AFTER_TEXT_IS_REFUSED] = {"refuses associated data after text", "ChaCha20-Poly1305", refuses_ad_after_text},
    [TEXT_AFTER_FINAL_IS_REFUSED] = {"refuses text after the end of a packet", "ChaCha20-Poly1305",
                                     refuses_text_after_final},
    [CIPHER_OF_NOTHING_ENDS_A_PACKET] = {"ends a packet by EVP_Cipher of nothing", "ChaCha20-Poly1305", ends_by_cipher},
    [NEW_KEY_LEAVES_THE_SPENT_BLOCK] = {"begins a new block under a new key", "ChaCha20", leaves_spent_block},
    [STREAM_TELLS_ITS_IV] = {"tells the counter of ChaCha20", "ChaCha20", tells_iv},
    [PACKET_WITHOUT_TAG_IS_REFUSED] = {"refuses to open without a tag", "ChaCha20-Poly1305", refuses_no_tag},
};

/* Asks that provider, "provider=default" or "provider=sealane"; -1 if it does not have the cipher. */
static inline int behaves(behaviour b, const char *properties)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, behaviour_table[b].cipher, properties);
    if (cipher == NULL)
        return -1;
    EVP_CIPHER_CTX *c = behaviour_context(cipher, 1);
    const int is = behaviour_table[b].asked(c);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return is;
}

#endif
