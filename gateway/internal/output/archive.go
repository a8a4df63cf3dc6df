package output

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// An Archive is a pcapng capture of the packets as they arrived. The secrets of decrypted connections are in it as
// decryption secrets blocks (draft-ietf-opsawg-pcapng, section 4.7), so that tshark and Wireshark can decrypt it.
//
// Secrets must precede the packets that they open, but may arrive later. So packets wait for a while. Each core keeps
// its own packets in memory, which it hands over as a whole to a goroutine of its own. That goroutine writes it
// after all secrets that any core has by then. Cores share no lock except for a connection's secrets.
type Archive struct {
	store  *keys.Store
	wait   int64 // nanoseconds of the packets' own time; 0: as long as there is memory
	failed func(error)
	cores  []*ArchiveCore

	mu     sync.Mutex
	w      io.Writer
	err    error
	faces  []packet.LinkType // interfaces, by number
	begun  int               // of these, in the file
	recent []recentSecrets
	given  int   // of these, in the file
	newest int64 // of the packets in the file
	files  int   // headers asked for

	running sync.WaitGroup
}

// recentSecrets is a block of secrets, and the time of the packet that they were needed for.
type recentSecrets struct {
	time  int64
	block []byte
}

const (
	// ArchiveBytes is how many bytes of packets wait, those of all cores together, except a few chunks that each has.
	ArchiveBytes  = 64 << 20
	fewChunks     = 4
	defaultMargin = 2e9 // without a wait, how much older than a packet secrets may be that another file needs
)

// A chunk is memory with packets in it, as blocks of pcapng.
type chunk struct {
	blocks        []byte
	first, newest int64
}

// An ArchiveCore takes the packets of one core, and is a Sink that writes no plaintext. It belongs to one goroutine.
type ArchiveCore struct {
	a      *Archive
	most   int // chunks
	made   int
	last   chunk   // the one that is filled
	queue  []chunk // those before it
	newest int64
	links  []packet.LinkType // interfaces by number, as far as this core knows
	spare  [][]byte
	full   chan chunk // for the goroutine, or nil if it does not run yet
	free   chan []byte
}

// NewArchive writes to w, which gets whole blocks, and begins with Header. Packets wait for their secrets for wait
// nanoseconds; 0 means as long as memory lasts.
func NewArchive(w io.Writer, store *keys.Store, wait int64, failed func(error)) *Archive {
	a := &Archive{w: w, store: store, wait: wait, failed: failed, faces: []packet.LinkType{packet.LinkEthernet}}
	a.write(a.Header())
	return a
}

// Core returns the part of one of that many cores. It is called before any of them uses its part.
func (a *Archive) Core(of int) *ArchiveCore {
	c := &ArchiveCore{a: a, most: max(ArchiveBytes/fileBuffer/of, fewChunks), links: []packet.LinkType{packet.LinkEthernet}}
	a.cores = append(a.cores, c)
	return c
}

// Header returns the beginning of another file: a section, the interfaces so far, and the secrets for packets that
// wait. A Roll asks for it while Archive writes.
func (a *Archive) Header() []byte {
	b := (&File{ng: true}).Header()[:28]
	for _, link := range a.faces {
		b = appendFace(b, link)
	}
	for _, r := range a.recent {
		b = append(b, r.block...)
	}
	a.begun, a.given = len(a.faces), len(a.recent)
	a.files++
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

// put writes a chunk, after the secrets that its packets need.
func (a *Archive) put(c chunk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.catchUp()
	a.write(c.blocks)
	a.newest = max(a.newest, c.newest)
	margin := 2 * a.wait
	if a.wait == 0 {
		margin = defaultMargin
	}
	n := 0
	for n < a.given && a.recent[n].time < a.newest-margin {
		clear(a.recent[n].block)
		n++
	}
	a.recent = slices.Delete(a.recent, 0, n)
	a.given -= n
}

// catchUp writes the interfaces and secrets that are not in the file.
func (a *Archive) catchUp() {
	for a.begun < len(a.faces) {
		link, files := a.faces[a.begun], a.files
		a.begun++
		a.write(appendFace(nil, link))
		if a.files != files {
			a.faces = append(a.faces, link) // another file has begun, and in it are all of them and this one again
			a.begun = len(a.faces)
		}
	}
	for a.given < len(a.recent) {
		a.given++
		a.write(a.recent[a.given-1].block)
	}
}

// face returns the number of the interface with a link type.
func (c *ArchiveCore) face(link packet.LinkType) int {
	if i := slices.Index(c.links, link); i >= 0 {
		return i
	}
	a := c.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.faces, link) {
		a.faces = append(a.faces, link)
	}
	c.links = append(c.links[:0], a.faces...)
	return slices.Index(c.links, link)
}

