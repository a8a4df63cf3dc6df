"""The last step of Poly1305: the tag is (h mod p) + s mod 2^128, where h is the accumulator.

The limbs of h are found among the values from which the tag was made. The residue of their sum is that of the
specification's polynomial. The steps from h to the tag are a comparison with p and a selection, not a polynomial. A
solver for bit vectors determines whether they are correct for all limbs within their bounds. The question is written
as SMT-LIB.
"""
import hashlib
import itertools
import os

from values import terms
from values.terms import ATOMS, CONST, P, Unproved, cut

RADICES = ((0, 64, 128), (0, 44, 88))
CANDIDATES = 400
# The solver's limit for a question, in its own count of steps, so that a busy machine changes no answer. Kernels need 1
# to 10 million.
EFFORT = 2_000_000_000


def _operands(value):
    """Returns the values from which a value's atoms were made, by steps of the last reduction."""
    return [o[1] if isinstance(o, tuple) else o for n, _, _ in value.pieces
            if n >= 0 and ATOMS[n].kind in ("sum", "select", "and", "or", "xor", "equal") for o in ATOMS[n].operands]


def _cone(value):
    """Returns the values from which a value was made, nearest first."""
    seen, order, level = set(), [], [value]
    while level and len(order) < CANDIDATES:
        fresh = [v for v in dict.fromkeys(level) if v not in seen and v.constant is None]
        seen.update(fresh)
        order += fresh
        level = [o for v in fresh for o in _operands(v)]
    return order


def find_limbs(tag, residue):
    """Finds the limbs of h, lowest first, and their radix."""
    zero = terms.const(0, 1)
    known = [(v.residue, v) for v in _cone(tag) if v.defined] + [(0, zero)]
    # If the bounds show that h < p, the tag does not depend on the highest limb. That is then among all values of few
    # bits.
    wide = [(r, v) for r, v in known if v.most >> 32 or v is zero]  # for the lower limbs; excludes the words of s
    everything = ((radix, i, j) for radix in RADICES for i in range(len(wide)) for j in range(len(wide)))
    top, small = {}, {radix: small_at(radix[2]) for radix in RADICES}
    for radix in RADICES:
        for r, v in known:
            top.setdefault((radix, (r << radix[2]) % P), []).append(v)
    for place in itertools.chain(list(_places), everything):
        radix, i, j = place
        if max(i, j) < len(wide):
            (r0, v0), (r1, v1) = wide[i], wide[j]
            r2 = (residue - r0 - (r1 << radix[1])) % P
            for v2 in (*top.get((radix, r2), ()), *small[radix].get(r2, ())):
                if place not in _places:
                    _places.append(place)
                yield (v0, v1, v2), radix


_places = []  # where limbs were found before; these are tried first


_small = {}


def small_at(radix):
    """Returns the values below 64 by their residue times 2^radix."""
    seen, found = _small.get(radix, ([], {}))
    if not seen or terms.SMALL[:1] != seen[0]:  # the earlier ones were forgotten
        seen, found = [terms.SMALL[:1], 0], {}
        _small[radix] = seen, found
    for v in terms.SMALL[seen[1]:]:
        found.setdefault((v.residue << radix) % P, []).append(v)
    seen[1] = len(terms.SMALL)
    return found


def find_words(tag, residue):
    """Finds limbs that are 32-bit words. Each word of the tag is made of its word of h and little more."""
    choices = []
    for i in range(4):
        level, found = [cut(tag, 32 * i, 32)], []
        for _ in range(4):
            level = [o for v in level for o in _operands(v)]
            found += [v for v in level if v.width <= 32 and v.most >> 16 and v not in found and v.defined]
        choices.append(found[:12])
    top = small_at(128)
    r = [[(v.residue << 32 * i, v) for v in c] for i, c in enumerate(choices)]
    for (r0, v0), (r1, v1), (r2, v2), (r3, v3) in itertools.product(*r):
        for v4 in top.get((residue - r0 - r1 - r2 - r3) % P, ()):
            yield (v0, v1, v2, v3, v4), (0, 32, 64, 96, 128)


