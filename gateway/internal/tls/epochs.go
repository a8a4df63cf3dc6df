package tls

import (
	"github.com/sealane/sealane/internal/aead"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// An epoch is the period in which one key protects a direction. A direction enters it with the first record that needs
// its key. Until then, half.next has the epoch.
//
//	epoch         follows                                      its secret, and without it
//	plain         the start                                    none
//	early         a ClientHello that offers 0-RTT (client)     client_early_traffic_secret; else handshake
//	handshake     ServerHello of TLS 1.3; EndOfEarlyData       handshake_traffic_secret; else blind
//	blind         the same, if only the next secret is known   none: up to 1024 records are tried with the next keys
//	application   Finished; KeyUpdate, with its next key       application_traffic_secret; else records are counted
//	protected12   ChangeCipherSpec of TLS 1.2                  master secret; else records are counted

// secret returns a secret of a connection. If it is missing, wait reports whether it may still arrive.
func (d *Decrypter) secret(c *Conn, side uint8, l keys.Label) (secret []byte, wait bool) {
	if c.secrets != nil {
		if s := c.secrets.Get(l); s != nil {
			return s, false
		}
	}
	if changes := d.Store.Changes(); changes != c.asked {
		if c.secrets == nil {
			if n := len(d.secrets); n > 0 {
				c.secrets = d.secrets[n-1]
				d.secrets = d.secrets[:n-1]
			} else {
				c.secrets = new(keys.Secrets)
			}
		}
		c.asked = changes
		d.Store.Get(&c.random[Client], c.secrets)
		if s := c.secrets.Get(l); s != nil {
			return s, false
		}
	}
	return nil, d.patient(c, side)
}

// dropSecrets wipes the copy of the secrets; if they are needed again, the store has them.
func (d *Decrypter) dropSecrets(c *Conn) {
	if c.secrets != nil {
		c.secrets.Wipe()
		if len(d.secrets) < 1024 {
			d.secrets = append(d.secrets, c.secrets)
		}
		c.secrets = nil
	}
	c.asked = ^uint64(0)
}

var labelOf = [...][2]keys.Label{
	early:       {keys.Early, keys.Early},
	handshake:   {keys.ClientHandshake, keys.ServerHandshake},
	application: {keys.ClientTraffic, keys.ServerTraffic},
}

// coming returns the epoch that the next protected record of a direction enters, and its keys. Without keys, k is nil:
// the epoch is then blind, or plain if there is no secret at all. ok is false if keys may still arrive.
func (d *Decrypter) coming(c *Conn, side uint8) (e epoch, k *keySet, ok bool) {
	for e = c.half[side].next; ; e = handshake {
		secret, wait := d.secret(c, side, labelOf[e][side])
		if wait {
			return e, nil, false
		}
		if secret != nil {
			if k = d.newKeys(); k.fromTraffic(c.suite, secret) {
				return e, k, true
			}
		}
		if e != early { // without the key, 0-RTT data is skipped
			break
		}
	}
	if e != handshake {
		return plain, nil, true
	}
	s, wait := d.secret(c, side, labelOf[application][side])
	if e = plain; s != nil {
		e = blind
	}
	return e, nil, !wait
}

// enter starts the next epoch. It returns false if the keys may still arrive.
func (d *Decrypter) enter(c *Conn, side uint8) bool {
	e, k, ok := d.coming(c, side)
	if !ok {
		return false
	}
	if e == plain {
		e, c.half[side].seq = blind, 0
		d.undecryptable(c, side)
	}
	d.begin(c, side, e, k != nil)
	return true
}

// begin enters the epoch that coming has returned.
func (d *Decrypter) begin(c *Conn, side uint8, e epoch, keyed bool) {
	h := &c.half[side]
	if keyed {
		d.install(c, side)
		h.missing, c.rest[side].gone = 0, 0
	}
	h.epoch, h.next = e, plain
	d.enough(c)
}

// enough wipes the secrets of a connection when they are no longer needed.
func (d *Decrypter) enough(c *Conn) {
	if c.half[0].epoch == application && c.half[1].epoch == application {
		d.dropSecrets(c)
	}
}

// late installs keys that have arrived for a direction without keys. It returns false if there are none.
func (d *Decrypter) late(c *Conn, side uint8) bool {
	h := &c.half[side]
	if c.suite == nil || c.Given() || c.secrets == nil && d.Store.Changes() == c.asked {
		return false
	}
	if c.version == version12 {
		s, _ := d.secret(c, side, keys.Master)
		if s == nil || !d.newKeys().fromMaster(c.suite, side, s, &c.random[Client], &c.random[Server]) {
			return false
		}
		n := h.seq
		d.Stats.LostBytes += uint64(h.missing)
		d.install(c, side)
		h.seq, h.epoch, c.mode[side] = n, protected12, reading
		return true
	}
	s, _ := d.secret(c, side, labelOf[application][side])
	if s == nil || !d.newKeys().fromTraffic(c.suite, s) {
		return false
	}
	// The count includes the records of the handshake, usually at most 16. So the number may be up to 32 lower.
	n := h.seq
	d.Stats.LostBytes += uint64(h.missing)
	d.install(c, side)
	h.seq, h.doubt = n-min(n, 32), uint32(min(n, 32))
	h.epoch, c.mode[side] = application, reading
	return true
}

// protect12 processes a ChangeCipherSpec of TLS 1.2. It returns false if the keys may still arrive.
func (d *Decrypter) protect12(c *Conn, side uint8) bool {
	h := &c.half[side]
	if c.suite == nil || !c.greeted(Server) {
		d.giveUp(c, side, NotTLS)
		return true
	}
	d.renew(c)
	secret, wait := d.secret(c, side, keys.Master)
	if wait {
		return false
	}
	h.epoch = protected12
	if secret == nil || !d.newKeys().fromMaster(c.suite, side, secret, &c.random[Client], &c.random[Server]) {
		h.seq = 0
		d.undecryptable(c, side)
		return true
	}
	d.install(c, side)
	return true
}

// newKeys returns the memory in which keys are derived, before install takes them.
func (d *Decrypter) newKeys() *keySet {
	d.Derived++
	k := &d.keys
	if k.gcm == nil {
		k.number = d.gcm.take()
		k.gcm = d.gcm.at(k.number)
	}
	return k
}

// install gives a direction the keys that were derived last.
func (d *Decrypter) install(c *Conn, side uint8) {
	h, r, k := &c.half[side], &c.rest[side], &d.keys
	d.dropKeys(c, side)
	h.iv, r.secret = k.iv, k.secret
	switch c.suite.kind {
	case chacha:
		h.chacha = k.chacha
		h.aead = &h.chacha
	case gcm:
		h.aead, h.gcm, k.gcm = k.aead, k.number, nil
	case ccm:
		h.aead, k.aead = k.aead, nil
	}
	h.seq, h.fails, h.doubt, c.proof[side] = 0, 0, 0, min(c.proof[side], former)
	h.age++
	r.hs.reset()
	k.wipe()
}

// dropKeys wipes the keys of a direction.
func (d *Decrypter) dropKeys(c *Conn, side uint8) {
	h := &c.half[side]
	if h.gcm != 0 {
		d.gcm.give(h.gcm)
	}
	wipeCCM(h.aead)
	c.forget(side)
	h.aead, h.gcm, h.chacha, h.iv = nil, 0, aead.ChaCha20Poly1305{}, [12]byte{}
}

// open13 opens a record of TLS 1.3 into the scratch memory. It returns nil if that fails.
func (d *Decrypter) open13(h *half, seq uint64, rec []byte) []byte {
	d.nonce = h.iv
	be.PutUint64(d.nonce[4:], be.Uint64(d.nonce[4:])^seq)
	text, err := h.aead.Open(d.scratch[:0], d.nonce[:], rec[headerBytes:], rec[:headerBytes])
	if err != nil {
		return nil
	}
	return text
}

// open12 opens a record of TLS 1.2 (RFC 5288, RFC 7905).
func (d *Decrypter) open12(s *suite, h *half, seq uint64, rec []byte) []byte {
	sealed := rec[headerBytes:]
	d.nonce = h.iv
	if s.explicit() {
		if len(sealed) < 8 {
			return nil
		}
		copy(d.nonce[4:], sealed)
		sealed = sealed[8:]
	} else {
		be.PutUint64(d.nonce[4:], be.Uint64(d.nonce[4:])^seq)
	}
	if len(sealed) < s.tag {
		return nil
	}
	be.PutUint64(d.aad[:], seq)
	copy(d.aad[8:], rec[:3])
	be.PutUint16(d.aad[11:], uint16(len(sealed)-s.tag))
	text, err := h.aead.Open(d.scratch[:0], d.nonce[:], sealed, d.aad[:])
	if err != nil {
		return nil
	}
	if text == nil {
		text = d.scratch[:0]
	}
	return text
}
