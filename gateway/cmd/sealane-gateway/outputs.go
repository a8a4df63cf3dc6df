package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/sealane/sealane/gateway/internal/output"
)

// outputs are the flags that say where plaintext goes, and what they open.
type outputs struct {
	write       string
	streams     string
	segment     int
	noChecksums bool
	ports       []string
	vlan        uint16
	mac         string
	face        string
	tap         string
	server      string

	file    *output.File
	folders []*output.Streams
	serving *output.Server
	tapFD   int
	given   func(flag string) bool
	counts  *output.Counts
	closers []io.Closer
}

func (o *outputs) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.write, "write", "w", "", "write a capture with the plaintext; pcapng if the name ends so, - is standard output. A file that is there stays: the new one gets a number")
	f.StringVar(&o.streams, "streams", "", "write the bytes of each connection to files in this folder")
	f.IntVar(&o.segment, "segment", output.DefaultSegment, "most bytes of plaintext in one packet; on an interface what fits into 1500 bytes, unless given")
	o.given = f.Changed
	f.BoolVar(&o.noChecksums, "no-checksums", false, "leave IP and TCP checksums out")
	f.StringSliceVar(&o.ports, "map-port", []string{"443=80", "8443=8080"},
		"servers' ports in the output, as tools look for TLS on those of TLS")
	f.Uint16Var(&o.vlan, "mark-vlan", 0, "mark packets with this VLAN identifier")
	f.StringVar(&o.mac, "mark-mac", "", "mark packets with this Ethernet address as their source, such as 02:00:00:00:00:01")
}

// liveFlags are those that files have no use for.
func (o *outputs) liveFlags(f *pflag.FlagSet) {
	f.StringVar(&o.face, "output-interface", "", "send packets with the plaintext on this interface")
	f.StringVar(&o.tap, "tap", "", "make this TAP interface, and have packets with the plaintext arrive there")
	f.StringVar(&o.server, "serve", "", "PCAP-over-IP: give who connects to this address a capture of the plaintext, such as localhost:57012")
}

func (o *outputs) options() (output.Options, error) {
	opts := output.Options{Segment: o.segment, VLAN: o.vlan, NoChecksums: o.noChecksums, Ports: make(map[uint16]uint16)}
	if o.vlan > 4094 {
		return opts, fmt.Errorf("--mark-vlan %d: the largest is 4094", o.vlan)
	}
	if o.segment < 1 || o.segment > 65000 {
		return opts, fmt.Errorf("--segment %d: it is 1 to 65000", o.segment)
	}
	if o.mac != "" {
		a, err := net.ParseMAC(o.mac)
		if err != nil || len(a) != len(opts.MAC) || a[0]&1 != 0 {
			return opts, fmt.Errorf("--mark-mac %q: it is the address of one Ethernet interface", o.mac)
		}
		opts.MAC = [6]byte(a)
	}
	for _, p := range o.ports {
		from, to, ok := strings.Cut(p, "=")
		a, err1 := strconv.ParseUint(from, 10, 16)
		b, err2 := strconv.ParseUint(to, 10, 16)
		if !ok || err1 != nil || err2 != nil {
			return opts, fmt.Errorf("--map-port %q: it is FROM=TO, two port numbers", p)
		}
		opts.Ports[uint16(a)] = uint16(b)
	}
	return opts, nil
}

// reporting tells about the first error of writing, which who writes does not look at.
type reporting struct {
	io.Writer
	name   string
	failed atomic.Bool
}

func (r *reporting) Write(b []byte) (int, error) {
	n, err := r.Writer.Write(b)
	if err != nil && !r.failed.Swap(true) {
		failed(r.name)(err)
	}
	return n, err
}

// failed is told about the first error of an output; the rest goes on.
func failed(what string) func(error) {
	return func(err error) { slog.Error("output stopped", "output", what, "error", err) }
}

// open opens what is shared by all cores.
func (o *outputs) open() error {
	if _, err := o.options(); err != nil {
		return err // before anything is overwritten
	}
	if o.write != "" {
		var w io.Writer = os.Stdout
		if o.write != "-" {
			f, err := create(o.write)
			if err != nil {
				return err
			}
			if f.Name() != o.write {
				slog.Info("the file is there already, and stays as it is", "file", o.write, "instead", f.Name())
			}
			o.closers = append(o.closers, f)
			w = f
		}
		o.file = output.NewFile(w, strings.HasSuffix(o.write, ".pcapng"), failed(o.write))
	}
	if o.server != "" {
		l, err := net.Listen("tcp", o.server)
		if err != nil {
			return err
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			slog.Warn("plaintext is served to whoever reaches this address", "address", a)
		}
		o.serving = output.NewServer(l, o.counts, output.ServerEvents{
			Connected: func(a net.Addr) { slog.Info("reader connected", "address", a) },
			TooSlow:   func(a net.Addr) { slog.Warn("reader too slow: it loses packets", "address", a) },
		})
		o.closers = append(o.closers, o.serving)
	}
	if o.tap != "" {
		if err := o.openTAP(); err != nil {
			return err
		}
	}
	if o.streams != "" {
		if err := os.MkdirAll(o.streams, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// create makes a file, with a number before its ending if there is one already: what was captured before is evidence. Devices and
// pipes are written to as they are.
func create(name string) (*os.File, error) {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	end := filepath.Ext(name)
	for n := 0; ; n++ {
		try := name
		if n > 0 {
			try = fmt.Sprintf("%s.%d%s", strings.TrimSuffix(name, end), n, end)
		}
		f, err := os.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || n == 1e6 {
			return f, err
		}
	}
}

// sink returns where one core puts plaintext.
func (o *outputs) sink() (output.Sink, error) {
	opts, err := o.options()
	if err != nil {
		return nil, err
	}
	var m output.Many
	if o.file != nil {
		m = append(m, output.NewSynthetic(o.file.Core(), opts))
	}
	if o.serving != nil {
		m = append(m, output.NewSynthetic(o.serving.Core(), opts))
	}
	faces, err := o.interfaces(opts)
	if err != nil {
		return nil, err
	}
	m = append(m, faces...)
	if o.streams != "" {
		s := output.NewStreams(o.streams, failed(o.streams))
		o.folders = append(o.folders, s)
		m = append(m, s)
	}
	if len(m) == 1 {
		return m[0], nil
	}
	return m, nil
}

// close returns the first error that an output had, when no core writes any more.
func (o *outputs) close() error {
	var first error
	if o.file != nil {
		first = o.file.Err()
	}
	for _, s := range o.folders {
		if first == nil {
			first = s.Err()
		}
	}
	for _, c := range o.closers {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
