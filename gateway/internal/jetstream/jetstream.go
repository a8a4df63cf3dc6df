// Package jetstream takes key logs from NATS JetStream, where many servers and clients put them.
package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// Subscribe takes key logs from a NATS JetStream: each message is some whole lines. It begins with what the stream still
// holds, and goes on, through interruptions, until ctx is done. All messages go to log, one after another.
func Subscribe(ctx context.Context, url, stream, subject string, log *keys.Log, warn func(error), more ...nats.Option) error {
	c, err := nats.Connect(url, append(more, nats.Name("sealane-gateway"), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				warn(err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { warn(err) }))...)
	if err != nil {
		return err
	}
	js, err := jetstream.New(c)
	if err != nil {
		c.Close()
		return err
	}
	// An ordered consumer lives in memory, and is made anew after an interruption from where it was.
	config := jetstream.OrderedConsumerConfig{}
	if subject != "" {
		config.FilterSubjects = []string{subject}
	}
	consumer, err := js.OrderedConsumer(ctx, stream, config)
	if err != nil {
		c.Close()
		return err
	}
	running, err := consumer.Consume(func(m jetstream.Msg) {
		log.Write(m.Data())
		log.Flush() // a message is never continued by another
	}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { warn(err) }))
	if err != nil {
		c.Close()
		return err
	}
	context.AfterFunc(ctx, func() {
		running.Stop()
		c.Close()
	})
	return nil
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
