package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/sealane/sealane/gateway/internal/jetstream"
	"github.com/sealane/sealane/gateway/internal/keys"
)

// keySources are the flags that say where keys come from.
type keySources struct {
	files  []string
	allow  bool
	socket string
	nats   string
	stream string
	topic  string
	ca     string
	limit  int
}

func (k *keySources) flags(f *pflag.FlagSet) {
	f.StringSliceVarP(&k.files, "keys", "k", nil, "key log, as SSLKEYLOGFILE makes it; may be given more than once")
	f.BoolVar(&k.allow, "allow-readable-keys", false, "take key logs that other users can read")
	f.IntVar(&k.limit, "max-keys", 1<<20, "connections to keep keys of")
}

func (k *keySources) liveFlags(f *pflag.FlagSet) {
	k.flags(f)
	f.Lookup("max-keys").DefValue = "262144"
	k.limit = 1 << 18
	f.Lookup("keys").Usage = "key log, as SSLKEYLOGFILE makes it, read as it grows; a file or a named pipe; may be given more than once"
	f.StringVar(&k.socket, "keys-socket", "", "take key logs from who connects to this Unix socket")
	f.StringVar(&k.nats, "keys-nats", "", "take key logs from a NATS JetStream at this URL; tls://USER:PASSWORD@HOST:4222 if they cross a network")
	f.StringVar(&k.ca, "nats-ca", "", "who certifies NATS servers, certificates in PEM; those that this system trusts if it is not given")
	f.StringVar(&k.stream, "nats-stream", "TLSKEYS", "name of the stream")
	f.StringVar(&k.topic, "nats-subject", "", "only messages with this subject")
}

// checkSizes tells which of the flags that many commands have is out of range.
func checkSizes(flows int, k *keySources) error {
	const most = 1 << 28
	if flows < 1 || flows > most {
		return fmt.Errorf("--flows %d: it is 1 to %d", flows, most)
	}
	if k != nil && (k.limit < 1 || k.limit > most) {
		return fmt.Errorf("--max-keys %d: it is 1 to %d", k.limit, most)
	}
	return nil
}

func (k *keySources) check(f *os.File) error {
	if k.allow {
		return nil
	}
	return keys.CheckMode(f)
}

// load reads a whole key log.
func (k *keySources) load(name string, log *keys.Log) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := k.check(f); err != nil {
		return err
	}
	if _, err := io.Copy(log, f); err != nil {
		return err
	}
	log.Flush()
	return nil
}

// follow takes keys from all sources until ctx is done. What cannot work from the beginning is an error.
func (k *keySources) follow(ctx context.Context, store *keys.Store) error {
	for _, name := range k.files {
		if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
			err = k.check(f)
			f.Close()
			if err != nil {
				return err
			}
		}
		go keys.Follow(ctx, name, &keys.Log{Store: store}, k.check, func(err error) {
			slog.Warn("key log", "file", name, "error", err)
		})
	}
	if k.socket != "" {
		l, err := keys.ListenUnix(k.socket)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { l.Close() })
		go keys.Serve(l, store, func(log *keys.Log) {
			slog.Info("key log ended", "socket", k.socket, "secrets", log.Secrets, "bad_lines", log.Bad)
		})
	}
	if k.nats != "" {
		var more []nats.Option
		if k.ca != "" {
			more = append(more, nats.RootCAs(k.ca))
		}
		if err := jetstream.Subscribe(ctx, k.nats, k.stream, k.topic, &keys.Log{Store: store}, func(err error) {
			slog.Warn("NATS", "url", redacted(k.nats), "error", err)
		}, more...); err != nil {
			return fmt.Errorf("NATS at %s: %w", redacted(k.nats), err)
		}
	}
	return nil
}

// redacted is a URL without its password.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "(not a URL)"
	}
	return u.Redacted()
}
