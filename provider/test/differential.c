/* Makes the same random calls to OpenSSL's default provider and to sealane: every return value, length, output, tag and
 * error must be the same.
 *
 *     differential FOLDER [--seconds=N] [--seed=N] [--cipher=NAME] [--plant=WHAT]
 *
 * FOLDER contains sealane.so. --plant makes one observation of sealane differ: the run must then fail. */
#include <time.h>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/prov_ssl.h>

#include "../../test/seed.h"
#include "behaviours.h"

enum { LONGEST = 20000, ROOM = LONGEST + 64 };

enum { DEFAULT, SEALANE, SIDES };
enum { RECORD_ENDED = 1, PACKET_ENDED };

static const char *const cipher_names[] = {"ChaCha20-Poly1305", "ChaCha20",        "AES-128-GCM",    "AES-192-GCM",
                                           "AES-256-GCM",       "AES-128-CTR",     "AES-192-CTR",    "AES-256-CTR",
                                           "AES-128-XTS",       "AES-256-XTS",     "AES-128-CBC",    "AES-192-CBC",
                                           "AES-256-CBC",       "AES-128-GCM-SIV", "AES-256-GCM-SIV"};
enum { CIPHERS = sizeof cipher_names / sizeof cipher_names[0] };

static const char *const plants[] = {"none", "return", "length", "output", "tag", "error", "parameter"};
static int plant;

static uint64_t state, seed, calls, sequences;
static int stock[BEHAVIOURS]; /* behaviors of this OpenSSL's default provider */
static const char *subject;   /* the cipher of the sequence */
static char history[4096];
static size_t history_bytes;

static unsigned below(unsigned n)
{
    return (unsigned)(next_random(&state) % n);
}

static int one_in(unsigned n)
{
    return below(n) == 0;
}

static void fill(uint8_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (uint8_t)next_random(&state);
}

/* Mostly short; often near a block, the longest piece that is kept, or the start of long strides. */
static unsigned text_length(void)
{
    static const unsigned edges[] = {16, 64, 128, 256, 1024, 1420, 2048, 4096, 16384};
    switch (below(8)) {
    case 0:
        return below(3000);
    case 1:
        return one_in(8) ? below(LONGEST) : below(300);
    case 2:
    case 3:
        return edges[below(sizeof edges / sizeof edges[0])] - 3 + below(7);
    default:
        return below(150);
    }
}

/* The observable results of one call. */
typedef struct {
    int result, length;
    uint64_t parameter;
    unsigned long error;
    uint8_t output[ROOM];
    size_t output_bytes;
} observation;

typedef struct {
    EVP_CIPHER *cipher[SIDES];
    EVP_CIPHER_CTX *ctx[SIDES];
    int is_aead, is_gcm, is_siv, is_ctr, is_xts, is_cbc;
    int has_key;   /* AES-XTS: the default provider's copies of a context without one jump to NULL */
    int announced; /* AES-GCM: a TLS record may have been, and nothing come since */
    int opens; /* AES-GCM: the last init was one to decrypt, and no failure, which leaves the providers as they were */
    int needs_iv; /* RECORD_ENDED or PACKET_ENDED: an AEAD packet has ended: what follows has no defined result until
                     there is a new IV */
    int spoiled;  /* an unspecified part of several parameters has been set: no more calls */
    int has_text; /* ChaCha20-Poly1305, AES-GCM-SIV: the packet */
    int held;   /* AES-CBC: some of the text may wait for more, over which the default provider writes if it is in place
                 */
    int record; /* bytes that the next TLS record must have, 0 too; negative if none has been announced */
} pair;

static observation seen[SIDES];

static void note(const char *format, int a, int b)
{
    if (history_bytes < sizeof history - 80) {
        const int n = snprintf(history + history_bytes, sizeof history - history_bytes, format, a, b);
        history_bytes += (size_t)n;
    }
}

static void die(const char *what)
{
    char errors[SIDES][160] = {"none", "none"};
    printf("cipher %s\n", subject);
    for (int s = 0; s < SIDES; s++)
        if (seen[s].error != 0)
            ERR_error_string_n(seen[s].error, errors[s], sizeof errors[s]);
    printf("FAIL %s differs: default %d, length %d, parameter %llu, error %s; sealane %d, %d, %llu, %s\n", what,
           seen[DEFAULT].result, seen[DEFAULT].length, (unsigned long long)seen[DEFAULT].parameter, errors[DEFAULT],
           seen[SEALANE].result, seen[SEALANE].length, (unsigned long long)seen[SEALANE].parameter, errors[SEALANE]);
    printf("seed %llu, sequence %llu:%s\n", (unsigned long long)seed, (unsigned long long)sequences, history);
    exit(1);
}

static void start_observing(void)
{
    for (int s = 0; s < SIDES; s++) {
        seen[s].result = seen[s].length = 0;
        seen[s].parameter = seen[s].error = 0;
        seen[s].output_bytes = 0;
    }
    ERR_clear_error();
}

/* The reason only: the default provider's own tag for its errors is ERR_LIB_PROV, sealane's is the same. */
static void take_error(int side)
{
    const unsigned long e = ERR_peek_last_error();
    seen[side].error = e == 0 ? 0 : ERR_PACK(ERR_GET_LIB(e), 0, ERR_GET_REASON(e));
    ERR_clear_error();
}

