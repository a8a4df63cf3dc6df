/* Taking padding off what CBC has decrypted, in time that depends on lengths alone. */
#ifndef SEALANE_PROVIDER_PADDING_H
#define SEALANE_PROVIDER_PADDING_H

#include <stddef.h>
#include <stdint.h>

enum { PADDING_BLOCK = 16, PADDING_MAC_MAX = 64 /* bytes */ };

/* PKCS #7 (RFC 5652, 6.3): the text's bytes in the last block; -1 if the padding is wrong, and nothing else of how. */
int padding_pkcs7(const uint8_t block[PADDING_BLOCK]);

/* A decrypted record of TLS 1.0 to 1.2 or DTLS without its explicit IV (RFC 5246, 6.2.3.2), or of SSL 3: text, MAC,
 * padding, and the padding's length in its last byte. *text_bytes and mac[mac_bytes] are what it holds. If the padding
 * is wrong none is taken off, and the MAC is fake[mac_bytes], so that only the comparison of MACs tells, after as much
 * hashing; with mac_bytes == 0, where a MAC over the ciphertext has been compared before, the result is 0.
 *
 * 0 also for a record too short for a MAC and one byte of padding: lengths are no secret. Nothing is written then. */
int padding_tls(const uint8_t *record, size_t bytes, int is_ssl3, size_t mac_bytes, const uint8_t fake[PADDING_MAC_MAX],
                uint8_t mac[PADDING_MAC_MAX], size_t *text_bytes);

#endif
