package kernel

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/randomseed"
)

var (
	long = flag.Duration("long", 0, "how long to try random cases at each level")
	seed = flag.Uint64("seed", randomseed.Of(), "of the random cases")
)

func TestMain(m *testing.M) {
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)
	os.Exit(m.Run())
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(*seed, 0)) }

// A primitive has levels.
type primitive struct {
	table *dispatch.Table
	run   func(Level, *PacketArgs)
	gcm   bool // its keys are set up, and its nonces may be J0

}

var (
	ofChaCha20 = &primitive{&ChaCha20Poly1305Levels, ChaCha20Poly1305, false}
	ofAESGCM   = &primitive{&AESGCMLevels, AESGCM, true}
)

// forEachLevel runs f for every level of ChaCha20-Poly1305. Those that the CPU lacks are skipped by name.
func forEachLevel(t *testing.T, f func(t *testing.T, level Level)) {
	ofChaCha20.forEachLevel(t, f)
}

func (c *primitive) forEachLevel(t *testing.T, f func(t *testing.T, level Level)) {
	for _, row := range c.table.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s needs %s, which this CPU lacks", row.Name, strings.Join(lacks, " "))
			}
			f(t, Level(row.Level))
		})
	}
}

// forEach runs f for every level of every primitive.
func forEach(t *testing.T, f func(t *testing.T, c *primitive, level Level)) {
	for _, c := range []*primitive{ofChaCha20, ofAESGCM} {
		t.Run(c.table.Primitive, func(t *testing.T) {
			c.forEachLevel(t, func(t *testing.T, level Level) { f(t, c, level) })
		})
	}
}

func (c *primitive) atLevel(level Level) func(*PacketArgs) {
	return func(a *PacketArgs) { c.run(level, a) }
}

// A packet is one case: the text to seal or open, its place in memory, and how it is fed.
type packet struct {
	text, ad []byte // input text
	key      [32]byte
	nonce    [16]byte // the first 12 bytes, or J0
	of       *primitive
	rounds   int  // AES-GCM: of AES
	j0       bool // AES-GCM: nonce is J0
	open     bool
	inPlace  bool
	offset   int   // of the buffers in their memory, modulo 64; -1 to end them at the guard page
	parts    []int // bytes of the calls before the last
}

func (p *packet) String() string {
	return fmt.Sprintf("%s, %d bytes, AD %d, open %v, in place %v, offset %d, parts %d, key %x, %d rounds, nonce %x, J0 %v",
		p.of.table.Primitive, len(p.text), len(p.ad), p.open, p.inPlace, p.offset, p.parts, p.key, p.rounds, p.nonce, p.j0)
}

func newPacket(r *rand.Rand, text, ad int) *packet { return ofChaCha20.newPacket(r, text, ad) }

func (c *primitive) newPacket(r *rand.Rand, text, ad int) *packet {
	p := &packet{text: make([]byte, text), ad: make([]byte, ad), offset: -1, of: c}
	fill(r, p.text)
	fill(r, p.ad)
	fill(r, p.key[:])
	fill(r, p.nonce[:])
	if c.gcm {
		p.rounds = 10 + 2*r.IntN(3)
		if p.j0 = r.IntN(3) == 0; p.j0 && r.IntN(2) == 0 { // a counter that wraps around
			binary.BigEndian.PutUint32(p.nonce[12:], -uint32(1+r.IntN(1+text/16)))
		}
	}
	return p
}

func (p *packet) keySize() int {
	if p.of.gcm {
		return asmGcmKeyBytes
	}
	return 32
}

func (p *packet) nonceSize() int {
	if p.j0 {
		return 16
	}
	return 12
}

// flags are those of the first call.
func (p *packet) flags() uint64 {
	flags := uint64(FlagFirst)
	if p.of.gcm && !p.j0 {
		flags |= FlagNonce
	}
	if p.open {
		flags |= FlagOpen
	}
	return flags
}