static void plant_difference(const char *call)
{
    observation *o = &seen[SEALANE];
    if (sequences < 20)
        return;
    switch (plant) {
    case 1:
        o->result ^= 1;
        break;
    case 2:
        o->length += strcmp(call, "update") == 0;
        break;
    case 3:
        if (o->output_bytes > 100)
            o->output[100] ^= 1;
        break;
    case 4:
        if (strcmp(call, "get tag") == 0 && o->output_bytes != 0)
            o->output[0] ^= 0x80;
        break;
    case 5:
        if (o->error != 0)
            o->error++;
        break;
    case 6:
        o->parameter += strcmp(call, "lengths") == 0;
        break;
    }
}

static void compare(const char *call)
{
    const observation *d = &seen[DEFAULT], *s = &seen[SEALANE];
    plant_difference(call);
    calls++;
    if (d->result != s->result || d->length != s->length || d->parameter != s->parameter || d->error != s->error)
        die(call);
    if (d->output_bytes != s->output_bytes || memcmp(d->output, s->output, d->output_bytes) != 0)
        die("output");
}

/* ---- Calls ---- */

/* AES-GCM-SIV: removes the differences. A tag is set, because sealane does not open without one. An empty update makes
 * the default provider forget the associated data of the last packet. */
static void begin_siv(pair *p)
{
    uint8_t tag[16];
    int n;
    fill(tag, sizeof tag);
    for (int s = 0; s < SIDES; s++)
        if (!EVP_CIPHER_CTX_ctrl(p->ctx[s], EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag))
            die("the test itself");
    if (!EVP_CipherUpdate(p->ctx[DEFAULT], NULL, &n, tag, 0))
        die("the test itself");
    p->has_text = p->needs_iv = 0;
}

/* Whether the current packet is authentic. */
static int siv_opens(const pair *p)
{
    uint8_t none[16];
    int n;
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    const int opens = EVP_CIPHER_CTX_copy(copy, p->ctx[DEFAULT]) && EVP_CipherFinal_ex(copy, none, &n) > 0;
    EVP_CIPHER_CTX_free(copy);
    ERR_clear_error();
    return opens;
}

/* The default provider accepts more bytes of an IV than it has. */
static int iv_has_room(const pair *p)
{
    return !p->is_gcm || EVP_CIPHER_CTX_get_iv_length(p->ctx[DEFAULT]) >= 12;
}

static int is_chacha20(const pair *p)
{
    return !p->is_aead && !p->is_ctr && !p->is_xts && !p->is_cbc;
}

static void call_init(pair *p)
{
    uint8_t key[64], iv[128]; /* the longest that AES-GCM allows */
    const int with_cipher = one_in(8), with_key = !one_in(3) || ((p->is_gcm || p->is_siv) && with_cipher);
    /* AES-GCM: without an IV a random one is used; the default provider seals with a zero IV after a new key. */
    const int with_iv = !one_in(4) || ((p->is_gcm || p->is_siv) && with_key) || p->needs_iv ||
                        (is_chacha20(p) && with_key && !stock[NEW_KEY_LEAVES_THE_SPENT_BLOCK]);
    /* AES-XTS and AES-CBC: without a key the default provider keeps the direction of the last one. */
    const int enc = one_in(6) || ((p->is_xts || p->is_cbc) && !with_key) ? -1 : (int)below(2);
    size_t number = one_in(3) ? below(40) : p->is_aead ? 12 : 16;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(
                               one_in(2) && !p->is_siv ? OSSL_CIPHER_PARAM_IVLEN : OSSL_CIPHER_PARAM_KEYLEN, &number),
                           OSSL_PARAM_construct_end()};
    const int with_params = one_in(10);
    fill(key, sizeof key);
    fill(iv, sizeof iv);
    if (is_chacha20(p) && one_in(4)) /* the counter carries soon */
        memset(iv, 0xff, 4);
    if (p->is_ctr && one_in(4)) {
        memset(iv + 16, 0xff, 16);
        memmove(iv + 4, iv + 16 + below(12), 12);
        iv[15] = (uint8_t)(0xff - below(100));
    }
    if (p->is_xts && one_in(8))
        memcpy(key + EVP_CIPHER_get_key_length(p->cipher[DEFAULT]) / 2, key,
               (size_t)EVP_CIPHER_get_key_length(p->cipher[DEFAULT]) / 2);
    if (one_in(20))
        memset(iv, 0xff, 8);
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        seen[s].result = EVP_CipherInit_ex2(p->ctx[s], with_cipher ? p->cipher[s] : NULL, with_key ? key : NULL,
                                            with_iv ? iv : NULL, enc, with_params ? params : NULL);
        take_error(s);
    }
    if (with_iv && seen[DEFAULT].result > 0)
        p->needs_iv = p->has_text = 0;
    if (with_key && seen[DEFAULT].result > 0)
        p->has_text = 0;
    p->has_key = seen[DEFAULT].result > 0 && (with_key || (p->has_key && !with_cipher));
    p->opens = enc == 0 && seen[DEFAULT].result > 0;
    note(" init(%d,%d)", with_key + 2 * with_iv + 4 * with_cipher + 8 * with_params, enc);
    if ((with_key || with_iv || with_cipher) && seen[DEFAULT].result > 0)
        p->record = -1;
    /* Of whose key the direction is. */
    p->spoiled = (p->is_xts || p->is_cbc || p->is_siv) && seen[DEFAULT].result <= 0;
    p->held = 0;
    compare("init");
    if (p->is_siv && !p->spoiled)
        begin_siv(p);
}

/* After the end of a packet, the default provider accepts more of it (in AES-GCM if it did not open); sealane does
 * not. */
