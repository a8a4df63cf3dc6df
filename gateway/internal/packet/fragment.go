package packet

import (
	"bytes"
	"hash/maphash"
	"unsafe"
)

// FragmentStats count IP fragments and their results. All fields are counters.
type FragmentStats struct {
	Seen       uint64 // fragments
	Whole      uint64 // reassembled packets
	Duplicates uint64 // fragments without new data
	Overlaps   uint64 // packets refused because two fragments claim the same bytes (RFC 5722)
	Bad        uint64 // fragments with impossible offsets or sizes, nested, truncated, or with a bad header checksum
	Expired    uint64 // packets that were not completed in time
	Evicted    uint64 // packets evicted to make room
}

// Limits of the incomplete packets of one core.
const (
	pieceData      = 2048 - 4
	maxPieces      = 2048 // 4 MiB
	maxDatagrams   = 1024
	maxParts       = 256  // pieces of one packet: for the largest packet, routers make pieces of at least 496 bytes
	fragmentWait   = 30e9 // timeout (RFC 1122, section 3.3.2, allows 60 to 120 s; systems use 30 s)
	maxWholeHeader = 40 + 120
	maxIP          = 0xffff
	chunkBytes     = 256 << 10
	maxChunks      = 64 // of packets reassembled since the last release
)

// A piece is some bytes of a datagram. Numbers of pieces start at 1.
type piece struct {
	next uint32 // list of free pieces
	data [pieceData]byte
}

// A slot is the position of a piece in its datagram.
type slot struct{ at, n, piece uint16 }

func (s *slot) end() int { return int(s.at) + int(s.n) }

// A fragmentKey is common to the fragments of a packet, which take the same path. A fragment with another TTL may come
// from someone whose fragments the receiver does not get; it belongs to a separate packet here.
type fragmentKey struct {
	src, dst [16]byte
	id       uint32 // for IPv4 with the TTL above it
	zone     uint16
	proto    uint8 // for IPv6 the hop limit
	version  uint8
}

// A datagram is an incomplete IP packet. Numbers of datagrams start at 1.
type datagram struct {
	key          fragmentKey
	begun        int64
	chain        uint32 // next in the same bucket
	older, newer uint32
	before, next uint32 // older and newer with the same addresses
	parts        uint16 // number of pieces in slots, which are sorted
	total        int32  // bytes after the header, or -1 if unknown
	have         int32
	heads        uint16 // bytes in head; 0 before the first fragment
	pair         uint8
	used         bool
	refused      bool // all data is rejected until it expires
	head         [maxWholeHeader]byte
	slots        [maxParts]slot
}

// from returns the first slot that ends after at.
func (g *datagram) from(at int) int {
	i, j := 0, int(g.parts)
	for i < j {
		if m := (i + j) / 2; g.slots[m].end() > at {
			j = m
		} else {
			i = m + 1
		}
	}
	return i
}

// fragments are the datagrams of one core. Its memory is allocated at the first fragment, and kept.
//
// If there is no room, a datagram is evicted: the oldest one of the addresses with the most data.
type fragments struct {
	pieces     []piece
	datagrams  []datagram
	freePiece  uint32
	freeGram   uint32
	buckets    [256]uint32
	pairs      [256]uint16 // pieces and datagrams by addresses
	firsts     [256]uint32 // oldest datagram by addresses
	lasts      [256]uint32
	oldest     uint32
	newest     uint32
	chunks     [][]byte
	chunk, off int
}

func (f *fragments) init() {
	f.pieces = make([]piece, maxPieces)
	for i := range f.pieces {
		f.pieces[i].next = uint32(i)
	}
	f.freePiece = maxPieces
	f.datagrams = make([]datagram, maxDatagrams)
	for i := range f.datagrams {
		f.datagrams[i].chain = uint32(i)
	}
	f.freeGram = maxDatagrams
}

func (f *fragments) piece(n uint32) *piece       { return &f.pieces[n-1] }
func (f *fragments) datagram(n uint32) *datagram { return &f.datagrams[n-1] }

func (k *fragmentKey) hash() uint64 {
	return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(k)), unsafe.Sizeof(*k)))
}

// pairOf depends only on the addresses.
func (k *fragmentKey) pairOf() uint8 {
	return uint8(maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(k)), 32)))
}

// fragmentIPv4 handles a fragment (RFC 791, section 3.2).
func (d *decoder) fragmentIPv4(b []byte, header, missing int) Verdict {
	if d.parser == nil {
		return Fragment
	}
	st := &d.parser.Fragments
	st.Seen++
	field := be.Uint16(b[6:])
	if missing > 0 || fold(sum(0, b[:header])) != 0xffff {
		st.Bad++ // receivers reject it too, or it was not captured completely
		return Fragment
	}
	k := fragmentKey{id: uint32(b[8])<<16 | uint32(be.Uint16(b[4:])), zone: d.fragmentZone(), proto: b[9], version: 4}
	copy(k.src[:], b[12:16])
	copy(k.dst[:], b[16:20])
	whole := d.parser.parts.add(st, &k, b[:header], int(field&0x1fff)*8, field&0x2000 != 0, b[header:], d.now)
	if whole == nil {
		return Fragment
	}
	be.PutUint16(whole[2:], uint16(len(whole)))
	be.PutUint16(whole[6:], 0)
	be.PutUint16(whole[10:], 0)
	be.PutUint16(whole[10:], Checksum(0, whole[:int(whole[0]&15)*4]))
	d.s.Whole = true
	return d.ipv4(whole)
}

