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
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/handover"
	"github.com/sealane/sealane/gateway/internal/control"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/exchange"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/xdp"
)

func init() { commands = append(commands, xdpCommand) }

// fast is a gateway with the XDP fast path.
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
	cpus    string

	// Held while requests change the table, and while the table and its keys are read.
	mu    sync.Mutex
	table *engine.Keys

	queues []*fastQueue
	counts output.Counts
}

// fastQueue is a queue of the interface, with the goroutine that reads it. Each connection belongs to one queue,
// because both directions form one stream of plaintext, but the card may deliver its packets to any queue.
type fastQueue struct {
	x       *fast
	number  int
	pin     int // processor, or -1
	socket  *xdp.Socket
	path    *xdp.Path
	sink    output.Sink
	changed chan struct{}
	read    map[xdp.Tuple]*fastFlow
	port    *exchange.Port[fastPacket] // nil if there is only one queue
	packets uint64
}

// fastPacket is information about a packet that arrived at another queue.
type fastPacket struct {
	meta xdp.Meta
	time int64
}

// fastFlow is a registered direction.
type fastFlow struct {
	key  *engine.Key
	flow *output.Flow // the same for both directions
	side uint8
}

func xdpCommand() *cobra.Command {
	x := &fast{}
	cmd := &cobra.Command{
		Use:   "xdp",
		Short: "Decrypt flows on the packet path, before the host's network stack",
		Long: "xdp takes registered flows off an interface and decrypts them. The kernel's XDP hook decrypts packets that are\n" +
			"one TLS 1.3 record with ChaCha20-Poly1305; user space decrypts the rest. Packets of other flows pass. Registered flows do\n" +
			"not reach this host's network stack: use an interface that gets copies, from a tap or a switch.",
		Example: "  sealane-gateway xdp --interface eth1 --api /run/sealane.sock --write - | tshark -r - -Y http\n" +
			"  curl --unix-socket /run/sealane.sock -X PUT -d @flow.json http://sealane/flows",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	f := cmd.Flags()
	x.out.flags(f)
	x.out.liveFlags(f)
	f.StringVarP(&x.face, "interface", "i", "", "take packets from this interface")
	f.StringVar(&x.api, "api", "", "let clients of this Unix socket register flows: PUT, GET, DELETE /flows")
	f.BoolVar(&x.generic, "generic", false, "use the kernel's generic hook even if the driver has its own")
	f.BoolVar(&x.strict, "strict", false, "drop TCP packets that may belong to a registered flow, such as fragments")
	f.StringVar(&x.group, "api-group", "", "also let this group connect to --api")
	f.BoolVar(&x.steer, "steer", false, "open no records in the hook: faster for records above 256 bytes if user space has its own processor")
	f.BoolVar(&x.promisc, "promiscuous", true, "also take packets for other machines, as copies are")
	f.IntVar(&x.flows, "flows", 1<<16, "number of flows that can be registered")
	f.StringVar(&x.cpus, "cpus", "", "pin the reader of each queue to one of these processors, such as 2,3 or 2-5: as many as there are queues")
	return cmd
}

func (x *fast) run(ctx context.Context) (err error) {
	switch {
	case x.face == "":
		return errors.New("nothing to read: give --interface NAME")
	case x.api == "":
		return errors.New("no source of flows: give --api SOCKET")
	case x.face == x.out.face:
		return fmt.Errorf("--output-interface %s is also read: the gateway would read its own output", x.face)
	}
	if err := checkSizes(x.flows, nil); err != nil {
		return err
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // no keys in core dumps
	x.table = engine.NewKeys(x.flows)
	if x.out.about() {
		return errors.New("--write-encrypted, --certificates: on the packet path there are no handshakes")
	}
	x.out.counts = &x.counts
	if err := x.out.open(); err != nil {
		return err
	}
	defer x.out.close()
	program, err := xdp.Load(x.flows, x.strict)
	if err != nil {
		return err
	}
	defer program.Close()
	defer func() {
		for _, q := range x.queues {
			q.socket.Close()
		}
	}()
	if err := x.attach(program); err != nil {
		return err
	}
	if err := x.ready(program); err != nil {
		return err
	}
	listener, err := keys.ListenUnix(x.api, x.group)
	if err != nil {
		return err
	}
	x.serve(ctx, listener)
	slog.Info("on the packet path", "interface", x.face, "queues", len(x.queues), "api", x.api)
	err = x.loops(ctx)
	var s xdp.PathStats
	for _, q := range x.queues {
		s.Add(&q.path.Stats)
		if q.port != nil {
			slog.Info("queue", "queue", q.number, "packets", q.packets, "of_other_queues_connections", q.port.Moved.Load())
		}
		err = errors.Join(err, q.path.Close())
	}
	slog.Info("done", "opened_in_kernel", s.Opened, "opened_in_user_space", s.User, "repeated", s.Repeated, "refused", s.Refused, "given_back", s.Back)
	return err
}

// ready sets up each queue, apart from its socket.
func (x *fast) ready(program *xdp.Program) error {
	pins, err := processors(x.cpus, len(x.queues))
	if err != nil {
		return err
	}
	x.out.cores = len(x.queues)
	mesh := exchange.New[fastPacket](len(x.queues))
	for i, q := range x.queues {
		if q.sink, _, err = x.out.sink(); err != nil {
			return err
		}
		if q.pin = -1; pins != nil {
			q.pin = pins[i]
		}
		q.path = xdp.NewPath(program, xdp.PathOptions{Plaintext: q.plaintext, Lost: q.lost, HoleWait: 200 * time.Millisecond})
		if len(x.queues) > 1 {
			q.port = mesh.Port(i, q.take)
		}
	}
	return nil
}

// loops reads all queues until ctx is done or a queue cannot be read.
func (x *fast) loops(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(x.queues))
	var running sync.WaitGroup
	for i, q := range x.queues {
		running.Add(1)
		go func() {
			defer running.Done()
			defer cancel()
			errs[i] = q.loop(ctx)
		}()
	}
	running.Wait()
	return errors.Join(errs...)
}

// attach attaches the program to the interface, with a socket for each of its queues.
func (x *fast) attach(program *xdp.Program) error {
	face, err := net.InterfaceByName(x.face)
	if err != nil {
		return fmt.Errorf("%s: %w", x.face, err)
	}
	if err := program.Attach(face.Index, x.generic); err != nil {
		return err
	}
	if x.promisc {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) // never receives
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
		x.queues = append(x.queues, &fastQueue{x: x, number: q, socket: s, changed: make(chan struct{}, 1), read: make(map[xdp.Tuple]*fastFlow)})
	}
	return nil
}

