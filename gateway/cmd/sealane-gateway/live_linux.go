package main

import (
	"context"
	ctls "crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/control"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/exchange"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/quic"
	"github.com/sealane/sealane/gateway/internal/rules"
	"github.com/sealane/sealane/gateway/internal/tls"
)

func init() { commands = append(commands, liveCommand) }

// live is a running gateway.
type live struct {
	out        outputs
	keys       keySources
	interfaces []string
	inline     string
	unread     string
	allow      []string
	deny       []string
	hold       int
	wait       time.Duration
	workers    int
	flows      int
	ring       int
	memory     int
	cpus       string
	pins       []int // processors, one for each worker
	promisc    bool
	oneNetwork bool
	api        string
	group      string
	metrics    string
	audit      string
	status     bool
	config     configuration
	flags      *pflag.FlagSet
	auditFile  *appended

	store  *keys.Store
	table  *engine.Keys
	counts output.Counts // of all frames sent
	cores  []*core

	rules *rules.Set // with --unread drop
	waits bool       // --key-wait was given
	idle  time.Duration

	placement *packet.Placement // set if there are several cores
	mesh      *exchange.Mesh[handed]

	grouping sync.Mutex
	groups   map[string]*uint16 // fan-out groups of rings, by interface
}

// A core is the state of one goroutine. Other goroutines use only its atomic fields.
type core struct {
	live    *live
	worker  *engine.Worker
	names   []string // names of the interfaces
	rings   []*capture.Live
	across  []*output.Interface // inline: the interface that frames of a ring go to
	gate    *engine.Gate        // inline and closed: forwards the frames
	archive *output.ArchiveCore // or nil
	group   int
	stats   atomic.Pointer[engine.Stats]
	placing *placing       // nil if this is the only core
	faces   []control.Face // counters by ring
	told    atomic.Pointer[[]control.Face]
	beat    atomic.Uint64
	tried   []time.Time // when a ring was last opened
	mu      sync.Mutex  // protects rings for readers of their counters, and counted
	lost    []uint64    // packets that the kernel dropped from closed rings
}

func liveCommand() *cobra.Command { return new(live).command() }

func (l *live) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Decrypt traffic on network interfaces",
		Example: "  sealane-gateway live --interface eth0 --keys sslkeys.log --tap plain0\n" +
			"  sealane-gateway live --inline eth1=eth2 --unread drop --keys-socket /run/keys --output-interface eth3",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l.waits = cmd.Flags().Changed("key-wait")
			return l.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	l.flags = f
	l.config.flags(f)
	l.out.flags(f)
	l.out.liveFlags(f)
	l.keys.liveFlags(f)
	f.StringSliceVarP(&l.interfaces, "interface", "i", nil, "read from this interface; may be given more than once")
	f.StringVar(&l.inline, "inline", "", "forward all frames between two interfaces, A=B, and read them")
	f.StringVar(&l.unread, "unread", "pass", "with --inline, treatment of unreadable traffic: pass (fail open), or drop (fail closed), which passes only decrypted data and traffic named by --allow")
	f.StringArrayVar(&l.allow, "allow", nil, "with --unread drop, pass this traffic unread, such as proto=udp,net=10.0.0.53,port=53 or sni=*.example.com; may be given more than once")
	f.StringArrayVar(&l.deny, "deny", nil, "with --unread drop, drop this traffic even if it is allowed or decrypted; same format as --allow")
	f.IntVar(&l.hold, "hold", 4, "MiB of ciphertext that may wait for keys in one direction")
	f.DurationVar(&l.wait, "key-wait", 50*time.Millisecond, "how long ciphertext waits for keys; the default is 2s with --unread drop")
	f.IntVar(&l.workers, "workers", 1, "number of cores to use")
	f.IntVar(&l.flows, "flows", 1<<16, "number of connections to follow at the same time, on all cores together")
	f.IntVar(&l.ring, "ring", 64, "MiB of memory for unread packets, for each core and interface")
	f.DurationVar(&l.idle, "idle", 0, "forget a connection after this time without packets, such as 24h; 0 keeps it while --flows has room")
	f.StringVar(&l.cpus, "cpus", "", "pin each worker to one of these processors, such as 2,3 or 2-5: as many as there are workers")
	f.IntVar(&l.memory, "memory", 1024, "MiB of memory besides the rings; when it is full, the connections that hold most are evicted first")
	f.BoolVar(&l.promisc, "promiscuous", false, "also read packets for other machines")
	f.BoolVar(&l.oneNetwork, "one-network", false, oneNetworkUsage)
	f.StringVar(&l.api, "api", "", "accept keys by address from clients of this Unix socket: PUT, GET, DELETE /flows")
	f.StringVar(&l.group, "api-group", "", "also let this group connect to --api")
	f.StringVar(&l.metrics, "metrics", "", "serve metrics for Prometheus at this address, such as localhost:9101")
	f.StringVar(&l.audit, "audit", "", "append a line for each decrypted connection to this file; - is standard output")
	f.BoolVar(&l.status, "status", false, "show the state in the terminal")
	return cmd
}