// fragmentIPv6 handles a fragment (RFC 8200, section 4.5). Its fragment header is at at, and the byte that announces it
// at nextAt.
func (d *decoder) fragmentIPv6(b []byte, nextAt, at, missing int) Verdict {
	if d.parser == nil {
		return Fragment
	}
	st := &d.parser.Fragments
	st.Seen++
	if missing > 0 || at > maxWholeHeader || d.joined == d.depth+1 {
		st.Bad++
		return Fragment
	}
	h := b[at:]
	field := be.Uint16(h[2:])
	k := fragmentKey{id: be.Uint32(h[4:]), zone: d.fragmentZone(), proto: b[7], version: 6}
	k.src, k.dst = [16]byte(b[8:24]), [16]byte(b[24:40])
	var head [maxWholeHeader]byte
	copy(head[:], b[:at])
	head[nextAt] = h[0]
	whole := d.parser.parts.add(st, &k, head[:at], int(field&0xfff8), field&1 != 0, h[8:], d.now)
	if whole == nil {
		return Fragment
	}
	be.PutUint16(whole[4:], uint16(len(whole)-40))
	d.s.Whole, d.joined = true, d.depth+1
	return d.ipv6(whole)
}

func (d *decoder) fragmentZone() uint16 {
	if d.zone == 0 {
		return 0
	}
	return d.number()
}

// add adds a fragment. If this completes the datagram, add returns it with its headers.
func (f *fragments) add(st *FragmentStats, k *fragmentKey, head []byte, at int, more bool, data []byte, now int64) []byte {
	if f.pieces == nil {
		f.init()
	}
	for f.oldest != 0 && now-f.datagram(f.oldest).begun > fragmentWait {
		if !f.datagram(f.oldest).refused {
			st.Expired++
		}
		f.remove(f.oldest)
	}
	end := at + len(data)
	if len(data) == 0 || more && len(data)%8 != 0 || len(head)+end > maxIP {
		st.Bad++
		return nil
	}
	hash := k.hash()
	number := f.buckets[uint8(hash)]
	for number != 0 && f.datagram(number).key != *k {
		number = f.datagram(number).chain
	}
	if number == 0 {
		number = f.begin(st, k, hash, now)
	}
	g := f.datagram(number)
	if g.refused {
		st.Bad++
		return nil
	}
	// The position of the fragment, and whether it is free.
	i := g.from(at)
	if i < int(g.parts) && int(g.slots[i].at) < end {
		if f.same(g.slots[i:g.parts], at, data) {
			st.Duplicates++
		} else {
			st.Overlaps++
			f.refuse(g)
		}
		return nil
	}
	switch {
	case g.total >= 0 && (end > int(g.total) || !more), !more && g.parts > 0 && g.slots[g.parts-1].end() > end:
		st.Overlaps++ // two different ends
		f.refuse(g)
		return nil
	case !more:
		g.total = int32(end)
	}
	if int(g.parts)+(len(data)+pieceData-1)/pieceData > maxParts {
		st.Bad++
		f.refuse(g)
		return nil
	}
	if at == 0 {
		g.heads = uint16(copy(g.head[:], head))
	}
	g.have += int32(len(data))
	for rest := data; len(rest) > 0; {
		n := f.takePiece(st, number)
		if n == 0 {
			return nil // the datagram itself was evicted
		}
		copy(g.slots[i+1:], g.slots[i:g.parts])
		g.parts++
		size := copy(f.piece(n).data[:], rest)
		g.slots[i] = slot{uint16(end - len(rest)), uint16(size), uint16(n)}
		rest, i = rest[size:], i+1
	}
	if g.have != g.total || g.heads == 0 {
		return nil
	}
	whole := f.room(int(g.heads) + int(g.total))
	if whole == nil || int(g.heads)+int(g.total) > maxIP {
		st.Evicted++
		f.remove(number)
		return nil
	}
	copy(whole, g.head[:g.heads])
	for _, s := range g.slots[:g.parts] {
		copy(whole[int(g.heads)+int(s.at):], f.piece(uint32(s.piece)).data[:s.n])
	}
	st.Whole++
	f.remove(number)
	return whole
}

// same reports whether pieces already contain all of data at a position.
func (f *fragments) same(slots []slot, at int, data []byte) bool {
	for _, s := range slots {
		if len(data) == 0 {
			break
		}
		if int(s.at) > at {
			return false
		}
		have := f.piece(uint32(s.piece)).data[at-int(s.at) : s.n]
		n := min(len(have), len(data))
		if !bytes.Equal(have[:n], data[:n]) {
			return false
		}
		at, data = at+n, data[n:]
	}
	return len(data) == 0
}

