/* TLS with sealane on one side and stock OpenSSL on the other, through libssl, in one process.
 *
 *     tls FOLDER [--plant=CHECK]      FOLDER contains sealane.so; --plant makes one check fail
 *
 * Every kind of suite with ChaCha20-Poly1305 and with AES-GCM, in both directions: data in records of many sizes,
 * resumption, renegotiation, key updates. Every kind of damage to a record causes the alert bad_record_mac, and the
 * same error as between two ends of stock OpenSSL. Each side has its own library context. */
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "providers.h"

enum { MOST = 60000, FLIGHT = 1 << 18 };

static const char *plant = "";
static unsigned passed, failed;
static uint64_t random_state = 1;

static int planted(const char *check)
{
    return strcmp(plant, check) == 0;
}

/* ---- The two sides ---- */

static providers loaded;

static OSSL_LIB_CTX *sealane_context(const char *folder)
{
    OSSL_LIB_CTX *c = OSSL_LIB_CTX_new();
    loaded = load_providers(c, folder);
    if (!planted("stock"))
        EVP_set_default_properties(c, "?provider=sealane");
    return c;
}

static OSSL_PROVIDER *stock;

static OSSL_LIB_CTX *stock_context(void)
{
    OSSL_LIB_CTX *c = OSSL_LIB_CTX_new();
    stock = OSSL_PROVIDER_load(c, "default");
    return c;
}

/* Whether every cipher of the suites comes from that provider. */
static int ciphers_are_of(OSSL_LIB_CTX *c, const char *provider)
{
    static const char *const names[] = {"ChaCha20-Poly1305", "AES-128-GCM", "AES-256-GCM", "AES-128-CBC",
                                        "AES-256-CBC"};
    int ok = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        EVP_CIPHER *cipher = fetch(c, names[i], NULL);
        if (strstr(names[i], "CBC") == NULL || is_offered(c, names[i]))
            ok &= strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)), provider) == 0;
        EVP_CIPHER_free(cipher);
    }
    return ok;
}

static X509 *self_signed(EVP_PKEY *key)
{
    X509 *x = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_NAME *name = X509_NAME_new(); /* X509_get_subject_name returns a const pointer since 4.0 */
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_subject_name(x, name);
    X509_set_issuer_name(x, name);
    X509_NAME_free(name);
    X509_set_pubkey(x, key);
    X509_sign(x, key, EVP_sha256());
    return x;
}

static void add_certificate(SSL_CTX *ctx, EVP_PKEY *key)
{
    X509 *x = self_signed(key);
    if (!SSL_CTX_use_certificate(ctx, x) || !SSL_CTX_use_PrivateKey(ctx, key)) {
        ERR_print_errors_fp(stdout);
        exit(1);
    }
    X509_free(x);
}

typedef struct {
    const char *name;
    int version;
    uint64_t options;
} suite;

static const suite suites[] = {
    {"TLS_CHACHA20_POLY1305_SHA256", TLS1_3_VERSION, 0},
    {"ECDHE-ECDSA-CHACHA20-POLY1305", TLS1_2_VERSION, 0},
    {"ECDHE-RSA-CHACHA20-POLY1305", TLS1_2_VERSION, 0},
    {"DHE-RSA-CHACHA20-POLY1305", TLS1_2_VERSION, 0},
    {"TLS_AES_128_GCM_SHA256", TLS1_3_VERSION, 0},
    {"TLS_AES_256_GCM_SHA384", TLS1_3_VERSION, 0},
    {"ECDHE-ECDSA-AES128-GCM-SHA256", TLS1_2_VERSION, 0},
    {"ECDHE-RSA-AES256-GCM-SHA384", TLS1_2_VERSION, 0},
    {"DHE-RSA-AES128-GCM-SHA256", TLS1_2_VERSION, 0},
    {"AES256-GCM-SHA384", TLS1_2_VERSION, 0},
    /* CBC: the provider removes padding and MAC, or the MAC covers the ciphertext. If libssl has a cipher that also
     * computes the MAC, such as AES128-SHA, the default provider's is used. */
    {"ECDHE-ECDSA-AES256-SHA384", TLS1_2_VERSION, SSL_OP_NO_ENCRYPT_THEN_MAC},
    {"ECDHE-RSA-AES128-SHA256", TLS1_2_VERSION, 0},
    {"AES256-SHA", TLS1_VERSION, 0},
    {"PSK-AES256-CBC-SHA384", TLS1_VERSION, SSL_OP_NO_ENCRYPT_THEN_MAC},
    {"PSK-AES128-CBC-SHA256", TLS1_1_VERSION, SSL_OP_NO_ENCRYPT_THEN_MAC},
};

