package main

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"time"
	"unsafe"

	"github.com/sealane/sealane/batch"
)

const (
	batchTime = 12 * time.Microsecond
	maxBatch  = 512
	turns     = 3 // batches of each candidate per cell and repetition
	maxSlots  = 64
	outputAt  = 2112 // half a page from the input's page offset: accesses to one buffer never alias the other
	slotGap   = 192  // keeps neighboring packets out of the same cache set
)

// A goBench measures the implementations linked into this program. All of them alternate within every repetition, so
// that a slow phase of the machine affects all of them.
type goBench struct {
	candidates []goCandidate
	sessions   [][]cipher.AEAD // of each candidate, one per key
	keys       [][]byte
	text, ad   []byte
	out        []byte
	nonce      []byte
	rows       []*goRow
}

// A goRow is a cell in progress.
type goRow struct {
	cell
	ops    []batch.Op
	nonces []byte   // of the ops
	sealed [][]byte // sealed packets to open, each with its own nonce
	slot   int      // index of the next packet to open, or of the next key
	next   int      // number of the next sealed packet, which is its nonce
	best   []float64
	repeat []int // packets in one repetition
}

// newGoSpace allocates the memory and the keys of a goBench.
func newGoSpace() *goBench {
	const page = 4096
	space := make([]byte, page+2*maxBytes+outputAt+16)
	space = space[-uintptr(unsafe.Pointer(&space[0]))%page:]
	b := &goBench{
		text:  space[:maxBytes],
		ad:    bytes.Repeat([]byte{0xad}, 64),
		out:   space[maxBytes+outputAt : maxBytes+outputAt],
		nonce: make([]byte, 12),
	}
	for i := range b.text {
		b.text[i] = byte(7*i + i>>8)
	}
	for k := range manyKeys {
		key := make([]byte, alg.KeyBytes)
		for j := range key {
			key[j] = byte(0x80 + 13*k + j)
		}
		b.keys = append(b.keys, key)
	}
	return b
}

// level returns the sealane level that programs get by default, or "" without one.
func (b *goBench) level() string {
	for _, c := range b.candidates {
		if c.chosen {
			return c.Level
		}
	}
	return ""
}

func newGoBench(candidates []goCandidate, fault string) (*goBench, error) {
	b := newGoSpace()
	b.candidates = candidates
	for _, c := range candidates {
		var sessions []cipher.AEAD
		for _, key := range b.keys {
			s, err := c.New(key)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			sessions = append(sessions, s)
		}
		b.sessions = append(b.sessions, sessions)
	}
	for _, c := range cells() {
		b.rows = append(b.rows, b.newRow(c))
	}
	return b, b.checkAgreement(fault)
}

func (b *goBench) setNonce(number int) {
	binary.LittleEndian.PutUint64(b.nonce[4:], uint64(number))
}

func (b *goBench) newRow(c cell) *goRow {
	r := &goRow{cell: c, best: make([]float64, len(b.candidates)), repeat: make([]int, len(b.candidates))}
	if c.Batch > 0 {
		b.addOps(r)
		return r
	}
	if c.Op != "open" {
		return r
	}
	slots := c.Keys
	if slots == 1 {
		slots = min(maxBytes/c.Bytes, maxSlots) // as many as stay in the first-level cache
	}
	stride := (c.Bytes+63)/64*64 + slotGap
	space := make([]byte, slots*stride)
	for slot := range slots {
		b.setNonce(slot)
		packet := space[slot*stride : slot*stride : (slot+1)*stride]
		r.sealed = append(r.sealed, b.sessions[0][slot%c.Keys].Seal(packet, b.nonce, b.text[:c.Bytes], b.ad[:c.AD]))
	}
	return r
}

// addOps makes the packets of a batch, each with its own input and output memory.
func (b *goBench) addOps(r *goRow) {
	const stride = 1536 + slotGap
	in, out := make([]byte, r.Batch*stride), make([]byte, r.Batch*stride)
	r.nonces = make([]byte, 12*r.Batch)
	for i := range r.Batch {
		n := r.Bytes
		if n == mixed {
			n = mix[i%len(mix)]
		}
		text := in[i*stride:][:n:stride]
		copy(text, b.text[7*i:])
		op := batch.Op{Dst: out[i*stride:][:0:stride], Nonce: r.nonces[12*i:][:12], Src: text}
		if r.Op == "open" {
			binary.LittleEndian.PutUint64(op.Nonce[4:], uint64(i))
			op.Src = b.sessions[0][i%r.Keys].Seal(nil, op.Nonce, text, nil)
		}
		r.ops = append(r.ops, op)
	}
}

// runBatches processes at least n packets of a row with candidate i: in batches, or in a loop for other libraries.
func (b *goBench) runBatches(r *goRow, i, n int) error {
	sessions, loop := b.sessions[i], b.candidates[i].Level == ""
	for done := 0; done < n; done += len(r.ops) {
		for j := range r.ops {
			r.ops[j].AEAD = sessions[j%r.Keys]
		}
		if r.Op == "seal" {
			for j := range r.ops {
				r.next++
				binary.LittleEndian.PutUint64(r.ops[j].Nonce[4:], uint64(r.next))
			}
		}
		switch {
		case !loop && r.Op == "seal":
			batch.SealBatch(r.ops)
		case !loop:
			if opened := batch.OpenBatch(r.ops); opened != len(r.ops) {
				return fmt.Errorf("opened %d of %d packets", opened, len(r.ops))
			}
		case r.Op == "seal":
			for j := range r.ops {
				op := &r.ops[j]
				op.Out = op.AEAD.Seal(op.Dst, op.Nonce, op.Src, nil)
			}
		default:
			for j := range r.ops {
				op := &r.ops[j]
				if op.Out, op.Err = op.AEAD.Open(op.Dst, op.Nonce, op.Src, nil); op.Err != nil {
					return op.Err
				}
			}
		}
	}
	return nil
}

