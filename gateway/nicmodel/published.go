package main

// The published part: a network processor of 60 engines with eight threads each. Sizes and latencies are the published ones.
// An engine shares its registers and local memory among its threads, and an island of twelve engines its cluster memories.
//
// A read or write of the cluster memories is three instructions: an address of 40 bits, computed in two, and the command. It
// switches threads, which like a jump loses the two instructions after it in the pipeline. Local memory stalls the thread
// for its latency, with no switch. A cluster memory is taken to serve one access a cycle.
//
// The published placement fills all registers except one word, so that its temporaries must have been elsewhere, in registers for
// transfers perhaps. The best placement that is looked for leaves four words: the two of an address and those of a product.
//
// The operations and the placement of the published program come from its authors' source. It is
// Hasegawa-Laboratory/ChaCha20-Poly1305-SmartNIC, commit 1053a739172b (Apache License 2.0), src/main.c and
// chacha10/main.c, which was read and not copied. The costs of the part are a reconstruction. Its unpublished
// constants were chosen with the published results known, and sensitivity.go has the effect of each choice.
var networkProcessor = processor{
	name: "network processor, 60 engines", engines: 60, threads: 8, cycle: 1.25, lost: 2, island: 12, reserved: 16,
	memories: []memory{
		{name: "registers", bytes: 1024 / 8, latency: 1.25},
		{name: "local memory", bytes: 4096 / 8, latency: 3.75},
		{name: "CLS", bytes: 65536 / 96, latency: 25, issue: 3, hides: true, reachable: true, serves: 1.25},
		{name: "CTM", bytes: 262144 / 96, latency: 62.5, issue: 3, hides: true, reachable: true, serves: 1.25},
	},
}

// publishedPlacement is the placement of the published program. It declares 124 of a thread's 128 bytes of registers
// and 216 of its local memory. The key and nonce are in CLS, the associated data in CTM.
var publishedPlacement = placement{
	working: 0, accumulator: 0, sums: 0,
	initial: 1, multiplier: 1, pad: 1, block: 1, carry: 1, workText: 1, counters: 1,
	key: 2, associated: 3, packet: 3,
}

// publishedChaCha10Placement is the placement of its program without authentication. It is the same, except that the
// loop's counters are in registers, for which Poly1305 leaves no room.
var publishedChaCha10Placement = func() placement {
	p := publishedPlacement
	p[counters] = 0
	return p
}()

// The published results, in packets per second by the bytes of a packet. The program seals the bytes after the
// Ethernet header and the tag's place, so a packet is taken as a frame. Results for a message of that many bytes are
// reported, too.
var publishedPackets = map[int]float64{64: 5.67e6, 1024: 0.58e6}

const (
	ethernetHeader = 14
	frameOverhead  = ethernetHeader + 16
)

// publishedChaCha10 is ChaCha with ten rounds and no authentication, in bits of frames per second. The results are
// taken as those of the longest frame, 1024 bytes. The program encrypts the bytes after the Ethernet header.
const (
	publishedChaCha10 = 21.98e9
	chaCha10Frame     = 1024
)

func testInput(n int) (secret [32]byte, nonce [12]byte, aad [12]byte, message []byte) {
	for i := range secret {
		secret[i] = byte(3*i + 1)
	}
	for i := range nonce {
		nonce[i], aad[i] = byte(7*i), byte(11*i+5)
	}
	message = make([]byte, n)
	for i := range message {
		message[i] = byte(i*i + 5*i)
	}
	return
}

// profileOf is the profile of a message of messageBytes under the AEAD.
func profileOf(messageBytes int) profile {
	secret, nonce, aad, message := testInput(messageBytes)
	_, _, p := seal(20, &secret, &nonce, aad[:], message)
	return p
}

// profileOfChaCha is the profile of a packet that is only encrypted.
func profileOfChaCha(rounds, messageBytes int) profile {
	secret, nonce, _, message := testInput(messageBytes)
	_, p := chacha(rounds, &secret, &nonce, 1, message)
	return p
}