static EVP_PKEY *ec_key, *rsa_key;

static unsigned server_psk(SSL *ssl, const char *identity, unsigned char *key, unsigned most)
{
    (void)ssl, (void)identity;
    memset(key, 7, most < 32 ? most : 32);
    return 32;
}

static unsigned client_psk(SSL *ssl, const char *hint, char *identity, unsigned bytes, unsigned char *key,
                           unsigned most)
{
    (void)hint;
    snprintf(identity, bytes, "test");
    return server_psk(ssl, identity, key, most);
}

static SSL_CTX *new_ctx(OSSL_LIB_CTX *c, const suite *s, int is_server)
{
    SSL_CTX *ctx = SSL_CTX_new_ex(c, NULL, is_server ? TLS_server_method() : TLS_client_method());
    SSL_CTX_set_min_proto_version(ctx, s->version);
    SSL_CTX_set_max_proto_version(ctx, s->version);
    SSL_CTX_set_options(ctx, SSL_OP_ALLOW_CLIENT_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF | s->options);
    if (s->version < TLS1_2_VERSION)
        SSL_CTX_set_security_level(ctx, 0);
    if (strncmp(s->name, "PSK", 3) == 0) {
        SSL_CTX_set_psk_server_callback(ctx, server_psk);
        SSL_CTX_set_psk_client_callback(ctx, client_psk);
    }
    if (s->version == TLS1_3_VERSION)
        SSL_CTX_set_ciphersuites(ctx, s->name);
    else
        SSL_CTX_set_cipher_list(ctx, s->name);
    if (is_server) {
        add_certificate(ctx, rsa_key);
        add_certificate(ctx, ec_key);
        SSL_CTX_set_dh_auto(ctx, 1);
        SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4);
    } else {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
    }
    return ctx;
}

/* ---- A connection over memory ---- */

typedef struct {
    SSL *end[2];
    BIO *in[2], *out[2];
    int alert[2];  /* the last alert that each end received, or -1 */
    int damage[2]; /* what to do to the next record from each end */
} connection;

enum { CLIENT, SERVER };
enum { NO_DAMAGE, FLIP_FIRST, FLIP_MIDDLE, FLIP_TAG, SHORTEN, EMPTY_RECORD, DAMAGES };

static void on_alert(const SSL *ssl, int where, int value)
{
    connection *c = SSL_get_app_data(ssl);
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT)
        c->alert[c->end[SERVER] == ssl] = value & 0xff;
}

static void open_connection(connection *c, SSL_CTX *client, SSL_CTX *server)
{
    SSL_CTX *ctx[2] = {client, server};
    for (int i = 0; i < 2; i++) {
        c->end[i] = SSL_new(ctx[i]);
        c->in[i] = BIO_new(BIO_s_mem());
        c->out[i] = BIO_new(BIO_s_mem());
        BIO_set_mem_eof_return(c->in[i], -1);
        SSL_set_bio(c->end[i], c->in[i], c->out[i]);
        SSL_set_app_data(c->end[i], c);
        SSL_set_info_callback(c->end[i], on_alert);
        c->alert[i] = -1;
        c->damage[i] = NO_DAMAGE;
    }
    SSL_set_connect_state(c->end[CLIENT]);
    SSL_set_accept_state(c->end[SERVER]);
}

static void close_connection(connection *c)
{
    for (int i = 0; i < 2; i++)
        SSL_free(c->end[i]);
}

/* One record: 5 bytes of header, the last two of which are its length. */
static int damage_record(uint8_t *r, int bytes, int damage)
{
    const int text = bytes - 5;
    switch (damage) {
    case FLIP_FIRST:
        r[5] ^= 0x01;
        break;
    case FLIP_MIDDLE:
        r[5 + text / 2] ^= 0x10;
        break;
    case FLIP_TAG:
        r[bytes - 1] ^= 0x80;
        break;
    case SHORTEN:
        bytes--;
        break;
    case EMPTY_RECORD:
        bytes = 5 + 16 + 1;
        break;
    }
    r[3] = (uint8_t)((bytes - 5) >> 8);
    r[4] = (uint8_t)(bytes - 5);
    return bytes;
}

