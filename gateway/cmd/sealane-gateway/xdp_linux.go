package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/handover"
	"github.com/sealane/sealane/gateway/internal/control"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/xdp"
)

func init() { commands = append(commands, xdpCommand) }

// fast is a gateway on the packet path.
type fast struct {
	out     outputs
	face    string
	api     string
	group   string
	generic bool
	strict  bool
	steer   bool
	promisc bool
	flows   int

	// Held while requests change the table, and while the table is read with its keys.
	mu      sync.Mutex
	table   *engine.Keys
	changed chan struct{}

	path    *xdp.Path
	sockets []*xdp.Socket
	sink    output.Sink
	read    map[xdp.Tuple]*fastFlow
	counts  output.Counts
}

// fastFlow is a direction that is registered.
type fastFlow struct {
	key  *engine.Key
	flow *output.Flow // both directions have the same
	side uint8
}

func xdpCommand() *cobra.Command {
	x := &fast{}
	cmd := &cobra.Command{
		Use:   "xdp",
		Short: "Decrypt flows on the packet path, before the host's network stack",
		Long: "xdp takes the flows that are registered with it off an interface and decrypts them: in the kernel's XDP hook, where a packet\n" +
			"is one record of TLS 1.3 with ChaCha20-Poly1305, in user space all else. Packets of other flows pass. Registered flows do\n" +
			"not reach this host's stack; the interface is one that gets copies, from a tap or a switch.",
		Example: "  sealane-gateway xdp --interface eth1 --api /run/sealane.sock --write - | tshark -r - -Y http\n" +
			"  curl --unix-socket /run/sealane.sock -X PUT -d @flow.json http://sealane/flows",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	f := cmd.Flags()
	x.out.flags(f)
	x.out.liveFlags(f)
	f.StringVarP(&x.face, "interface", "i", "", "take packets from this interface")
	f.StringVar(&x.api, "api", "", "let who connects to this Unix socket register flows: PUT, GET, DELETE /flows")
	f.BoolVar(&x.generic, "generic", false, "use the kernel's generic hook though the driver has one of its own")
	f.BoolVar(&x.strict, "strict", false, "drop TCP packets that cannot be told from those of a registered flow, as fragments are")
	f.StringVar(&x.group, "api-group", "", "let this group connect to --api as well")
	f.BoolVar(&x.steer, "steer", false, "open no records in the hook: faster for those above 256 bytes, if user space has a processor of its own")
	f.BoolVar(&x.promisc, "promiscuous", true, "take packets for other machines as well, as copies are")
	f.IntVar(&x.flows, "flows", 1<<16, "flows that can be registered")
	return cmd
}

func (x *fast) run(ctx context.Context) (err error) {
	switch {
	case x.face == "":
		return errors.New("what to read? --interface NAME")
	case x.api == "":
		return errors.New("where do flows come from? --api SOCKET")
	case x.face == x.out.face:
		return fmt.Errorf("--output-interface %s is read from as well: it would read what it wrote", x.face)
	}
	if err := checkSizes(x.flows, nil); err != nil {
		return err
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // no keys in core dumps
	x.table, x.changed, x.read = engine.NewKeys(x.flows), make(chan struct{}, 1), make(map[xdp.Tuple]*fastFlow)
	if x.out.about() {
		return errors.New("--write-encrypted, --certificates: on the packet path there are no handshakes")
	}
	x.out.counts = &x.counts
	if err := x.out.open(); err != nil {
		return err
	}
	defer x.out.close()
	if x.sink, _, err = x.out.sink(); err != nil {
		return err
	}
	program, err := xdp.Load(x.flows, x.strict)
	if err != nil {
		return err
	}
	defer program.Close()
	if err := x.attach(program); err != nil {
		return err
	}
	defer func() {
		for _, s := range x.sockets {
			s.Close()
		}
	}()
	x.path = xdp.NewPath(program, xdp.PathOptions{Plaintext: x.plaintext, Lost: x.lost, HoleWait: 200 * time.Millisecond})
	defer x.path.Close()
	listener, err := keys.ListenUnix(x.api, x.group)
	if err != nil {
		return err
	}
	x.serve(ctx, listener)
	slog.Info("on the packet path", "interface", x.face, "queues", len(x.sockets), "api", x.api)
	err = x.loop(ctx)
	s := x.path.Stats
	slog.Info("done", "opened_in_kernel", s.Opened, "opened_in_user_space", s.User, "repeated", s.Repeated, "refused", s.Refused, "given_back", s.Back)
	return err
}

// attach has the program run on the interface, with a socket for each of its queues.
func (x *fast) attach(program *xdp.Program) error {
	face, err := net.InterfaceByName(x.face)
	if err != nil {
		return fmt.Errorf("%s: %w", x.face, err)
	}
	if err := program.Attach(face.Index, x.generic); err != nil {
		return err
	}
	if x.promisc {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) // receives nothing itself
		if err != nil {
			return fmt.Errorf("%s: %w", x.face, err)
		}
		x.out.closers = append(x.out.closers, os.NewFile(uintptr(fd), x.face))
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(face.Index), Type: unix.PACKET_MR_PROMISC}); err != nil {
			return fmt.Errorf("%s: promiscuous: %w", x.face, err)
		}
	}
	queues, _ := filepath.Glob(filepath.Join("/sys/class/net", x.face, "queues/rx-*"))
	for q := range max(1, len(queues)) {
		s, err := program.OpenSocket(face.Index, q)
		if err != nil {
			return err
		}
		x.sockets = append(x.sockets, s)
	}
	return nil
}