func (l *live) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.config.argv = argvOf
	if err := l.check(); err != nil {
		return err
	}
	if l.config.check {
		fmt.Println("all settings are valid")
		return nil
	}
	debug.SetMemoryLimit(int64(l.memory) << 20)
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // no keys in core dumps
	l.store = keys.NewStore(l.keys.limit)
	l.table = engine.NewKeys(l.flows)
	if err := l.keys.follow(ctx, l.store); err != nil {
		return err
	}
	l.out.counts, l.out.store, l.out.wait, l.out.cores = &l.counts, l.store, l.wait+200*time.Millisecond, l.workers
	if err := l.out.open(); err != nil {
		return err
	}
	defer l.out.close()
	audit, err := l.openAudit()
	if err != nil {
		return err
	}
	if l.workers > 1 {
		l.placement, l.mesh = packet.NewPlacement(), exchange.New[handed](l.workers)
	}
	for i := range l.workers {
		c, err := l.newCore(i, audit)
		if err != nil {
			return err
		}
		defer c.close()
		l.cores = append(l.cores, c)
	}
	if err := l.serve(ctx); err != nil {
		return err
	}
	if err := dropRoot(l.opensFiles()); err != nil {
		slog.Warn("root's privileges stay", "error", err)
	}
	slog.Info("reading", "interfaces", strings.Join(l.interfaces, ","), "workers", l.workers, "inline", l.inline != "")
	if l.status {
		go l.show(ctx)
	}
	var running sync.WaitGroup
	running.Add(1)
	go func() {
		defer running.Done()
		l.manage(ctx)
	}()
	for _, c := range l.cores {
		running.Add(1)
		go func() {
			defer running.Done()
			c.run(ctx)
		}()
	}
	running.Wait()
	s := l.stats()
	report(&s, l.store)
	moved := uint64(0)
	for _, c := range l.cores {
		if c.placing != nil {
			moved += c.placing.port.Moved.Load()
		}
	}
	if moved > 0 {
		slog.Info("packets passed from one core to another", "count", moved)
	}
	if drops := l.drops(); drops > 0 {
		slog.Warn("packets that the kernel dropped because they were not read in time", "count", drops)
	}
	return nil
}

// opensFiles reports whether the gateway opens files while it runs.
func (l *live) opensFiles() bool {
	return len(l.keys.files) > 0 || l.auditFile != nil || l.out.files()
}