/* Transfers the output of each end to the other. */
static int carry(connection *c)
{
    static uint8_t flight[FLIGHT];
    int moved = 0;
    for (int from = 0; from < 2; from++) {
        int bytes = BIO_read(c->out[from], flight, sizeof flight);
        if (bytes <= 0)
            continue;
        if (c->damage[from] != NO_DAMAGE) {
            bytes = damage_record(flight, bytes, c->damage[from]);
            c->damage[from] = NO_DAMAGE;
        }
        BIO_write(c->in[!from], flight, bytes);
        moved = 1;
    }
    return moved;
}

static int shake_hands(connection *c)
{
    for (int i = 0; i < 50; i++) {
        const int a = SSL_do_handshake(c->end[CLIENT]), b = SSL_do_handshake(c->end[SERVER]);
        if (!carry(c) && a == 1 && b == 1)
            return 1;
    }
    return 0;
}

/* Sends bytes from one end to the other, in writes of that size. */
static int transfer(connection *c, int from, int bytes)
{
    static uint8_t sent[MOST], got[MOST];
    int at = 0, n;
    for (int i = 0; i < bytes; i++)
        sent[i] = (uint8_t)next_random(&random_state);
    if (SSL_write(c->end[from], sent, bytes) != bytes)
        return 0;
    if (planted("data"))
        sent[bytes - 1] ^= 1;
    carry(c);
    while (at < bytes) {
        n = SSL_read(c->end[!from], got + at, bytes - at);
        if (n <= 0)
            return 0;
        at += n;
    }
    carry(c);
    return memcmp(sent, got, (size_t)bytes) == 0;
}

static int transfer_both_ways(connection *c)
{
    static const int sizes[] = {1,   2,    15,   16,   17,   63,   64,    100,   255,
                                256, 1000, 1420, 2047, 2048, 4096, 16383, 16384, 40000};
    int ok = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        ok &= transfer(c, CLIENT, sizes[i]) && transfer(c, SERVER, sizes[i]);
    return ok;
}

/* ---- Checks ---- */

static SSL_CTX *client_ctx, *server_ctx;
static char label[128];

static void verdict(const char *check, int ok)
{
    if (!ok) {
        printf("FAIL %s: %s\n", label, check);
        ERR_print_errors_fp(stdout);
    }
    ERR_clear_error();
    *(ok ? &passed : &failed) += 1;
}

static void check_data(const suite *s)
{
    static const int fragments[] = {512, 1420, 4096, 16384};
    for (size_t i = 0; i < sizeof fragments / sizeof fragments[0]; i++) {
        connection c;
        open_connection(&c, client_ctx, server_ctx);
        for (int e = 0; e < 2; e++)
            SSL_set_max_send_fragment(c.end[e], fragments[i]);
        verdict("handshake", shake_hands(&c) && strcmp(SSL_get_cipher_name(c.end[CLIENT]), s->name) == 0);
        verdict("data both ways", transfer_both_ways(&c));
        close_connection(&c);
    }
}

static void check_resumption(void)
{
    connection c;
    open_connection(&c, client_ctx, server_ctx);
    int ok = shake_hands(&c) && transfer(&c, SERVER, 100) && transfer(&c, CLIENT, 100);
    SSL_SESSION *session = SSL_get1_session(c.end[CLIENT]);
    SSL_shutdown(c.end[CLIENT]);
    close_connection(&c);
    open_connection(&c, client_ctx, server_ctx);
    if (!planted("resumption"))
        SSL_set_session(c.end[CLIENT], session);
    ok &= shake_hands(&c) && SSL_session_reused(c.end[CLIENT]) && transfer_both_ways(&c);
    verdict("resumption", ok);
    SSL_SESSION_free(session);
    close_connection(&c);
}

static void check_new_keys(const suite *s)
{
    connection c;
    open_connection(&c, client_ctx, server_ctx);
    int ok = shake_hands(&c);
    for (int from = 0; from < 2; from++) {
        if (s->version == TLS1_3_VERSION) {
            ok &= SSL_key_update(c.end[from], SSL_KEY_UPDATE_REQUESTED) && transfer_both_ways(&c);
            ok &= SSL_get_key_update_type(c.end[from]) == SSL_KEY_UPDATE_NONE;
        } else {
            ok &= SSL_renegotiate(c.end[from]) && SSL_renegotiate_pending(c.end[from]);
            for (int i = 0; i < 20; i++) {
                uint8_t none;
                SSL_do_handshake(c.end[from]);
                SSL_read(c.end[CLIENT], &none, 1);
                SSL_read(c.end[SERVER], &none, 1);
                carry(&c);
            }
            ok &= !SSL_renegotiate_pending(c.end[from]) && SSL_is_init_finished(c.end[from]) && transfer_both_ways(&c);
        }
        if (planted("new-keys"))
            ok &= SSL_num_renegotiations(c.end[from]) == 99;
    }
    verdict("new keys", ok);
    close_connection(&c);
}

