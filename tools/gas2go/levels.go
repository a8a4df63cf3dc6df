package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The levels stand once, in asm/levels.json: C, Go and Rust get their tables from there.
const (
	levelSource   = "asm/levels.json"
	portableLevel = "portable"
)

type levelData struct {
	About              []string
	Names              []string
	Microarchitectures map[string][]*microarchitecture
	Levels             map[string]map[string][]*level // by instruction set and primitive
	SIV                []string                       // the instruction sets whose kernels have POLYVAL
}

// A microarchitecture is a line that gives the first level to try in the tables on some CPUs.
type microarchitecture struct {
	Name, Vendor, From, To string
	First                  map[string]string // by primitive
}

type level struct {
	Name, Summary string
	Composition   *struct {
		Short, Long         string
		Most, Above, Opened int
	}
	Batch *batchData

	Primitive *primitiveData `json:"-"`
	Needs     []string       `json:"-"` // its kernels' extensions
}

type batchData struct {
	Kernel string
	From   [][2]int
	FromGo [][2]int `json:"from_go"`

	Needs []string `json:"-"`
}

// Packets are From, written out by class.
func (b *batchData) Packets() (packets []int) {
	for _, run := range b.From {
		packets = append(packets, slices.Repeat(run[:1], run[1])...)
	}
	return packets
}

// Few is the smallest number of packets at which a batch can pay.
func (b *batchData) Few() int {
	return slices.Min(slices.DeleteFunc(b.Packets(), func(n int) bool { return n == 0 }))
}

// GoFrom is From for Go.
func (b *batchData) GoFrom() [][2]int {
	if b.FromGo != nil {
		return b.FromGo
	}
	return b.From
}

// primitiveData holds the names of a primitive's parts in each language.
type primitiveData struct {
	Name  string
	Args  string // Go: the argument type of its kernels
	KeyAt string // C: where a sealane_key has it
	Flags string // C: that go with a whole packet
	Rows  string // Go: its levels
	Race  string // Go: the function that informs the race detector
	Batch string // Go: the same for batches, or ""
	Rust  string // Rust: the table
	Type  string // Rust: the primitive
}

var primitives = []*primitiveData{
	{Name: "chacha20poly1305", Args: "PacketArgs", KeyAt: "CHACHA20_KEY_AT", Flags: "WHOLE", Rows: "chaCha20Poly1305", Race: "raceArgs", Batch: "raceBatch", Rust: "CHACHA20POLY1305", Type: "ChaCha20Poly1305"},
	{Name: "aesgcm", Args: "PacketArgs", KeyAt: "GCM_KEY_AT", Flags: "WHOLE | SEALANE_FLAG_NONCE", Rows: "aesGCM", Race: "raceGCMArgs", Rust: "AESGCM", Type: "AesGcm"},
	{Name: "aes", Args: "ModeArgs", KeyAt: "0", Flags: "0", Rows: "aesLevel", Race: "raceAESArgs", Rust: "AES_BLOCKS", Type: "AesBlocks"}, // in Rust AES alone is a feature
	{Name: "chacha20masks", Args: "ModeArgs", KeyAt: "0", Flags: "0", Rows: "chaCha20Masks", Race: "raceMasks", Rust: "CHACHA20MASKS", Type: "ChaCha20Masks"},
}

