package quic

import "encoding/binary"

var be = binary.BigEndian

// Frame types that are read (RFC 9000, section 19). All others of known length are skipped.
const (
	framePadding         = 0x00
	framePing            = 0x01
	frameACK             = 0x02
	frameACKECN          = 0x03
	frameReset           = 0x04
	frameStopSending     = 0x05
	frameCrypto          = 0x06
	frameNewToken        = 0x07
	frameStream          = 0x08 // to 0x0f, with three flag bits
	frameMaxData         = 0x10
	frameMaxStreamData   = 0x11
	frameMaxStreamsBidi  = 0x12
	frameMaxStreamsUni   = 0x13
	frameDataBlocked     = 0x14
	frameStreamBlocked   = 0x15
	frameStreamsBlocked  = 0x16
	frameStreamsBlocked2 = 0x17
	frameNewID           = 0x18
	frameRetireID        = 0x19
	framePathChallenge   = 0x1a
	framePathResponse    = 0x1b
	frameClose           = 0x1c
	frameCloseApp        = 0x1d
	frameDone            = 0x1e
	frameImmediateACK    = 0x1f // draft-ietf-quic-ack-frequency
	frameResetAt         = 0x24 // draft-ietf-quic-reliable-stream-reset
	frameDatagram        = 0x30 // RFC 9221; 0x31 has a length field
	frameDatagramLength  = 0x31
	frameACKFrequency    = 0xaf // draft-ietf-quic-ack-frequency
)

const (
	streamFIN    = 1
	streamLength = 2
	streamOffset = 4
)

// A frame is a useful frame. Its slices refer to the payload.
type frame struct {
	kind   uint64
	stream uint64 // STREAM, RESET_STREAM
	offset uint64 // STREAM, CRYPTO; final size in RESET_STREAM, and reliable size in RESET_STREAM_AT
	data   []byte // STREAM, CRYPTO, DATAGRAM
	fin    bool
	id     []byte // NEW_CONNECTION_ID
	token  []byte // for stateless resets, 16 bytes
	number uint64 // sequence number in NEW_CONNECTION_ID; largest acknowledged number in ACK
}

// A reader reads fields; bad means that one was incomplete.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	t := r.b[:n:n]
	r.b = r.b[n:]
	return t
}

func (r *reader) byte() uint64 {
	if b := r.take(1); b != nil {
		return uint64(b[0])
	}
	return 0
}

// varint reads a variable-length integer (RFC 9000, section 16).
func (r *reader) varint() uint64 {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	first := r.b[0]
	b := r.take(1 << (first >> 6))
	if b == nil {
		return 0
	}
	switch first >> 6 {
	case 0:
		return uint64(first)
	case 1:
		return uint64(be.Uint16(b)) & (1<<14 - 1)
	case 2:
		return uint64(be.Uint32(b)) & (1<<30 - 1)
	}
	return be.Uint64(b) & maxVarint
}

func (r *reader) skip(varints int) {
	for range varints {
		r.varint()
	}
}

// next reads a frame into f, and reports whether there was one. At the end it returns false. At an unknown or
// incomplete frame it also sets bad.
func (r *reader) next(f *frame) bool {
	for len(r.b) > 0 && r.b[0] == framePadding {
		r.b = r.b[1:]
	}
	if len(r.b) == 0 || r.bad {
		return false
	}
	*f = frame{kind: r.varint()}
	switch k := f.kind; {
	case k >= frameStream && k < frameStream+8:
		f.stream = r.varint()
		if k&streamOffset != 0 {
			f.offset = r.varint()
		}
		n := uint64(len(r.b))
		if k&streamLength != 0 {
			n = r.varint()
		}
		f.data, f.fin = r.take(n), k&streamFIN != 0
		f.kind = frameStream
		r.bad = r.bad || f.offset+uint64(len(f.data)) > maxVarint
	case k == framePing, k == frameDone, k == frameImmediateACK:
	case k == frameACK, k == frameACKECN:
		f.number = r.varint()
		r.skip(1)
		for n := r.varint(); n > 0 && !r.bad; n-- {
			r.skip(2)
		}
		r.skip(1)
		if k == frameACKECN {
			r.skip(3)
		}
	case k == frameReset:
		f.stream = r.varint()
		r.skip(1)
		f.offset = r.varint()
	case k == frameResetAt:
		f.stream = r.varint()
		r.skip(2)
		f.offset = r.varint()
	case k == frameStopSending, k == frameMaxStreamData, k == frameStreamBlocked:
		r.skip(2)
	case k == frameCrypto:
		f.offset = r.varint()
		f.data = r.take(r.varint())
		r.bad = r.bad || f.offset+uint64(len(f.data)) > maxVarint
	case k == frameNewToken:
		r.take(r.varint())
	case k == frameMaxData, k >= frameMaxStreamsBidi && k <= frameDataBlocked, k == frameStreamsBlocked, k == frameStreamsBlocked2, k == frameRetireID:
		r.skip(1)
	case k == frameNewID:
		f.number = r.varint()
		r.skip(1)
		n := r.byte()
		f.id, f.token = r.take(n), r.take(resetToken)
		r.bad = r.bad || n < 1 || n > maxID
	case k == framePathChallenge, k == framePathResponse:
		r.take(8)
	case k == frameClose:
		r.skip(2)
		r.take(r.varint())
	case k == frameCloseApp:
		r.skip(1)
		r.take(r.varint())
	case k == frameDatagram:
		f.data = r.take(uint64(len(r.b)))
	case k == frameDatagramLength:
		f.data = r.take(r.varint())
		f.kind = frameDatagram
	case k == frameACKFrequency:
		r.skip(4)
	default:
		r.bad = true
	}
	return !r.bad
}

const (
	maxVarint  = 1<<62 - 1
	maxID      = 20 // bytes of a connection ID
	resetToken = 16 // bytes
)
