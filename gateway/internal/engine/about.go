package engine

import (
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// tellAbout makes the worker collect information about connections.
func (w *Worker) tellAbout(store *keys.Store) {
	plaintext, opened := w.dec.Plaintext, w.dec.Opened
	w.dec.Message = func(c *tls.Conn, side, kind uint8, body []byte) {
		_, version := c.Suite()
		connOf(c).flow.About.Message(side, kind, version, body)
	}
	w.dec.Plaintext = func(c *tls.Conn, side uint8, data []byte) {
		connOf(c).flow.About.Bytes[side] += uint64(len(data))
		plaintext(c, side, data)
	}
	w.dec.Opened = func(c *tls.Conn) {
		a := connOf(c).flow.About
		a.Suite, a.Version = c.Suite()
		a.Random = c.Random()
		if a.Source = store.From(&a.Random); c.Given() {
			a.Source = "api"
		}
		a.Confirm()
		opened(c)
	}
}