// readLevels returns the tables. Their needs come from the isa lines.
func readLevels(root string) (*levelData, error) {
	file, err := os.Open(filepath.Join(root, filepath.FromSlash(levelSource)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d := new(levelData)
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("%s: %w", levelSource, err)
	}
	errs := []error{d.checkNames()}
	for _, t := range targets {
		errs = append(errs, d.checkLevels(root, t), d.checkMicroarchitectures(t))
	}
	for isa := range d.Levels {
		if !slices.ContainsFunc(targets, func(t *target) bool { return t.isa == isa }) {
			errs = append(errs, fmt.Errorf("no instruction set %q", isa))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", levelSource, err)
	}
	return d, nil
}

func (d *levelData) checkNames() error {
	for i, name := range d.Names {
		if name == "" || slices.Index(d.Names, name) != i {
			return fmt.Errorf("names: want each once: %q", name)
		}
	}
	if len(d.Names) == 0 || d.Names[len(d.Names)-1] != portableLevel {
		return fmt.Errorf("names: the last is not %s", portableLevel)
	}
	return nil
}

func (d *levelData) checkLevels(root string, t *target) error {
	for name, levels := range d.Levels[t.isa] {
		i := slices.IndexFunc(primitives, func(p *primitiveData) bool { return p.Name == name })
		if i < 0 {
			return fmt.Errorf("%s: no primitive %q", t.isa, name)
		}
		place := -1
		for _, l := range levels {
			l.Primitive = primitives[i]
			if p := slices.Index(d.Names, l.Name); p <= place {
				return fmt.Errorf("%s of %s: its name is not among names, or in another order", l.Name, name)
			} else {
				place = p
			}
			if err := l.findNeeds(root, t); err != nil {
				return fmt.Errorf("%s of %s: %w", l.Name, name, err)
			}
		}
	}
	return nil
}

// findNeeds reads the isa lines of a level's kernels.
func (l *level) findNeeds(root string, t *target) (err error) {
	kernels := []string{l.Name}
	if l.Composition != nil {
		kernels = []string{l.Composition.Short, l.Composition.Long}
	}
	if l.Needs, err = extensionsOf(root, t, l.Primitive.Name, kernels...); err != nil || l.Batch == nil {
		return err
	}
	if l.Primitive.Batch == "" {
		return errors.New("a primitive without batches")
	}
	l.Batch.Needs, err = extensionsOf(root, t, l.Primitive.Name+"_batch", l.Batch.Kernel)
	for _, run := range slices.Concat(l.Batch.From, l.Batch.FromGo) {
		if run[0] == 1 || run[0] < 0 || run[0] > 16 || run[1] < 1 {
			return fmt.Errorf("batch: %d packets of %d classes", run[0], run[1])
		}
	}
	if n := len(l.Batch.Packets()); n < 1 || n > 32 || l.Batch.Packets()[n-1] == 0 {
		return fmt.Errorf("batch: %d classes, of which the last one's may pay", n)
	}
	for _, need := range l.Batch.Needs {
		if !slices.Contains(l.Needs, need) {
			return fmt.Errorf("its batches need %s", need)
		}
	}
	return err
}

func extensionsOf(root string, t *target, primitive string, kernels ...string) (all []string, err error) {
	for _, kernel := range kernels {
		text, err := os.ReadFile(filepath.Join(root, "asm", t.isa, primitive+"_"+kernel+".S"))
		if err != nil {
			return nil, err
		}
		line := isaLine.FindSubmatch(text)
		if line == nil {
			return nil, fmt.Errorf("%s_%s.S has no isa line", primitive, kernel)
		}
		for _, extension := range strings.Fields(extensionNames(string(line[1]))) {
			if !slices.Contains(all, extension) {
				all = append(all, extension)
			}
		}
	}
	return all, nil
}

func (d *levelData) checkMicroarchitectures(t *target) error {
	lines := d.Microarchitectures[t.isa]
	for i, m := range lines {
		if last := i == len(lines)-1; last != (m.Vendor == "") || m.Name == "" {
			return fmt.Errorf("microarchitecture %q of %s: the last line matches any CPU, the others name a vendor", m.Name, t.isa)
		}
		for primitive, first := range m.First {
			if !slices.ContainsFunc(d.Levels[t.isa][primitive], func(l *level) bool { return l.Name == first }) {
				return fmt.Errorf("microarchitecture %q: %s has no level %q", m.Name, primitive, first)
			}
		}
		for _, number := range []string{m.From, m.To} {
			if _, err := strconv.ParseUint(number, 0, 16); number != "" && err != nil {
				return fmt.Errorf("microarchitecture %q: %w", m.Name, err)
			}
		}
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s has no microarchitecture", t.isa)
	}
	return nil
}

// checkRows refuses kernels for which there is no level.
func (r *report) checkRows(d *levelData) error {
	var errs []error
	for _, k := range r.kernels {
		name, batch := strings.CutSuffix(k.primitive(), "_batch")
		if !slices.ContainsFunc(primitives, func(p *primitiveData) bool { return p.Name == name }) {
			continue
		}
		if !slices.ContainsFunc(d.Levels[k.target.isa][name], func(l *level) bool {
			return l.Name == k.level() && !batch || batch && l.Batch != nil && l.Batch.Kernel == k.level()
		}) {
			errs = append(errs, fmt.Errorf("%s: %s has no level for it", k.source, levelSource))
		}
	}
	return errors.Join(errs...)
}

// addGo adds a Go file.
func (r *report) addGo(name string, text []byte) error {
	formatted, err := format.Source(text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.files[name] = formatted
	return nil
}
