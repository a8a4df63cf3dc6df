// Package listen accepts connections for as long as a listener is open.
package listen

import (
	"errors"
	"net"
	"time"
)

// The interval between attempts while the process has no free file descriptors.
const pause = 20 * time.Millisecond

// Each calls take for each connection that l accepts, one after the other, until l is closed. Other errors, such as too
// many open files, only cause a pause: otherwise a client with enough connections could end the loop.
func Each(l net.Listener, take func(net.Conn)) {
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			take(c)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(pause)
		}
	}
}