func (l *live) check() error {
	if _, err := l.out.options(); err != nil {
		return err
	}
	if l.keys.nats != "" {
		if _, err := l.keys.natsOptions(); err != nil {
			return err
		}
	}
	if l.inline != "" {
		a, b, ok := strings.Cut(l.inline, "=")
		if !ok || a == b || len(l.interfaces) > 0 {
			return fmt.Errorf("--inline %q: must be two interfaces, A=B, without --interface", l.inline)
		}
		l.interfaces = []string{a, b}
		l.promisc = true
	}
	switch {
	case len(l.interfaces) == 0:
		return errors.New("nothing to read: give --interface NAME or --inline A=B")
	case l.unread != "pass" && l.unread != "drop":
		return fmt.Errorf("--unread %q: must be pass or drop", l.unread)
	case l.unread == "drop" && l.inline == "":
		return errors.New("--unread drop needs --inline: packets that are only listened to cannot be held back")
	case l.unread == "pass" && len(l.allow)+len(l.deny) > 0:
		return errors.New("--allow and --deny need --unread drop: without it all traffic passes")
	case l.hold < 1 || l.hold > 64:
		return fmt.Errorf("--hold %d: must be 1 to 64", l.hold)
	case l.workers < 1 || l.workers > 1024:
		return fmt.Errorf("--workers %d: must be 1 to 1024", l.workers)
	case l.ring < 1 || l.ring > 4096:
		return fmt.Errorf("--ring %d: must be 1 to 4096", l.ring)
	case l.wait < 0:
		return fmt.Errorf("--key-wait %v: must be 0 or more", l.wait)
	}
	if err := checkSizes(l.flows, &l.keys); err != nil {
		return err
	}
	var err error
	if l.pins, err = processors(l.cpus, l.workers); err != nil {
		return err
	}
	if l.unread == "drop" {
		l.rules = new(rules.Set)
		for into, texts := range map[*[]rules.Rule][]string{&l.rules.Allow: l.allow, &l.rules.Deny: l.deny} {
			for _, text := range texts {
				r, err := rules.Parse(text)
				if err != nil {
					return err
				}
				*into = append(*into, r)
			}
		}
		if !l.waits {
			l.wait = 2 * time.Second // keys arrive about a round trip after the packets
		}
	}
	// The kernel allocates the memory at once, and takes it from other processes if necessary.
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		rings, have := uint64(l.ring*l.workers*len(l.interfaces)), uint64(machine.Totalram)*uint64(machine.Unit)>>20
		if rings > have/2 {
			return fmt.Errorf("--ring %d: for all cores and interfaces that is %d MiB, more than half of the machine's %d", l.ring, rings, have)
		}
	}
	if l.budget() < 4<<20*l.workers {
		return fmt.Errorf("--memory %d: --flows %d needs at least %d", l.memory, l.flows, l.memory+((4<<20*l.workers-l.budget())*2)>>20+1)
	}
	for _, name := range l.interfaces {
		if name == l.out.face {
			return fmt.Errorf("--output-interface %s is also read: the gateway would read its own output", name)
		}
	}
	return nil
}

// budget returns the bytes that all connections together may hold: half of the memory after the tables, because the
// garbage collector needs the rest.
func (l *live) budget() int {
	const program, eachFlow = 64 << 20, 4 << 10
	between := 0 // memory between cores and for outputs
	if l.workers > 1 {
		between = exchange.Most(l.workers)
	}
	if l.out.server != "" {
		between += output.ServerBytes
	}
	if l.out.encrypted != "" {
		between += output.ArchiveBytes
	}
	return (l.memory<<20 - program - between - l.flows*eachFlow) / 2
}

func (l *live) openAudit() (*slog.Logger, error) {
	if l.audit == "" {
		return nil, nil
	}
	f, err := openAppended(l.audit)
	if err != nil {
		return nil, err
	}
	l.auditFile = f
	l.out.closers = append(l.out.closers, f)
	return slog.New(slog.NewJSONHandler(&reporting{Writer: f, name: l.audit}, nil)), nil
}

