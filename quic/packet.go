package quic

import (
	"encoding/binary"
	"errors"
	"sync"
	"unsafe"

	"github.com/sealane/sealane/batch"
	"github.com/sealane/sealane/internal/kernel"
)

var (
	// ErrShort means that the packet is too short to contain a sample for the header mask.
	ErrShort = errors.New("quic: packet too short")

	// ErrNumber means that the packet number is above 2^62 - 1.
	ErrNumber = errors.New("quic: packet number too large")

	// ErrAuthentication means that the packet is not authentic.
	ErrAuthentication = errors.New("quic: packet authentication failed")

	// ErrSample means that the sample does not have 16 bytes.
	ErrSample = errors.New("quic: a sample has 16 bytes")

	// ErrReserved means that the packet is authentic but its reserved bits are not zero. The peer has committed a
	// PROTOCOL_VIOLATION.
	ErrReserved = errors.New("quic: reserved bits are not zero")
)

var (
	errSize   = errors.New("quic: Dst and Bytes differ in size")
	errNoKeys = errors.New("quic: Keys that no function of this package has made")
)

const maxNumber = 1<<62 - 1

// A Packet is one packet of a batch.
type Packet struct {
	Keys  *Keys
	Other *Keys // Unprotect: keys for short headers with the other key phase than Keys; nil if there are none

	// Bytes is the packet: header, payload, tag. For Protect, it contains the unprotected header, whose first byte
	// encodes the size of the packet number, and 16 bytes of room for the tag. Protect fills in the packet number.
	Bytes    []byte
	PNOffset int // offset of the packet number in bytes

	// Dst is where Unprotect writes header and payload if Dst is not nil. It has the size of Bytes, which then are only
	// read, and must not overlap them. Protect ignores Dst.
	Dst []byte

	// Number is the packet number. Before Unprotect, it is the expected one: 1 more than the largest number of an
	// authentic packet, or 0. Afterwards, it is the number of the packet. If Err says that the packet is not authentic,
	// it is the expected one again.
	Number uint64

	Payload []byte // result of Unprotect: part of Bytes or Dst; nil if Err is not nil, except for ErrReserved
	Err     error  // result
}

// MaskSize is the size of a header mask, in bytes.
const MaskSize = 5

// The sample for a mask has sampleSize bytes, starting sampleOffset bytes after the start of the packet number (RFC
// 9001, section 5.4.2).
const (
	sampleOffset = 4
	sampleSize   = 16
	chunk        = 64 // packets processed at a time
)

