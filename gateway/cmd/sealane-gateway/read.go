package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/quic"
)

func readCommand() *cobra.Command {
	var (
		out      outputs
		from     keySources
		progress bool
		workers  int
		flows    int
		one      bool
	)
	cmd := &cobra.Command{
		Use:   "read CAPTURE",
		Short: "Decrypt a pcap or pcapng capture, - for standard input",
		Example: "  sealane-gateway read capture.pcap --keys sslkeys.log --write plain.pcap\n" +
			"  tcpdump -w - port 443 | sealane-gateway read - --keys sslkeys.log --write - | tshark -r -",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSizes(flows, &from); err != nil {
				return err
			}
			if workers < 1 || workers > 1024 {
				return fmt.Errorf("--workers %d: must be 1 to 1024", workers)
			}
			store := keys.NewStore(from.limit)
			log := &keys.Log{Store: store, From: "file"}
			for _, name := range from.files {
				if err := from.load(name, log); err != nil {
					return err
				}
			}
			var in io.Reader = os.Stdin
			size := int64(-1)
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
					size = st.Size()
				}
				in = f
			}
			if progress {
				bar := progressbar.NewOptions64(size, progressbar.OptionShowBytes(true), progressbar.OptionSetWriter(os.Stderr),
					progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
				defer bar.Finish()
				in = io.TeeReader(in, bar)
			}
			r, err := capture.NewReader(in)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			r.Secrets = func(b []byte) {
				log.Write(b)
				log.Flush()
			}
			out.store, out.cores = store, workers
			if err := out.open(); err != nil {
				return err
			}
			if out.archive != nil {
				r.Frames = out.archive.Core(1).Frames // before the workers, whose archives contain only secrets
			}
			var all []*engine.Worker
			for range workers {
				sink, archive, err := out.sink()
				if err != nil {
					return err
				}
				w := engine.NewWorker(store, sink, engine.Options{Flows: max(flows/workers, 16), OneNetwork: one, About: out.about(), Chain: out.chain()})
				if archive != nil {
					w.Opened = func(f *output.Flow, _, _ uint16) { archive.Opened(f) }
				}
				all = append(all, w)
			}
			err = engine.Run(r, all, func() bool { return cmd.Context().Err() != nil })
			if err != nil {
				err = fmt.Errorf("%s: %w", args[0], err)
			}
			if err2 := out.close(); err == nil {
				err = err2
			}
			var s engine.Stats
			for _, w := range all {
				s.Add(&w.Stats)
			}
			report(&s, store)
			if err != nil {
				return err
			}
			return cmd.Context().Err()
		},
	}
	f := cmd.Flags()
	out.flags(f)
	from.flags(f)
	f.BoolVar(&progress, "progress", false, "show progress and speed")
	f.BoolVar(&one, "one-network", false, oneNetworkUsage)
	f.IntVar(&workers, "workers", runtime.NumCPU(), "number of cores to use")
	f.IntVar(&flows, "flows", 1<<18, "number of connections to follow at the same time; each takes 340 bytes of memory, or 2 KiB for TLS")
	return cmd
}

const oneNetworkUsage = "ignore VLAN tags and networks of tunnels when matching connections, for mirrors that tag only one direction"

// report logs the results.
func report(s *engine.Stats, store *keys.Store) {
	slog.Info("done", "packets", s.Frames, "bytes", s.Bytes, "connections", s.Flows, "decrypted", s.Decrypted,
		"without_keys", s.Undecrypted, "records", s.TLS.Records, "plaintext_bytes", s.TLS.Bytes)
	if q := &s.QUIC; q.Connections > 0 {
		slog.Info("QUIC", "connections", q.Connections, "decrypted", q.Decrypted, "without_keys", q.Undecrypted,
			"packets", q.Packets[0]+q.Packets[1]+q.Packets[2], "streams", q.Streams, "plaintext_bytes", q.StreamBytes)
	}
	warn := func(message string, n uint64, args ...any) {
		if n > 0 {
			slog.Warn(message, append([]any{"count", n}, args...)...)
		}
	}
	warn("malformed packets", s.Verdicts[3])
	warn("fragmented packets refused because fragments overlap", s.Fragments.Overlaps)
	warn("fragmented packets with a missing part", s.Fragments.Expired+s.Fragments.Evicted)
	warn("invalid IP fragments", s.Fragments.Bad)
	warn("frames with more nested tunnels than the gateway reads", s.Tunnels.Deep)
	warn("holes in TCP streams", s.Holes, "bytes", s.HoleBytes)
	warn("bytes cut off by the capture's snapshot length", s.Cut)
	warn("segments that contradict others", s.Conflicts)
	warn("records that do not authenticate: wrong keys, forged or damaged", s.TLS.BadRecords)
	warn("bytes of records lost", s.TLS.LostBytes)
	warn("bytes of 0-RTT data not delivered: the server did not accept them, or their key is missing", s.TLS.EarlyDropped)
	warn("connections removed because the table was full", s.Evicted)
	warn("QUIC packets that do not authenticate: wrong keys, forged or damaged", s.QUIC.Refused)
	warn("QUIC packets whose keys did not come in time", s.QUIC.WaitingDropped)
	warn("QUIC packets with unknown frames", s.QUIC.BadFrames)
	warn("holes in streams of QUIC", s.QUIC.Holes, "bytes", s.QUIC.HoleBytes)
	warn("datagrams in QUIC connections, which are not delivered", s.QUIC.Datagrams, "bytes", s.QUIC.DatagramBytes)
	warn("QUIC connections removed because there was no room", s.QUIC.Ends[quic.Evicted-quic.Closed])
	_, bad := store.Lines()
	warn("lines that are not in the format of a key log", bad)
}
