package packet

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
)

// Zone numbers have 15 bits, because a connection's key has no room for more. They are indices into a table that all
// cores share, and that only grows. If it has no free place for a zone, zones share a number. Packets of one zone may
// then be taken for packets of another, like forgeries, which tags reveal.
const (
	zoneBits  = 15
	zoneTries = 16
)

var (
	zones     [1 << zoneBits]atomic.Uint64
	zoneCount atomic.Uint32
)

// mixZone adds an identifier to those of a zone. The result is never 0.
func mixZone(zone, identifier uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], zone)
	binary.LittleEndian.PutUint64(b[8:], identifier)
	return maphash.Bytes(seed, b[:]) | 1
}

// zoneNumber returns the number of a zone, and whether other zones share it.
func zoneNumber(zone uint64) (number uint16, shared bool) {
	for try := range uint64(zoneTries) {
		i := (zone>>1 + try) % (1<<zoneBits - 1)
		have := zones[i].Load()
		if have == 0 && zones[i].CompareAndSwap(0, zone) {
			zoneCount.Add(1)
			return uint16(i + 1), false
		}
		if zones[i].Load() == zone {
			return uint16(i + 1), false
		}
	}
	return uint16(zone>>1%(1<<zoneBits-1)) + 1, true
}

// EachZone calls each for the existing zone numbers, starting with 0, for at most most of them, until each returns
// false.
func EachZone(most int, each func(zone uint16) bool) {
	if !each(0) || zoneCount.Load() == 0 {
		return
	}
	for i := range zones {
		if zones[i].Load() != 0 {
			if most--; most < 0 || !each(uint16(i+1)) {
				return
			}
		}
	}
}
