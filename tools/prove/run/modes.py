"""AES modes without authentication (NIST SP 800-38A, and 800-38E with IEEE 1619), and header masks by ChaCha20 (RFC
9001, 5.4.4). The calls are those of src/aes_api.c and src/quic.c. This file also has the conditions after a call.
"""
import spec
from run.kernels import IN, KEY, OUT, STATE, At, Call, key_after, texts_at, words_of
from spec.args import A, CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, MASKS, NAMES, SETUP, XTS_DECRYPT, XTS_ENCRYPT
from spec.modes import result_of
from values import terms
from values.terms import cat, const, cut

LONG = (47, 63, 64, 65, 71, 95, 96, 100)  # blocks
MASK_LANES = 64  # the most lanes of callers: CHUNK of src/quic.c, batchLanes of quic/
LANE, STEP = 0x10000000, 0x100000  # the targets of each lane's pointers


class ModeShape:
    """A call: mode, blocks of text (for lanes: of each), bits of the key, lanes. mode None: masks by ChaCha20."""

    both = True

    def __init__(self, mode, blocks=1, bits=128, in_place=False, lanes=0, same_key=False, encrypts=False):
        self.mode, self.blocks, self.bits, self.in_place = mode, blocks, bits, in_place
        self.lanes, self.same_key, self.encrypts = lanes, same_key, encrypts  # encrypts: a key without decryption
        self.size = 16 * blocks * max(1, lanes)

    def __str__(self):
        if self.mode is None:
            return f"masks, {self.lanes} lanes" + (" of one key" if self.same_key else "")
        text = f"AES-{self.bits}, {NAMES[self.mode]}" + (" without INVERSE" if self.encrypts else "")
        if self.mode != SETUP:
            text += f", {self.blocks} blocks" + (f", {self.lanes} lanes" if self.lanes else "") + (" of one key" if self.same_key else "")
        return text + (", in place" if self.in_place else "")


def shapes(kernel, quick):
    if "chacha20masks" in kernel.name:
        return [ModeShape(None, lanes=n, same_key=s) for s in (False, True) for n in ((1, 7, 17) if quick else range(1, MASK_LANES + 1))]
    bits = (128, 192, 256)
    found = [ModeShape(SETUP, bits=b, encrypts=e) for b in bits for e in (False, True)]
    # At most eight rows of four blocks are processed at once. Then follow four, two and one row, and the remaining
    # blocks.
    counts = (0, 1, 5, 13, 33, 95) if quick else (*range(0, 35), *LONG)
    for mode in (ECB_ENCRYPT, ECB_DECRYPT, CTR, CBC_DECRYPT, XTS_ENCRYPT, XTS_DECRYPT, *((CTR_LITTLE,) if kernel.has_siv else ())):
        for n in counts:
            found.append(ModeShape(mode, n, bits[(n + mode) % 3], in_place=n % 20 == 3))
    for n in (1, 2, 9) if quick else (*range(1, 18), 24, 25):
        for blocks in (1, 3):
            found.append(ModeShape(CBC_ENCRYPT, blocks, bits[n % 3], lanes=n, in_place=n % 8 == 2, same_key=blocks == 3))
        found += [ModeShape(MASKS, 1, bits[n % 3], lanes=n, same_key=s) for s in (False, True)]
    if not quick:
        found += [ModeShape(MASKS, 1, bits[n % 3], lanes=n, same_key=s) for s in (False, True) for n in range(1, MASK_LANES + 1) if n > 17 and n not in (24, 25)]
    return found


def key_cells(kernel, bits, name, trace=None, encrypts=False):
    """Returns the memory of a key after set-up, and the number of instructions."""
    # Without an inverse, only 32-bit ARM's AES instructions write inverse round keys.
    schedule, inverse, end = A["AES_KEY_SCHEDULE"], A["AES_KEY_INVERSE"], A["AES_KEY_BYTES"]
    left = encrypts and not kernel.name.endswith("ce32")
    return key_after(kernel, bits, name, trace, end, ("rounds", KEY, schedule, True, False),
                     ("schedule", KEY + schedule, inverse - schedule, True, True), ("inverse", KEY + inverse, 0 if left else end - inverse, True, True), kind="MODE", operation=SETUP,
                     encrypts_only=bits if encrypts else 0)  # 256: the lowest byte is 0