func (l *live) newCore(i int, audit *slog.Logger) (*core, error) {
	sink, archive, err := l.out.sink()
	if err != nil {
		return nil, err
	}
	c := &core{live: l, group: i, archive: archive}
	flows := max(l.flows/l.workers, 16)
	limits := tls.DefaultLimits
	limits.HeldFlow = l.hold << 20
	if l.rules != nil {
		c.gate = &engine.Gate{Rules: l.rules}
	}
	c.worker = engine.NewWorker(l.store, sink, engine.Options{
		Flows: flows, Room: flows, KeyWait: max(int64(l.wait), 1), HoleWait: 200e6, Idle: int64(l.idle), TLS: limits, Memory: l.budget() / l.workers,
		Keys: l.table, Gate: c.gate, OneNetwork: l.oneNetwork,
		About: audit != nil || l.out.about(), Chain: l.out.chain(),
	})
	c.worker.Opened = func(f *output.Flow, _, _ uint16) {
		if archive != nil {
			archive.Opened(f)
		}
		if audit != nil {
			audit.Info("decrypted", describe(f)...)
		}
	}
	if audit != nil {
		c.worker.Ended = func(f *output.Flow, conn *tls.Conn, how flow.Life) {
			args := append(describe(f), "how", how.String(), "state", conn.State().String(), "client_bytes", f.About.Bytes[0], "server_bytes", f.About.Bytes[1])
			for side, name := range []string{"client", "server"} {
				state, why := conn.Direction(uint8(side))
				args = append(args, name+"_direction", state.String())
				if why != tls.Nothing {
					args = append(args, name+"_lost", why.String())
				}
			}
			audit.Info("ended", args...)
		}
	}
	if audit != nil {
		c.worker.EndedQUIC = func(f *output.Flow, _ *quic.Conn, how quic.Life) {
			audit.Info("ended", append(describe(f), "how", how.String(), "client_bytes", f.About.Bytes[0], "server_bytes", f.About.Bytes[1])...)
		}
	}
	for _, name := range l.interfaces {
		r, err := c.open(name)
		if err != nil {
			c.close()
			return nil, err
		}
		c.names, c.rings, c.faces = append(c.names, name), append(c.rings, r), append(c.faces, control.Face{Name: name})
	}
	if l.mesh != nil {
		c.placing = &placing{Placement: l.placement, port: l.mesh.Port(i, c.take), parser: packet.Parser{OneNetwork: l.oneNetwork}}
	}
	c.lost = make([]uint64, len(c.names))
	if l.inline != "" {
		c.across = make([]*output.Interface, 2)
		for i := range c.names {
			if err := c.openAcross(i); err != nil {
				c.close()
				return nil, err
			}
		}
	}
	c.publish()
	return c, nil
}

// describe returns the audit fields of a connection.
func describe(f *output.Flow) []any {
	a := f.About
	protocol := uint8(6)
	if a.QUIC {
		protocol = 17
	}
	all := []any{"client", f.Client, "server", f.Server, "community_id", about.CommunityID(0, protocol, f.Client, f.Server)}
	if a.QUIC {
		all = append(all, "over", "quic")
	}
	text := func(name, value string) {
		if value != "" {
			all = append(all, name, value)
		}
	}
	if a.Suite != 0 {
		all = append(all, "version", ctls.VersionName(a.Version), "cipher", ctls.CipherSuiteName(a.Suite), "keys", a.Source)
	}
	text("sni", a.ServerName)
	text("alpn", a.Protocol)
	text("ja3", a.JA3)
	text("ja3s", a.JA3S)
	text("ja3s_string", a.ServerLists)
	text("ja4", a.JA4)
	for _, side := range []struct {
		name string
		c    *about.Certificate
	}{{"certificate", &a.Certificate[tls.Server]}, {"client_certificate", &a.Certificate[tls.Client]}} {
		text(side.name, side.c.Subject)
		text(side.name+"_issuer", side.c.Issuer)
		if len(side.c.Names) > 0 {
			all = append(all, side.name+"_names", side.c.Names)
		}
		if !side.c.Until.IsZero() {
			all = append(all, side.name+"_from", side.c.From, side.name+"_until", side.c.Until)
		}
		text(side.name+"_sha256", side.c.Fingerprint)
	}
	return all
}