// Frames takes packets in the order of their arrival.
func (c *ArchiveCore) Frames(frames []capture.Frame) {
	if len(frames) > 0 {
		c.pass(max(c.newest, frames[0].Time))
	}
	for i := range frames {
		f := &frames[i]
		c.room(enhancedHeader + len(f.Data) + 8)
		if len(c.last.blocks) == 0 {
			c.last.first, c.last.newest = f.Time, f.Time
		}
		c.last.blocks = appendPacket(c.last.blocks, c.face(f.Link), f)
		c.last.newest = max(c.last.newest, f.Time)
		c.newest = max(c.newest, f.Time)
	}
}

// Tick passes on data that has waited long enough at a time.
func (c *ArchiveCore) Tick(now int64) { c.pass(now) }

// room has memory for n bytes in the last chunk.
func (c *ArchiveCore) room(n int) {
	if cap(c.last.blocks)-len(c.last.blocks) >= n {
		return
	}
	c.seal()
	for {
		select {
		case b := <-c.free:
			c.spare = append(c.spare, b)
			continue
		default:
		}
		break
	}
	if len(c.spare) == 0 && c.made >= c.most {
		c.hand() // though it has not waited long enough
		c.spare = append(c.spare, <-c.free)
	}
	if k := len(c.spare); k > 0 {
		c.last.blocks = c.spare[k-1][:0]
		c.spare = c.spare[:k-1]
	} else {
		c.made++
		c.last.blocks = make([]byte, 0, fileBuffer)
	}
	if cap(c.last.blocks) < n {
		c.last.blocks = make([]byte, 0, n)
	}
}

// seal puts the last chunk after the others.
func (c *ArchiveCore) seal() {
	if len(c.last.blocks) > 0 {
		c.queue = append(c.queue, c.last)
		c.last = chunk{}
	}
}

// pass hands over the chunks whose packets have waited long enough.
func (c *ArchiveCore) pass(now int64) {
	if c.a.wait == 0 {
		return
	}
	if len(c.last.blocks) > 0 && now-c.last.first >= c.a.wait/2 {
		c.seal()
	}
	for len(c.queue) > 0 && now-c.queue[0].newest > c.a.wait {
		c.hand()
	}
}

// hand has the goroutine write the first chunk.
func (c *ArchiveCore) hand() {
	if c.full == nil {
		c.full, c.free = make(chan chunk, c.most), make(chan []byte, c.most)
		c.a.running.Add(1)
		go func() {
			defer c.a.running.Done()
			for p := range c.full {
				c.a.put(p)
				c.free <- p.blocks
			}
		}()
	}
	if len(c.queue) > 0 { // otherwise the goroutine has all of them
		c.full <- c.queue[0] // there is room for all that were made, here and in free
		c.queue = slices.Delete(c.queue, 0, 1)
	}
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

// secrets has those of a connection written that were not yet.
func (a *Archive) secrets(random *[32]byte, done *uint8, time int64) {
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
	b := le.AppendUint32(make([]byte, 0, total), 10)
	b = le.AppendUint32(b, total)
	b = le.AppendUint32(le.AppendUint32(b, 0x544c534b), uint32(len(log))) // TLSK
	b = append(b, log...)
	b = append(b, 0, 0, 0)[:len(b)+padded-len(log)]
	b = le.AppendUint32(b, total)
	clear(log)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recent = append(a.recent, recentSecrets{time, b})
}

// Close writes all that waits, when no core gives it anything any more.
func (a *Archive) Close() error {
	for _, c := range a.cores {
		c.seal()
		for len(c.queue) > 0 {
			c.hand()
		}
		if c.full != nil {
			close(c.full)
		}
	}
	a.cores = nil
	a.running.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.catchUp()
	for _, r := range a.recent {
		clear(r.block)
	}
	a.recent, a.given = nil, 0
	return a.err
}

// Opened is called for each connection with an opened record.
func (c *ArchiveCore) Opened(f *Flow) {
	if f.About != nil {
		c.a.secrets(&f.About.Random, &f.About.Archived, *f.Time)
	}
}

// Data implements Sink.
func (c *ArchiveCore) Data(f *Flow, side uint8, _ []byte) {
	// The secrets of data may come after those of the handshake.
	if f.About != nil && f.About.ArchivedSides>>side&1 == 0 {
		f.About.ArchivedSides |= 1 << side
		c.Opened(f)
	}
}

// Gap implements Sink.
func (c *ArchiveCore) Gap(*Flow, uint8, int) {}

// End implements Sink.
func (c *ArchiveCore) End(*Flow) {}

// Flush implements Sink.
func (c *ArchiveCore) Flush() {}
