"""Calls of kernels that authenticate: whole packets, parts and batches, with the conditions after a call."""
import spec
from run.kernels import AD, ARGS, IN, KEY, NONCE, OUT, STATE, TAG, Call, text_symbols
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


CHACHA, GCM = (32, 12, A["STATE_BYTES"]), (A["GCM_KEY_BYTES"], 12, A["GCM_STATE_BYTES"])  # bytes of key, nonce and state


def lay_out(call, shape, sizes, texts, ad_size=0, ad_at=AD, flags=0, **arguments):
    """Prepares memory and arguments for a packet or a part. texts: the regions of input and output. ad_size: the
    readable associated data."""
    last, parts = shape.flags & LAST, shape.flags != WHOLE
    key, nonce, state = sizes
    call.regions(("key", KEY, key, True, False), ("nonce", NONCE, nonce, True, False), ("ad", ad_at, ad_size, True, False),
                 ("tag", TAG, 16 if last else 0, False, True), ("state", STATE, state if parts else 0, True, not last), *texts)
    call.arguments(ad=ad_at, key=KEY, nonce=NONCE, tag=TAG, state=STATE if parts else None,
                   flags=shape.flags | (OPEN if shape.opens else 0) | flags, **arguments)


def text_regions(source, target, n, in_place):
    """The regions of text. Output may be read, because it is authenticated."""
    return [("in", source, n, True, in_place)] + ([] if in_place else [("out", target, n, True, True)])


def key_symbols():
    """Returns key and nonce of ChaCha20."""
    return [symbol(f"key{i}", 32) for i in range(8)], [symbol(f"nonce{i}", 32) for i in range(3)]


def nonce_symbols():
    return [symbol(f"nonce{i}", 32) for i in range(3)]


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
    return cat(*(cut(r, 32 * i, 32) for i in range(4))), cat(*(symbol(f"s{i}", 32) for i in range(4)))


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


def run_call(call, shape, trace):
    """Runs a call to its end. Returns the number of instructions and, for associated data of any length, the
    accumulator after them."""
    if not shape.section:
        return call.run(trace), None
    shape.section.arguments(call)
    h = shape.section.through(call)
    call.left_behind()
    return call.machine.steps, h


