package tls

// A tagger computes the tag that the next record of a direction would have, had it other bytes: what a record with
// copies that differ is put together from is found by tags of a few of them, as these add up. A tag is a sum over the
// blocks of ciphertext, of GHASH (NIST SP 800-38D, section 6.4) or Poly1305 (RFC 8439, section 2.5), and a mask that is
// the same for all of them. That of AES-CCM is no sum.
//
// It seals with the key and nonce of the record. Nothing of that leaves the process, where the key is.
type tagger struct {
	half   *half
	nonce  [12]byte
	aad    [13]byte
	added  int    // bytes of aad
	skip   int    // bytes before the ciphertext, which tags are not sums of
	adds   bool   // tags are numbers mod 2^130-5 without their upper bits, little-endian; else elements of GF(2^128)
	stream []byte // of the cipher
	text   []byte
}

// Plain is how many bytes of a record of a direction come before its ciphertext.
func (c *Conn) Plain() int {
	if c.suite != nil && c.suite.explicit() {
		return headerBytes + 8
	}
	return headerBytes
}

// tagger returns one for a record, whose length and bytes before the ciphertext are those of rec.
func (d *Decrypter) tagger(c *Conn, side uint8, rec []byte) (*tagger, bool) {
	h := &c.half[side]
	t := &tagger{half: h, nonce: h.iv, skip: c.Plain()}
	n := len(rec) - t.skip - TagBytes
	keyed := h.aead != nil && c.suite != nil && c.suite.kind != ccm && h.epoch != plain && h.epoch != blind && h.next == plain
	if !keyed || n < 0 || len(rec) > maxRecord {
		return nil, false
	}
	t.adds = c.suite.kind == chacha
	if h.epoch != protected12 {
		t.added = copy(t.aad[:], rec[:headerBytes])
	} else {
		be.PutUint64(t.aad[:], h.seq)
		copy(t.aad[8:], rec[:3])
		be.PutUint16(t.aad[11:], uint16(n))
		t.added = len(t.aad)
	}
	if c.suite.explicit() {
		copy(t.nonce[4:], rec[headerBytes:])
	} else {
		be.PutUint64(t.nonce[4:], be.Uint64(t.nonce[4:])^h.seq)
	}
	t.text = make([]byte, n, n+TagBytes)
	t.stream = h.aead.Seal(nil, t.nonce[:], t.text, t.aad[:t.added])[:n]
	return t, true
}

// tag returns the tag for the ciphertext in rec.
func (t *tagger) tag(rec []byte) (tag [TagBytes]byte) {
	text := t.text[:len(t.stream)]
	for i, k := range t.stream {
		text[i] = rec[t.skip+i] ^ k
	}
	sealed := t.half.aead.Seal(text[:0], t.nonce[:], text, t.aad[:t.added])
	copy(tag[:], sealed[len(text):])
	return tag
}

// wipe forgets the key stream.
func (t *tagger) wipe() {
	clear(t.stream)
	clear(t.text[:cap(t.text)])
}