// setup makes the key at memory in the form that kernel expects.
func (p *packet) setup(kernel func(*PacketArgs), memory unsafe.Pointer) {
	if !p.of.gcm {
		*(*[32]byte)(memory) = p.key
		return
	}
	k := (*GCMKey)(memory)
	k.Rounds = uint64(p.rounds)
	copy(k.Schedule[:], p.key[:4*p.rounds-24])
	kernel(&PacketArgs{Key: memory, Flags: FlagSetup})
}

func fill(r *rand.Rand, b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, r.Uint64())
	}
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// want returns the output and the tag by the portable code, in one call.
func (p *packet) want() (out []byte, tag [16]byte) {
	out = make([]byte, len(p.text))
	var key GCMKey
	p.setup(p.of.atLevel(Portable), unsafe.Pointer(&key))
	a := PacketArgs{
		Out: unsafe.Pointer(unsafe.SliceData(out)), In: unsafe.Pointer(unsafe.SliceData(p.text)), Bytes: uint64(len(p.text)),
		AD: unsafe.Pointer(unsafe.SliceData(p.ad)), ADBytes: uint64(len(p.ad)),
		Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&p.nonce), Tag: unsafe.Pointer(&tag),
		Total: uint64(len(p.text)), Flags: p.flags() | FlagLast,
	}
	p.of.run(Portable, &a)
	return out, tag
}

// A bench is the memory that cases run in: one guarded region for each argument, and one for the argument block.
type bench struct {
	out, in, ad, key, nonce, tag, state, args []byte
	cases                                     int // that leftOut was asked about
}

const (
	maxText   = 256 << 10
	maxAD     = 64 << 10
	untouched = 0xa5
)

func newBench(t testing.TB) *bench { return newBenchFor(t, maxText, maxAD) }

func newBenchFor(t testing.TB, text, ad int) *bench {
	b := &bench{
		out: guarded(t, text+64), in: guarded(t, text+64), ad: guarded(t, ad+64),
		key: guarded(t, 1), nonce: guarded(t, 1), tag: guarded(t, 1), state: guarded(t, 1), args: guarded(t, 1),
	}
	for _, m := range [][]byte{b.out, b.in, b.ad, b.key, b.nonce, b.tag, b.state} {
		for i := range m {
			m[i] = untouched
		}
	}
	return b
}

var allUntouched = bytes.Repeat([]byte{untouched}, 4096)

// A region is where one argument lies in its memory.
type region struct {
	name        string
	memory      []byte
	from, to    int
	want, bytes []byte // its expected and its actual content afterwards
}

func place(name string, memory []byte, bytes, offset int) *region {
	from := offset
	if offset < 0 {
		from = len(memory) - bytes
	}
	return &region{name: name, memory: memory, from: from, to: from + bytes, bytes: memory[from : from+bytes]}
}

func (r *region) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(r.bytes)) }

// check compares the region with its expected bytes, checks that the bytes around it are unchanged, and restores them.
func (r *region) check() (err error) {
	if !bytes.Equal(r.bytes, r.want) {
		at := 0
		for r.bytes[at] == r.want[at] {
			at++
		}
		end := min(at+16, len(r.want))
		err = fmt.Errorf("%s differs from byte %d on: %x, want %x", r.name, at, r.bytes[at:end], r.want[at:end])
	}
	for _, around := range [][]byte{r.memory[max(0, r.from-256):r.from], r.memory[r.to:min(len(r.memory), r.to+256)]} {
		if !bytes.Equal(around, allUntouched[:len(around)]) {
			at := 0
			for around[at] == untouched {
				at++
			}
			at += len(r.memory) - cap(around) - r.from
			err = fmt.Errorf("byte %d of %s was written: it has %d bytes", at, r.name, r.to-r.from)
			copy(around, allUntouched)
		}
	}
	for b := r.bytes; len(b) > 0; b = b[copy(b, allUntouched):] {
	}
	return err
}

// A placed packet lies in the memory of a bench.
type placed struct {
	out, in, ad, key, nonce, tag, state *region
	regions                             []*region
}