// checkBatch checks that a candidate opens a batch, seals it again to the same bytes, and refuses a changed tag.
func (b *goBench) checkBatch(r *goRow, i int, fault string) error {
	name := b.candidates[i].Name
	if err := b.runBatches(r, i, 1); err != nil {
		return fmt.Errorf("%s, %s: %w", name, r.cell, err)
	}
	seal := &goRow{cell: r.cell, next: -1} // the numbers of the packets to be opened
	seal.Op = "seal"
	b.addOps(seal)
	for j := range seal.ops {
		seal.ops[j].Src = bytes.Clone(r.ops[j].Out)
	}
	if err := b.runBatches(seal, i, 1); err != nil {
		return err
	}
	last := len(r.ops) - 1
	if name == fault {
		seal.ops[last].Out[0] ^= 1
	}
	for j := range r.ops {
		if !bytes.Equal(seal.ops[j].Out, r.ops[j].Src) {
			return fmt.Errorf("%s, %s: sealed to other bytes than %s, or opened to them", name, r.cell, b.candidates[0].Name)
		}
	}
	r.ops[last].Src[len(r.ops[last].Src)-1] ^= 0x80
	if err := b.runBatches(r, i, 1); err == nil {
		return fmt.Errorf("%s, %s: opened a packet with a wrong tag", name, r.cell)
	}
	r.ops[last].Src[len(r.ops[last].Src)-1] ^= 0x80
	return nil
}

// checkAgreement checks that every candidate seals to the same bytes as the first, opens them, and refuses a changed
// tag. It changes the output of the candidate that fault names, to show that the check can fail.
func (b *goBench) checkAgreement(fault string) error {
	for _, r := range b.rows {
		if r.Op != "open" {
			continue
		}
		if r.Batch > 0 {
			for i := range b.candidates {
				if err := b.checkBatch(r, i, fault); err != nil {
					return err
				}
			}
			continue
		}
		slot := len(r.sealed) - 1
		want, text, ad := r.sealed[slot], b.text[:r.Bytes], b.ad[:r.AD]
		for i, c := range b.candidates {
			s := b.sessions[i][slot%r.Keys]
			b.setNonce(slot)
			sealed := s.Seal(nil, b.nonce, text, ad)
			if c.Name == fault {
				sealed[len(sealed)-1] ^= 1
			}
			if !bytes.Equal(sealed, want) {
				return fmt.Errorf("%s, %s: sealed to other bytes than %s", c.Name, r.cell, b.candidates[0].Name)
			}
			if opened, err := s.Open(nil, b.nonce, sealed, ad); err != nil || !bytes.Equal(opened, text) {
				return fmt.Errorf("%s, %s: did not open what it sealed", c.Name, r.cell)
			}
			sealed[len(sealed)-1] ^= 0x80
			if _, err := s.Open(nil, b.nonce, sealed, ad); err == nil {
				return fmt.Errorf("%s, %s: opened a packet with a wrong tag", c.Name, r.cell)
			}
		}
	}
	return nil
}

// turn cycles through 0, 1, ... n-1.
func (r *goRow) turn(n int) int {
	slot := r.slot
	if r.slot++; r.slot == n {
		r.slot = 0
	}
	return slot
}

// run processes n packets of a row with candidate i.
func (b *goBench) run(r *goRow, i, n int) error {
	if r.Batch > 0 {
		return b.runBatches(r, i, n)
	}
	sessions, ad := b.sessions[i], b.ad[:r.AD]
	switch r.Op {
	case "seal":
		text := b.text[:r.Bytes]
		for range n {
			r.next++
			b.setNonce(r.next)
			sessions[r.turn(r.Keys)].Seal(b.out, b.nonce, text, ad)
		}
	case "open":
		for range n {
			slot, session := r.turn(len(r.sealed)), 0
			if r.Keys > 1 {
				session = slot
			}
			b.setNonce(slot)
			if _, err := sessions[session].Open(b.out, b.nonce, r.sealed[slot], ad); err != nil {
				return err
			}
		}
	case "setup":
		for range n {
			if _, err := b.candidates[i].New(b.keys[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *goBench) measure(r *goRow, i int) error {
	n := max(r.repeat[i], 1)
	if r.Batch > 0 {
		n = (n + r.Batch - 1) / r.Batch * r.Batch
	}
	if err := b.run(r, i, 1); err != nil {
		return fmt.Errorf("%s, %s: %w", b.candidates[i].Name, r.cell, err)
	}
	start := time.Now()
	err := b.run(r, i, n)
	ns := float64(time.Since(start)) / float64(n)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", b.candidates[i].Name, r.cell, err)
	}
	if r.best[i] == 0 || ns < r.best[i] {
		r.best[i] = ns
	}
	r.repeat[i] = min(max(int(float64(batchTime)/r.best[i]), 1), maxBatch)
	return nil
}

// pass measures for d, and returns the minimum times so far.
func (b *goBench) pass(d time.Duration) (*table, error) {
	t := &table{ClockGHz: clockGHz(), Ns: make(map[cell]map[string]float64)}
	for start := time.Now(); time.Since(start) < d; t.Repetitions++ {
		for _, r := range b.rows {
			for turn := range turns * len(b.candidates) {
				if err := b.measure(r, (turn+t.Repetitions)%len(b.candidates)); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, c := range b.candidates {
		t.Candidates = append(t.Candidates, c.candidate)
	}
	for _, r := range b.rows {
		t.Ns[r.cell] = make(map[string]float64)
		for i, c := range b.candidates {
			t.Ns[r.cell][c.Name] = r.best[i]
		}
	}
	return t, nil
}
