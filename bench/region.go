package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
)

//go:noinline
func markStart() {}

//go:noinline
func markEnd() {}

// region seals or opens packets of one size with one candidate, each between two marks, for tools/x86cost.
func region(name string, open bool, size int) error {
	const calls = 12
	if size < 0 || size > maxBytes {
		return fmt.Errorf("-bytes %d: not from 0 to %d", size, maxBytes)
	}
	runtime.LockOSThread()
	b := newGoSpace()
	for _, c := range goCandidates() {
		if c.Name != name {
			continue
		}
		aead, err := c.New(b.keys[0])
		if err != nil {
			return err
		}
		var nonces [calls][12]byte
		text, packet := b.text[:size], make([]byte, 0, size+16)
		for i := range nonces {
			nonce := nonces[i][:]
			binary.LittleEndian.PutUint64(nonce[4:], uint64(i))
			sealed := aead.Seal(packet, nonce, text, nil)
			var out []byte
			runtime.Gosched() // otherwise the scheduler may preempt within the region, where x86cost has stopped all other threads
			if open {
				markStart()
				out, err = aead.Open(b.out, nonce, sealed, nil)
				markEnd()
				sealed = text
			} else {
				markStart()
				out = aead.Seal(b.out, nonce, text, nil)
				markEnd()
			}
			if err != nil || !bytes.Equal(out, sealed) {
				return fmt.Errorf("%s: a packet of %d bytes failed", name, size)
			}
		}
		return nil
	}
	return fmt.Errorf("there is no candidate %q here", name)
}
