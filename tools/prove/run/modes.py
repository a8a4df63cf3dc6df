"""AES modes without authentication (NIST SP 800-38A, and 800-38E with IEEE 1619), and header masks by ChaCha20 (RFC
9001, 5.4.4). The calls are those of src/aes_api.c and src/quic.c. This file also has the conditions after a call.
"""
import spec
from run.kernels import KEY, At, Call, key_after, texts_at, words_of
from spec.args import A, CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, MASKS, NAMES, SETUP, \
    XTS_DECRYPT, XTS_ENCRYPT
from spec.modes import result_of
from values import linear, terms
from values.terms import cat, const, cut

LONG = (47, 63, 64, 65, 71, 95, 96, 100)  # blocks
MASK_LANES = 64  # the most lanes of callers: CHUNK of src/quic.c, batchLanes of quic/
LANE, STEP = 0x10000000, 0x100000  # the targets of each lane's pointers, or of the one text's
WITHOUT_STATE = ECB_ENCRYPT, ECB_DECRYPT, MASKS, None
DECRYPTING = ECB_DECRYPT, CBC_DECRYPT, XTS_DECRYPT  # others do not need INVERSE, which set-up may have left unwritten


class ModeShape:
    """A call: mode, blocks of text (for lanes: of each), bits of the key, lanes. mode None: masks by ChaCha20. blocks
    None: a part of a call with any number."""

    def __init__(self, mode, blocks=1, bits=128, in_place=False, lanes=0, same_key=False, encrypts=False):
        self.mode, self.blocks, self.bits, self.in_place = mode, blocks, bits, in_place
        self.lanes, self.same_key, self.encrypts = lanes, same_key, encrypts  # encrypts: a key without decryption
        self.both, self.size = blocks is not None, 16 * (blocks or 0) * max(1, lanes)

    def __str__(self):
        text = "masks" if self.mode is None else f"AES-{self.bits}, {NAMES[self.mode]}"
        more = ((self.encrypts, " without INVERSE"), (self.mode and self.blocks is not None, f", {self.blocks} blocks"),
                (self.lanes, f", {self.lanes} lanes"), (self.same_key, " of one key"), (self.in_place, ", in place"))
        return text + "".join(said for is_so, said in more if is_so)


def shapes(kernel, quick):
    if "chacha20masks" in kernel.name:
        counts = (1, 7, 17) if quick else range(1, MASK_LANES + 1)
        return [ModeShape(None, lanes=n, same_key=s) for s in (False, True) for n in counts]
    bits = (128, 192, 256)
    found = [ModeShape(SETUP, bits=b, encrypts=e) for b in bits for e in (False, True)]
    # At most eight rows of four blocks are processed at once. Then follow four, two and one row, and the remaining
    # blocks.
    counts = (0, 1, 5, 13, 33, 95) if quick else (*range(0, 35), *LONG)
    little = (CTR_LITTLE,) if kernel.has_siv else ()
    for mode in (ECB_ENCRYPT, ECB_DECRYPT, CTR, CBC_DECRYPT, XTS_ENCRYPT, XTS_DECRYPT, *little):
        found += [ModeShape(mode, n, b) for n in counts for b in bits if n < 35 or b == bits[(n + mode) % 3]]
    for n in (1, 2, 9) if quick else range(1, MASK_LANES + 1):
        for blocks in (1, 3) if n < 18 or n in (24, 25) else ():
            found += [ModeShape(CBC_ENCRYPT, blocks, b, False, n, same_key=s) for b in bits for s in (False, True)]
        found += [ModeShape(MASKS, 1, b, lanes=n, same_key=s) for b in bits for s in (False, True)]
    # Without induction (aes_modes.py, blocks_modes.py), each number of blocks to 34 is run, with alternating numbers of lanes.
    for blocks in () if quick or not kernel.name.endswith(("_ssse3", "_zvkned")) else (2, *range(4, 35), *LONG):
        for b in bits:
            for n in (1, 2 + blocks % 7):
                found.append(ModeShape(CBC_ENCRYPT, blocks, b, False, n))
    return found


_not_zero = terms.memo()


def not_zero(width):
    """Any number that fits in registers but 0."""
    if width not in _not_zero:
        _not_zero[width] = linear.Base("not 0", 1, (1 << width - 1) - 1, width=width)
    return terms.extend(_not_zero[width] + 0, 64)


