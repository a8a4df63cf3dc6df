"""Calls of kernels that authenticate: whole packets, parts and batches, with the conditions after a call."""
import spec
from run.kernels import AD, IN, KEY, NONCE, OUT, STATE, TAG, At, Call, key_after, text_symbols, texts_at, words_of
from spec import reduction
from spec.args import A, FIRST, LAST, OPEN, WHOLE
from values import terms
from values.terms import P, Unproved, cat, const, cut, extend, same, symbol


class Shape:
    """A call's lengths, flags and alignments. section: replaces associated data of any length (induction/ad.py). both:
    input and output are separate, and the call in place is proved, too (Memory.apart)."""

    section, both = None, True

    def __init__(self, size, ad=0, opens=False, flags=WHOLE, in_place=False):
        self.size, self.ad, self.opens, self.flags, self.in_place = size, ad, opens, flags, in_place

    def __str__(self):
        parts = [f"{'open' if self.opens else 'seal'} {self.size}"]
        if self.ad:
            parts.append(f"ad {self.ad}")
        if self.flags != WHOLE:
            parts.append({FIRST: "first part", LAST: "last part", 0: "middle part"}[self.flags])
        if self.in_place:
            parts.append("in place")
        return ", ".join(parts)


SCHEDULE = A["GCM_KEY_SCHEDULE"]
TABLE, KEY_END = KEY + A["GCM_KEY_TABLE"], KEY + A["GCM_KEY_BYTES"]
CHACHA, GCM = (32, 12, A["STATE_BYTES"]), (A["GCM_KEY_BYTES"], 12, A["GCM_STATE_MASK"] + 16)  # bytes of key, nonce and state


def lay_out(call, shape, sizes, texts, ad_size=0, ad_at=AD, flags=0, **arguments):
    """Prepares memory and arguments for a packet or a part. texts: regions of input and output, if they are not among the
    arguments. ad_size: the readable associated data."""
    last, parts = shape.flags & LAST, shape.flags != WHOLE
    key, nonce, state = sizes
    call.prepare(shape, *texts, ad=At(ad_at, ad_size), key=At(KEY, key), nonce=At(NONCE, nonce), tag=At(TAG, 16 if last else 0, False, True),
                 state=At(STATE, state, True, not last) if parts else None, flags=shape.flags | (OPEN if shape.opens else 0) | flags, **arguments)


class Packet(Call):
    """A call for a whole packet, or for a part, with arbitrary text and associated data. bits: of a packet's length."""

    def __init__(self, kernel, shape, sizes, bits, flags=0, cells={}):
        super().__init__(kernel)
        self.shape, n, first = shape, shape.size, shape.flags & FIRST
        texts = texts_at(shape, IN + 1, OUT + 3, n, read=True)
        self.target, self.lengths = texts["out"].address, (ad_length(shape), total_of(shape, bits))
        lay_out(self, shape, sizes, (), shape.ad if first else 0, AD + 1, flags, bytes=n, ad_bytes=self.lengths[0], total=self.lengths[1], **texts)
        self.memory.cells.update(cells)
        self.ad, self.text = put_data(self, shape)

    def through(self, trace):
        """Runs the call to its end. Returns the number of instructions and, for associated data of any length, the
        accumulator after them."""
        section = self.shape.section
        if not section:
            return self.run(trace), None
        section.arguments(self)
        h = section.through(self)
        self.left_behind()
        return self.machine.steps, h

    def authenticated(self, result):
        """Checks the text after the call. Returns what is authenticated."""
        self.expect("the text", self.target, result)
        return self.text if self.shape.opens else result


def put_data(call, shape):
    """Writes arbitrary associated data and text. Returns them."""
    ad, text = text_symbols("ad", shape.ad), text_symbols("text", shape.size)
    for at, v in ((AD + 1, ad if shape.flags & FIRST else None), (IN + 1, text)):
        if v:
            call.memory.poke(at, v)
    return ad, text


