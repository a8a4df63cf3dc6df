"""AES modes without authentication, on values of values/terms.py: NIST SP 800-38A, and 800-38E with IEEE 1619."""
import spec
from spec.args import CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, XTS_DECRYPT, XTS_ENCRYPT
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


def result_of(mode, schedule, text, state):
    """Returns the output and the state after it (SP 800-38A, 6.1, 6.2, 6.5; IEEE 1619, 5.3 and 5.4)."""
    out, inverse = [], inverse_schedule(schedule) if mode in (ECB_DECRYPT, CBC_DECRYPT, XTS_DECRYPT) else None
    for b in spec.blocks(text, 16) if text else ():
        if mode == ECB_ENCRYPT:
            out.append(spec.aes(schedule, b))
        elif mode == ECB_DECRYPT:
            out.append(decrypt(inverse, b))
        elif mode == CTR:
            out.append(xor(b, spec.aes(schedule, state)))
            state = spec.counter_block(state, 1)
        elif mode == CTR_LITTLE:  # RFC 8452, section 4
            out.append(xor(b, spec.aes(schedule, state)))
            state = cat(terms.add_modular(cut(state, 0, 32), const(1, 32)), cut(state, 32, 96))
        elif mode == CBC_DECRYPT:
            out.append(xor(decrypt(inverse, b), state))
            state = b
        elif mode == CBC_ENCRYPT:
            state = spec.aes(schedule, xor(b, state))
            out.append(state)
        else:
            e = spec.aes(schedule, xor(b, state)) if mode == XTS_ENCRYPT else decrypt(inverse, xor(b, state))
            out.append(xor(e, state))
            state = times_x(state)
    return cat(*out) if out else None, state