static void note_end(pair *p, int is_end)
{
    if (is_end && p->is_aead && !p->is_siv && (!p->is_gcm || seen[DEFAULT].result <= 0))
        p->needs_iv = PACKET_ENDED;
}

/* sealane states a reason, and the default provider does not. */
static void allow_reason(int reason)
{
    observation *d = &seen[DEFAULT], *s = &seen[SEALANE];
    if (d->result <= 0 && s->result <= 0 && d->error == 0 && ERR_GET_REASON(s->error) == reason)
        s->error = 0;
}

/* The only intended difference of results: opening without a tag. */
static void allow_no_tag(const pair *p, int is_end)
{
    if (!is_end || !p->is_aead || p->is_gcm || EVP_CIPHER_CTX_get_tag_length(p->ctx[DEFAULT]) != 0)
        return;
    observation *d = &seen[DEFAULT], *s = &seen[SEALANE];
    if (s->result <= 0 && ERR_GET_REASON(s->error) == PROV_R_TAG_NOT_SET)
        s->result = d->result, s->length = d->length, s->error = d->error;
    else if (s->result <= 0 && d->result <= 0 && ERR_GET_REASON(d->error) == PROV_R_TAG_NOT_SET)
        s->error = d->error; /* there are two reasons, and either may come first */
}

static void call_update(pair *p, unsigned bytes, int has_in, int has_out, int in_place, int by_cipher)
{
    static uint8_t in[ROOM];
    if (p->is_xts && !p->has_key)
        return;
    if (!p->is_aead && (!has_in || !has_out))
        return; /* the default provider reads from NULL */
    if (p->needs_iv || (p->announced && !iv_has_room(p)) || (p->is_gcm && by_cipher && bytes == 0 && has_in))
        return; /* an empty text ends the associated data in the default provider, which accepts more */
    if (!p->is_gcm && p->is_aead && p->has_text && has_in && !has_out &&
        (p->is_siv || !stock[AD_AFTER_TEXT_IS_REFUSED]))
        return;
    if (p->is_siv && ((!has_in && !p->has_text) || (!has_out && bytes == 0)))
        return; /* the default provider ends the packet before it, and forgets all associated data */
    if (!p->is_gcm && p->is_aead && by_cipher && bytes == 0 && !stock[CIPHER_OF_NOTHING_ENDS_A_PACKET])
        return;
    if (p->is_cbc) {
        if (by_cipher)
            bytes &= ~15u; /* otherwise the default provider passes the end of the text */
        in_place &= !p->held || by_cipher;
        p->held |= !by_cipher && (bytes != 0);
    }
    fill(in, bytes);
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        observation *o = &seen[s];
        if (has_out) {
            o->output_bytes = bytes + 32;
            memset(o->output, 0xa5, o->output_bytes);
            if (in_place)
                memcpy(o->output, in, bytes);
        }
        const uint8_t *from = !has_in ? NULL : in_place && has_out ? o->output : in;
        uint8_t *to = has_out ? o->output : NULL;
        if (by_cipher)
            o->result = EVP_Cipher(p->ctx[s], to, from, bytes);
        else
            o->result = EVP_CipherUpdate(p->ctx[s], to, &o->length, from, (int)bytes);
        take_error(s);
    }
    for (int s = 0; s < SIDES && p->is_cbc && seen[s].result <= 0; s++)
        seen[s].output_bytes = 0; /* the default provider may have decrypted a part of a refused record */
    if (p->is_siv && has_in && has_out) {
        if (p->has_text) /* the default provider still opens the first text */
            p->needs_iv = PACKET_ENDED;
        else if (!EVP_CIPHER_CTX_is_encrypting(p->ctx[DEFAULT]) && !siv_opens(p))
            seen[DEFAULT].output_bytes = seen[SEALANE].output_bytes = 0;
        p->has_text = 1;
    }
    allow_no_tag(p, !has_in);
    allow_reason(PROV_R_INVALID_AAD);
    allow_reason(PROV_R_TAG_NOT_SET);
    note_end(p, !has_in && (bytes != 0 || by_cipher));
    p->has_text |= has_in && has_out && bytes != 0;
    if (!p->is_gcm && p->record >= 0 && has_out && (seen[DEFAULT].result > 0 || abs((int)bytes - p->record) % 16 == 0))
        p->needs_iv = RECORD_ENDED;
    note(by_cipher ? " cipher(%d,%d)" : " update(%d,%d)", (int)bytes, has_in + 2 * has_out + 4 * in_place);
    compare("update");
}

static void call_final(pair *p)
{
    const int has_out = p->is_cbc || !one_in(4); /* the default provider writes to NULL */
    if (p->needs_iv || (p->announced && !iv_has_room(p)) || (p->is_siv && !p->has_text))
        return;
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        seen[s].output_bytes = 32;
        memset(seen[s].output, 0xa5, 32);
        seen[s].result = EVP_CipherFinal_ex(p->ctx[s], has_out ? seen[s].output : NULL, &seen[s].length);
        take_error(s);
    }
    allow_no_tag(p, 1);
    allow_reason(PROV_R_TAG_NOT_SET);
    note_end(p, 1);
    note(" final(%d)%.0d", has_out, 0);
    p->spoiled |=
        p->is_cbc && ERR_GET_REASON(seen[DEFAULT].error) == PROV_R_BAD_DECRYPT; /* its content is then unspecified */
    compare("final");
}