def key_symbols():
    """Returns key and nonce of ChaCha20."""
    return words_of("key", 8), nonce_symbols()


def nonce_symbols():
    return words_of("nonce", 3)


def residue(limbs, weights=(0, 64, 128)):
    return sum(v.residue << w for v, w in zip(limbs, weights)) % P


def h_before():
    """The accumulator in the state of a later part, below 2^131."""
    return [symbol("state h0", 64), symbol("state h1", 64), symbol("state h2", 3)]


def one_time(flags):
    """Returns r and s of Poly1305. In a later part, they are in the state."""
    if flags & FIRST:
        key, nonce = key_symbols()
        return spec.one_time_key(spec.chacha20_block(key, 0, nonce))
    r = terms.both(symbol("r", 128), const(0x0ffffffc0ffffffc0ffffffc0fffffff, 128))
    return cat(*(cut(r, 32 * i, 32) for i in range(4))), cat(*words_of("s", 4))


def put_chacha(call, flags, counter):
    """Writes key and nonce, and in a later part the state, with a 64-bit counter. Returns r and s."""
    key, nonce = key_symbols()
    r, s = one_time(flags)
    call.memory.poke(KEY, cat(*key))
    call.memory.poke(NONCE, cat(*nonce))
    if not flags & FIRST:
        h0, h1, h2 = h_before()
        for name, v in (("H", cat(h0, h1, extend(h2, 64))), ("R", r), ("S", s), ("COUNTER", counter)):
            for i in range(0, v.width, 64):
                call.memory.put_number(STATE + A["STATE_" + name] + i // 8, cut(v, i, 64))
    return r, s


def chacha_left(call, flags, h, r, s, lengths, counters, folder):
    """Checks the tag or state after the call. h is the polynomial of all text. lengths: the last block of a packet.
    counters: allowed 64-bit counters of the state."""
    if flags & LAST:
        reduction.prove(call.memory.peek(TAG, 16), spec.poly1305(h, r, cat(*lengths)) % P, s, folder, call.kernel.isa.POINTER == 32)
        return
    limbs = [call.memory.number(STATE + A["STATE_H"] + 8 * i, 8) for i in range(3)]
    if residue(limbs) != h % P:
        raise Unproved("the accumulator in the state is not the polynomial of the specification")
    if sum(v.most << 64 * i for i, v in enumerate(limbs)) >= 1 << 131:
        raise Unproved(f"the accumulator in the state may reach 2^131 ({[hex(v.most) for v in limbs]})")
    number = spec.reverse if call.memory.big else lambda v: v
    for name, v in (("R", r), ("S", s)):
        for i in range(0, 128, 64):
            call.expect(f"{name.lower()} in the state", STATE + A["STATE_" + name] + i // 8, number(cut(v, i, 64)))
    got = call.memory.number(STATE + A["STATE_COUNTER"], 8)
    if not any(same(got, counter) for counter in counters):
        call.expect("the counter in the state", STATE + A["STATE_COUNTER"], number(counters[-1]))


def gcm_left(call, flags, y, h, mask, lengths, blocks):
    """Checks the tag or state after the call. y is GHASH of all text. lengths: those of associated data and packet.
    blocks: allowed counter blocks of the state."""
    if flags & LAST:
        y = spec.ghash(y, h, cat(*(spec.reverse(terms.shift_left(v, 3)) for v in lengths)))
        if spec.field_element(call.memory.peek(TAG, 16)) != y ^ spec.field_element(mask):
            raise Unproved("the tag is not that of the specification")
        return
    if spec.field_element(call.memory.peek(STATE + A["GCM_STATE_Y"], 16)) != y:
        raise Unproved("GHASH in the state is not that of the specification")
    at = STATE + A["GCM_STATE_COUNTER"]
    got = call.memory.peek(at, 16)
    if not any(all(same(cut(got, i, 32), cut(block, i, 32)) for i in range(0, 128, 32)) for block in blocks):
        call.expect("the counter in the state", at, blocks[-1])
    call.expect("the mask in the state", STATE + A["GCM_STATE_MASK"], mask)


def ad_length(shape):
    """Bytes of associated data, as the argument says; of a later part any number."""
    if shape.section:
        return extend(shape.section.bytes + 0, 64)
    return const(shape.ad, 64) if shape.flags & FIRST else extend(symbol("packet ad bytes", 61), 64)


def chacha20poly1305(kernel, shape, folder=None, trace=None, function=True):
    """Runs one call of a kernel for whole packets and parts. Returns the number of instructions."""
    first, last = shape.flags & FIRST, shape.flags & LAST
    call = Packet(kernel, shape, CHACHA, 64)
    key, nonce = key_symbols()
    counter = const(1, 64) if first else extend(symbol("state counter", 32), 64)
    r, s = put_chacha(call, shape.flags, counter)
    steps, h = call.through(trace)
    if not function:
        return steps
    authenticated = call.authenticated(spec.cipher_text(key, cut(counter, 0, 32), nonce, call.text))
    if h is None:
        h = 0 if first else residue(h_before())
        if first and call.ad:
            h = spec.poly1305(h, r, spec.pad16(call.ad))
    if authenticated:
        h = spec.poly1305(h, r, spec.pad16(authenticated) if last else authenticated)
    chacha_left(call, shape.flags, h, r, s, call.lengths, [after_part(kernel, counter, shape.size // 64)], folder)
    return steps


class GcmShape(Shape):
    """A call of AES-GCM, with the length of the key, and a nonce of 12 bytes or any J0. counter: that of a part, for
    kernels that branch on it if it is public. given: the table is made again from a hash key."""

    def __init__(self, size, bits=128, j0=False, counter=5, given=False, **more):
        super().__init__(size, **more)
        self.bits, self.j0, self.counter, self.given = bits, j0, counter, given

    def __str__(self):
        text = f"AES-{self.bits}, {super().__str__()}" + (", any J0" if self.j0 else "") + (", hash key given" if self.given else "")
        return text if self.flags & FIRST else f"{text}, counter {self.counter} or any"


class PolyvalShape(Shape):
    """POLYVAL with a given hash key, by a kernel of AES-GCM."""

    bits, j0 = 0, False

    def __str__(self):
        return "POLYVAL, " + super().__str__().removeprefix("seal ")


def total_of(shape, bits):
    """The argument for the bytes of a packet, of which this call has a part."""
    return const(shape.size, 64) if shape.flags == WHOLE else extend(symbol("packet bytes", bits), 64)


def after_part(kernel, counter, blocks):
    """The counter in the state. Some kernels keep 32 bits of it. After the last possible block these differ, but
    nothing reads them."""
    return extend(terms.add_modular(cut(counter, 0, 32), const(blocks, 32)), 64) if getattr(kernel.isa, "COUNTER", kernel.isa.POINTER) == 32 else \
        terms.add(64, counter, const(blocks, 64))[0]


class Setup:
    """The call that sets up a key."""

    def __init__(self, bits):
        self.bits = bits

    def __str__(self):
        return f"AES-{self.bits}, key set-up"


def gcm_key(kernel, bits, trace=None, name="key"):
    """Returns the memory of a key after set-up, and the number of instructions."""
    size = A["GCM_KEY_BYTES"]
    return key_after(kernel, bits, name, trace, size, ("rounds", KEY, SCHEDULE, True, False), ("key", KEY + SCHEDULE, size - SCHEDULE, True, True), flags=A["FLAG_SETUP"])


def hash_key():
    return cat(*words_of("hash key", 4))


def given_key(kernel, before, flags, trace=None, longest=0):
    """Returns the memory of a key whose table is made from a hash key, as in AES-GCM-SIV, and the number of
    instructions. `before` is the key's memory so far. SCHEDULE is neither read nor written. ROUNDS is read only for
    AES-GCM."""
    call = Call(kernel)
    call.prepare(None, ("rounds", KEY, 0 if flags else 8, True, False), ("table", TABLE, KEY_END - TABLE, True, True),
                 key=At(KEY), nonce=At(NONCE, 16), bytes=longest, flags=A["FLAG_SETUP"] | A["FLAG_NONCE"] | flags)
    call.memory.cells.update({a: v for a, v in before.items() if a < KEY + 8})
    call.memory.poke(NONCE, hash_key())
    steps = call.run(trace)
    return {**before, **call.bytes_of(TABLE, KEY_END)}, steps


def polyval(kernel, shape, trace=None, function=True):
    """Runs one call, after the call that makes the table. OUT, NONCE and the key's schedule are not accessible."""
    first, last, n = shape.flags & FIRST, shape.flags & LAST, shape.size
    longest = max(n, shape.ad) if first and last else 1 << 20
    cells, made = given_key(kernel, {}, A["FLAG_POLYVAL"], trace, longest)
    call, total = Call(kernel), total_of(shape, 61)
    call.prepare(shape, ("table", TABLE, KEY_END - TABLE, True, False), bytes=n, ad=At(AD + 1, shape.ad if first else 0), ad_bytes=shape.ad,
                 key=At(KEY), tag=At(TAG, 16 if last else 0, True, True),  # the tag may replace the lengths
                 state=None if first and last else At(STATE, 16, True, not last), out=None, nonce=None, total=total,
                 flags=shape.flags | A["FLAG_POLYVAL"], **{"in": At(IN + 1, n)})
    memory = call.memory
    memory.cells.update(cells)
    (ad, text), before = put_data(call, shape), cat(*words_of("y", 4))
    if not first:
        memory.poke(STATE, before)
    steps = call.run(trace) + made
    if not function:
        return steps
    h = spec.polyval_key(hash_key())
    y = spec.polyval(0, h, ad) if first else spec.field_element(spec.reverse(before))
    y = spec.polyval(y, h, text)
    if last:
        y = spec.polyval(y, h, cat(terms.shift_left(const(shape.ad, 64), 3), terms.shift_left(total, 3)))
    if spec.field_element(spec.reverse(memory.peek(TAG if last else STATE, 16))) != y:
        raise Unproved("the sum is not that of the specification")
    return steps


def aesgcm(kernel, shape, trace=None, function=True):
    """Runs one call of an AES-GCM kernel, with a key that the kernel has set up. The contents of the key are internal,
    so packets under the key prove its set-up."""
    if isinstance(shape, PolyvalShape):
        return polyval(kernel, shape, trace, function)
    if function:
        schedule = spec.key_schedule(cat(*words_of("key", shape.bits // 32)))
        h = spec.field_element(hash_key() if getattr(shape, "given", False) else spec.aes(schedule, const(0, 128)))
    cells, steps = gcm_key(kernel, shape.bits, trace if isinstance(shape, Setup) else None)
    if isinstance(shape, Setup):
        if function:  # with a text that uses all powers of H
            aesgcm(kernel, GcmShape(600, bits=shape.bits, opens=True))
        return steps
    if shape.given:
        cells, _ = given_key(kernel, cells, 0, trace)
    first = shape.flags & FIRST
    nonce_bytes = (16 if shape.j0 else 12) if first else 0
    call = Packet(kernel, shape, (GCM[0], nonce_bytes, GCM[2]), 61, 0 if shape.j0 else A["FLAG_NONCE"], cells)
    memory = call.memory
    j0 = cat(*nonce_symbols(), symbol("nonce3", 32) if shape.j0 else const(1 << 24, 32))
    memory.poke(NONCE, cut(j0, 0, 128 if shape.j0 else 96))
    y, begins, counter = 0, j0, 1
    mask = spec.aes(schedule, j0) if function else symbol("mask", 128)
    if not first:
        counter = shape.counter if kernel.branches_on_counter and not shape.j0 else 0
        begins = spec.counter_block(j0, counter) if counter else cat(*nonce_symbols(), symbol("state counter", 32))
        before = cat(*words_of("y", 4))
        y = spec.field_element(before)
        memory.poke(STATE + A["GCM_STATE_Y"], before)
        memory.poke(STATE + A["GCM_STATE_COUNTER"], begins)
        memory.poke(STATE + A["GCM_STATE_MASK"], mask)
    steps, behind_ad = call.through(trace)
    if not function:
        return steps
    begun = 1 if first else 0
    authenticated = call.authenticated(spec.gcm_text(schedule, begins, begun, call.text))
    if first:
        y = spec.ghash(y, h, call.ad) if behind_ad is None else behind_ad
    y = spec.ghash(y, h, authenticated)
    gcm_left(call, shape.flags, y, h, mask, call.lengths, [spec.counter_block(begins, begun + shape.size // 16)])
    return steps


class BatchShape:
    """A call of a batch kernel: (bytes of text, of associated data) of each lane."""

    both = True

    def __init__(self, lanes, opens=False, in_place=False, keys=0):
        self.lanes, self.opens, self.in_place, self.keys = lanes, opens, in_place, keys

    def key_of(self, i):
        """The number of a lane's key."""
        return (i, 0, i // 2)[self.keys]

    def __str__(self):
        return f"{'open' if self.opens else 'seal'} {len(self.lanes)} lanes " + " ".join(f"{n}" + (f"+{a}" if a else "") for n, a in self.lanes) \
            + ("", ", of one key", ", a key for each two")[self.keys] + (", in place" if self.in_place else "")


LANE, STEP = 0x10000000, 0x1000000  # the targets of each lane's pointers


def batch(kernel, shape, folder=None, trace=None, function=True):
    """Runs a batch of lanes with different keys, nonces and texts."""
    call, lanes = Call(kernel), []
    for i, (n, ad_bytes) in enumerate(shape.lanes):
        base = LANE + i * STEP
        lanes.append({"bytes": n, "ad": At(base + 0x30001, ad_bytes), "ad_bytes": ad_bytes, "key": At(LANE + shape.key_of(i) * STEP, 32),
                      "nonce": At(base + 0x10001, 12), "tag": At(base + 0x20001, 16, False, True),
                      **texts_at(shape, base + 0x100003, base + 0x800001, n, read=True)})
    call.prepare(shape, kind="BATCH", lanes=lanes, count=len(lanes), flags=OPEN if shape.opens else 0)
    data = []
    for i, lane in enumerate(lanes):
        key, nonce = words_of(f"key{shape.key_of(i)}_", 8), words_of(f"nonce{i}_", 3)
        ad, text = text_symbols(f"ad{i}_", lane["ad_bytes"]), text_symbols(f"text{i}_", lane["bytes"])
        data.append((key, nonce, ad, text))
        for slot, v in (("key", cat(*key)), ("nonce", cat(*nonce)), ("ad", ad), ("in", text)):
            if v:
                call.memory.poke(lane[slot].address, v)
    steps = call.run(trace)
    if not function:
        return steps
    for i, (lane, (key, nonce, ad, text)) in enumerate(zip(lanes, data)):
        result = spec.cipher_text(key, 1, nonce, text)
        call.expect(f"the text of lane {i}", lane["out"].address, result)
        authenticated = text if shape.opens else result
        r, s = spec.one_time_key(spec.chacha20_block(key, 0, nonce))
        h = 0
        for part in (ad, authenticated):
            if part:
                h = spec.poly1305(h, r, spec.pad16(part))
        h = spec.poly1305(h, r, const(lane["ad_bytes"] | lane["bytes"] << 64, 128))
        reduction.prove(call.memory.peek(lane["tag"].address, 16), h % P, s, folder, kernel.isa.POINTER == 32)
    return steps
