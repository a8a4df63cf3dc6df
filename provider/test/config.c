/* Shows the effects of an OpenSSL configuration file on a program.
 *
 *     OPENSSL_CONF=FILE config
 *
 * Prints the active providers, the providers of ciphers fetched without properties, and the TLS settings. */
#include <openssl/ssl.h>

#include "providers.h"

static int print_name(OSSL_PROVIDER *p, void *unused)
{
    (void)unused;
    printf("provider %s\n", OSSL_PROVIDER_get0_name(p));
    return 1;
}

int main(void)
{
    static const char *const names[] = {"ChaCha20-Poly1305", "AES-128-GCM", "AES-128-OFB"};
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, names[i], NULL);
        printf("%s from %s\n", names[i], c == NULL ? "none" : OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(c)));
        EVP_CIPHER_free(c);
    }
    OSSL_PROVIDER_do_all(NULL, print_name, NULL);
    printf("least protocol %ld\n", ctx == NULL ? -1 : (long)SSL_CTX_get_min_proto_version(ctx));
    SSL_CTX_free(ctx);
    return 0;
}
