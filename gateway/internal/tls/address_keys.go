package tls

import (
	"crypto/subtle"
	"errors"
	"fmt"
)

// Given are keys of one direction that come with the connection's addresses, instead of from its handshake.
type Given struct {
	Suite   uint16
	Key, IV []byte // as in RFC 8446; in TLS 1.2 with AES-GCM and AES-CCM the IV is 4 bytes
	Secret  []byte // the traffic secret of Key and IV, or nil: then the direction ends at a KeyUpdate
	Next    uint64 // number of the next record
	Aligned bool   // the next bytes start with that record; otherwise it is searched for
	Search  uint32 // the most records that may have passed since; 0: 4096
}

// Complete returns the error in g. If there is a Secret, Key and IV may be missing; Complete fills them in.
func (g *Given) Complete() error {
	s := suites[g.Suite]
	if s == nil {
		return fmt.Errorf("suite: %#04x is not known", g.Suite)
	}
	if len(g.Secret) > 0 {
		if s.version != version13 {
			return errors.New("secret: there are none in TLS 1.2")
		}
		if len(g.Secret) != s.hash.size() {
			return fmt.Errorf("secret: %d bytes, it is as long as the suite's hash, %d", len(g.Secret), s.hash.size())
		}
		key, iv := make([]byte, s.keyBytes), make([]byte, 12)
		s.hash.expandLabel(key, g.Secret, "key")
		s.hash.expandLabel(iv, g.Secret, "iv")
		same := (len(g.Key) == 0 || subtle.ConstantTimeCompare(g.Key, key) == 1) && (len(g.IV) == 0 || subtle.ConstantTimeCompare(g.IV, iv) == 1)
		clear(g.Key)
		clear(g.IV)
		g.Key, g.IV = key, iv
		if !same {
			g.Wipe()
			return errors.New("secret: key and iv are not those that follow from it")
		}
	}
	if len(g.Key) != s.keyBytes {
		return fmt.Errorf("key: %d bytes, the suite's have %d", len(g.Key), s.keyBytes)
	}
	if len(g.IV) != 12 && !(s.explicit() && len(g.IV) == 4) {
		return fmt.Errorf("iv: %d bytes, it has 12, or 4 in TLS 1.2 with AES-GCM or AES-CCM", len(g.IV))
	}
	return nil
}

// Wipe wipes the keys.
func (g *Given) Wipe() {
	clear(g.Key)
	clear(g.IV)
	clear(g.Secret)
}

// Give starts reading a direction in the middle of its stream. The keys are copied.
func (d *Decrypter) Give(c *Conn, side uint8, g *Given) error {
	if err := g.Complete(); err != nil {
		return err
	}
	s := suites[g.Suite]
	h := &c.half[side]
	d.settle(c)
	k := d.newKeys()
	clear(k.iv[:])
	copy(k.iv[:], g.IV)
	clear(k.secret[:])
	copy(k.secret[:], g.Secret)
	if !k.setKey(s, g.Key) {
		k.wipe()
		return errors.New("no implementation of the suite's cipher")
	}
	if !c.Given() {
		c.mode[1-side] = ignoring
		if c.state == Readable {
			d.Store.Forget(&c.random[Client])
		}
	}
	c.suite, c.version = s, s.version
	d.install(c, side)
	if c.lineage[side] = given; len(g.Secret) == 0 {
		c.lineage[side] = bare
	}
	h.epoch = application
	if s.version == version12 {
		h.epoch = protected12
	}
	c.mode[side], h.seq = reading, g.Next
	if !g.Aligned {
		d.beginScan(c, side, 0)
		if h.doubt = g.Search; g.Search == 0 {
			h.doubt = maxTrials
		}
	}
	return nil
}

// Position returns the number of a direction's next record, and how many of its bytes have arrived. ok is false after a
// loss, before the first record has opened, and after a KeyUpdate, when the given keys no longer apply.
func (d *Decrypter) Position(c *Conn, side uint8) (number uint64, have int, ok bool) {
	d.settle(c)
	h := &c.half[side]
	return h.seq, int(h.have), c.mode[side] == reading && h.doubt == 0 && h.skip == 0 && h.aead != nil && c.lineage[side] != updated
}

// Advance informs the Decrypter that the records before a number were read elsewhere, and that the next bytes start
// with it.
func (d *Decrypter) Advance(c *Conn, side uint8, number uint64) {
	d.settle(c)
	h := &c.half[side]
	if h.aead == nil {
		return
	}
	d.dropPart(c, side)
	d.held -= c.drop(side)
	c.rest[side].gone = 0
	c.mode[side], h.seq = reading, number
	h.fails, h.doubt, h.skip, h.missing = 0, 0, 0, 0
}