def schedule_of(bits, name):
    return spec.key_schedule(cat(*words_of(name, bits // 32)))


def blocks_of(name, n):
    return cat(*words_of(name, 4 * n)) if n else None


def of_one(kernel, shape, trace, function):
    call, n, mode = Call(kernel), 16 * shape.blocks, shape.mode
    chained = mode not in (ECB_ENCRYPT, ECB_DECRYPT)
    text, state = blocks_of("block", shape.blocks), blocks_of("state", 1) if chained else None
    if mode == CTR and kernel.branches_on_counter:
        state = cat(cut(state, 0, 96), spec.reverse(const((0, 29, 0xfffffffd)[shape.blocks % 3], 32)))
    texts = texts_at(shape, IN + 1, OUT + 3, n)
    call.prepare(shape, kind="MODE", bytes=n, key=At(KEY, A["AES_KEY_BYTES"]), state=At(STATE + 1, 16, True, True) if chained else None,
                 operation=mode, **texts)
    call.memory.cells.update(key_cells(kernel, shape.bits, "key", None, shape.encrypts)[0])
    if text:
        call.memory.poke(IN + 1, text)
    if chained:
        call.memory.poke(STATE + 1, state)
    steps = call.run(trace)
    if function:
        result, after = result_of(mode, schedule_of(shape.bits, "key"), text, state)
        call.expect("the text", texts["out"].address, result)
        call.expect("the state", STATE + 1, after)
    return steps


def of_lanes(kernel, shape, trace, function):
    call, mode, n, lanes = Call(kernel), shape.mode, 16 * shape.blocks, []
    masks, of_chacha = mode in (MASKS, None), mode is None
    for i in range(shape.lanes):
        base = LANE + i * STEP
        lane = {"key": At(LANE if shape.same_key else base, 32 if of_chacha else A["AES_KEY_BYTES"]),
                **texts_at(shape, base + 0x20003, base + 0x80001, n, 8 if of_chacha else n)}
        lanes.append(lane if masks else {**lane, "chain": At(base + 0x10001, 16, True, True)})
    call.prepare(shape, kind="MODE", lanes=lanes, count=len(lanes), operation=mode or 0, **({} if masks else {"bytes_each": n}))
    memory, names = call.memory, [f"key{0 if shape.same_key else i}_" for i in range(len(lanes))]
    for i, (lane, name) in enumerate(zip(lanes, names)):
        if of_chacha:
            memory.poke(lane["key"].address, cat(*words_of(name, 8)))
        else:
            memory.cells.update({a - KEY + lane["key"].address: v for a, v in key_cells(kernel, shape.bits, name)[0].items()})
        memory.poke(lane["in"].address, blocks_of(f"block{i}_", shape.blocks))
        if not masks:
            memory.poke(lane["chain"].address, blocks_of(f"state{i}_", 1))
    steps = call.run(trace)
    for i, (lane, name) in enumerate(zip(lanes, names) if function else ()):
        text = blocks_of(f"block{i}_", shape.blocks)
        if of_chacha:
            key, words = words_of(name, 8), terms.parts_of(text, 32)
            call.expect(f"the mask of lane {i}", lane["out"].address, cut(spec.chacha20_block(key, words[0], words[1:]), 0, 64))
            continue
        result, state = result_of(CBC_ENCRYPT, schedule_of(shape.bits, name), text, const(0, 128) if masks else blocks_of(f"state{i}_", 1))
        call.expect(f"the output of lane {i}", lane["out"].address, result)
        if not masks:
            call.expect(f"the state of lane {i}", lane["chain"].address, state)
    return steps


def prove(kernel, shape, trace=None, function=True):
    """Runs one call. Returns the number of instructions."""
    if shape.mode == SETUP:
        steps = key_cells(kernel, shape.bits, "key", trace, shape.encrypts)[1]
        if function:  # the contents of a key are internal, so the results with it are compared
            for mode in (ECB_ENCRYPT,) if shape.encrypts else (ECB_ENCRYPT, ECB_DECRYPT):
                of_one(kernel, ModeShape(mode, 1, shape.bits, encrypts=shape.encrypts), None, True)
        return steps
    return (of_lanes if shape.lanes else of_one)(kernel, shape, trace, function)