func (x *fast) serve(ctx context.Context, l net.Listener) {
	flows := control.Flows(x.table)
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x.mu.Lock()
			defer x.mu.Unlock()
			flows.ServeHTTP(w, r)
			select {
			case x.changed <- struct{}{}:
			default:
			}
		})}
	context.AfterFunc(ctx, func() { s.Close() })
	go s.Serve(l)
}

// loop moves packets until ctx is done. It looks for changes of the table a hundred times a second at the least.
func (x *fast) loop(ctx context.Context) error {
	told := time.Now()
	for ctx.Err() == nil {
		select {
		case <-x.changed:
			x.reconcile()
		default:
		}
		packets := 0
		for _, s := range x.sockets {
			n, err := x.path.Receive(s, 0)
			if err != nil {
				slog.Warn("packet path", "error", err)
			}
			packets += n
		}
		if packets > 0 {
			x.sink.Flush()
		} else if err := xdp.Wait(10, x.sockets...); err != nil {
			return err
		}
		if now := time.Now(); now.Sub(told) > 100*time.Millisecond {
			told = now
			for t, f := range x.read {
				if number, ok := x.path.Position(t); ok {
					f.key.Tell(engine.KeyReading, number)
				}
			}
		}
	}
	for t, f := range x.read {
		x.forget(t, f)
	}
	x.sink.Flush()
	return nil
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func tupleOf(k *engine.Key) xdp.Tuple {
	return xdp.Tuple{Source: unmap(k.Source), Destination: unmap(k.Destination)}
}

// reconcile registers what is new in the table, and forgets what is gone.
func (x *fast) reconcile() {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make(map[xdp.Tuple]*engine.Key)
	for _, k := range x.table.All() {
		all[tupleOf(k)] = k
	}
	for t, f := range x.read {
		if all[t] != f.key {
			x.forget(t, f)
		}
	}
	for t, k := range all {
		if x.read[t] != nil {
			continue
		}
		if err := x.register(t, k); err != nil {
			slog.Warn("flow not registered", "flow", k.String(), "error", err)
			k.Tell(engine.KeyEnded, k.Given.Next)
			x.table.Delete(k.Source, k.Destination)
		}
	}
}

func (x *fast) register(t xdp.Tuple, k *engine.Key) error {
	if !k.Given.Aligned {
		return errors.New("its sequence is needed, and next, the number of the record that begins there")
	}
	if k.Given.Suite == 0x1303 && !x.steer {
		f := xdp.Flow{Number: k.Given.Next, Sequence: k.Sequence, Secret: k.Given.Secret}
		copy(f.Key[:], k.Given.Key)
		copy(f.IV[:], k.Given.IV)
		defer clear(f.Key[:])
		if err := x.path.Put(t, f); err != nil {
			return err
		}
	} else if err := x.path.PutUser(handover.Flow{Source: t.Source, Destination: t.Destination, Suite: k.Given.Suite,
		Key: k.Given.Key, IV: k.Given.IV, Secret: k.Given.Secret, Number: k.Given.Next, Sequence: k.Sequence}); err != nil {
		return err
	}
	f := &fastFlow{key: k, side: tls.Client}
	client, server := t.Source, t.Destination
	if k.FromServer {
		f.side = tls.Server
		client, server = server, client
	}
	if other := x.read[xdp.Tuple{Source: t.Destination, Destination: t.Source}]; other != nil && other.flow.Client == client {
		f.flow = other.flow
	} else {
		f.flow = &output.Flow{Client: client, Server: server, IPv6: client.Addr().Is6(), Time: new(int64)}
	}
	x.read[t] = f
	return nil
}

func (x *fast) forget(t xdp.Tuple, f *fastFlow) {
	if err := x.path.Delete(t); err != nil {
		slog.Warn("packet path", "error", err)
	}
	delete(x.read, t)
	if other := x.read[xdp.Tuple{Source: t.Destination, Destination: t.Source}]; other == nil || other.flow != f.flow {
		*f.flow.Time = time.Now().UnixNano()
		x.sink.End(f.flow)
	}
}

func (x *fast) plaintext(t xdp.Tuple, data []byte) {
	if f := x.read[t]; f != nil {
		*f.flow.Time = time.Now().UnixNano()
		x.sink.Data(f.flow, f.side, data)
	}
}

func (x *fast) lost(t xdp.Tuple, n int) {
	if f := x.read[t]; f != nil {
		*f.flow.Time = time.Now().UnixNano()
		x.sink.Gap(f.flow, f.side, n)
	}
}