static void call_ctrl(pair *p, const char *name, int type, int bytes, const uint8_t *in, int is_get)
{
    if (p->is_siv &&
        (is_get ? !p->has_text : type == EVP_CTRL_CCM_SET_L || (type == EVP_CTRL_AEAD_SET_IVLEN && bytes != 12)))
        return; /* the default provider returns the previous packet's tag, and uses the first 12 bytes of any IV */
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        uint8_t buffer[64];
        memset(seen[s].output, 0xa5, 64);
        if (in != NULL)
            memcpy(buffer, in, sizeof buffer);
        seen[s].output_bytes = is_get ? 64 : 0;
        seen[s].result = EVP_CIPHER_CTX_ctrl(p->ctx[s], type, bytes,
                                             is_get       ? seen[s].output
                                             : in == NULL ? NULL
                                                          : buffer);
        take_error(s);
    }
    note(is_get ? " get(%d,%d)" : " ctrl(%d,%d)", type, bytes);
    compare(name);
}

static int odd(int usual, int limit)
{
    return one_in(5) ? (int)below((unsigned)limit) : usual;
}

/* The tag that the default provider would make now, or a wrong one, so that some packets open. */
static void call_set_tag(pair *p)
{
    uint8_t tag[64];
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int n;
    fill(tag, sizeof tag);
    if (!one_in(3) && !p->is_siv && EVP_CIPHER_CTX_copy(copy, p->ctx[DEFAULT]) &&
        EVP_CipherInit_ex(copy, NULL, NULL, NULL, NULL, 1) && EVP_CipherFinal_ex(copy, NULL, &n))
        EVP_CIPHER_CTX_ctrl(copy, EVP_CTRL_AEAD_GET_TAG, 16, tag);
    ERR_clear_error();
    EVP_CIPHER_CTX_free(copy);
    call_ctrl(p, "set tag", EVP_CTRL_AEAD_SET_TAG, odd(16, 20), one_in(12) && !p->is_siv ? NULL : tag, 0);
}

/* From here on, AES-GCM generates the IVs of TLS records from this one instead of a random one. */
static void call_whole_iv(pair *p)
{
    uint8_t iv[64];
    fill(iv, sizeof iv);
    call_ctrl(p, "whole IV", EVP_CTRL_AEAD_SET_IV_FIXED, -1, iv, 0);
}

static void call_record(pair *p)
{
    const unsigned bytes = one_in(8) ? below(20) : text_length();
    const int right = !one_in(6), enc = EVP_CIPHER_CTX_is_encrypting(p->ctx[DEFAULT]);
    uint8_t aad[64];
    if ((p->needs_iv && p->is_gcm) || !iv_has_room(p))
        return;
    fill(aad, sizeof aad);
    aad[11] = (uint8_t)(bytes >> 8), aad[12] = (uint8_t)bytes;
    if (p->is_gcm && !one_in(4))
        call_whole_iv(p);
    call_ctrl(p, "record", EVP_CTRL_AEAD_TLS1_AAD, odd(13, 16), aad, 0);
    p->announced = p->is_gcm;
    if (seen[DEFAULT].result > 0) {
        p->record = (int)bytes + (enc ? 16 : 0);
        p->has_text = 0;
        if (p->needs_iv == RECORD_ENDED || !stock[TEXT_AFTER_FINAL_IS_REFUSED])
            p->needs_iv = 0;
    }
    if (!one_in(8))
        call_update(p, p->record >= 0 && right ? (unsigned)p->record : text_length(), 1, 1, p->is_gcm || one_in(2),
                    one_in(2));
    if (p->is_gcm)
        p->needs_iv = RECORD_ENDED; /* a pending record blocks everything else */
}

/* A record that opens: sealed by the default provider with the same key and nonce. */
static void call_good_record(pair *p)
{
    static uint8_t sealed[ROOM];
    const unsigned explicit_iv = p->is_gcm ? 8 : 0, bytes = text_length(), all = bytes + explicit_iv + 16;
    uint8_t aad[64];
    int length;
    if ((p->needs_iv && p->is_gcm) || !iv_has_room(p))
        return;
    if (p->is_gcm)
        call_whole_iv(p);
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    fill(aad, sizeof aad);
    fill(sealed, sizeof sealed);
    aad[11] = (uint8_t)((bytes + explicit_iv) >> 8), aad[12] = (uint8_t)(bytes + explicit_iv);
    if (!EVP_CIPHER_CTX_copy(copy, p->ctx[DEFAULT]) || !EVP_CipherInit_ex(copy, NULL, NULL, NULL, NULL, 1) ||
        EVP_CIPHER_CTX_ctrl(copy, EVP_CTRL_AEAD_TLS1_AAD, 13, aad) != 16 ||
        !EVP_CipherUpdate(copy, sealed, &length, sealed, (int)all)) {
        EVP_CIPHER_CTX_free(copy);
        return;
    }
    EVP_CIPHER_CTX_free(copy);
    aad[11] = (uint8_t)(all >> 8), aad[12] = (uint8_t)all;
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        observation *o = &seen[s];
        EVP_CipherInit_ex(p->ctx[s], NULL, NULL, NULL, NULL, 0);
        o->parameter = (uint64_t)EVP_CIPHER_CTX_ctrl(p->ctx[s], EVP_CTRL_AEAD_TLS1_AAD, 13, aad);
        o->output_bytes = all;
        memcpy(o->output, sealed, o->output_bytes);
        o->result = EVP_CipherUpdate(p->ctx[s], o->output, &o->length, o->output, (int)all);
        take_error(s);
    }
    note(" good-record(%d)%.0d", (int)bytes, 0);
    if (seen[DEFAULT].result != 1)
        die("the test itself");
    p->record = -1;
    if (!p->is_gcm)
        p->needs_iv = RECORD_ENDED;
    compare("update");
}