func (f *fragments) begin(st *FragmentStats, k *fragmentKey, hash uint64, now int64) uint32 {
	pair := k.pairOf()
	if f.freeGram == 0 {
		f.evict(st)
	}
	number := f.freeGram
	g := f.datagram(number)
	f.freeGram = g.chain
	g.key, g.begun, g.chain, g.older, g.newer, g.next = *k, now, f.buckets[uint8(hash)], f.newest, 0, 0
	g.parts, g.total, g.have, g.heads, g.pair, g.used, g.refused = 0, -1, 0, 0, pair, true, false
	f.buckets[uint8(hash)] = number
	if f.newest != 0 {
		f.datagram(f.newest).newer = number
	} else {
		f.oldest = number
	}
	f.newest = number
	if g.before = f.lasts[pair]; g.before != 0 {
		f.datagram(g.before).next = number
	} else {
		f.firsts[pair] = number
	}
	f.lasts[pair] = number
	f.pairs[pair]++
	return number
}

// takePiece returns a free piece, or 0 if the datagram that needs it was evicted.
func (f *fragments) takePiece(st *FragmentStats, of uint32) uint32 {
	for f.freePiece == 0 {
		if f.evict(st) == of {
			return 0
		}
	}
	n := f.freePiece
	f.freePiece = f.piece(n).next
	f.pairs[f.datagram(of).pair]++
	return n
}

// evict removes the oldest datagram of the addresses with the most data.
func (f *fragments) evict(st *FragmentStats) uint32 {
	most := 0
	for i, n := range f.pairs {
		if n > f.pairs[most] {
			most = i
		}
	}
	n := f.firsts[most]
	st.Evicted++
	f.remove(n)
	return n
}

func (f *fragments) freePieces(g *datagram) {
	for _, s := range g.slots[:g.parts] {
		f.piece(uint32(s.piece)).next, f.freePiece = f.freePiece, uint32(s.piece)
		f.pairs[g.pair]--
	}
	g.parts = 0
}

func (f *fragments) refuse(g *datagram) {
	f.freePieces(g)
	g.refused = true
}

func (f *fragments) remove(number uint32) {
	g := f.datagram(number)
	f.freePieces(g)
	f.pairs[g.pair]--
	link := &f.buckets[uint8(g.key.hash())]
	for *link != number {
		link = &f.datagram(*link).chain
	}
	*link = g.chain
	if g.before != 0 {
		f.datagram(g.before).next = g.next
	} else {
		f.firsts[g.pair] = g.next
	}
	if g.next != 0 {
		f.datagram(g.next).before = g.before
	} else {
		f.lasts[g.pair] = g.before
	}
	if g.older != 0 {
		f.datagram(g.older).newer = g.newer
	} else {
		f.oldest = g.newer
	}
	if g.newer != 0 {
		f.datagram(g.newer).older = g.older
	} else {
		f.newest = g.older
	}
	g.used, g.chain = false, f.freeGram
	f.freeGram = number
}

// room returns memory that remains valid until release, or nil at the limit.
func (f *fragments) room(n int) []byte {
	if f.chunk < len(f.chunks) && f.off+n > chunkBytes {
		f.chunk, f.off = f.chunk+1, 0
	}
	if f.chunk == len(f.chunks) {
		if f.chunk == maxChunks {
			return nil
		}
		f.chunks = append(f.chunks, make([]byte, chunkBytes))
	}
	b := f.chunks[f.chunk][f.off:][:n:n]
	f.off += n
	return b
}

func (f *fragments) release() { f.chunk, f.off = 0, 0 }

// LinkWhole is the type of a packet that another Parser has reassembled. Segment.AppendFrame makes such frames;
// captures do not have them.
const LinkWhole LinkType = 0xffff

// LinkPart is the type of a fragment that another Parser has processed.
const LinkPart LinkType = 0xfffe

const wholeBytes = 2 + 2 + 1 + 12

// AppendFrame appends a LinkWhole frame to b, with the packet of s and all information from the frame that completed
// it.
func (s *Segment) AppendFrame(b []byte) []byte {
	b = be.AppendUint16(b, s.Tuple.Zone)
	b = be.AppendUint16(b, s.VLAN)
	var link [13]byte
	if s.Link != nil {
		link[0] = 1
		copy(link[1:], s.Link)
	}
	b = append(b, link[:]...)
	return append(b, s.ip...)
}

func (d *decoder) whole(b []byte) Verdict {
	if len(b) < wholeBytes {
		return Malformed
	}
	zone := be.Uint16(b) % (1 << zoneBits)
	d.s.VLAN = be.Uint16(b[2:])
	if b[4] != 0 {
		d.s.Link = b[5:17:17]
	}
	v := d.ip(b[wholeBytes:])
	d.s.Tuple.Zone = zone
	return v
}
