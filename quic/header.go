package quic

import (
	"encoding/binary"
	"errors"
)

// A PacketType is what a header says without any key.
type PacketType uint8

const (
	Initial PacketType = 1 + iota
	ZeroRTT
	Handshake
	Retry
	OneRTT // short header
	VersionNegotiation
)

// ErrHeader is the error of bytes that begin no packet.
var ErrHeader = errors.New("quic: no packet header")

// A Header is what of a packet's header is not protected (RFC 9000, 17). Its slices are of the datagram.
type Header struct {
	Type     PacketType
	Version  Version
	DCID     []byte
	SCID     []byte // long headers
	Token    []byte // Initial
	PNOffset int    // where the packet number begins; 0: there is none (Retry, VersionNegotiation)
	Size     int    // of the packet, in bytes: behind it the datagram may have another one
}

// Version 1's types of long headers (RFC 9000, 17.2), and version 2's (RFC 9369, 3.2).
var types1, types2 = [4]PacketType{Initial, ZeroRTT, Handshake, Retry}, [4]PacketType{Retry, Initial, ZeroRTT, Handshake}

// ParseHeader reads the header of a datagram's first packet. Short headers do not say how long their connection ID is: dcidSize
// does. A version that is neither 1 nor 2 gives an error, because its packets cannot be told apart. So does a header that is
// cut off or states a length beyond the datagram.
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

// reader reads fields, and nothing behind the end: at is beyond it from then on.
type reader struct {
	b  []byte
	at int
}

// take returns the next n bytes, not nil, or nil.
func (r *reader) take(n uint64) []byte {
	if r.at > len(r.b) || n > uint64(len(r.b)-r.at) {
		r.at = len(r.b) + 1
		return nil
	}
	begin := r.at
	r.at += int(n)
	return r.b[begin:r.at:r.at]
}

// missing is more than any datagram has.
const missing = 1 << 62

func (r *reader) byte() uint64 {
	b := r.take(1)
	if b == nil {
		return missing
	}
	return uint64(b[0])
}

// number reads an integer of variable length (RFC 9000, 16).
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