/* AES-GCM-SIV: a packet that opens, sealed by the default provider with the same key and nonce. */
static void call_good_siv(pair *p)
{
    static uint8_t sealed[ROOM];
    const unsigned bytes = text_length(), ad_bytes = 2 + below(one_in(4) ? 600 : 40);
    uint8_t ad[1024], tag[16], iv[12];
    int length;
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    fill(ad, sizeof ad), fill(iv, sizeof iv), fill(sealed, bytes);
    if (!EVP_CIPHER_CTX_copy(copy, p->ctx[DEFAULT]) || !EVP_CipherInit_ex(copy, NULL, NULL, NULL, iv, 1) ||
        !EVP_CipherUpdate(copy, NULL, &length, ad, 0) || !EVP_CipherUpdate(copy, NULL, &length, ad, (int)ad_bytes) ||
        !EVP_CipherUpdate(copy, sealed, &length, sealed, (int)bytes) || !EVP_CipherFinal_ex(copy, ad + 900, &length) ||
        !EVP_CIPHER_CTX_ctrl(copy, EVP_CTRL_AEAD_GET_TAG, sizeof tag, tag))
        die("the test itself");
    EVP_CIPHER_CTX_free(copy);
    for (int s = 0; s < SIDES; s++)
        if (!EVP_CipherInit_ex(p->ctx[s], NULL, NULL, NULL, iv, 0))
            die("the test itself");
    begin_siv(p);
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        observation *o = &seen[s];
        o->output_bytes = bytes;
        o->result =
            EVP_CIPHER_CTX_ctrl(p->ctx[s], EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) &&
            EVP_CipherUpdate(p->ctx[s], NULL, &o->length, ad, (int)ad_bytes / 3 + 1) &&
            EVP_CipherUpdate(p->ctx[s], NULL, &o->length, ad + ad_bytes / 3 + 1, (int)(ad_bytes - ad_bytes / 3 - 1)) &&
            EVP_CipherUpdate(p->ctx[s], o->output, &o->length, sealed, (int)bytes) &&
            EVP_CipherFinal_ex(p->ctx[s], ad + 900, &length) > 0;
        take_error(s);
    }
    note(" good-packet(%d,%d)", (int)bytes, (int)ad_bytes);
    if (seen[DEFAULT].result != 1)
        die("the test itself");
    p->has_text = 1;
    compare("update");
}

/* ---- AES-CBC: records of TLS 1.2 and before ---- */

/* The result of a decrypted record that a caller may observe: 1 if its padding is right. */
static int is_padded(const uint8_t *record, size_t bytes, int is_ssl3, size_t mac_bytes)
{
    const size_t n = record[bytes - 1] + (size_t)1;
    int right = n + mac_bytes <= bytes && (!is_ssl3 || n <= 16);
    for (size_t i = 1; right && !is_ssl3 && i <= n; i++)
        right = record[bytes - i] == n - 1;
    return right;
}

/* Text, MAC and padding. The padding is sometimes longer than necessary, and sometimes wrong. */
static size_t plain_record(uint8_t *record, size_t mac_bytes, size_t iv_bytes)
{
    size_t bytes = (one_in(4) ? text_length() % (LONGEST - 600) : below(400)) + mac_bytes + iv_bytes;
    const size_t n = 16 - bytes % 16 + (one_in(2) ? 0 : 16 * below(one_in(4) ? 20 : 15));
    fill(record, bytes + n);
    memset(record + bytes, (int)(n - 1), n);
    bytes += n;
    if (one_in(4))
        record[bytes - 1 - below(one_in(2) ? 16 : (unsigned)(n < bytes ? n : bytes))] ^= (uint8_t)(1 << below(8));
    if (one_in(16))
        fill(record, bytes);
    return bytes;
}