class Formula:
    """Writes values as terms of SMT-LIB. Bits of the limbs and of s are variables."""

    def __init__(self):
        self.names, self.lines, self.places = {}, [], {}

    def variable(self, name, v):
        self.lines.append(f"(declare-const {name} (_ BitVec {v.width}))")
        at = 0
        for n, low, w in v.pieces:
            if n >= 0:
                self.places.setdefault(n, []).append((low, w, name, at))
            elif n == CONST:
                self.lines.append(f"(assert (= ((_ extract {at + w - 1} {at}) {name}) (_ bv{low} {w})))")
            at += w
        self.lines.append(f"(assert (bvule {name} (_ bv{v.most} {v.width})))")

    def term(self, v):
        parts = []
        for n, low, w in v.pieces:
            if n == CONST:
                parts.append(f"(_ bv{low} {w})")
                continue
            while w:
                place = next((p for p in self.places.get(n, ()) if p[0] <= low < p[0] + p[1]), None)
                if place:
                    take = min(w, place[0] + place[1] - low)
                    at = place[3] + low - place[0]
                    parts.append(f"((_ extract {at + take - 1} {at}) {place[2]})")
                else:
                    later = [p[0] for p in self.places.get(n, ()) if low < p[0] < low + w]
                    take = min(later) - low if later else w
                    parts.append(f"((_ extract {low + take - 1} {low}) {self.atom(n)})")
                low, w = low + take, w - take
        return parts[0] if len(parts) == 1 else "(concat " + " ".join(reversed(parts)) + ")"

    def atom(self, n):
        if n in self.names:
            return self.names[n]
        a = ATOMS[n]
        if a.kind == "sum":
            w = a.width + 1
            t = f"(_ bv{a.extra % (1 << w)} {w})"
            for s, v in a.operands:
                t = f"({'bvadd' if s > 0 else 'bvsub'} {t} {self.term(cut(v, 0, w))})"
            t = f"((_ extract {a.width - 1} 0) {t})"
        elif a.kind == "xor":
            t = f"(_ bv{a.extra} {a.width})"
            for v in sorted(a.operands, key=lambda v: v.pieces):
                t = f"(bvxor {t} {self.term(v)})"
        elif a.kind in ("and", "or"):
            x, y = (sorted(a.operands, key=lambda v: v.pieces) * 2)[:2]
            t = f"(bv{a.kind} {self.term(x)} {self.term(y)})"
        elif a.kind == "select":
            c, x, y = a.operands
            t = f"(ite (= {self.term(c)} #b1) {self.term(x)} {self.term(y)})"
        elif a.kind == "mul" and None in (a.operands[0].constant, a.operands[1].constant) and \
                any(v.constant is not None for v in a.operands):
            t = "(bvmul {} {})".format(*(self.term(cut(v, 0, a.width)) for v in a.operands))
        elif a.kind == "equal":
            x, y = (sorted(a.operands, key=lambda v: v.pieces) * 2)[:2]
            t = f"(ite (= {self.term(x)} {self.term(y)}) #b1 #b0)"
        else:
            raise Unproved(f"the tag depends on {a}, not on the accumulator alone")
        name = self.names[n] = f"t{len(self.names)}"
        self.lines.append(f"(define-fun {name} () (_ BitVec {a.width}) {t})")
        return name


def question(tag, limbs, radix, s):
    """Returns SMT-LIB that has no model if the tag is correct for all limbs and s."""
    f = Formula()
    for i, v in enumerate(limbs):
        f.variable(f"h{i}", v)
    f.variable("s", s)
    w = max(at + v.width for at, v in zip(radix, limbs)) + 3
    most = sum(v.most << at for at, v in zip(radix, limbs))
    total = f"(_ bv0 {w})"
    for i, (at, v) in enumerate(zip(radix, limbs)):
        total = f"(bvadd {total} (bvshl ((_ zero_extend {w - v.width}) h{i}) (_ bv{at} {w})))"
    tag_term = f.term(tag)
    f.lines.append(f"(define-fun h () (_ BitVec {w}) {total})")
    name = "h"
    for i in range(most // P):
        f.lines.append(f"(define-fun r{i} () (_ BitVec {w}) (ite (bvuge {name} (_ bv{P} {w})) (bvsub {name} (_ bv{P} {w})) {name}))")
        name = f"r{i}"
    f.lines.append(f"(assert (not (= {tag_term} (bvadd ((_ extract 127 0) {name}) s))))")
    return "(set-logic QF_BV)\n" + "\n".join(f.lines) + "\n(check-sat)\n"


_answers = {}


def solve(text, folder):
    """Returns the solver's answer: "unsat" if there is no model."""
    if text in _answers:
        return _answers[text]
    import z3
    if folder:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, hashlib.sha256(text.encode()).hexdigest()[:16] + ".smt2"), "w") as out:
            out.write(text)
    solver = z3.SolverFor("QF_BV")
    solver.set("rlimit", EFFORT)
    solver.from_string(text)
    answer = _answers[text] = str(solver.check())
    return answer


def prove(tag, residue, s, folder=None, words=False):
    """Raises Unproved unless the tag is correct. words: for 32-bit code."""
    tried = 0
    for limbs, radix in (find_words if words else find_limbs)(tag, residue):
        if sum(v.most << at for at, v in zip(radix, limbs)) // P > 16:
            continue
        tried += 1
        try:
            text = question(tag, limbs, radix, s)
        except Unproved:
            continue
        answer = solve(text, folder)
        if answer != "unsat":
            raise Unproved(
                "the tag is not (h mod p) + s for all accumulators h within the limbs' bounds" if answer == "sat" else
                f"the solver says {answer} of the last reduction")
        return
    raise Unproved("no limbs in the tag are the polynomial of the specification" if not tried else
                   "the tag depends on more than the accumulator and s")