func (x *fast) serve(ctx context.Context, l net.Listener) {
	flows := control.Flows(x.table, &x.mu)
	s := control.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flows.ServeHTTP(w, r)
		for _, q := range x.queues {
			select {
			case q.changed <- struct{}{}:
			default:
			}
		}
	}))
	context.AfterFunc(ctx, func() { s.Close() })
}

// loop moves packets until ctx is done. It checks for changes of the table at least a hundred times a second.
func (q *fastQueue) loop(ctx context.Context) (err error) {
	if q.pin >= 0 {
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(q.pin)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			slog.Warn("cannot stay on one processor", "processor", q.pin, "error", err)
		}
	}
	told, wait := time.Now(), 10
	if q.port != nil {
		wait = 2 // other queues may hand packets over
	}
	for ctx.Err() == nil && err == nil {
		select {
		case <-q.changed:
			q.reconcile()
		default:
		}
		packets, failed := q.receive()
		if failed != nil {
			slog.Warn("packet path", "queue", q.number, "error", failed)
		}
		if packets > 0 {
			q.sink.Flush()
		} else {
			err = xdp.Wait(wait, q.socket)
		}
		if now := time.Now(); now.Sub(told) > 100*time.Millisecond {
			told = now
			for t, f := range q.read {
				if number, ok := q.path.Position(t); ok {
					f.key.Tell(engine.KeyReading, number)
				}
			}
		}
	}
	if q.port != nil {
		q.port.End()
	}
	for t, f := range q.read {
		q.forget(t, f)
	}
	q.sink.Flush()
	return err
}

