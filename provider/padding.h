/* Removes padding from CBC plaintext in time that depends only on lengths. */
#ifndef SEALANE_PROVIDER_PADDING_H
#define SEALANE_PROVIDER_PADDING_H

#include <stddef.h>
#include <stdint.h>

enum { PADDING_BLOCK = 16, PADDING_MAC_MAX = 64 /* bytes */ };

/* PKCS #7 (RFC 5652, section 6.3): the number of text bytes in the last block, or -1 if the padding is wrong, without
 * details. */
int padding_pkcs7(const uint8_t block[PADDING_BLOCK]);

/* A decrypted record of TLS 1.0 to 1.2 or DTLS without its explicit IV (RFC 5246, section 6.2.3.2), or of SSL 3. It
 * has text, MAC, padding, and the padding length in its last byte. Writes *text_bytes and mac[mac_bytes]. If the
 * padding is wrong, nothing is removed and the MAC is fake[mac_bytes]. So only the comparison of MACs fails, after
 * the same amount of hashing. With mac_bytes == 0, where a MAC over the ciphertext was verified before, the result is
 * 0.
 *
 * Returns 0, with nothing written, for a record too short for a MAC and one byte of padding; lengths are public. */
int padding_tls(const uint8_t *record, size_t bytes, int is_ssl3, size_t mac_bytes, const uint8_t fake[PADDING_MAC_MAX],
                uint8_t mac[PADDING_MAC_MAX], size_t *text_bytes);

#endif
