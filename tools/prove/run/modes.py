"""AES modes without authentication (NIST SP 800-38A, and 800-38E with IEEE 1619), and header masks by ChaCha20 (RFC
9001, 5.4.4). The calls are those of src/aes_api.c and src/quic.c. This file also has the conditions after a call.
"""
import spec
from run.kernels import ARGS, IN, KEY, OUT, STATE, Call
from spec.args import A, CBC_DECRYPT, CBC_ENCRYPT, CTR, CTR_LITTLE, ECB_DECRYPT, ECB_ENCRYPT, MASKS, NAMES, SETUP, XTS_DECRYPT, XTS_ENCRYPT
from spec.modes import result_of
from values import terms
from values.terms import cat, const, cut, symbol

LONG = (47, 63, 64, 65, 71, 95, 96, 100)  # blocks
MASK_LANES = 64  # the most lanes of callers: CHUNK of src/quic.c, batchLanes of quic/
LANES, LANE, STEP = 0x100000, 0x10000000, 0x100000


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


_keys = {}


def key_cells(kernel, bits, name, trace=None, encrypts=False):
    """Returns the memory of a key after set-up, and the number of instructions."""
    key = kernel.name, kernel.code, bits, name, encrypts
    first, found = symbol(f"{name}0", 32), _keys.get(key)
    if found is None or found[2] is not first or trace is not None:
        call = Call(kernel)
        # Without an inverse, only 32-bit ARM's AES instructions write inverse round keys.
        schedule, inverse, end = A["AES_KEY_SCHEDULE"], A["AES_KEY_INVERSE"], A["AES_KEY_BYTES"]
        left = encrypts and not kernel.name.endswith("ce32")
        call.regions(("rounds", KEY, schedule, True, False), ("schedule", KEY + schedule, inverse - schedule, True, True),
                     ("inverse", KEY + inverse, 0 if left else end - inverse, True, True))
        call.arguments("MODE", key=KEY, encrypts_only=bits if encrypts else 0, operation=SETUP)  # 256: the lowest byte is 0
        call.memory.poke(KEY + A["AES_KEY_ROUNDS"], const(bits // 32 + 6, 64))
        call.memory.poke(KEY + A["AES_KEY_SCHEDULE"], cat(*(symbol(f"{name}{i}", 32) for i in range(bits // 32))))
        steps = call.run(trace)
        found = _keys[key] = {a: v for a, v in call.memory.cells.items() if KEY <= a < KEY + A["AES_KEY_BYTES"]}, steps, first
    return found[:2]


def schedule_of(bits, name):
    return spec.key_schedule(cat(*(symbol(f"{name}{i}", 32) for i in range(bits // 32))))


def blocks_of(name, n):
    return cat(*(symbol(f"{name}{i}", 32) for i in range(4 * n))) if n else None


def of_one(kernel, shape, trace, function):
    call, n, mode = Call(kernel), 16 * shape.blocks, shape.mode
    source, target = IN + 1, IN + 1 if shape.in_place else OUT + 3
    chained = mode not in (ECB_ENCRYPT, ECB_DECRYPT)
    text, state = blocks_of("block", shape.blocks), blocks_of("state", 1) if chained else None
    if mode == CTR and kernel.branches_on_counter:
        state = cat(cut(state, 0, 96), spec.reverse(const((0, 29, 0xfffffffd)[shape.blocks % 3], 32)))
    cells, _ = key_cells(kernel, shape.bits, "key", None, shape.encrypts)
    regions = [("key", KEY, A["AES_KEY_BYTES"], True, False), ("in", source, n, True, shape.in_place)]
    if not shape.in_place:
        regions.append(("out", target, n, False, True))
    if chained:
        regions.append(("state", STATE + 1, 16, True, True))
    call.regions(*regions)
    if not shape.in_place and shape.both:
        call.memory.apart(source, target)
    call.arguments("MODE", out=target, **{"in": source}, bytes=n, key=KEY, state=STATE + 1 if chained else None, operation=mode)
    call.memory.cells.update(cells)
    if text:
        call.memory.poke(source, text)
    if chained:
        call.memory.poke(STATE + 1, state)
    steps = call.run(trace)
    if function:
        result, after = result_of(mode, schedule_of(shape.bits, "key"), text, state)
        call.expect("the text", target, result)
        call.expect("the state", STATE + 1, after)
    return steps


def of_lanes(kernel, shape, trace, function):
    mode, n, count = shape.mode, 16 * shape.blocks, shape.lanes
    call, masks = Call(kernel), shape.mode in (MASKS, None)
    if mode is None:
        key_bytes, out_bytes = 32, 8
    else:
        key_bytes, out_bytes = A["AES_KEY_BYTES"], n
    regions, lanes, memory = [("lanes", LANES, A["LANE_STRIDE"] * count, True, False)], [], call.memory
    for i in range(count):
        base = LANE + i * STEP
        key = LANE if shape.same_key else base
        lane = {"key": key, "chain": base + 0x10001, "in": base + 0x20003, "out": base + 0x80001}
        if shape.in_place:
            lane["out"] = lane["in"]
        lanes.append(lane)
        if key == base:
            regions.append((f"key {i}", key, key_bytes, True, False))
        if not masks:
            regions.append((f"state {i}", lane["chain"], 16, True, True))
        regions.append((f"in {i}", lane["in"], n, True, shape.in_place))
        if not shape.in_place:
            regions.append((f"out {i}", lane["out"], out_bytes, False, True))
    call.regions(*regions)
    for lane in lanes if not shape.in_place and shape.both else ():
        memory.apart(lane["in"], lane["out"])
    name = lambda i: f"key{0 if shape.same_key else i}_"
    for i, lane in enumerate(lanes):
        at = LANES + i * A["LANE_STRIDE"]
        for slot in ("out", "in", "key") + (() if masks else ("chain",)):
            memory.poke(at + A["MODE_LANE_" + slot.upper()], terms.extend(call.callers(f"{slot} {0 if slot == 'key' and shape.same_key else i}", lane[slot]), 64))
        if mode is None:
            memory.poke(lane["key"], cat(*(symbol(f"{name(i)}{j}", 32) for j in range(8))))
        else:
            memory.cells.update({a - KEY + lane["key"]: v for a, v in key_cells(kernel, shape.bits, name(i))[0].items()})
        memory.poke(lane["in"], blocks_of(f"block{i}_", shape.blocks))
        if not masks:
            memory.poke(lane["chain"], blocks_of(f"state{i}_", 1))
    arguments = {"count": count, "operation": mode or 0}
    if not masks:
        arguments["bytes_each"] = n
    call.arguments("MODE", **arguments)
    memory.poke(A["MODE_LANES"] + ARGS, terms.extend(call.callers("lanes", LANES), 64))
    steps = call.run(trace)
    if not function:
        return steps
    for i, lane in enumerate(lanes):
        text = blocks_of(f"block{i}_", shape.blocks)
        if mode is None:
            key, words = [symbol(f"{name(i)}{j}", 32) for j in range(8)], [cut(text, 32 * j, 32) for j in range(4)]
            call.expect(f"the mask of lane {i}", lane["out"], cut(spec.chacha20_block(key, words[0], words[1:]), 0, 64))
            continue
        result, state = result_of(CBC_ENCRYPT, schedule_of(shape.bits, name(i)), text, const(0, 128) if masks else blocks_of(f"state{i}_", 1))
        call.expect(f"the output of lane {i}", lane["out"], result)
        if not masks:
            call.expect(f"the state of lane {i}", lane["chain"], state)
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