/* Decrypts the same records, or encrypts text to records; sets the version and resets it. */
static void call_records(pair *p)
{
    static const unsigned versions[] = {SSL3_VERSION,  TLS1_VERSION,    TLS1_1_VERSION, TLS1_2_VERSION,
                                        DTLS1_VERSION, DTLS1_2_VERSION, DTLS1_BAD_VER};
    static const size_t mac_sizes[] = {0, 16, 20, 32, 48, 64};
    static uint8_t plain[ROOM], record[ROOM];
    uint8_t key[64], iv[16];
    unsigned version = versions[below(7)];
    size_t mac_bytes = mac_sizes[below(6)];
    const int enc = one_in(3), is_ssl3 = version == SSL3_VERSION;
    const size_t iv_bytes = is_ssl3 || version == TLS1_VERSION ? 0 : 16;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                           OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac_bytes),
                           OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *sender = EVP_CIPHER_CTX_new();
    fill(key, sizeof key), fill(iv, sizeof iv);
    int n, ok = EVP_EncryptInit_ex(sender, p->cipher[DEFAULT], NULL, key, iv) && EVP_CIPHER_CTX_set_padding(sender, 0);
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        seen[s].result =
            EVP_CipherInit_ex2(p->ctx[s], NULL, key, iv, enc, params) && EVP_CIPHER_CTX_set_padding(p->ctx[s], 1);
        take_error(s);
    }
    compare("init");
    if (seen[DEFAULT].result <= 0) { /* since 3.5 a context keeps a different key length that was set */
        p->spoiled = 1;
        EVP_CIPHER_CTX_free(sender);
        return;
    }
    for (int i = 0; ok && i < 3; i++) {
        size_t bytes = enc ? text_length() : plain_record(plain, mac_bytes, iv_bytes);
        fill(record, bytes);
        ok = enc || EVP_EncryptUpdate(sender, record, &n, plain, (int)bytes);
        const int good = !enc && is_padded(plain + iv_bytes, bytes - iv_bytes, is_ssl3, mac_bytes);
        start_observing();
        for (int s = 0; s < SIDES; s++) {
            observation *o = &seen[s];
            memset(o->output, 0xa5, bytes + 32);
            memcpy(o->output, record, bytes);
            o->result = EVP_CipherUpdate(p->ctx[s], o->output, &o->length, o->output, (int)bytes);
            o->output_bytes = o->result > 0 ? bytes + 32 : 0;
            take_error(s);
        }
        note(enc ? " record(%x,%d)" : " opened-record(%x,%d)", (int)version, (int)bytes);
        compare("update");
        if (!enc && (seen[DEFAULT].result > 0) != (good || mac_bytes > 0) && bytes - iv_bytes > mac_bytes)
            die("the test itself");
        for (int s = 0; s < SIDES && seen[SEALANE].result > 0; s++) {
            uint8_t *mac = NULL;
            OSSL_PARAM get[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, (void **)&mac, 0),
                                OSSL_PARAM_construct_end()};
            seen[s].result = EVP_CIPHER_CTX_get_params(p->ctx[s], get);
            seen[s].parameter = (get[0].return_size & 0xff) | (uint64_t)(mac != NULL) << 8;
            seen[s].output_bytes = mac != NULL && good ? mac_bytes : 0; /* if the padding is wrong it is random */
            if (mac != NULL)
                memcpy(seen[s].output, mac, mac_bytes);
            if (s == SEALANE && mac != NULL && !good && memcmp(mac, plain + bytes - mac_bytes, mac_bytes) == 0)
                die("a MAC although the padding is wrong");
        }
        if (seen[SEALANE].result > 0)
            compare("get tag");
        else
            break;
    }
    EVP_CIPHER_CTX_free(sender);
    /* Two copies of a context of the default provider free its MAC twice; the next record clears it. */
    mac_bytes = 0;
    for (int s = 0; s < SIDES; s++) {
        ok &= EVP_CIPHER_CTX_set_params(p->ctx[s], params);
        memset(record, 0, 32);
        EVP_CipherUpdate(p->ctx[s], record, &n, record, 32);
    }
    version = 0;
    for (int s = 0; s < SIDES; s++)
        ok &= EVP_CIPHER_CTX_set_params(p->ctx[s], params);
    ERR_clear_error();
    p->held = 0, p->has_key = 1;
    if (!ok)
        die("the test itself");
}

static void call_lengths(pair *p)
{
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        const EVP_CIPHER_CTX *c = p->ctx[s];
        seen[s].parameter = (uint64_t)(EVP_CIPHER_CTX_get_iv_length(c) & 0xff) |
                            (uint64_t)(EVP_CIPHER_CTX_get_key_length(c) & 0xff) << 8 |
                            (uint64_t)(EVP_CIPHER_CTX_get_tag_length(c) & 0xff) << 16 |
                            (uint64_t)EVP_CIPHER_CTX_get_block_size(c) << 24 |
                            (uint64_t)(unsigned)EVP_CIPHER_CTX_get_num(c) << 32;
        seen[s].result = (int)EVP_CIPHER_get_flags(EVP_CIPHER_CTX_get0_cipher(c)) ^
                         EVP_CIPHER_get_nid(EVP_CIPHER_CTX_get0_cipher(c)) << 8;
        take_error(s);
    }
    note(" lengths%.0d%.0d", 0, 0);
    compare("lengths");
}

