// Package jetstream reads key logs from NATS JetStream, where many servers and clients can publish them.
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

// The number of bytes requested ahead. Any publisher can use up this memory for waiting messages. It must be at least
// twice the largest message.
const ahead = 32 << 20

// Subscribe reads key logs from a NATS JetStream, where each message has whole lines. It starts with the messages that
// the stream still holds, and continues, despite interruptions, until ctx is done. All messages go to log, one after
// another.
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

// A subscription reads one stream. An ordered consumer is in memory, and is recreated after an interruption at its
// position. But a stream that was deleted and recreated counts from 1, and must be read from its start.
type subscription struct {
	js      jetstream.JetStream
	stream  string
	config  jetstream.OrderedConsumerConfig
	ahead   int
	warn    func(error)
	stirred chan struct{} // signals a possible end of the stream

	mutex   sync.Mutex // protects log: a stopped consumer may still deliver a message
	log     *keys.Log
	running jetstream.ConsumeContext
	created time.Time // creation time of the stream
}

// stir makes watch check the stream.
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
	consumer, err := s.js.OrderedConsumer(ctx, s.stream, s.config) // the only permission that some users have
	if err != nil {
		return err
	}
	running, err := consumer.Consume(func(m jetstream.Msg) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.log.Write(m.Data())
		s.log.Flush() // no message continues another
	}, jetstream.PullMaxBytes(s.ahead),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { s.warn(err) }))
	if err == nil {
		s.running, s.created = running, created
	}
	return err
}

// since returns the creation time of the current stream.
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
	// Intervals of checks without events, and while the stream is missing.
	calm, restless = time.Minute, time.Second
	answer         = 5 * time.Second // timeout of a server's answer
)

// watch restarts the subscription when there is another stream with the same name.
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

// sparing returns a function that limits warnings: each cause once in a while, and few causes.
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

// Follow subscribes, and retries with increasing pauses until that works or ctx is done, because the server may start
// after the gateway. It reports each cause once.
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
