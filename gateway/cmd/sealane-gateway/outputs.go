package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
)

// outputs are the flags for plaintext outputs, and the outputs that they open.
type outputs struct {
	write       string
	encrypted   string
	size        int
	every       time.Duration
	keep        int
	keepPorts   bool
	chains      string
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
	archive *output.Archive
	rolls   []*output.Roll
	store   *keys.Store   // used by archive
	wait    time.Duration // how long packets wait for their secrets; 0: as long as there is memory
	folders []*output.Streams
	serving *output.Server
	tapFD   int
	cores   int // number of writing cores
	given   func(flag string) bool
	counts  *output.Counts
	closers []io.Closer
}

func (o *outputs) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.write, "write", "w", "", "write a capture with the plaintext; a name ending in .pcapng selects pcapng, - is standard output. An existing file is kept: the new one gets a number")
	f.StringVar(&o.encrypted, "write-encrypted", "", "write the original packets with the keys of decrypted connections: a pcapng capture that tshark and Wireshark can decrypt. Keep it as secret as the keys")
	f.IntVar(&o.size, "write-size", 0, "start another file after this many MiB")
	f.DurationVar(&o.every, "write-every", 0, "start another file after this time, such as 1h")
	f.IntVar(&o.keep, "write-keep", 0, "keep this many files of each name and delete the oldest, those of earlier runs included; 0 keeps all")
	f.StringVar(&o.chains, "certificates", "", "write the certificates of decrypted connections to this folder: each chain once, named by the SHA-256 of its first, at most 16384 in a run")
	f.StringVar(&o.streams, "streams", "", "write the bytes of each connection to files in this folder")
	f.IntVar(&o.segment, "segment", output.DefaultSegment, "largest number of plaintext bytes in one packet; on an interface the default fits packets of 1500 bytes")
	o.given = f.Changed
	f.BoolVar(&o.noChecksums, "no-checksums", false, "leave out IP and TCP checksums")
	f.StringSliceVar(&o.ports, "map-port", []string{"443=80", "8443=8080"},
		"ports of servers in the output, because other tools expect TLS on the original ones")
	f.BoolVar(&o.keepPorts, "keep-ports", false, "keep the ports of servers; overrides --map-port")
	f.Uint16Var(&o.vlan, "mark-vlan", 0, "mark packets with this VLAN identifier")
	f.StringVar(&o.mac, "mark-mac", "", "mark packets with this Ethernet address as their source, such as 02:00:00:00:00:01")
}

// liveFlags are flags that do not apply to capture files.
func (o *outputs) liveFlags(f *pflag.FlagSet) {
	f.StringVar(&o.face, "output-interface", "", "send packets with the plaintext on this interface")
	f.StringVar(&o.tap, "tap", "", "create this TAP interface, and deliver packets with the plaintext there")
	f.StringVar(&o.server, "serve", "", "serve a capture of the plaintext at this address (PCAP-over-IP), such as localhost:57012")
}

func (o *outputs) options() (output.Options, error) {
	opts := output.Options{Segment: o.segment, VLAN: o.vlan, NoChecksums: o.noChecksums, Ports: make(map[uint16]uint16)}
	if o.vlan > 4094 {
		return opts, fmt.Errorf("--mark-vlan %d: the largest is 4094", o.vlan)
	}
	if o.segment < 1 || o.segment > 65000 {
		return opts, fmt.Errorf("--segment %d: must be 1 to 65000", o.segment)
	}
	if o.mac != "" {
		a, err := net.ParseMAC(o.mac)
		if err != nil || len(a) != len(opts.MAC) || a[0]&1 != 0 {
			return opts, fmt.Errorf("--mark-mac %q: must be the address of one Ethernet interface", o.mac)
		}
		opts.MAC = [6]byte(a)
	}
	if o.size < 0 || o.size > 1<<30 || o.every < 0 || o.keep < 0 {
		return opts, errors.New("--write-size, --write-every, --write-keep: must be 0 or more")
	}
	if o.encrypted != "" && !strings.HasSuffix(o.encrypted, ".pcapng") {
		return opts, fmt.Errorf("--write-encrypted %s: only a .pcapng has room for keys", o.encrypted)
	}
	for _, p := range o.ports {
		from, to, ok := strings.Cut(p, "=")
		a, err1 := strconv.ParseUint(from, 10, 16)
		b, err2 := strconv.ParseUint(to, 10, 16)
		if !ok || err1 != nil || err2 != nil {
			return opts, fmt.Errorf("--map-port %q: must be FROM=TO, two port numbers", p)
		}
		opts.Ports[uint16(a)] = uint16(b)
	}
	if o.keepPorts {
		clear(opts.Ports)
	}
	return opts, nil
}

// reporting reports the first write error, which the writer ignores.
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

// failed reports the first error of an output; the others continue.
func failed(what string) func(error) {
	return func(err error) { slog.Error("output stopped", "output", what, "error", err) }
}

