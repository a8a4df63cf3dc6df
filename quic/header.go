package quic

import (
	"encoding/binary"
	"errors"
)

// A PacketType is the type of a packet, which its header tells without any key.
type PacketType uint8

const (
	Initial PacketType = 1 + iota
	ZeroRTT
	Handshake
	Retry
	OneRTT // short header
	VersionNegotiation
)

// ErrHeader means that the bytes do not start with a valid packet header.
var ErrHeader = errors.New("quic: no packet header")

// A Header holds the unprotected fields of a packet header (RFC 9000, section 17). Its slices refer to the datagram.
type Header struct {
	Type     PacketType
	Version  Version
	DCID     []byte
	SCID     []byte // long headers
	Token    []byte // Initial
	PNOffset int    // offset of the packet number in bytes; 0 if there is none (Retry, VersionNegotiation)
	Size     int    // size of the packet in bytes; the datagram may contain another packet after it
}

// Types of long headers in version 1 (RFC 9000, section 17.2) and version 2 (RFC 9369, section 3.2).
var types1, types2 = [4]PacketType{Initial, ZeroRTT, Handshake, Retry}, [4]PacketType{Retry, Initial, ZeroRTT, Handshake}

// ParseHeader parses the header of the first packet in a datagram. dcidSize is the size of the connection ID in short
// headers, which do not contain it. ParseHeader returns an error for versions other than 1 and 2, whose packet types
// are unknown. It also returns one for a header that is truncated or states a length beyond the datagram.
func ParseHeader(datagram []byte, dcidSize int) (h Header, err error) {
	if len(datagram) == 0 {
		return h, ErrHeader
	}
	first, r := datagram[0], reader{datagram, 1}
	if first&0x80 == 0 {
		h.Type, h.DCID = OneRTT, r.take(uint64(max(dcidSize, 0)))
		h.PNOffset, h.Size = r.at, len(datagram)
		if first&0x40 == 0 || h.DCID == nil || dcidSize < 0 {
			return Header{}, ErrHeader
		}
		return h, nil
	}
	version := r.take(4)
	if version == nil {
		return Header{}, ErrHeader
	}
	h.Version = Version(binary.BigEndian.Uint32(version))
	h.DCID = r.take(r.byte())
	h.SCID = r.take(r.byte())
	h.Size = len(datagram)
	if h.DCID == nil || h.SCID == nil {
		return Header{}, ErrHeader
	}
	types := &types1
	switch h.Version {
	case 0:
		h.Type = VersionNegotiation
		return h, nil
	case Version1:
	case Version2:
		types = &types2
	default:
		return Header{}, ErrHeader
	}
	if first&0x40 == 0 || len(h.DCID) > 20 || len(h.SCID) > 20 {
		return Header{}, ErrHeader
	}
	h.Type = types[first>>4&3]
	if h.Type == Retry {
		if len(datagram)-r.at < TagSize {
			return Header{}, ErrHeader
		}
		return h, nil
	}
	if h.Type == Initial {
		if h.Token = r.take(r.number()); h.Token == nil {
			return Header{}, ErrHeader
		}
	}
	length := r.number()
	h.PNOffset = r.at
	if r.take(length) == nil {
		return Header{}, ErrHeader
	}
	h.Size = r.at
	return h, nil
}

// A reader reads fields from a datagram. After a read beyond the end, at stays beyond the end.
type reader struct {
	b  []byte
	at int
}

// take returns the next n bytes as a non-nil slice, or nil if there are fewer.
func (r *reader) take(n uint64) []byte {
	if r.at > len(r.b) || n > uint64(len(r.b)-r.at) {
		r.at = len(r.b) + 1
		return nil
	}
	begin := r.at
	r.at += int(n)
	return r.b[begin:r.at:r.at]
}

// missing is larger than any datagram.
const missing = 1 << 62

func (r *reader) byte() uint64 {
	b := r.take(1)
	if b == nil {
		return missing
	}
	return uint64(b[0])
}

// number reads a variable-length integer (RFC 9000, section 16).
func (r *reader) number() uint64 {
	first := r.byte()
	if first == missing {
		return missing
	}
	rest := r.take(1<<(first>>6) - 1)
	if rest == nil {
		return missing
	}
	n := first & 0x3f
	for _, b := range rest {
		n = n<<8 | uint64(b)
	}
	return n
}