/* Parameters of any type and size. */
static void call_params(pair *p)
{
    static const char *const names[] = {OSSL_CIPHER_PARAM_KEYLEN,
                                        OSSL_CIPHER_PARAM_IVLEN,
                                        OSSL_CIPHER_PARAM_AEAD_TAG,
                                        OSSL_CIPHER_PARAM_AEAD_TAGLEN,
                                        OSSL_CIPHER_PARAM_AEAD_TLS1_AAD,
                                        OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD,
                                        OSSL_CIPHER_PARAM_PADDING,
                                        OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED,
                                        OSSL_CIPHER_PARAM_IV,
                                        OSSL_CIPHER_PARAM_UPDATED_IV,
                                        OSSL_CIPHER_PARAM_NUM,
                                        OSSL_CIPHER_PARAM_USE_BITS,
                                        OSSL_CIPHER_PARAM_TLS_VERSION,
                                        OSSL_CIPHER_PARAM_TLS_MAC_SIZE};
    enum { NAMES = sizeof names / sizeof names[0] };
    static const unsigned types[] = {OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_INTEGER, OSSL_PARAM_OCTET_STRING};
    static const size_t sizes[] = {1, 2, 4, 8, 12, 13, 16, 17, 24};
    const int is_get = one_in(2), count = 1 + (int)below(3);
    if (p->is_siv && is_get && !p->has_text)
        return;
    uint8_t value[3][32], buffer[SIDES][3][32];
    OSSL_PARAM params[SIDES][4];
    unsigned used = 0;
    for (int i = 0; i < count; i++) {
        unsigned which = below(NAMES);
        while (used >> which & 1) /* of two equal names, sealane uses the first; OpenSSL uses the first, all, or none */
            which = (which + 1) % NAMES;
        used |= 1u << which;
        const char *name = names[which];
        if (is_chacha20(p) && !stock[STREAM_TELLS_ITS_IV] && strcmp(name, OSSL_CIPHER_PARAM_UPDATED_IV) == 0)
            name = OSSL_CIPHER_PARAM_PADDING;
        if (p->is_siv && !is_get && strcmp(name, OSSL_CIPHER_PARAM_IVLEN) == 0)
            name = OSSL_CIPHER_PARAM_RC2_KEYBITS; /* the default provider takes any, and keeps to 12 */
        const unsigned type = types[below(3)];
        const size_t size = sizes[below(sizeof sizes / sizeof sizes[0])];
        fill(value[i], 32);
        if (type != OSSL_PARAM_OCTET_STRING) {
            memset(value[i], one_in(8) ? 0xff : 0, 32);
            value[i][0] = (uint8_t)(one_in(3) ? below(40) : one_in(2) ? 32 : p->is_aead ? 12 : 16);
        }
        if (!is_get && strcmp(name, OSSL_CIPHER_PARAM_NUM) == 0)
            memset(value[i], 0, 32); /* elsewhere in a block the default provider has no keystream */
        for (int s = 0; s < SIDES; s++) {
            memcpy(buffer[s][i], value[i], 32);
            params[s][i] = (OSSL_PARAM){name, type, buffer[s][i], size, OSSL_PARAM_UNMODIFIED};
            params[s][i + 1] = OSSL_PARAM_construct_end();
        }
        if (!is_get && (strcmp(name, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD) == 0 ||
                        (p->is_gcm && strcmp(name, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED) == 0)))
            params[DEFAULT][i].key = params[SEALANE][i].key =
                OSSL_CIPHER_PARAM_RC2_KEYBITS; /* a record and random IVs have their own calls */
    }
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        observation *o = &seen[s];
        o->result =
            is_get ? EVP_CIPHER_CTX_get_params(p->ctx[s], params[s]) : EVP_CIPHER_CTX_set_params(p->ctx[s], params[s]);
        for (int i = 0; i < count && o->result; i++)
            o->parameter = o->parameter << 16 ^ (params[s][i].return_size & 0xffff);
        o->output_bytes = o->result > 0 ? 32 * (size_t)count : 0; /* data written before a failure is unspecified */
        memcpy(o->output, buffer[s], o->output_bytes);
        take_error(s);
        if (s == DEFAULT && o->result > 0)
            o->error = 0; /* 3.5 tries one type of an IV, and raises an error, before it answers in the other */
        if (count > 1 && o->result <= 0)
            o->error = 0; /* the order of the checks is unspecified */
    }
    note(is_get ? " get-params(%d)%.0d" : " set-params(%d)%.0d", count, 0);
    compare("parameters");
    p->spoiled = !is_get && count > 1 && seen[DEFAULT].result <= 0;
}

static void call_copy(pair *p)
{
    start_observing();
    for (int s = 0; s < SIDES; s++) {
        EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
        seen[s].result = EVP_CIPHER_CTX_copy(copy, p->ctx[s]);
        EVP_CIPHER_CTX_free(p->ctx[s]);
        p->ctx[s] = copy;
        take_error(s);
    }
    note(" copy%.0d%.0d", 0, 0);
    compare("copy");
}

/* ---- Sequences ---- */

static const int other_ctrls[] = {EVP_CTRL_SET_KEY_LENGTH, EVP_CTRL_INIT, EVP_CTRL_AEAD_SET_MAC_KEY, EVP_CTRL_CCM_SET_L,
                                  1000};

static void call_anything(pair *p)
{
    uint8_t iv[64];
    fill(iv, sizeof iv);
    switch (below(p->is_aead ? 32 : 24)) {
    case 0:
    case 1:
    case 2:
        call_init(p);
        break;
    case 3:
        call_copy(p);
        break;
    case 4:
        call_lengths(p);
        break;
    case 5:
    case 6:
        call_final(p);
        break;
    case 7:
        call_params(p);
        break;
    case 8:
        call_update(p, below(16), one_in(2), one_in(2), 0, one_in(2)); /* no record, whose NULL would be read */
        break;
    case 9:
        call_ctrl(p, "ctrl", EVP_CTRL_AEAD_SET_IVLEN, odd(p->is_aead ? 12 : 16, 20), NULL, 0);
        break;
    case 10:
        call_ctrl(p, "ctrl", other_ctrls[below(sizeof other_ctrls / sizeof other_ctrls[0])], odd(32, 40), iv, 0);
        break;
    case 11:
        call_ctrl(p, "get tag", EVP_CTRL_AEAD_GET_TAG, odd(16, 20), NULL, 1);
        break;
    case 24:
    case 25:
        call_set_tag(p);
        break;
    case 26:
        call_update(p, below(one_in(4) ? 200 : 20), 1, 0, 0, 0);
        break;
    case 27:
        if (!p->is_gcm)
            call_ctrl(p, "ctrl", EVP_CTRL_AEAD_SET_IV_FIXED, odd(12, 16), iv, 0);
        else if (one_in(2) || !p->opens || !iv_has_room(p)) /* random bytes when encrypting */
            call_whole_iv(p);
        else
            call_ctrl(p, "ctrl", EVP_CTRL_AEAD_SET_IV_FIXED, odd(4, 12), iv, 0);
        break;
    case 28:
    case 29:
        (p->is_siv ? call_good_siv : call_record)(p);
        break;
    case 30:
        (p->is_siv ? call_good_siv : call_good_record)(p);
        break;
    case 31:
        if (!p->is_gcm || !iv_has_room(p))
            break;
        if (one_in(2))
            call_ctrl(p, "ctrl", EVP_CTRL_GCM_IV_GEN, odd(8, 20), NULL, 1);
        else
            call_ctrl(p, "ctrl", EVP_CTRL_GCM_SET_IV_INV, odd(8, 12), iv, 0);
        break;
    default:
        call_update(p, text_length(), 1, 1, one_in(2), one_in(8));
    }
}

