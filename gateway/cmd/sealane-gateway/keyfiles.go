package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/sealane/sealane/gateway/internal/jetstream"
	"github.com/sealane/sealane/gateway/internal/keys"
)

// keySources are the flags for the sources of keys.
type keySources struct {
	files  []string
	allow  bool
	socket string
	nats   string
	stream string
	topic  string
	ca     string
	creds  string
	login  string
	plain  bool
	group  string
	limit  int
}

func (k *keySources) flags(f *pflag.FlagSet) {
	f.StringSliceVarP(&k.files, "keys", "k", nil, "key log in the format of SSLKEYLOGFILE; may be given more than once")
	f.BoolVar(&k.allow, "allow-readable-keys", false, "accept key logs that other users can read")
	f.IntVar(&k.limit, "max-keys", 1<<20, "number of connections whose keys are kept")
}

func (k *keySources) liveFlags(f *pflag.FlagSet) {
	k.flags(f)
	f.Lookup("max-keys").DefValue = "262144"
	k.limit = 1 << 18
	f.Lookup("keys").Usage = "key log in the format of SSLKEYLOGFILE, a file or a named pipe, read as it grows; may be given more than once"
	f.StringVar(&k.socket, "keys-socket", "", "accept key logs from clients of this Unix socket")
	f.StringVar(&k.group, "keys-socket-group", "", "also let this group connect to --keys-socket")
	f.StringVar(&k.nats, "keys-nats", "", "read key logs from a NATS JetStream at this URL, such as tls://HOST:4222; the gateway retries until it answers")
	f.StringVar(&k.creds, "nats-credentials", "", "file of mode 0600 with the JWT and seed of a NATS user, in the format of nsc")
	f.StringVar(&k.login, "nats-login", "", "file of mode 0600 with a line USER:PASSWORD for NATS")
	f.BoolVar(&k.plain, "nats-plaintext", false, "connect to NATS without TLS: everyone on the path can read the keys")
	f.StringVar(&k.ca, "nats-ca", "", "file with the CA certificates of NATS servers in PEM; by default those that this system trusts")
	f.StringVar(&k.stream, "nats-stream", "TLSKEYS", "name of the stream")
	f.StringVar(&k.topic, "nats-subject", "", "read only messages with this subject")
}

// checkSizes returns an error if a flag that several commands share is out of range.
func checkSizes(flows int, k *keySources) error {
	const most = 1 << 28
	if flows < 1 || flows > most {
		return fmt.Errorf("--flows %d: must be 1 to %d", flows, most)
	}
	if k != nil && (k.limit < 1 || k.limit > most) {
		return fmt.Errorf("--max-keys %d: must be 1 to %d", k.limit, most)
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

func (k *keySources) followFile(ctx context.Context, store *keys.Store, name string) {
	go keys.Follow(ctx, name, &keys.Log{Store: store, From: "file"}, k.check, func(err error) {
		slog.Warn("key log", "file", name, "error", err)
	})
}

// follow reads keys from all sources until ctx is done. A source that fails at the start is an error.
func (k *keySources) follow(ctx context.Context, store *keys.Store) error {
	for _, name := range k.files {
		if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
			err = k.check(f)
			f.Close()
			if err != nil {
				return err
			}
		}
		k.followFile(ctx, store, name)
	}
	if k.socket != "" {
		l, err := keys.ListenUnix(k.socket, k.group)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { l.Close() })
		go keys.Serve(l, store, func(log *keys.Log) {
			slog.Info("key log ended", "socket", k.socket, "secrets", log.Secrets, "bad_lines", log.Bad)
		})
	}
	if k.nats != "" {
		more, err := k.natsOptions()
		if err != nil {
			return err
		}
		go jetstream.Follow(ctx, k.nats, k.stream, k.topic, &keys.Log{Store: store, From: "nats"}, func(err error) {
			slog.Warn("NATS", "url", k.nats, "error", err)
		}, more...)
	}
	return nil
}

// natsOptions checks the settings that need no server.
func (k *keySources) natsOptions() (more []nats.Option, err error) {
	u, err := url.Parse(k.nats)
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("--keys-nats: must be a URL such as tls://HOST:4222") // omits the value, which may contain a password
	case u.User != nil:
		return nil, errors.New("--keys-nats: must not contain a user, because all users of this machine can read command lines; name a file by --nats-credentials or --nats-login")
	case k.plain && (u.Scheme == "tls" || u.Scheme == "wss"):
		return nil, fmt.Errorf("--keys-nats %s and --nats-plaintext contradict each other", k.nats)
	case k.creds != "" && k.login != "":
		return nil, errors.New("--nats-credentials and --nats-login: use only one of them")
	}
	if !k.plain {
		more = append(more, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if k.ca != "" {
		if _, err := os.Stat(k.ca); err != nil {
			return nil, fmt.Errorf("--nats-ca: %w", err)
		}
		more = append(more, nats.RootCAs(k.ca))
	}
	for _, name := range []string{k.creds, k.login} {
		if name == "" {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = keys.CheckMode(f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	if k.creds != "" {
		more = append(more, nats.UserCredentials(k.creds))
	}
	if k.login != "" {
		b, err := os.ReadFile(k.login)
		if err != nil {
			return nil, err
		}
		user, password, ok := strings.Cut(strings.TrimSpace(string(b)), ":")
		if !ok {
			return nil, fmt.Errorf("%s: must have a line USER:PASSWORD", k.login)
		}
		more = append(more, nats.UserInfo(user, password))
	}
	return more, nil
}
