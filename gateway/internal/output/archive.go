package output

import (
	"encoding/binary"
	"io"
	"sync"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// An Archive is a pcapng capture of the packets as they came, with the secrets of connections that were decrypted in it, as
// decryption secrets blocks (draft-ietf-opsawg-pcapng, section 4.7): tshark and Wireshark take it as it is.
//
// Secrets have to be in front of the packets that they open, and may be later: so packets wait for a while. It is safe for
// concurrent use; cores share it by whole blocks of packets.
type Archive struct {
	mu     sync.Mutex
	w      io.Writer
	store  *keys.Store
	wait   int64 // nanoseconds of the packets' own time
	failed func(error)
	err    error
	faces  []packet.LinkType
	queue  []byte
	marks  []archived
	newest int64
	recent []recentSecrets
}

// recentSecrets is a block of secrets, and the time of the newest packet when it was written.
type recentSecrets struct {
	time  int64
	block []byte
}

type archived struct {
	time int64
	end  int // in queue
}

// maxQueue is how many bytes of packets wait.
const maxQueue = 64 << 20

// NewArchive writes to w, which gets whole blocks, and begins with Header.
func NewArchive(w io.Writer, store *keys.Store, wait int64, failed func(error)) *Archive {
	a := &Archive{w: w, store: store, wait: wait, failed: failed}
	a.faces = []packet.LinkType{packet.LinkEthernet}
	a.write(a.header())
	return a
}

// Header is what another file begins with: a section, the interfaces that there are so far, and the secrets for packets that wait.
// A Roll asks for it while Archive writes.
func (a *Archive) Header() []byte {
	b := a.header()
	for _, r := range a.recent {
		b = append(b, r.block...)
	}
	return b
}

func (a *Archive) header() []byte {
	b := (&File{ng: true}).Header()[:28]
	for _, link := range a.faces {
		b = appendFace(b, link)
	}
	return b
}

func appendFace(b []byte, link packet.LinkType) []byte {
	face := (&File{ng: true}).Header()[28:]
	binary.LittleEndian.PutUint16(face[8:], uint16(link))
	return append(b, face...)
}

func (a *Archive) write(b []byte) {
	if a.err != nil || len(b) == 0 {
		return
	}
	if _, err := a.w.Write(b); err != nil {
		a.err = err
		a.failed(err)
	}
}

// Err returns the error after which nothing more was written.
func (a *Archive) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Frames takes packets, in the order in which they came.
func (a *Archive) Frames(frames []capture.Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range frames {
		f := &frames[i]
		a.queue = appendPacket(a.queue, a.face(f.Link), f)
		a.marks = append(a.marks, archived{f.Time, len(a.queue)})
		a.newest = max(a.newest, f.Time)
		if len(a.queue) > maxQueue {
			a.pass(a.newest - a.wait)
			if len(a.queue) > maxQueue {
				a.pass(a.newest + 1)
			}
		}
	}
	a.pass(a.newest - a.wait)
}

// Tick passes on what has waited long enough at a time.
func (a *Archive) Tick(now int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pass(now - a.wait)
}

// face returns the number of the interface with a link type.
func (a *Archive) face(link packet.LinkType) int {
	for i, have := range a.faces {
		if have == link {
			return i
		}
	}
	a.faces = append(a.faces, link)
	a.write(appendFace(nil, link))
	return len(a.faces) - 1
}

// pass writes the packets up to a time.
func (a *Archive) pass(until int64) {
	n := 0
	for n < len(a.marks) && a.marks[n].time < until {
		n++
	}
	if n == 0 {
		return
	}
	end := a.marks[n-1].end
	a.write(a.queue[:end])
	a.queue = append(a.queue[:0], a.queue[end:]...)
	a.marks = append(a.marks[:0], a.marks[n:]...)
	for i := range a.marks {
		a.marks[i].end -= end
	}
	a.forget()
}

func appendPacket(b []byte, face int, f *capture.Frame) []byte {
	le := binary.LittleEndian
	padded := (len(f.Data) + 3) &^ 3
	total := uint32(enhancedHeader + padded + 4)
	b = le.AppendUint32(le.AppendUint32(b, 6), total)
	b = le.AppendUint32(b, uint32(face))
	b = le.AppendUint32(le.AppendUint32(b, uint32(uint64(f.Time)>>32)), uint32(f.Time))
	b = le.AppendUint32(le.AppendUint32(b, uint32(len(f.Data))), uint32(len(f.Data)))
	b = append(b, f.Data...)
	b = append(b, 0, 0, 0)[:len(b)+padded-len(f.Data)]
	return le.AppendUint32(b, total)
}

// secrets writes those of a connection that were not written yet.
func (a *Archive) secrets(random *[32]byte, done *uint8) {
	var s keys.Secrets
	if !a.store.Get(random, &s) {
		return
	}
	log := s.Append(nil, random, done)
	s.Wipe()
	if len(log) == 0 {
		return
	}
	le := binary.LittleEndian
	padded := (len(log) + 3) &^ 3
	total := uint32(12 + 8 + padded)
	b := le.AppendUint32(le.AppendUint32(nil, 10), total)
	b = le.AppendUint32(le.AppendUint32(b, 0x544c534b), uint32(len(log))) // TLSK
	b = append(b, log...)
	b = append(b, 0, 0, 0)[:len(b)+padded-len(log)]
	b = le.AppendUint32(b, total)
	clear(log)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.write(b)
	a.recent = append(a.recent, recentSecrets{a.newest, b})
}

// forget wipes secrets that no packet waits for.
func (a *Archive) forget() {
	n := 0
	for n < len(a.recent) && a.recent[n].time < a.newest-2*a.wait {
		clear(a.recent[n].block)
		n++
	}
	a.recent = append(a.recent[:0], a.recent[n:]...)
}

// Close writes all that waits.
func (a *Archive) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pass(1<<63 - 1)
	for _, r := range a.recent {
		clear(r.block)
	}
	a.recent = nil
	return a.err
}

// Opened is told of each connection of which a record was opened.
func (a *Archive) Opened(f *Flow) { a.told(f) }

func (a *Archive) told(f *Flow) {
	if f.About != nil {
		a.secrets(&f.About.Random, &f.archived)
	}
}

// Core returns what one core tells of plaintext, which is not written.
func (a *Archive) Core() Sink { return archiveSink{a} }

type archiveSink struct{ *Archive }

func (a archiveSink) Data(f *Flow, side uint8, _ []byte) {
	// The secrets of data may come after those of the handshake.
	if f.archivedSides>>side&1 == 0 {
		f.archivedSides |= 1 << side
		a.told(f)
	}
}
func (a archiveSink) Gap(*Flow, uint8, int) {}
func (a archiveSink) End(*Flow)             {}
func (a archiveSink) Flush()                {}