type workspace struct {
	ops    [chunk]batch.Op
	nonces [chunk][12]byte
	masks  [chunk][16]byte
	lanes  [chunk]kernel.ModeLane
	which  [chunk]int    // indices of the packets that ops and masks belong to
	number [chunk]uint64 // expected packet numbers
	used   int           // largest number of entries used in each array
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// Protect seals packets and masks their headers, in place. A packet with a caller's mistake gets an Err, such as
// ErrShort or ErrNumber, and is left unchanged; it does not affect the others. Use each number once per key. The caller
// must also observe the limits of RFC 9001, section 6.6. Packets must not overlap each other.
func Protect(packets []Packet) {
	if len(packets) == 1 {
		packets[0].protect()
		return
	}
	w := workspaces.Get().(*workspace)
	for len(packets) > 0 {
		n := min(len(packets), chunk)
		w.protect(packets[:n])
		packets = packets[n:]
	}
	w.done()
}

// Unprotect unmasks the headers of packets and opens them, in place or to Dst, and returns how many have no Err. A
// packet that is not authentic has ErrAuthentication, zeroes in place of its payload, and an undefined header. A packet
// with ErrShort is left unchanged. Packets from the network may have any content.
func Unprotect(packets []Packet) (opened int) {
	if len(packets) == 1 {
		return packets[0].unprotect()
	}
	w := workspaces.Get().(*workspace)
	for len(packets) > 0 {
		n := min(len(packets), chunk)
		opened += w.unprotect(packets[:n])
		packets = packets[n:]
	}
	w.done()
	return opened
}

// done wipes keys, buffers and masks.
func (w *workspace) done() {
	clear(w.ops[:w.used])
	clear(w.nonces[:w.used])
	clear(w.masks[:w.used])
	clear(w.lanes[:w.used])
	w.used = 0
	workspaces.Put(w)
}

// check sets Err if a packet cannot be processed.
func (p *Packet) check() bool {
	p.Err, p.Payload = nil, nil
	switch {
	case p.Dst != nil && len(p.Dst) != len(p.Bytes):
		p.Err = errSize
	case !p.Keys.made() || p.Other != nil && !p.Other.made():
		p.Err = errNoKeys
	case p.PNOffset < 1 || p.PNOffset > len(p.Bytes) || len(p.Bytes)-p.PNOffset < sampleOffset+sampleSize:
		p.Err = ErrShort
	case p.Number > maxNumber:
		p.Err = ErrNumber
	}
	return p.Err == nil
}

func (w *workspace) protect(packets []Packet) {
	n := 0
	for i := range packets {
		p := &packets[i]
		if !p.check() {
			continue
		}
		header := p.putNumber()
		p.Keys.nonce(&w.nonces[n], p.Number)
		end := len(p.Bytes) - TagSize
		w.ops[n] = batch.Op{AEAD: p.Keys.aead, Dst: p.Bytes[header:header], Nonce: w.nonces[n][:], Src: p.Bytes[header:end], AD: p.Bytes[:header]}
		w.which[n] = i
		n++
	}
	batch.SealBatch(w.ops[:n])
	w.makeMasks(packets, n)
	for i := range n {
		p := &packets[w.which[i]]
		size := int(p.Bytes[0]&3) + 1
		p.mask(w.masks[i][:MaskSize], size)
	}
}

func (w *workspace) unprotect(packets []Packet) (opened int) {
	n := 0
	for i := range packets {
		if packets[i].check() {
			w.which[n] = i
			n++
		}
	}
	w.makeMasks(packets, n)
	for i := range n {
		p := &packets[w.which[i]]
		w.number[i] = p.Number
		out, keys, header := p.unmask(w.masks[i][:MaskSize])
		keys.nonce(&w.nonces[i], p.Number)
		op := &w.ops[i] // assigned field by field: copying a new structure stalls the CPU
		op.AEAD, op.Nonce = keys.aead, w.nonces[i][:]
		op.Dst, op.Src, op.AD = out[header:header], p.Bytes[header:], out[:header]
	}
	batch.OpenBatch(w.ops[:n])
	for i := range n {
		p := &packets[w.which[i]]
		opened += p.result(w.ops[i].Out, w.ops[i].Err, w.number[i])
	}
	return opened
}

// protect is Protect for one packet, without the bookkeeping of a batch.
func (p *Packet) protect() {
	if !p.check() {
		return
	}
	header := p.putNumber()
	if _, p.Err = p.Keys.Seal(p.Bytes[header:header], p.Number, p.Bytes[header:len(p.Bytes)-TagSize], p.Bytes[:header]); p.Err != nil {
		return
	}
	mask, err := p.Keys.Mask(p.sample())
	p.Err = err
	p.mask(mask[:], header-p.PNOffset)
}

// unprotect is Unprotect for one packet.
func (p *Packet) unprotect() int {
	if !p.check() {
		return 0
	}
	mask, err := p.Keys.Mask(p.sample())
	if err != nil {
		p.Err = err
		return 0
	}
	expected := p.Number
	out, keys, header := p.unmask(mask[:])
	payload, err := keys.Open(out[header:header], p.Number, p.Bytes[header:], out[:header])
	return p.result(payload, err, expected)
}

func (p *Packet) sample() []byte {
	return p.Bytes[p.PNOffset+sampleOffset:][:sampleSize]
}

// putNumber fills in the packet number, and returns the size of the header.
func (p *Packet) putNumber() int {
	number, header := p.Number, p.PNOffset+int(p.Bytes[0]&3)+1
	for j := header - 1; j >= p.PNOffset; j-- {
		p.Bytes[j] = byte(number)
		number >>= 8
	}
	return header
}

// out returns the buffer that receives the header of an opened packet.
func (p *Packet) out() []byte {
	if p.Dst != nil {
		return p.Dst
	}
	return p.Bytes
}

// unmask removes the mask from the header and decodes the packet number. It returns the output buffer, the keys of the
// payload, and the size of the header.
func (p *Packet) unmask(mask []byte) (out []byte, keys *Keys, header int) {
	out = p.out()
	if p.Dst != nil {
		copy(out, p.Bytes[:p.PNOffset])
	}
	out[0] ^= mask[0] & protectedBits(out[0])
	size := int(out[0]&3) + 1
	header = p.PNOffset + size
	// There are always four bytes, because the sample follows them. Those that belong to the payload are left
	// unchanged.
	behind := 32 - 8*size
	number := binary.BigEndian.Uint32(p.Bytes[p.PNOffset:]) ^ binary.BigEndian.Uint32(mask[1:])>>behind<<behind
	binary.BigEndian.PutUint32(out[p.PNOffset:], number)
	p.Number = decode(p.Number, uint64(number>>behind), size)
	if out[0]&0x80 == 0 && p.Other != nil && (out[0]&0x04 != 0) != p.Keys.phase {
		return out, p.Other, header
	}
	return out, p.Keys, header
}

// result stores the result of opening, and returns 1 if the packet has no Err. A forged packet gets the expected
// number, since an attacker chose its own.
func (p *Packet) result(payload []byte, err error, expected uint64) int {
	if err != nil {
		p.Err, p.Number = ErrAuthentication, expected
		return 0
	}
	p.Payload = payload
	if first := p.out()[0]; first&reservedBits(first) != 0 {
		p.Err = ErrReserved
		return 0
	}
	return 1
}

// made reports whether k comes from a function of this package.
func (k *Keys) made() bool { return k != nil && k.aead != nil }

// nonce writes iv XOR packet number to to (RFC 9001, section 5.3).
func (k *Keys) nonce(to *[12]byte, number uint64) {
	copy(to[:4], k.iv[:4])
	binary.BigEndian.PutUint64(to[4:], binary.BigEndian.Uint64(k.iv[4:])^number)
}

// protectedBits returns the protected bits of a header's first byte (RFC 9001, section 5.4.1).
func protectedBits(first byte) byte {
	if first&0x80 != 0 {
		return 0x0f
	}
	return 0x1f
}

func reservedBits(first byte) byte {
	if first&0x80 != 0 {
		return 0x0c
	}
	return 0x18
}

func (p *Packet) mask(mask []byte, size int) {
	p.Bytes[0] ^= mask[0] & protectedBits(p.Bytes[0])
	number := p.Bytes[p.PNOffset : p.PNOffset+size]
	for i := range number {
		number[i] ^= mask[1+i]
	}
}

// decode returns the packet number closest to the expected one whose low size bytes are bytes (RFC 9000, appendix A.3).
func decode(expected, bytes uint64, size int) uint64 {
	window := uint64(1) << (8 * size)
	number := expected&^(window-1) | bytes
	switch {
	case number+window/2 <= expected && number <= maxNumber-window:
		return number + window
	case number > expected+window/2 && number >= window:
		return number - window
	}
	return number
}

// Mask returns the header mask of one packet (RFC 9001, section 5.4). sample is the 16 bytes of the protected packet
// that start 4 bytes after the start of its packet number; it is only read. To apply the mask, AND its first byte
// with 0x0f for a long header or 0x1f for a short one. XOR the result with the first byte of the packet. XOR the
// other bytes with the packet number, as far as it reaches.
//
// [Protect] and [Unprotect] apply masks themselves, faster and for many packets at once. Mask is for implementations
// that seal and open payloads separately. All Keys of one secret and its updates give the same masks. Nothing is
// allocated. If sample does not have 16 bytes or k is invalid, the mask is zeroes, with ErrSample or another error.
func (k *Keys) Mask(sample []byte) (mask [MaskSize]byte, err error) {
	if !k.made() {
		return mask, errNoKeys
	}
	if len(sample) != sampleSize {
		return mask, ErrSample
	}
	var block [16]byte
	var lanes [1]kernel.ModeLane
	lanes[0].Out, lanes[0].In, lanes[0].Key = unsafe.Pointer(&block), unsafe.Pointer(unsafe.SliceData(sample)), k.maskKey()
	k.kind.masks(lanes[:])
	copy(mask[:], block[:])
	block = [16]byte{}
	return mask, nil
}

func (k *Keys) maskKey() unsafe.Pointer {
	if k.kind.chacha {
		return unsafe.Pointer(&k.hp)
	}
	return unsafe.Pointer(&k.mask)
}

// masks makes the masks of lanes, whose keys are all of this kind.
func (kind maskKind) masks(lanes []kernel.ModeLane) {
	a := kernel.ModeLanes(lanes, kernel.AESMasks)
	if kind.chacha {
		kernel.ChaCha20Masks(kind.level, a.Mode())
	} else {
		kernel.AES(kind.level, a.Mode())
	}
}

// makeMasks makes the masks of the n packets listed in which, and groups them by kind to make them side by side.
func (w *workspace) makeMasks(packets []Packet, n int) {
	w.used = max(w.used, n)
	var done uint64
	for begin := range n {
		if done>>begin&1 != 0 {
			continue
		}
		kind, count := packets[w.which[begin]].Keys.kind, 0
		for i := begin; i < n; i++ {
			p := &packets[w.which[i]]
			if p.Keys.kind != kind {
				continue
			}
			done |= 1 << i
			l := &w.lanes[count]
			l.Out, l.In = unsafe.Pointer(&w.masks[i]), unsafe.Pointer(&p.Bytes[p.PNOffset+sampleOffset])
			l.Key = p.Keys.maskKey()
			count++
		}
		kind.masks(w.lanes[:count])
	}
}
