"""The specification of the kernels, from RFC 8439 and NIST SP 800-38D, on values of values/terms.py. spec/modes.py has
other modes.

Poly1305's accumulator is a polynomial, of which the residue suffices (values/terms.py). Its last step is in
reduction.py: the full reduction and the addition of s.
"""
from values import terms
from values.terms import P, X127, add_modular, aes_round, cat, const, cut, extend, field_product, rotate_left, sbox, xor


# ---- ChaCha20-Poly1305 (RFC 8439) -----------------------------------------------------------------------------------

def quarter_round(s, a, b, c, d):  # 2.1
    for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = add_modular(s[x], s[y])
        s[z] = rotate_left(xor(s[z], s[x]), n)


_chacha20_blocks = terms.memo()


def chacha20_block(key, counter, nonce):  # 2.3; the counter is an integer or a value
    counter = counter if isinstance(counter, terms.Value) else const(counter, 32)
    known = *key, counter, *nonce
    if known not in _chacha20_blocks:
        _chacha20_blocks[known] = _chacha20_block(key, counter, nonce)
    return _chacha20_blocks[known]


def _chacha20_block(key, counter, nonce):
    start = [const(c, 32) for c in (0x61707865, 0x3320646e, 0x79622d32, 0x6b206574)] + key + [counter] + nonce
    s = list(start)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter_round(s, a, b, c, d)
    return cat(*map(add_modular, s, start))


def blocks(v, size):
    """Returns consecutive pieces of `size` bytes, the last possibly shorter."""
    return terms.parts_of(v, 8 * size)


def pad16(v):  # 2.8
    return extend(v, (v.width + 127) // 128 * 128)


def one_time_key(block):
    """Returns r, clamped (2.5.1), and s."""
    return terms.both(cut(block, 0, 128), const(0x0ffffffc0ffffffc0ffffffc0fffffff, 128)), cut(block, 128, 128)


def poly1305(h, r, message):
    """Returns the accumulator's residue after a message of whole blocks. h is the residue before it."""
    for b in blocks(message, 16) if message else ():
        h = (h + b.residue + (1 << b.width)) * r.residue % P
    return h


def cipher_text(key, counter, nonce, text):
    """The encryption of 2.4, for a text that starts at block number `counter`."""
    out = []
    for i, t in enumerate(blocks(text, 64) if text else ()):
        at = add_modular(counter, const(i, 32)) if isinstance(counter, terms.Value) else (counter + i) & 0xffffffff
        out.append(xor(t, cut(chacha20_block(key, at, nonce), 0, t.width)))
    return cat(*out) if out else None


# ---- AES-GCM (NIST SP 800-38D) --------------------------------------------------------------------------------------

def sub_word(v, rotated=0):
    """SubWord, after RotWord if `rotated` is 1."""
    return cat(*(sbox(cut(v, 8 * ((i + rotated) % 4), 8)) for i in range(4)))


def rcon(n):
    return const(1 << n - 1 if n < 9 else (0x1b, 0x36)[n - 9], 32)


def key_schedule(key):  # FIPS 197, 5.2
    nk = key.width // 32
    w = [cut(key, 32 * i, 32) for i in range(nk)]
    while len(w) < 4 * (nk + 7):
        t = w[-1]
        if len(w) % nk == 0:
            t = xor(sub_word(t, 1), rcon(len(w) // nk))
        elif nk > 6 and len(w) % nk == 4:
            t = sub_word(t)
        w.append(xor(w[-nk], t))
    return [cat(*w[i:i + 4]) for i in range(0, len(w), 4)]


def aes(schedule, block):  # FIPS 197, 5.1
    s = xor(block, schedule[0])
    for k in schedule[1:-1]:
        s = aes_round(s, k)
    return aes_round(s, schedule[-1], True)


_reversed = terms.memo()


def reverse(v):
    """The bytes in reverse order."""
    if v not in _reversed:
        _reversed[v] = cat(*reversed(terms.parts_of(v, 8)))
    return _reversed[v]


def field_element(block):
    """A block as an element of GF(2^128), by its image: the highest bit of byte 0 is the coefficient of x^0."""
    if terms.ascending:
        return cat(*(cut(extend(block, 128), i, 1) for byte in range(0, 128, 8) for i in range(byte + 7, byte - 1, -1))).image
    return field_product(X127, reverse(extend(block, 128)).image)


def counter_block(j0, n):
    """inc32, applied n times: it increments the last four bytes, in big-endian order."""
    low = reverse(cut(j0, 96, 32))
    return cat(cut(j0, 0, 96), reverse(add_modular(low, const(n, 32))))


def gcm_text(schedule, j0, first, text):
    """GCTR, starting at inc32^first(J0)."""
    return cat(*(xor(t, cut(aes(schedule, counter_block(j0, first + i)), 0, t.width)) for i, t in enumerate(blocks(text, 16)))) \
        if text else None


def polyval_key(block):
    """RFC 8452, appendix A: the key of GHASH, reversed and multiplied by x."""
    return field_product(2, field_element(reverse(block)))


def polyval(y, h, message):
    """GHASH of byte-reversed blocks (RFC 8452, appendix A). y and h are elements of the field."""
    for b in blocks(message, 16) if message else ():
        y = field_product(y ^ field_element(reverse(extend(b, 128))), h)
    return y


def ghash(y, h, message):
    """GHASH of blocks. y and h are elements of the field."""
    for b in blocks(message, 16) if message else ():
        y = field_product(y ^ field_element(b), h)
    return y