func (b *bench) place(p *packet) placed {
	wantOut, wantTag := p.want()
	offset := func(i int) int { // of each argument another one
		if p.offset < 0 {
			return -1
		}
		return (p.offset * i) % 64
	}
	out := place("output", b.out, len(p.text), offset(1))
	in := place("input", b.in, len(p.text), offset(3))
	ad := place("associated data", b.ad, len(p.ad), offset(5))
	keyOffset := offset(7)
	if p.of.gcm {
		keyOffset = max(keyOffset&^7, -1)
	}
	key := place("key", b.key, p.keySize(), keyOffset)
	nonce := place("nonce", b.nonce, p.nonceSize(), offset(9))
	tag := place("tag", b.tag, 16, offset(11))
	state := place("state", b.state, 64, max(0, offset(13)&^7))
	regions := []*region{out, ad, key, nonce, tag, state}

	copy(ad.bytes, p.ad)
	copy(key.bytes, p.key[:])
	copy(nonce.bytes, p.nonce[:])
	out.want, ad.want, key.want, nonce.want, tag.want = wantOut, p.ad, p.key[:], p.nonce[:p.nonceSize()], wantTag[:]
	if p.inPlace {
		in = out
	} else {
		in.want = p.text
		regions = append(regions, in)
	}
	copy(in.bytes, p.text)
	return placed{out, in, ad, key, nonce, tag, state, regions}
}

// run has kernel do the packet, and returns the error in the outcome.
func (b *bench) run(kernel func(*PacketArgs), p *packet) (err error) {
	at := b.place(p)
	regions, state := at.regions, at.state
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
			if f, ok := fault.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("%v at %#x: %s", fault, f.Addr(), where(f.Addr(), regions))
			}
		}
		for _, r := range regions {
			if r == state {
				r.want = bytes.Clone(r.bytes)
			}
			if e := r.check(); err == nil {
				err = e
			}
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	args := (*PacketArgs)(unsafe.Pointer(&b.args[len(b.args)-asmArgsBytes]))
	*args = PacketArgs{
		Out: at.out.pointer(), In: at.in.pointer(), AD: at.ad.pointer(), ADBytes: uint64(len(p.ad)),
		Key: at.key.pointer(), Nonce: at.nonce.pointer(), Tag: at.tag.pointer(), State: (*State)(state.pointer()),
		Total: uint64(len(p.text)), Flags: p.flags(),
	}
	if p.of.gcm {
		p.setup(kernel, at.key.pointer())
		at.key.want = bytes.Clone(at.key.bytes)
	}
	left := len(p.text)
	for i, part := range p.parts {
		args.Bytes = uint64(part)
		before := *args
		kernel(args)
		if *args != before {
			return fmt.Errorf("the argument block was written: %+v, was %+v", *args, before)
		}
		args.Out, args.In = unsafe.Add(args.Out, part), unsafe.Add(args.In, part)
		args.AD = nil
		args.Flags &^= FlagFirst
		if i > 0 && i%2 == 0 { // from some part on it may be left out
			args.Flags &^= FlagNonce
		}
		left -= part
	}
	args.Bytes = uint64(left)
	args.Flags |= FlagLast
	before := *args
	kernel(args)
	if *args != before {
		return fmt.Errorf("the argument block was written: %+v, was %+v", *args, before)
	}
	return nil
}

// where returns which argument an address is next to.
func where(address uintptr, regions []*region) string {
	for _, r := range regions {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(r.memory)))
		if at := int(address-start) - r.from; -4096 <= at && at < len(r.memory)+4096 {
			return fmt.Sprintf("byte %d of %s, which has %d", at, r.name, len(r.bytes))
		}
	}
	return "not next to an argument"
}

// leftOut leaves out four of five cases with -short, as test/check.c does with --some. Each length and alignment is still tried in
// one way or two, and each way at every fifth.
func (b *bench) leftOut() bool {
	b.cases++
	return testing.Short() && b.cases%5 != 0
}

// must fails the test if the packet goes wrong.
func (b *bench) must(t *testing.T, kernel func(*PacketArgs), p *packet) {
	t.Helper()
	if err := b.run(kernel, p); err != nil {
		t.Fatalf("%v\n%v\ntext %s", err, p, hex.EncodeToString(p.text[:min(256, len(p.text))]))
	}
}