/* The result of a damaged record. */
typedef struct {
    int ok;    /* it was refused, and released no data */
    int alert; /* received by the sender of the record, or -1 */
    int reason;
} refusal;

static refusal damage_in(SSL_CTX *client, SSL_CTX *server, int from, int damage)
{
    static uint8_t text[5000], got[5000];
    connection c;
    refusal r;
    open_connection(&c, client, server);
    r.ok = shake_hands(&c) && transfer(&c, from, 1000) && transfer(&c, !from, 1000);
    r.ok &= SSL_write(c.end[from], text, sizeof text) == sizeof text;
    c.damage[from] = damage;
    carry(&c);
    ERR_clear_error();
    const int n = SSL_read(c.end[!from], got, sizeof got);
    r.ok &= n <= 0 && SSL_get_error(c.end[!from], n) == SSL_ERROR_SSL;
    r.reason = ERR_GET_REASON(ERR_peek_last_error());
    ERR_clear_error();
    carry(&c);
    r.ok &= SSL_read(c.end[from], got, sizeof got) <= 0;
    r.alert = c.alert[from];
    close_connection(&c);
    return r;
}

static SSL_CTX *stock_client_ctx, *stock_server_ctx;

/* OpenSSL before about 3.0.21 answers a TLS 1.2 record too short for AES-GCM with internal_error. One too short for a
 * MAC over the ciphertext gets decode_error. The stock ends show both. */
static int is_right_alert(int alert, int damage)
{
    return alert == SSL_AD_BAD_RECORD_MAC ||
           (damage == EMPTY_RECORD && (alert == SSL_AD_INTERNAL_ERROR || alert == SSL_AD_DECODE_ERROR));
}

static void check_damage(void)
{
    for (int from = 0; from < 2; from++) {
        for (int damage = FLIP_FIRST; damage < DAMAGES; damage++) {
            const refusal wanted = damage_in(stock_client_ctx, stock_server_ctx, from, damage);
            refusal r = damage_in(client_ctx, server_ctx, from, planted("damage") ? NO_DAMAGE : damage);
            if (planted("alert"))
                r.alert = SSL_AD_DECODE_ERROR;
            const int ok = wanted.ok && is_right_alert(wanted.alert, damage) && r.ok && r.alert == wanted.alert &&
                           r.reason == wanted.reason;
            if (!ok)
                printf("damage %d: alert %d, reason %d; between stock ends %d, %d\n", damage, r.alert, r.reason,
                       wanted.alert, wanted.reason);
            verdict("damage", ok);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2 && strncmp(argv[2], "--plant=", 8) == 0)
        plant = argv[2] + 8;
    OSSL_LIB_CTX *libctx[2] = {sealane_context(argv[1]), stock_context()};
    ec_key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    rsa_key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    snprintf(label, sizeof label, "set-up");
    verdict("one side runs on sealane", ciphers_are_of(libctx[0], "sealane"));
    verdict("the other runs on stock OpenSSL", ciphers_are_of(libctx[1], "default"));
    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
        for (int side = 0; side < 2; side++) {
            snprintf(label, sizeof label, "%s, sealane at the %s", suites[i].name,
                     side == CLIENT ? "client" : "server");
            client_ctx = new_ctx(libctx[side != CLIENT], &suites[i], 0);
            server_ctx = new_ctx(libctx[side != SERVER], &suites[i], 1);
            stock_client_ctx = new_ctx(libctx[1], &suites[i], 0);
            stock_server_ctx = new_ctx(libctx[1], &suites[i], 1);
            const unsigned before = failed;
            check_data(&suites[i]);
            check_resumption();
            check_new_keys(&suites[i]);
            check_damage();
            printf("%s %s\n", failed == before ? "ok  " : "FAIL", label);
            SSL_CTX_free(client_ctx);
            SSL_CTX_free(server_ctx);
            SSL_CTX_free(stock_client_ctx);
            SSL_CTX_free(stock_server_ctx);
        }
    }
    EVP_PKEY_free(ec_key);
    EVP_PKEY_free(rsa_key);
    unload_providers(&loaded);
    OSSL_PROVIDER_unload(stock);
    for (int i = 0; i < 2; i++)
        OSSL_LIB_CTX_free(libctx[i]);
    printf("tls: %u passed, %u failed, 0 not run\n", passed, failed);
    return failed != 0;
}