// open opens the outputs that all cores share.
func (o *outputs) open() error {
	if _, err := o.options(); err != nil {
		return err // checked before anything is overwritten
	}
	if o.write != "" {
		var w io.Writer = os.Stdout
		if o.write != "-" {
			r, err := o.roll(o.write)
			if err != nil {
				return err
			}
			o.file = output.NewFile(r, strings.HasSuffix(o.write, ".pcapng"), failed(o.write))
			r.Header = o.file.Header
		} else {
			o.file = output.NewFile(w, false, failed(o.write))
		}
	}
	if o.encrypted != "" {
		r, err := o.roll(o.encrypted)
		if err != nil {
			return err
		}
		o.archive = output.NewArchive(r, o.store, int64(o.wait), failed(o.encrypted))
		r.Header = o.archive.Header
	}
	if o.chains != "" {
		if err := os.MkdirAll(o.chains, 0o700); err != nil {
			return err
		}
	}
	if o.server != "" {
		l, err := net.Listen("tcp", o.server)
		if err != nil {
			return err
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			slog.Warn("the plaintext is served to every client that reaches this address", "address", a)
		}
		o.serving = output.NewServer(l, o.counts, output.ServerEvents{
			Connected: func(a net.Addr) { slog.Info("reader connected", "address", a) },
			TooSlow:   func(a net.Addr) { slog.Warn("reader too slow: it loses packets", "address", a) },
			Evicted:   func(a net.Addr) { slog.Warn("an idle reader was disconnected in favor of another", "address", a) },
			Refused:   func(a net.Addr) { slog.Warn("too many readers: one was refused", "address", a) },
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

func (o *outputs) rule() output.Rule {
	return output.Rule{Size: int64(o.size) << 20, Every: o.every, Keep: o.keep}
}

// roll starts a capture that may continue in further files.
func (o *outputs) roll(name string) (*output.Roll, error) {
	r, err := output.NewRoll(name, o.rule())
	if err != nil {
		return nil, err
	}
	if r.Name() != name {
		slog.Info("the file exists, and is kept", "file", name, "instead", r.Name())
	}
	r.Began = func(name string) { slog.Info("writing to another file", "file", name) }
	o.rolls = append(o.rolls, r)
	o.closers = append(o.closers, r)
	return r, nil
}

// about reports whether an output needs information about connections.
func (o *outputs) about() bool { return o.encrypted != "" || o.chains != "" }

// maxChains limits the chains that a run writes, because clients can present any certificates.
const maxChains = 1 << 14

// files reports whether files are opened while packets are read.
func (o *outputs) files() bool { return len(o.rolls) > 0 || o.streams != "" || o.chains != "" }

// chain returns a function that writes certificate chains, or nil. It writes each chain once. The file is named after
// the first certificate, or after all of them if another chain starts with the same one.
func (o *outputs) chain() func(string, [][]byte) {
	if o.chains == "" {
		return nil
	}
	complain := failed(o.chains)
	var said, full atomic.Bool
	var mu sync.Mutex
	seen := make(map[[32]byte]struct{})
	return func(fingerprint string, certificates [][]byte) {
		var text []byte
		for _, c := range certificates {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
		}
		sum := sha256.Sum256(text)
		mu.Lock()
		_, there := seen[sum]
		room := len(seen) < maxChains
		if room {
			seen[sum] = struct{}{}
		}
		mu.Unlock()
		if there {
			return
		}
		if !room {
			if !full.Swap(true) {
				slog.Warn("no more certificates are written in this run", "folder", o.chains, "chains", maxChains)
			}
			return
		}
		err := writeNew(filepath.Join(o.chains, fingerprint+".pem"), text)
		if errors.Is(err, fs.ErrExist) {
			err = writeNew(filepath.Join(o.chains, fmt.Sprintf("%s-%x.pem", fingerprint, sum[:8])), text)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) && !said.Swap(true) {
			complain(err)
		}
	}
}

// writeNew writes a file unless it exists with the same content.
func writeNew(name string, text []byte) error {
	if st, err := os.Lstat(name); err == nil && st.Mode().IsRegular() && st.Size() == int64(len(text)) {
		if b, err := os.ReadFile(name); err == nil && bytes.Equal(b, text) {
			return nil
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// sink returns the plaintext output of one core, and its packet archive, which is nil if packets are not kept.
func (o *outputs) sink() (output.Sink, *output.ArchiveCore, error) {
	opts, err := o.options()
	if err != nil {
		return nil, nil, err
	}
	packets := func(f *output.File) output.Packets {
		if o.cores > 1 {
			return f.Lane()
		}
		return f.Core()
	}
	var m output.Many
	if o.file != nil {
		m = append(m, output.NewSynthetic(packets(o.file), opts))
	}
	if o.serving != nil {
		m = append(m, output.NewSynthetic(packets(o.serving.File), opts))
	}
	faces, err := o.interfaces(opts)
	if err != nil {
		return nil, nil, err
	}
	m = append(m, faces...)
	if o.streams != "" {
		s := output.NewStreams(o.streams, failed(o.streams))
		o.folders = append(o.folders, s)
		m = append(m, s)
	}
	var archive *output.ArchiveCore
	if o.archive != nil {
		archive = o.archive.Core(o.cores)
		m = append(m, archive)
	}
	if len(m) == 1 {
		return m[0], archive, nil
	}
	return m, archive, nil
}

// close closes the outputs after all cores have stopped, and returns the first error of any output.
func (o *outputs) close() error {
	var first error
	if o.file != nil {
		first = o.file.Close()
	}
	if o.archive != nil {
		if err := o.archive.Close(); err != nil && first == nil {
			first = err
		}
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
