// Package listen accepts connections for as long as a listener is open.
package listen

import (
	"errors"
	"net"
	"time"
)

// While a process may open no more files, it looks so often whether it may again.
const pause = 20 * time.Millisecond

// Each gives take each connection that l accepts, one after the other, until l is closed. Whatever else stands in the way of one, such
// as too many open files, is waited for: whoever connects often enough could end it otherwise.
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
