package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	stock "golang.org/x/crypto/chacha20poly1305"

	"github.com/sealane/sealane/cmd/sealane/internal/binary"
	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/report"
)

const maxBenchBytes = 1 << 24

// A benchmark describes the measurements to make.
type benchmark struct {
	ciphers []string
	sizes   []int
	ad      []int
	keys    []int
	repeats int
}

func benchCommand() *cobra.Command {
	b := benchmark{}
	var asJSON, asReport, check bool
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure Seal and Open against x/crypto and the standard library, at every level that this CPU runs",
		Long: `Measure Seal and Open of packets at every level that this CPU runs. The peer of ChaCha20-Poly1305 is
golang.org/x/crypto, that of AES-GCM is the standard library's crypto/cipher. All of them alternate in this one process, with a
new nonce for each packet, and the least of many short times counts. Rely on the ratio to the peer: absolute times depend on
other load of the machine. The last lines name levels in use that are slower than their peer. They also name ciphers for which
another level is faster on this CPU than the one in sealane's table of CPUs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := environment(); err != nil {
				return err
			}
			for _, name := range b.ciphers {
				if !slices.ContainsFunc(benchCiphers, func(c benchCipher) bool { return c.name == name }) {
					return fmt.Errorf("there is no cipher %q: --cipher takes %s", name, strings.Join(cipherNames(), ", "))
				}
			}
			for _, size := range append(b.sizes, b.ad...) {
				if size < 0 || size > maxBenchBytes {
					return fmt.Errorf("%d bytes: sizes are from 0 to %d", size, maxBenchBytes)
				}
			}
			for _, keys := range b.keys {
				if keys < 1 || keys > 1<<16 {
					return fmt.Errorf("%d keys: there may be from 1 to %d", keys, 1<<16)
				}
			}
			if b.repeats < 1 {
				return fmt.Errorf("%d repeats: it takes at least one", b.repeats)
			}
			results, err := b.run(cmd.Context(), newProgress(os.Stderr))
			if err != nil {
				return err
			}
			switch {
			case asReport:
				writeReport(cmd.OutOrStdout(), results, levelNamed())
			case asJSON:
				err = writeJSON(cmd.OutOrStdout(), struct {
					Machine machine  `json:"machine"`
					Peers   []string `json:"peers"`
					Results []result `json:"results"`
				}{thisMachine(), []string{"golang.org/x/crypto " + stockVersion(), "crypto/cipher of " + runtime.Version()}, results})
			default:
				tables(cmd.OutOrStdout(), results)
			}
			said := io.Discard
			if !asReport && !asJSON {
				said = cmd.OutOrStdout()
			}
			found := verdict(said, results, levelNamed())
			if !check {
				found = nil
			}
			return errors.Join(err, found)
		},
	}
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&asReport, "report", false, "print one block of text to paste into an issue, without the machine's name")
	f.BoolVar(&check, "check", false, "exit with 3 if a level in use is slower than its peer, or than another level")
	c.MarkFlagsMutuallyExclusive("json", "report")
	f.StringSliceVar(&b.ciphers, "cipher", cipherNames(), "ciphers")
	f.IntSliceVar(&b.sizes, "size", []int{64, 256, 576, 1024, 1420, 4096, 8192, 16384}, "bytes of plaintext")
	f.IntSliceVar(&b.ad, "ad", []int{0, 13}, "bytes of associated data")
	f.IntSliceVar(&b.keys, "keys", []int{1, 64}, "number of keys, used alternately")
	f.IntVar(&b.repeats, "repeats", 40, "number of times that each is measured")
	return c
}

// A result is the time that one implementation takes for one packet.
type result struct {
	Cipher string  `json:"cipher"`
	Op     string  `json:"op"` // seal or open
	Size   int     `json:"size"`
	AD     int     `json:"ad"`
	Keys   int     `json:"keys"`
	Level  string  `json:"level"` // level, or the peer: x/crypto, crypto/cipher
	Peer   bool    `json:"peer"`
	Chosen bool    `json:"chosen"`
	NS     float64 `json:"ns_per_packet"`
	MBs    float64 `json:"mb_per_second"`
	Ratio  float64 `json:"ratio_to_peer"` // ratio of throughput; larger is faster
}

// A benchCipher is a cipher with the peer that it is compared with.
type benchCipher struct {
	name     string
	keyBytes int
	table    *dispatch.Table
	peer     string
	stock    func(key []byte) (cipher.AEAD, error)
	ours     func(level kernel.Level, key []byte) (cipher.AEAD, error)
	chosen   func() (kernel.Level, error)
}

var benchCiphers = []benchCipher{
	{"chacha20poly1305", 32, &kernel.ChaCha20Poly1305Levels, "x/crypto", stock.New, aead.NewChaCha20Poly1305, aead.ChaCha20Poly1305Level},
	{"aes-128-gcm", 16, &kernel.AESGCMLevels, "crypto/cipher", stockGCM, newGCM, aead.AESGCMLevel},
	{"aes-256-gcm", 32, &kernel.AESGCMLevels, "crypto/cipher", stockGCM, newGCM, aead.AESGCMLevel},
}

func cipherNames() (names []string) {
	for _, c := range benchCiphers {
		names = append(names, c.name)
	}
	return names
}

func stockGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func newGCM(level kernel.Level, key []byte) (cipher.AEAD, error) {
	return aead.NewAESGCM(level, key, stock.NonceSize, stock.Overhead)
}

// A candidate is an implementation with its keys.
type candidate struct {
	level  string
	chosen bool
	aeads  []cipher.AEAD
	nonce  [stock.NonceSize]byte
	sealed [][]byte // one sealed packet for each key
	least  time.Duration
}

func (kind benchCipher) candidates(keys int) ([]*candidate, error) {
	var all []*candidate
	add := func(level string, chosen bool, make func(key []byte) (cipher.AEAD, error)) error {
		c := &candidate{level: level, chosen: chosen}
		var key [stock.KeySize]byte
		for i := range keys {
			key[0], key[1] = byte(i), byte(i>>8)
			a, err := make(key[:kind.keyBytes])
			if err != nil {
				return err
			}
			c.aeads = append(c.aeads, a)
		}
		all = append(all, c)
		return nil
	}
	if err := add(kind.peer, false, kind.stock); err != nil {
		return nil, err
	}
	for _, r := range report.Levels(kind.table) {
		if !r.Passed {
			continue
		}
		level := kernel.Level(r.Level)
		chosen, err := kind.chosen()
		if err != nil {
			return nil, err
		}
		if err := add(r.Name, level == chosen, func(key []byte) (cipher.AEAD, error) { return kind.ours(level, key) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (b *benchmark) run(ctx context.Context, p *progressBar) (results []result, err error) {
	if err := notOurs(); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer p.clear()
	total, done := 2*len(b.ciphers)*len(b.sizes)*len(b.ad)*len(b.keys), 0
	for _, kind := range benchCiphers {
		if !slices.Contains(b.ciphers, kind.name) {
			continue
		}
		for _, keys := range b.keys {
			for _, ad := range b.ad {
				for _, op := range []string{"seal", "open"} {
					for _, size := range b.sizes {
						p.show(done, total, fmt.Sprintf("%s %s %d", kind.name, op, size))
						some, err := b.measure(ctx, kind, op, size, ad, keys)
						if err == nil && len(losses(some)) > 0 { // measure again, since another program may have disturbed the machine
							some, err = b.measure(ctx, kind, op, size, ad, keys)
						}
						if err != nil {
							return nil, err
						}
						results = append(results, some...)
						runtime.GC()
						done++
					}
				}
			}
		}
	}
	return results, nil
}

// notOurs refuses to measure against peers that sealane build has replaced.
func notOurs() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := binary.Read(self)
	if err != nil {
		return err
	}
	if p.Called {
		return errors.New("sealane build built this program, so it has no stock cipher to measure against")
	}
	return nil
}

// measure lets all candidates alternate, and keeps the shortest time of each.
func (b *benchmark) measure(ctx context.Context, kind benchCipher, op string, size, ad, keys int) (results []result, err error) {
	all, err := kind.candidates(keys)
	if err != nil {
		return nil, err
	}
	text, data := make([]byte, size), make([]byte, ad)
	out := make([]byte, 0, size+stock.Overhead)
	packets := max(1, 100_000/(200+size/2)) // about 100 µs
	for _, c := range all {
		for _, a := range c.aeads {
			c.sealed = append(c.sealed, a.Seal(nil, c.nonce[:], text, data))
			if op == "seal" {
				break
			}
		}
		c.least = 1 << 62
	}
	for range b.repeats {
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		for _, c := range all {
			var t time.Duration
			if op == "seal" {
				t = c.seal(packets, out, text, data)
			} else if t, err = c.open(packets, out, data); err != nil {
				return nil, err
			}
			c.least = min(c.least, t)
		}
	}
	for _, c := range all {
		ns := float64(c.least.Nanoseconds()) / float64(packets)
		results = append(results, result{
			Cipher: kind.name, Op: op, Size: size, AD: ad, Keys: keys, Level: c.level, Peer: c == all[0], Chosen: c.chosen,
			NS: ns, MBs: float64(size) / ns * 1e3, Ratio: float64(all[0].least) / float64(c.least),
		})
	}
	return results, nil
}

func (c *candidate) seal(packets int, out, text, data []byte) time.Duration {
	key := 0
	start := time.Now()
	for range packets {
		for i := 0; ; i++ { // a new nonce
			if c.nonce[i]++; c.nonce[i] != 0 {
				break
			}
		}
		c.aeads[key].Seal(out, c.nonce[:], text, data)
		if key++; key == len(c.aeads) {
			key = 0
		}
	}
	return time.Since(start)
}

func (c *candidate) open(packets int, out, data []byte) (time.Duration, error) {
	key := 0
	start := time.Now()
	for range packets {
		if _, err := c.aeads[key].Open(out, c.nonce[:], c.sealed[key], data); err != nil {
			return 0, fmt.Errorf("%s does not open its own sealed packet", c.level)
		}
		if key++; key == len(c.aeads) {
			key = 0
		}
	}
	return time.Since(start), nil
}

// tables prints a table for each kind of work: times of the peer, and throughput and ratio of the others.
func tables(w io.Writer, results []result) {
	m := thisMachine()
	fmt.Fprintf(w, "%s, %s/%s, %s, one core; peers golang.org/x/crypto %s and this Go's crypto/cipher\n", m.CPU, m.GOOS, m.GOARCH, m.Go, stockVersion())
	fmt.Fprintf(w, "MB/s = 10^6 bytes of plaintext a second; ×: ratio of throughput to the peer; *: the level in use\n")
	for i := 0; i < len(results); {
		first := results[i]
		same := func(r result) bool {
			return r.Cipher == first.Cipher && r.Op == first.Op && r.AD == first.AD && r.Keys == first.Keys
		}
		fmt.Fprintf(w, "\n%s, %s, %d bytes of associated data, %d key%s\n\n", first.Cipher, strings.ToUpper(first.Op[:1])+first.Op[1:], first.AD, first.Keys, strings.Repeat("s", min(1, first.Keys-1)))
		head, rule := "| bytes |", "|------:|"
		for _, r := range results[i:] {
			if !same(r) || r.Size != first.Size {
				break
			}
			name := r.Level
			if r.Chosen {
				name += "*"
			}
			if r.Peer {
				head += fmt.Sprintf(" %13s ns |  MB/s |", name)
				rule += "-----------------:|------:|"
			} else {
				head += fmt.Sprintf(" %9s |     × |", name)
				rule += "----------:|------:|"
			}
		}
		fmt.Fprintf(w, "%s\n%s\n", head, rule)
		for i < len(results) && same(results[i]) {
			size := results[i].Size
			fmt.Fprintf(w, "| %5d |", size)
			for ; i < len(results) && same(results[i]) && results[i].Size == size; i++ {
				r := results[i]
				if r.Peer {
					fmt.Fprintf(w, " %16.0f | %5.0f |", r.NS, r.MBs)
				} else {
					fmt.Fprintf(w, " %9.0f | %5.2f |", r.MBs, r.Ratio)
				}
			}
			fmt.Fprintln(w)
		}
	}
}

func stockVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "golang.org/x/crypto" {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

// A progressBar is drawn only on a terminal.
type progressBar struct {
	w  *os.File
	on bool
}

func newProgress(w *os.File) *progressBar {
	info, err := w.Stat()
	return &progressBar{w: w, on: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *progressBar) show(done, total int, what string) {
	if p.on {
		const width = 30
		full := done * width / total
		fmt.Fprintf(p.w, "\r[%s%s] %3d %%  %-22s", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*done/total, what)
	}
}

func (p *progressBar) clear() {
	if p.on {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