def chacha20poly1305(kernel, shape, folder=None, trace=None, function=True):
    """Runs one call of a kernel for whole packets and parts. Returns the number of instructions."""
    first, last = shape.flags & FIRST, shape.flags & LAST
    call = Call(kernel)
    n = shape.size
    source, target, ad_at = IN + 1, IN + 1 if shape.in_place else OUT + 3, AD + 1
    counter = const(1, 64) if first else extend(symbol("state counter", 32), 64)
    lay_out(call, shape, CHACHA, text_regions(source, target, n, shape.in_place), shape.ad if first else 0, ad_at, out=target,
            **{"in": source}, bytes=n, ad_bytes=ad_length(shape), total=(total := total_of(shape, 64)))
    if not shape.in_place and shape.both:
        call.memory.apart(source, target)
    memory, (key, nonce) = call.memory, key_symbols()
    r, s = put_chacha(call, shape.flags, counter)
    h = 0 if first else residue(h_before())
    ad, text = text_symbols("ad", shape.ad), text_symbols("text", n)
    if ad and first:
        memory.poke(ad_at, ad)
    if text:
        memory.poke(source, text)
    steps, behind_ad = run_call(call, shape, trace)
    if not function:
        return steps
    result = spec.cipher_text(key, cut(counter, 0, 32), nonce, text)
    call.expect("the text", target, result)
    authenticated = text if shape.opens else result
    if first and ad:
        h = spec.poly1305(h, r, spec.pad16(ad))
    if behind_ad is not None:
        h = behind_ad
    if authenticated:
        h = spec.poly1305(h, r, spec.pad16(authenticated) if last else authenticated)
    chacha_left(call, shape.flags, h, r, s, (ad_length(shape), total), [after_part(kernel, counter, n // 64)], folder)
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


_keys = {}


def gcm_key(kernel, bits, trace=None, name="key"):
    """Returns the memory of a key after set-up, and the number of instructions."""
    found = _keys.get((kernel.name, kernel.code, bits, name))
    if found is None or found[2] is not symbol(f"{name}0", 32) or trace is not None:
        call = Call(kernel)
        call.regions(("key", KEY, A["GCM_KEY_BYTES"], True, True))
        call.arguments(key=KEY, flags=A["FLAG_SETUP"])
        call.memory.put_number(KEY + A["GCM_KEY_ROUNDS"], const(bits // 32 + 6, 64))
        call.memory.poke(KEY + A["GCM_KEY_SCHEDULE"], cat(*(symbol(f"{name}{i}", 32) for i in range(bits // 32))))
        steps = call.run(trace)
        cells = {a: v for a, v in call.memory.cells.items() if KEY <= a < KEY + A["GCM_KEY_BYTES"]}
        found = _keys[kernel.name, kernel.code, bits, name] = (cells, steps, symbol(f"{name}0", 32))
    return found[:2]


def hash_key():
    return cat(*(symbol(f"hash key{i}", 32) for i in range(4)))


def given_key(kernel, before, flags, trace=None, longest=0):
    """Returns the memory of a key whose table is made from a hash key, as in AES-GCM-SIV, and the number of
    instructions. `before` is the key's memory so far. SCHEDULE is neither read nor written. ROUNDS is read only for
    AES-GCM."""
    call, table = Call(kernel), A["GCM_KEY_TABLE"]
    call.regions(("rounds", KEY, 0 if flags else 8, True, False), ("table", KEY + table, A["GCM_KEY_BYTES"] - table, True, True),
                 ("nonce", NONCE, 16, True, False))
    call.memory.cells.update({a: v for a, v in before.items() if a < KEY + 8})
    call.arguments(key=KEY, nonce=NONCE, bytes=longest, flags=A["FLAG_SETUP"] | A["FLAG_NONCE"] | flags)
    call.memory.poke(NONCE, hash_key())
    steps = call.run(trace)
    return {**before, **{a: v for a, v in call.memory.cells.items() if KEY + table <= a < KEY + A["GCM_KEY_BYTES"]}}, steps


def polyval(kernel, shape, trace=None, function=True):
    """Runs one call, after the call that makes the table. OUT, NONCE and the key's schedule are not accessible."""
    first, last, n, ad_at, source = shape.flags & FIRST, shape.flags & LAST, shape.size, AD + 1, IN + 1
    longest = max(n, shape.ad) if first and last else 1 << 20
    cells, made = given_key(kernel, {}, A["FLAG_POLYVAL"], trace, longest)
    call, table = Call(kernel), A["GCM_KEY_TABLE"]
    regions = [("table", KEY + table, A["GCM_KEY_BYTES"] - table, True, False), ("in", source, n, True, False)]
    if first:
        regions.append(("ad", ad_at, shape.ad, True, False))
    regions.append(("tag", TAG, 16, True, True) if last else ("state", STATE, 16, True, True))  # the tag may replace the lengths
    if last and not first:
        regions.append(("state", STATE, 16, True, False))
    call.regions(*regions)
    call.arguments(**{"in": source}, bytes=n, ad=ad_at, ad_bytes=shape.ad, key=KEY, tag=TAG, state=None if first and last else STATE,
                   out=None, nonce=None, total=(total := total_of(shape, 61)), flags=shape.flags | A["FLAG_POLYVAL"])
    memory = call.memory
    memory.cells.update(cells)
    ad, text, before = text_symbols("ad", shape.ad), text_symbols("text", n), cat(*(symbol(f"y{i}", 32) for i in range(4)))
    if ad and first:
        memory.poke(ad_at, ad)
    if text:
        memory.poke(source, text)
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
        schedule = spec.key_schedule(cat(*(symbol(f"key{i}", 32) for i in range(shape.bits // 32))))
        h = spec.field_element(hash_key() if getattr(shape, "given", False) else spec.aes(schedule, const(0, 128)))
    cells, steps = gcm_key(kernel, shape.bits, trace if isinstance(shape, Setup) else None)
    if isinstance(shape, Setup):
        if function:  # with a text that uses all powers of H
            aesgcm(kernel, GcmShape(600, bits=shape.bits, opens=True))
        return steps
    if shape.given:
        cells, _ = given_key(kernel, cells, 0, trace)
    first = shape.flags & FIRST
    call = Call(kernel)
    n = shape.size
    source, target, ad_at = IN + 1, IN + 1 if shape.in_place else OUT + 3, AD + 1
    nonce_bytes = (16 if shape.j0 else 12) if first else 0
    lay_out(call, shape, (GCM[0], nonce_bytes, GCM[2]), text_regions(source, target, n, shape.in_place), shape.ad if first else 0, ad_at,
            0 if shape.j0 else A["FLAG_NONCE"], out=target, **{"in": source}, bytes=n, ad_bytes=ad_length(shape), total=(total := total_of(shape, 61)))
    if not shape.in_place and shape.both:
        call.memory.apart(source, target)
    memory = call.memory
    memory.cells.update(cells)
    j0 = cat(*nonce_symbols(), symbol("nonce3", 32) if shape.j0 else const(1 << 24, 32))
    memory.poke(NONCE, cut(j0, 0, 128 if shape.j0 else 96))
    ad, text = text_symbols("ad", shape.ad), text_symbols("text", n)
    if ad and first:
        memory.poke(ad_at, ad)
    if text:
        memory.poke(source, text)
    y, begins, counter = 0, j0, 1
    mask = spec.aes(schedule, j0) if function else symbol("mask", 128)
    if not first:
        counter = shape.counter if kernel.branches_on_counter and not shape.j0 else 0
        begins = spec.counter_block(j0, counter) if counter else cat(*nonce_symbols(), symbol("state counter", 32))
        before = cat(*(symbol(f"y{i}", 32) for i in range(4)))
        y = spec.field_element(before)
        memory.poke(STATE + A["GCM_STATE_Y"], before)
        memory.poke(STATE + A["GCM_STATE_COUNTER"], begins)
        memory.poke(STATE + A["GCM_STATE_MASK"], mask)
    steps, behind_ad = run_call(call, shape, trace)
    if not function:
        return steps
    result = spec.gcm_text(schedule, begins, 1 if first else 0, text)
    call.expect("the text", target, result)
    authenticated = text if shape.opens else result
    if first:
        y = spec.ghash(y, h, ad) if behind_ad is None else behind_ad
    y = spec.ghash(y, h, authenticated)
    gcm_left(call, shape.flags, y, h, mask, (ad_length(shape), total), [spec.counter_block(begins, (1 if first else 0) + n // 16)])
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

LANES, LANE, STEP = 0x100000, 0x10000000, 0x1000000  # the array, and the targets of each lane's pointers


def batch(kernel, shape, folder=None, trace=None, function=True):
    """Runs a batch of lanes with different keys, nonces and texts."""
    call = Call(kernel)
    regions, lanes = [("lanes", LANES, A["LANE_STRIDE"] * len(shape.lanes), True, False)], []
    for i, (n, ad_bytes) in enumerate(shape.lanes):
        base, k = LANE + i * STEP, shape.key_of(i)
        lane = {"key": LANE + k * STEP, "nonce": base + 0x10001, "tag": base + 0x20001, "ad": base + 0x30001,
                "in": base + 0x100003, "bytes": n, "ad_bytes": ad_bytes}
        lane["out"] = lane["in"] if shape.in_place else base + 0x800001
        lanes.append(lane)
        if k == i or k == shape.key_of(i - 1) + 1:
            regions.append((f"key {k}", lane["key"], 32, True, False))
        regions += [(f"nonce {i}", lane["nonce"], 12, True, False),
                    (f"tag {i}", lane["tag"], 16, False, True), (f"ad {i}", lane["ad"], ad_bytes, True, False),
                    (f"in {i}", lane["in"], n, True, shape.in_place)]
        if not shape.in_place:
            regions.append((f"out {i}", lane["out"], n, True, True))
    call.regions(*regions)
    memory = call.memory
    for lane in lanes if not shape.in_place and shape.both else ():
        memory.apart(lane["in"], lane["out"])
    memory.poke(ARGS + A["BATCH_LANES"], extend(call.callers("lanes", LANES), 64))
    memory.poke(ARGS + A["BATCH_COUNT"], const(len(lanes), 64))
    memory.poke(ARGS + A["BATCH_FLAGS"], const(OPEN if shape.opens else 0, 64))
    for i, lane in enumerate(lanes):
        for slot in ("out", "in", "bytes", "ad", "ad_bytes", "key", "nonce", "tag"):
            v = const(lane[slot], 64) if slot.endswith("bytes") else extend(call.callers(f"{slot} {i}", lane[slot]), 64)
            memory.poke(LANES + i * A["LANE_STRIDE"] + A["LANE_" + slot.upper()], v)
        memory.poke(lane["key"], cat(*(symbol(f"key{shape.key_of(i)}_{j}", 32) for j in range(8))))
        memory.poke(lane["nonce"], cat(*(symbol(f"nonce{i}_{j}", 32) for j in range(3))))
        for what, size in (("ad", lane["ad_bytes"]), ("in", lane["bytes"])):
            if size:
                memory.poke(lane[what], text_symbols(f"{'text' if what == 'in' else 'ad'}{i}_", size))
    steps = call.run(trace)
    if not function:
        return steps
    for i, lane in enumerate(lanes):
        n, ad_bytes = lane["bytes"], lane["ad_bytes"]
        ad, text = text_symbols(f"ad{i}_", ad_bytes), text_symbols(f"text{i}_", n)
        nonce = [symbol(f"nonce{i}_{j}", 32) for j in range(3)]
        key = [symbol(f"key{shape.key_of(i)}_{j}", 32) for j in range(8)]
        result = spec.cipher_text(key, 1, nonce, text)
        call.expect(f"the text of lane {i}", lane["out"], result)
        authenticated = text if shape.opens else result
        r, s = spec.one_time_key(spec.chacha20_block(key, 0, nonce))
        h = 0
        for part in (ad, authenticated):
            if part:
                h = spec.poly1305(h, r, spec.pad16(part))
        h = spec.poly1305(h, r, const(ad_bytes | n << 64, 128))
        reduction.prove(memory.peek(lane["tag"], 16), h % P, s, folder, kernel.isa.POINTER == 32)
    return steps