def key_cells(kernel, bits, name, trace=None, encrypts=False):
    """Returns the memory of a key after set-up, and the number of instructions."""
    # Without an inverse, only 32-bit ARM's AES instructions write inverse round keys.
    schedule, inverse, end = A["AES_KEY_SCHEDULE"], A["AES_KEY_INVERSE"], A["AES_KEY_BYTES"]
    left = encrypts and not kernel.name.endswith("ce32")
    return key_after(kernel, bits, name, trace, end, ("rounds", KEY, schedule, True, False),
                     ("schedule", KEY + schedule, inverse - schedule, True, True),
                     ("inverse", KEY + inverse, 0 if left else end - inverse, True, True), kind="MODE", operation=SETUP,
                     encrypts_only=not_zero(kernel.isa.POINTER) if encrypts else 0)


def schedule_of(bits, name):
    return spec.key_schedule(cat(*words_of(name, bits // 32)))


def blocks_of(name, n):
    return cat(*words_of(name, 4 * n)) if n else None


def key_bytes(mode):
    """Those of a key whose contents a mode may use."""
    return A["AES_KEY_BYTES" if mode in DECRYPTING else "AES_KEY_INVERSE"]


def lanes_of(shape, n):
    """Returns the pointers of each lane, or of the one text, as slot -> At. n: the readable bytes of a text."""
    lanes = []
    for i in range(shape.lanes or 1):
        at, of_chacha = LANE + i * STEP, shape.mode is None
        lane = {"key": At(LANE if shape.same_key else at, 32 if of_chacha else A["AES_KEY_BYTES"]),
                **texts_at(shape, at + 0x20003, at + 0x80001, n, 8 if of_chacha else n)}
        if shape.mode not in WITHOUT_STATE:
            lane["chain" if shape.lanes else "state"] = At(at + 0x10001, 16, True, True)
        lanes.append(lane)
    return lanes


def state_at(lane):
    return lane.get("chain", lane.get("state")).address


def prepare(call, shape, lanes, states, size, *more):
    """Writes the call's arguments, keys and states. size: the bytes of each text. more: further regions."""
    if shape.lanes:
        arguments = {"lanes": lanes, "count": len(lanes), **({"bytes_each": size} if shape.mode == CBC_ENCRYPT else {})}
    else:
        arguments = {"state": None, **lanes[0], "bytes": size}
    call.prepare(shape, *more, kind="MODE", operation=shape.mode, **arguments)  # masks by ChaCha20: any operation
    for i, (lane, state) in enumerate(zip(lanes, states)):
        name, at = key_name(shape, i), lane["key"].address
        if shape.mode is None:
            call.memory.poke(at, cat(*words_of(name, 8)))
        else:
            cells = key_cells(call.kernel, shape.bits, name, None, shape.encrypts)[0]
            call.memory.cells.update({a - KEY + at: v for a, v in cells.items() if a < KEY + key_bytes(shape.mode)})
        if state:
            call.memory.poke(state_at(lane), state)


def key_name(shape, i):
    return f"key{0 if shape.same_key else i}_"


def of_texts(kernel, shape, trace, function):
    call, mode, n = Call(kernel), shape.mode, range(shape.lanes or 1)
    texts = [blocks_of(f"block{i}_", shape.blocks) for i in n]
    states = [None if mode in WITHOUT_STATE else blocks_of(f"state{i}_", 1) for i in n]
    if mode == CTR and kernel.branches_on_counter:
        counter = (0, 29, 0xfffffffd)[shape.blocks % 3]
        states = [cat(cut(states[0], 0, 96), spec.reverse(const(counter, 32)))]
    lanes = lanes_of(shape, 16 * shape.blocks)
    prepare(call, shape, lanes, states, 16 * shape.blocks)
    for lane, text in zip(lanes, texts):
        if text:
            call.memory.poke(lane["in"].address, text)
    steps = call.run(trace)
    for i, (lane, text, state) in enumerate(zip(lanes, texts, states) if function else ()):
        after = None
        if mode is None:
            counter, *nonce = terms.parts_of(text, 32)
            result = cut(spec.chacha20_block(words_of(key_name(shape, i), 8), counter, nonce), 0, 64)
        else:
            result, after = result_of(mode, schedule_of(shape.bits, key_name(shape, i)), text, state)
        call.expect(f"text {i}", lane["out"].address, result)
        if after:
            call.expect(f"state {i}", state_at(lane), after)
    return steps


def prove(kernel, shape, trace=None, function=True):
    """Runs one call. Returns the number of instructions."""
    if shape.mode != SETUP:
        return of_texts(kernel, shape, trace, function)
    steps = key_cells(kernel, shape.bits, "key", trace, shape.encrypts)[1]
    if function:  # the contents of a key are internal, so the results with it are compared
        for mode in (ECB_ENCRYPT,) if shape.encrypts else (ECB_ENCRYPT, ECB_DECRYPT):
            of_texts(kernel, ModeShape(mode, 1, shape.bits, encrypts=shape.encrypts), None, True)
    return steps