func (c *core) open(name string) (*capture.Live, error) {
	o := capture.LiveOptions{Promiscuous: c.live.promisc, Blocks: c.live.ring, Incoming: c.live.inline != "", Headers: c.live.inline != ""}
	if c.live.workers > 1 {
		c.live.grouping.Lock()
		defer c.live.grouping.Unlock()
		if c.live.groups == nil {
			c.live.groups = make(map[string]*uint16)
		}
		if c.live.groups[name] == nil {
			c.live.groups[name] = new(uint16)
		}
		o.Group, o.Placement = c.live.groups[name], kernels(c.live.placement)
	}
	return capture.OpenLive(name, o)
}

// openAcross opens the interface that a ring's frames go to, which is the one that the other ring reads.
func (c *core) openAcross(i int) error {
	to, err := output.NewInterface(c.names[i], true, &c.live.counts, failed(c.names[i]))
	if err != nil {
		return err
	}
	if old := c.across[1-i]; old != nil {
		old.Close()
	}
	c.across[1-i] = to
	if c.gate != nil {
		c.gate.Ways[1-i] = to
	}
	return nil
}

func (c *core) close() {
	for _, r := range c.rings {
		if r != nil {
			r.Close()
		}
	}
	for _, a := range c.across {
		if a != nil {
			a.Close()
		}
	}
}

// run reads packets until ctx is done.
func (c *core) run(ctx context.Context) {
	runtime.LockOSThread()
	if pins := c.live.pins; pins != nil {
		var set unix.CPUSet
		set.Set(pins[c.group])
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			slog.Warn("cannot stay on one processor", "processor", pins[c.group], "error", err)
		}
	}
	published := time.Now()
	handlers := make([]func([]capture.Frame), len(c.rings))
	for i := range c.rings {
		handlers[i] = func(frames []capture.Frame) { c.handle(i, frames) }
	}
	c.tried = make([]time.Time, len(c.rings))
	for now := time.Now(); ctx.Err() == nil; {
		c.beat.Add(1)
		before := c.worker.Stats.Frames
		for i, r := range c.rings {
			if r == nil {
				c.again(i, now)
			} else if err := r.Read(0, handlers[i]); err != nil {
				c.gone(i, err)
			}
		}
		if c.placing != nil {
			c.placing.port.Receive()
		}
		now = time.Now()
		c.worker.Tick(now.UnixNano())
		c.flushAcross()
		c.worker.Flush()
		if now.Sub(published) > 100*time.Millisecond {
			published = now
			c.publish()
			if c.archive != nil {
				c.archive.Tick(now.UnixNano())
			}
		}
		if c.worker.Stats.Frames == before {
			if err := capture.Wait(2*time.Millisecond, c.rings...); err != nil {
				slog.Error("cannot wait for packets", "error", err)
				break
			}
		}
	}
	if c.placing != nil {
		c.placing.port.End()
	}
	c.worker.Close()
	c.publish()
}

// handle forwards and reads the frames of a ring.
func (c *core) handle(ring int, frames []capture.Frame) {
	if c.across != nil && c.gate == nil {
		for i := range frames {
			c.across[ring].Send(capture.Whole(&frames[i]))
		}
		c.across[ring].Flush()
	}
	if c.archive != nil {
		c.archive.Frames(frames)
	}
	c.read(ring, c.place(ring, frames))
}

// read reads frames of a ring here; the ring may belong to another core.
func (c *core) read(ring int, frames []capture.Frame) {
	face, before := &c.faces[ring], c.worker.Stats.Bytes
	verdicts, blocked := c.worker.Stats.Verdicts, c.worker.Stats.Gate.Blocked()
	c.worker.Ring = uint8(ring)
	c.worker.Frames(frames)
	face.Bytes += c.worker.Stats.Bytes - before
	for i := range verdicts {
		face.Verdicts[i] += c.worker.Stats.Verdicts[i] - verdicts[i]
	}
	face.Blocked += c.worker.Stats.Gate.Blocked() - blocked
	c.flushAcross()
}

// flushAcross sends the frames that a gate has passed, in both directions, since keys may arrive for both at once.
func (c *core) flushAcross() {
	if c.gate != nil {
		c.across[0].Flush()
		c.across[1].Flush()
	}
}

