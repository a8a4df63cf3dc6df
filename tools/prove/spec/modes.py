"""AES modes without authentication, on values of values/terms.py: NIST SP 800-38A, and 800-38E with IEEE 1619."""
import spec
from spec.args import CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, MASKS, XTS_DECRYPT, \
    XTS_ENCRYPT
from values import terms
from values.terms import cat, const, cut, xor


def inverse_schedule(schedule):
    """The round keys of the equivalent inverse cipher (FIPS 197, 5.3.5)."""
    return [schedule[-1]] + [terms.mix_columns(k, True) for k in schedule[-2:0:-1]] + [schedule[0]]


def decrypt(inverse, block):
    s = xor(block, inverse[0])
    for k in inverse[1:-1]:
        s = terms.aes_inverse_round(s, k)
    return terms.aes_inverse_round(s, inverse[-1], True)


def times_x(t):
    """IEEE 1619, 5.2: a block times x modulo x^128 + x^7 + x^2 + x + 1. Its first byte is the lowest."""
    top, zero = cut(t, 127, 1), const(0, 1)
    return xor(terms.shift_left(t, 1), cat(top, top, top, zero, zero, zero, zero, top, const(0, 120)))


def next_little(counter):
    """RFC 8452, section 4."""
    return cat(terms.add_modular(cut(counter, 0, 32), const(1, 32)), cut(counter, 32, 96))


def result_of(mode, schedule, text, state):
    """Returns the output and the state after it (SP 800-38A, 6.1, 6.2, 6.5; IEEE 1619, 5.3 and 5.4)."""
    inverse = inverse_schedule(schedule) if mode in (ECB_DECRYPT, CBC_DECRYPT, XTS_DECRYPT) else None
    encrypted, decrypted = lambda v: spec.aes(schedule, v), lambda v: decrypt(inverse, v)
    function, out = {  # of a block b and the state s before it: the output and the state after it
        ECB_ENCRYPT: lambda b, s: (encrypted(b), None),
        ECB_DECRYPT: lambda b, s: (decrypted(b), None),
        MASKS: lambda b, s: (encrypted(b), None),
        CTR: lambda b, s: (xor(b, encrypted(s)), spec.counter_block(s, 1)),
        CTR_LITTLE: lambda b, s: (xor(b, encrypted(s)), next_little(s)),
        CBC_ENCRYPT: lambda b, s: 2 * (encrypted(xor(b, s)),),
        CBC_DECRYPT: lambda b, s: (xor(decrypted(b), s), b),
        XTS_ENCRYPT: lambda b, s: (xor(encrypted(xor(b, s)), s), times_x(s)),
        XTS_DECRYPT: lambda b, s: (xor(decrypted(xor(b, s)), s), times_x(s)),
    }[mode], []
    for b in spec.blocks(text, 16) if text else ():
        v, state = function(b, state)
        out.append(v)
    return cat(*out) if out else None, state
