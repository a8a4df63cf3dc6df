// Package jetstream takes key logs from NATS JetStream, where many servers and clients put them.
package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// The bytes requested ahead: waiting messages are memory that every publisher can take. It is at
// least as much as two messages may have.
const ahead = 32 << 20

// Subscribe takes key logs from a NATS JetStream: each message is some whole lines. It begins with the messages that the stream still
// holds, and goes on, through interruptions, until ctx is done. All messages go to log, one after another.
func Subscribe(ctx context.Context, url, stream, subject string, log *keys.Log, warn func(error), more ...nats.Option) error {
	s := &subscription{stream: stream, log: log, stirred: make(chan struct{}, 1)}
	warn = sparing(warn)
	s.warn = func(err error) {
		warn(err)
		s.stir()
	}
	if subject != "" {
		s.config.FilterSubjects = []string{subject}
	}
	c, err := nats.Connect(url, append(more, nats.Name("sealane-gateway"), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				s.warn(err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { s.stir() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { s.warn(err) }))...)
	if err != nil {
		return err
	}
	s.ahead = max(ahead, 2*int(min(c.MaxPayload(), 1<<30)))
	if s.js, err = jetstream.New(c); err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		c.Close()
		return err
	}
	go func() {
		s.watch(ctx)
		c.Close()
	}()
	return nil
}

// A subscription reads one stream. An ordered consumer lives in memory, and is made anew after an interruption from
// where it was; but a stream that somebody has deleted and made again counts from 1, and has to be read from its
// beginning.
type subscription struct {
	js      jetstream.JetStream
	stream  string
	config  jetstream.OrderedConsumerConfig
	ahead   int
	warn    func(error)
	stirred chan struct{} // something has happened that may have been the end of the stream

	mutex   sync.Mutex // of log: what was stopped may have a message left
	log     *keys.Log
	running jetstream.ConsumeContext
	created time.Time // the stream that is read
}

// stir has watch look at the stream.
func (s *subscription) stir() {
	select {
	case s.stirred <- struct{}{}:
	default:
	}
}

func (s *subscription) begin(ctx context.Context) error {
	created, err := s.since(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	consumer, err := s.js.OrderedConsumer(ctx, s.stream, s.config) // a user may be allowed that alone
	if err != nil {
		return err
	}
	running, err := consumer.Consume(func(m jetstream.Msg) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.log.Write(m.Data())
		s.log.Flush() // a message is never continued by another
	}, jetstream.PullMaxBytes(s.ahead),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { s.warn(err) }))
	if err == nil {
		s.running, s.created = running, created
	}
	return err
}

// since returns when the stream was made that there is now.
func (s *subscription) since(ctx context.Context) (created time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	stream, err := s.js.Stream(ctx, s.stream)
	if err != nil {
		return created, err
	}
	return stream.CachedInfo().Created, nil
}

const (
	// How often the stream is looked at if nothing happens, and if it is not there.
	calm, restless = time.Minute, time.Second
	answer         = 5 * time.Second // what a server has to say
)

// watch begins again when there is another stream of the same name.
func (s *subscription) watch(ctx context.Context) {
	for pause := calm; ; {
		select {
		case <-ctx.Done():
			s.running.Stop()
			return
		case <-s.stirred:
		case <-time.After(pause):
		}
		pause = calm
		switch created, err := s.since(ctx); {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			pause = restless
		case err == nil && s.created.IsZero():
			s.created = created
		case err == nil && !created.Equal(s.created):
			s.running.Stop()
			if err := s.begin(ctx); err != nil {
				s.warn(err)
				pause = restless
			}
		}
	}
}

// sparing returns a function that warns less: of each cause once in a while, and of few of them.
func sparing(warn func(error)) func(error) {
	const while, few = 10 * time.Second, 10
	var mutex sync.Mutex
	var begun time.Time
	told := make(map[string]struct{})
	return func(err error) {
		mutex.Lock()
		if now := time.Now(); now.Sub(begun) >= while {
			begun = now
			clear(told)
		}
		text := err.Error()
		_, again := told[text]
		if again = again || len(told) == few; !again {
			told[text] = struct{}{}
		}
		mutex.Unlock()
		if !again {
			warn(err)
		}
	}
}

// Follow subscribes, and tries again with longer and longer pauses until that works or ctx is done: the server may be started after
// the gateway. Each cause is told once.
func Follow(ctx context.Context, url, stream, subject string, log *keys.Log, warn func(error), more ...nats.Option) {
	last := ""
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := Subscribe(ctx, url, stream, subject, log, warn, more...)
		if err == nil || ctx.Err() != nil {
			return
		}
		if s := err.Error(); s != last {
			last = s
			warn(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

const (
	firstPause = 250 * time.Millisecond
	maxPause   = 30 * time.Second
)