// gone closes a ring whose interface has disappeared. The others continue.
func (c *core) gone(i int, err error) {
	slog.Error("cannot read", "interface", c.names[i], "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, drops := c.rings[i].Counts()
	c.lost[i] += drops
	c.rings[i].Close()
	c.rings[i] = nil
}

// again reopens a ring when its interface is back.
func (c *core) again(i int, now time.Time) {
	if now.Sub(c.tried[i]) < 200*time.Millisecond {
		return
	}
	c.tried[i] = now
	r, err := c.open(c.names[i])
	if err != nil {
		return
	}
	if c.across != nil && c.openAcross(i) != nil {
		r.Close()
		return
	}
	c.mu.Lock()
	c.rings[i] = r
	c.mu.Unlock()
	slog.Info("reading again", "interface", c.names[i])
}

func (c *core) publish() {
	s := c.worker.Snapshot()
	if c.placing != nil {
		s.Fragments.Add(&c.placing.parser.Fragments)
	}
	c.stats.Store(&s)
	faces := slices.Clone(c.faces)
	c.told.Store(&faces)
}

func (l *live) stats() engine.Stats {
	var s engine.Stats
	for _, c := range l.cores {
		s.Add(c.stats.Load())
	}
	return s
}

// faces returns counters by interface.
func (l *live) faces() []control.Face {
	all := make([]control.Face, len(l.interfaces))
	for i, name := range l.interfaces {
		all[i].Name = name
		for _, c := range l.cores {
			if told := c.told.Load(); told != nil {
				all[i].Add(&(*told)[i])
			}
			c.mu.Lock()
			all[i].Dropped += c.lost[i]
			if r := c.rings[i]; r != nil {
				_, drops := r.Counts()
				all[i].Dropped += drops
			}
			c.mu.Unlock()
		}
	}
	return all
}

func (l *live) drops() (n uint64) {
	for _, f := range l.faces() {
		n += f.Dropped
	}
	return n
}

// serve starts the servers for other programs.
func (l *live) serve(ctx context.Context) error {
	start := func(listener net.Listener, h http.Handler) {
		s := control.Serve(listener, h)
		context.AfterFunc(ctx, func() { s.Close() })
	}
	if l.api != "" {
		listener, err := keys.ListenUnix(l.api, l.group)
		if err != nil {
			return err
		}
		start(listener, control.Flows(l.table, nil))
	}
	if l.metrics != "" {
		listener, err := net.Listen("tcp", l.metrics)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", control.Metrics(&control.Source{Stats: l.stats, Faces: l.faces, Store: l.store, Output: &l.counts}))
		start(listener, mux)
	}
	return nil
}

// show repeatedly writes a status page to the terminal.
func (l *live) show(ctx context.Context) {
	last, begin := l.stats(), time.Now()
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		s := l.stats()
		drops := l.drops()
		count, _ := l.store.Size()
		fmt.Fprintf(os.Stderr, "\x1b[H\x1b[2Jsealane-gateway  %s  %s\n\n", strings.Join(l.interfaces, " "), time.Since(begin).Round(time.Second))
		row := func(name string, now, before uint64) {
			fmt.Fprintf(os.Stderr, "%-28s %16d %12d/s\n", name, now, now-before)
		}
		row("packets", s.Frames, last.Frames)
		row("  dropped by the kernel", drops, drops)
		row("bytes", s.Bytes, last.Bytes)
		row("connections", s.Flows, last.Flows)
		row("  decrypted", s.Decrypted, last.Decrypted)
		row("  without keys", s.Undecrypted, last.Undecrypted)
		row("records", s.TLS.Records, last.TLS.Records)
		row("  not authentic", s.TLS.BadRecords, last.TLS.BadRecords)
		row("bytes of plaintext", s.TLS.Bytes, last.TLS.Bytes)
		fmt.Fprintf(os.Stderr, "%-28s %16d\n%-28s %16d\n", "connections now", s.Active, "keys in store", count)
		last = s
	}
}
