package main

// An object is data that the processing of a packet reads and writes, and that lies in one memory.
type object int

const (
	working     object = iota // ChaCha20's sixteen words between the rounds
	initial                   // the block's state before the rounds: constants, key, counter, nonce
	accumulator               // Poly1305's h, in five words
	sums                      // its five long sums
	multiplier                // its r
	pad                       // its s
	block                     // the block that it takes in, in five long words
	carry                     // of a reduction
	workText                  // 64 bytes of the packet, being worked on
	counters                  // bytes left, and the loops' variable
	key                       // of the flow, with its nonce
	associated                // data
	packet                    // where the network put it
	objects
)

var objectNames = [objects]string{"working state", "initial state", "Poly1305 h", "Poly1305 sums", "Poly1305 r", "Poly1305 s",
	"Poly1305 block", "carry", "text", "loop counters", "key and nonce", "associated data", "packet"}

// objectBytes is the size of each object in a thread; a packet's is its length.
var objectBytes = [objects]int{64, 64, 20, 40, 16, 16, 40, 8, 64, 8, 44, 12, 0}

// A profile counts the operations that a packet needs: instructions on registers only, jumps, and accesses to words
// of 32 bits.
type profile struct {
	instructions, jumps int
	accesses            [objects]int
}

func (p *profile) touch(o object, words int) { p.accesses[o] += words }

// Operations on words take an instruction, on pairs of words two: there is a carry. Multiplication is in steps of 8 bits of
// one factor, with an instruction before them and one for each word of the result.

func (p *profile) add(a, b uint32) uint32        { p.instructions++; return a + b }
func (p *profile) xor(a, b uint32) uint32        { p.instructions++; return a ^ b }
func (p *profile) or(a, b uint32) uint32         { p.instructions++; return a | b }
func (p *profile) and(a, b uint32) uint32        { p.instructions++; return a & b }
func (p *profile) left(a uint32, n int) uint32   { p.instructions++; return a << n }
func (p *profile) right(a uint32, n int) uint32  { p.instructions++; return a >> n }
func (p *profile) rotate(a uint32, n int) uint32 { p.instructions++; return a<<n | a>>(32-n) }
func (p *profile) move(a uint32) uint32          { p.instructions++; return a }

// work has the instructions of operations that take the part more than one. They are chosen: see sensitivity.go.
var work = struct{ product, productLow, long, network, call int }{
	product:    1 + 4 + 2,
	productLow: 1 + 4 + 1,
	long:       2,
	network:    68,
	call:       0, // the function that turns a word around is taken for inlined
}

func (p *profile) addLong(a, b uint64) uint64       { p.instructions += work.long; return a + b }
func (p *profile) rightLong(a uint64, n int) uint64 { p.instructions += work.long; return a >> n }
func (p *profile) product(a, b uint32) uint64 {
	p.instructions += work.product
	return uint64(a) * uint64(b)
}
func (p *profile) productLow(a, b uint32) uint32 { p.instructions += work.productLow; return a * b }
func (p *profile) productLong(a uint64, b uint32) uint64 {
	p.instructions += work.product + work.productLow + 1 // the low word's, the low half of the high word's, their sum
	return a * uint64(b)
}

// test is a comparison and the jump it decides on.
func (p *profile) test(taken bool) bool { p.instructions++; p.jumps++; return taken }

// swap turns a word's bytes around, which on the published part takes shifts and masks.
func (p *profile) swap(x uint32) uint32 {
	p.instructions += work.call
	return p.or(p.or(p.left(p.and(x, 0xff), 24), p.left(p.and(x, 0xff00), 8)),
		p.or(p.right(p.and(x, 0xff0000), 8), p.right(p.and(x, 0xff000000), 24)))
}
