package tls

import (
	"github.com/sealane/sealane/gateway/internal/keys"
)

// The gateway may see a connection only from its middle on, without its hellos. For TLS 1.3, the secrets in a key log
// are then enough to read it, but which secrets belong to it is unknown. A record that opens shows this, and the suite,
// the side and the number of the record.

// An Identity is the result of opening a record of application data.
type Identity struct {
	Side   uint8 // sender of the record
	Number uint64
	suite  *suite
	random [32]byte
	nth    [2]int // index of its secret among those of one label, by side
}

// suites13 lists the suites of TLS 1.3.
var suites13 = [...]uint16{0x1301, 0x1302, 0x1303, 0x1304, 0x1305}

// perKeys is the cost of deriving keys, which equals that of opening as many bytes.
const perKeys = 8 << 10

// Identify tries the secrets of a client random on a record of application data, with the numbers in [from, to). It
// subtracts the cost from work. When work is used up, step has the position at which the next call continues. After all
// secrets, sides and suites, step is 0.
func (d *Decrypter) Identify(random *[32]byte, rec []byte, from, to uint64, step, work *int) (id Identity, found bool) {
	if len(rec) < minRecord || len(rec) > headerBytes+maxText13 || rec[0] != typeData || headerBytes+int(be.Uint16(rec[3:])) != len(rec) {
		*step = 0
		return id, false
	}
	var secrets keys.Secrets
	defer secrets.Wipe()
	d.Store.Get(random, &secrets)
	const each = 2 * len(suites13)
	for ; *step < each*keys.MaxSecrets; *step++ {
		side, s, nth := uint8(*step%2), suites[suites13[*step%each/2]], *step/each
		secret := secrets.Candidate(labelOf[application][side], nth)
		if secret == nil || len(secret) != s.hash.size() {
			continue
		}
		if *work < 0 {
			return id, false
		}
		k := d.newKeys()
		*work -= perKeys
		if !k.fromTraffic(s, secret) {
			continue
		}
		h := half{aead: k.aead, iv: k.iv}
		for n := from; n < to; n++ {
			*work -= TrialBytes(len(rec))
			d.Stats.Trials++
			if d.open13(&h, n, rec) != nil {
				k.wipe()
				return Identity{side, n, s, *random, [2]int{nth, nth}}, true
			}
		}
		k.wipe()
	}
	*step = 0
	return id, false
}

// Join starts a connection in its middle, at an identified record. It searches the other side for the next record.
func (d *Decrypter) Join(c *Conn, id *Identity) {
	c.suite, c.version, c.random[Client] = id.suite, id.suite.version, id.random
	var secrets keys.Secrets
	defer secrets.Wipe()
	d.Store.Get(&id.random, &secrets)
	for side := range uint8(2) {
		h, secret := &c.half[side], secrets.Candidate(labelOf[application][side], id.nth[side])
		if secret == nil || !d.newKeys().fromTraffic(c.suite, secret) {
			h.epoch = blind
			d.undecryptable(c, side)
			continue
		}
		d.install(c, side)
		if h.epoch = application; side == id.Side {
			h.seq = id.Number
			continue
		}
		d.beginScan(c, side, 0)
		h.doubt = maxTrials
	}
}