// receive handles packets of its own connections from this and other queues, and hands the others over.
func (q *fastQueue) receive() (packets int, err error) {
	if q.port == nil {
		n, err := q.path.Receive(q.socket, 0)
		q.packets += uint64(n)
		return n, err
	}
	now := time.Now().UnixNano()
	packets, err = q.socket.Receive(0, func(packet []byte, meta xdp.Meta, ok bool) {
		number, found := xdp.Connection(packet)
		if !ok || !found {
			return
		}
		if to := q.x.owner(number); to != q {
			q.port.Give(to.number, packet, fastPacket{meta, now})
		} else {
			q.path.Handle(packet, meta, true, now)
		}
	})
	q.packets += uint64(packets)
	q.port.Flush()
	packets += q.port.Receive()
	return packets, errors.Join(err, q.path.GiveBack())
}

// take handles packets that arrived at another queue.
func (q *fastQueue) take(items []exchange.Item[fastPacket]) {
	for _, it := range items {
		q.path.Handle(it.Data, it.About.meta, true, it.About.time)
	}
}

// owner returns the queue of a connection.
func (x *fast) owner(connection uint64) *fastQueue { return x.queues[connection%uint64(len(x.queues))] }

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func tupleOf(k *engine.Key) xdp.Tuple {
	return xdp.Tuple{Source: unmap(k.Source), Destination: unmap(k.Destination)}
}

// reconcile registers new flows of this queue, and removes deleted ones.
func (q *fastQueue) reconcile() {
	q.x.mu.Lock()
	defer q.x.mu.Unlock()
	all := make(map[xdp.Tuple]*engine.Key)
	for _, k := range q.x.table.All() {
		if t := tupleOf(k); q.x.owner(t.Connection()) == q {
			all[t] = k
		}
	}
	for t, f := range q.read {
		if all[t] != f.key {
			q.forget(t, f)
		}
	}
	for t, k := range all {
		if q.read[t] != nil {
			continue
		}
		if err := q.register(t, k); err != nil {
			slog.Warn("flow not registered", "flow", k.String(), "error", err)
			k.Tell(engine.KeyEnded, k.Given.Next)
			q.x.table.Delete(k.Source, k.Destination)
		}
	}
}

func (q *fastQueue) register(t xdp.Tuple, k *engine.Key) error {
	if !k.Given.Aligned {
		return errors.New("sequence is required, and next, the number of the record that begins there")
	}
	if k.Given.Suite == 0x1303 && !q.x.steer {
		f := xdp.Flow{Number: k.Given.Next, Sequence: k.Sequence, Secret: k.Given.Secret}
		copy(f.Key[:], k.Given.Key)
		copy(f.IV[:], k.Given.IV)
		defer clear(f.Key[:])
		if err := q.path.Put(t, f); err != nil {
			return err
		}
	} else if err := q.path.PutUser(handover.Flow{Source: t.Source, Destination: t.Destination, Suite: k.Given.Suite,
		Key: k.Given.Key, IV: k.Given.IV, Secret: k.Given.Secret, Number: k.Given.Next, Sequence: k.Sequence}); err != nil {
		return err
	}
	f := &fastFlow{key: k, side: tls.Client}
	client, server := t.Source, t.Destination
	if k.FromServer {
		f.side = tls.Server
		client, server = server, client
	}
	if other := q.read[xdp.Tuple{Source: t.Destination, Destination: t.Source}]; other != nil && other.flow.Client == client {
		f.flow = other.flow
	} else {
		f.flow = &output.Flow{Client: client, Server: server, IPv6: client.Addr().Is6(), Time: new(int64)}
	}
	q.read[t] = f
	return nil
}

func (q *fastQueue) forget(t xdp.Tuple, f *fastFlow) {
	if err := q.path.Delete(t); err != nil {
		slog.Warn("packet path", "error", err)
	}
	delete(q.read, t)
	if other := q.read[xdp.Tuple{Source: t.Destination, Destination: t.Source}]; other == nil || other.flow != f.flow {
		*f.flow.Time = time.Now().UnixNano()
		q.sink.End(f.flow)
	}
}

func (q *fastQueue) plaintext(t xdp.Tuple, data []byte) {
	if f := q.read[t]; f != nil {
		*f.flow.Time = time.Now().UnixNano()
		q.sink.Data(f.flow, f.side, data)
	}
}

func (q *fastQueue) lost(t xdp.Tuple, n int) {
	if f := q.read[t]; f != nil {
		*f.flow.Time = time.Now().UnixNano()
		q.sink.Gap(f.flow, f.side, n)
	}
}