/* Calls of well-behaved callers, with the text and the associated data in any pieces. */
static void call_packet(pair *p)
{
    const unsigned ad_pieces = below(3), pieces = one_in(2) ? 1 : below(6);
    call_init(p);
    if (p->spoiled)
        return;
    for (unsigned i = 0; p->is_aead && i < ad_pieces; i++)
        call_update(p, below(one_in(4) ? 300 : 20), 1, 0, 0, 0);
    for (unsigned i = 0; i < pieces; i++)
        call_update(p, text_length(), 1, 1, one_in(2), 0);
    if (p->is_aead && one_in(2))
        call_set_tag(p);
    call_final(p);
    if (p->is_aead)
        call_ctrl(p, "get tag", EVP_CTRL_AEAD_GET_TAG, 16, NULL, 1);
}

static void sequence(pair *p)
{
    const unsigned n = 1 + below(40);
    history_bytes = 0;
    subject = EVP_CIPHER_get0_name(p->cipher[DEFAULT]);
    static const uint8_t zeroes[32];
    p->record = -1;
    p->needs_iv = p->spoiled = p->has_text = p->has_key = p->announced = p->opens = p->held = 0;
    for (int s = 0; s < SIDES; s++) {
        p->ctx[s] = EVP_CIPHER_CTX_new();
        if (!EVP_CipherInit_ex(p->ctx[s], p->cipher[s], NULL, p->is_siv ? zeroes : NULL,
                               p->is_gcm || p->is_siv ? zeroes : NULL, 1))
            die("the first init");
    }
    for (unsigned i = 0; i < n && !p->spoiled; i++) {
        if (one_in(6))
            call_packet(p);
        else if (p->is_cbc && one_in(12))
            call_records(p);
        else
            call_anything(p);
    }
    for (int s = 0; s < SIDES; s++)
        EVP_CIPHER_CTX_free(p->ctx[s]);
    sequences++;
}

int main(int argc, char **argv)
{
    pair pairs[CIPHERS];
    uint64_t seconds = 10;
    const char *only = NULL;
    if (argc < 2)
        return 2;
    seed = seed_of_run();
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--seconds=", 10) == 0)
            seconds = strtoull(argv[i] + 10, NULL, 0);
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            seed = strtoull(argv[i] + 7, NULL, 0);
        else if (strncmp(argv[i], "--cipher=", 9) == 0)
            only = argv[i] + 9;
        else if (strncmp(argv[i], "--plant=", 8) == 0)
            for (plant = sizeof plants / sizeof plants[0] - 1; plant > 0 && strcmp(plants[plant], argv[i] + 8); plant--)
                ;
        else
            return 2;
    }
    state = seed;
    const providers loaded = load_providers(NULL, argv[1]);
    for (int i = 0; i < BEHAVIOURS; i++) {
        stock[i] = behaves(i, "provider=default");
        printf("this OpenSSL %s: %s\n", behaviour_table[i].name, stock[i] ? "yes" : "no");
    }
    for (int i = 0; i < CIPHERS; i++) {
        if (!is_offered(NULL, cipher_names[i]) || !has_cipher(NULL, cipher_names[i], "provider=default")) {
            memset(&pairs[i], 0, sizeof pairs[i]);
            continue;
        }
        pairs[i].cipher[DEFAULT] = fetch(NULL, cipher_names[i], "provider=default");
        pairs[i].cipher[SEALANE] = fetch(NULL, cipher_names[i], "provider=sealane");
        pairs[i].is_aead = (EVP_CIPHER_get_flags(pairs[i].cipher[DEFAULT]) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0;
        pairs[i].is_gcm = EVP_CIPHER_get_mode(pairs[i].cipher[DEFAULT]) == EVP_CIPH_GCM_MODE;
        pairs[i].is_siv = EVP_CIPHER_get_mode(pairs[i].cipher[SEALANE]) == 0x10005; /* without a name before 3.2 */
        pairs[i].is_ctr = EVP_CIPHER_get_mode(pairs[i].cipher[DEFAULT]) == EVP_CIPH_CTR_MODE;
        pairs[i].is_cbc = EVP_CIPHER_get_mode(pairs[i].cipher[DEFAULT]) == EVP_CIPH_CBC_MODE;
        pairs[i].is_xts = EVP_CIPHER_get_mode(pairs[i].cipher[DEFAULT]) == EVP_CIPH_XTS_MODE;
    }
    for (const time_t end = time(NULL) + (time_t)seconds; time(NULL) < end;)
        for (int i = 0; i < CIPHERS; i++)
            if (pairs[i].cipher[SEALANE] != NULL && (only == NULL || strcmp(only, cipher_names[i]) == 0))
                sequence(&pairs[i]);
    for (int i = 0; i < CIPHERS; i++)
        for (int s = 0; s < SIDES; s++)
            EVP_CIPHER_free(pairs[i].cipher[s]);
    unload_providers(&loaded);
    printf("seed %llu: %llu calls in %llu sequences are answered as by the default provider\n",
           (unsigned long long)seed, (unsigned long long)calls, (unsigned long long)sequences);
    printf("differential: 1 passed, 0 failed, 0 not run\n");
    return 0;
}
