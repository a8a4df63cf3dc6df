package control

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A Source is asked for counts when somebody wants metrics.
type Source struct {
	Stats  func() engine.Stats
	Ring   func() (packets, drops uint64)
	Store  *keys.Store
	Output *output.Counts
}

type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s *engine.Stats) uint64
}

func counter(name, help string, value func(s *engine.Stats) uint64) metric {
	return metric{prometheus.NewDesc("sealane_gateway_"+name, help, nil, nil), prometheus.CounterValue, value}
}

var metrics = []metric{
	counter("frames_total", "Frames read.", func(s *engine.Stats) uint64 { return s.Frames }),
	counter("bytes_total", "Bytes of frames read.", func(s *engine.Stats) uint64 { return s.Bytes }),
	counter("malformed_frames_total", "Frames whose headers contradict each other.", func(s *engine.Stats) uint64 { return s.Verdicts[3] }),
	counter("fragments_total", "IP fragments, which are not put together.", func(s *engine.Stats) uint64 { return s.Verdicts[2] }),
	counter("connections_total", "TCP connections seen to begin.", func(s *engine.Stats) uint64 { return s.Flows }),
	counter("connections_not_tls_total", "Connections that are of no interest.", func(s *engine.Stats) uint64 { return s.Ignored }),
	counter("connections_evicted_total", "Connections removed because the table was full.", func(s *engine.Stats) uint64 { return s.Evicted }),
	counter("connections_decrypted_total", "Connections with at least one record opened.", func(s *engine.Stats) uint64 { return s.Decrypted }),
	counter("connections_undecrypted_total", "TLS connections that ended without a record opened.", func(s *engine.Stats) uint64 { return s.Undecrypted }),
	counter("connections_waited_total", "Connections that had to wait for keys.", func(s *engine.Stats) uint64 { return s.Waiting }),
	counter("connections_keys_late_total", "Connections whose keys came while they waited.", func(s *engine.Stats) uint64 { return s.Late }),
	counter("records_total", "Records opened.", func(s *engine.Stats) uint64 { return s.TLS.Records }),
	counter("plaintext_bytes_total", "Bytes of application data delivered.", func(s *engine.Stats) uint64 { return s.TLS.Bytes }),
	counter("bad_records_total", "Records that did not authenticate.", func(s *engine.Stats) uint64 { return s.TLS.BadRecords }),
	counter("lost_bytes_total", "Bytes of records lost.", func(s *engine.Stats) uint64 { return s.TLS.LostBytes }),
	counter("held_bytes_dropped_total", "Bytes dropped because too many waited for keys.", func(s *engine.Stats) uint64 { return s.TLS.HeldOut }),
	counter("resynchronisations_total", "Times that reading went on after loss.", func(s *engine.Stats) uint64 { return s.TLS.Resyncs }),
	counter("tcp_reordered_total", "Segments that came before their turn.", func(s *engine.Stats) uint64 { return s.Reordered }),
	counter("tcp_repeated_total", "Segments seen before.", func(s *engine.Stats) uint64 { return s.Repeated }),
	counter("tcp_conflicts_total", "Segments that contradict others.", func(s *engine.Stats) uint64 { return s.Conflicts }),
	counter("tcp_holes_total", "Holes in streams that were given up.", func(s *engine.Stats) uint64 { return s.Holes }),
	counter("memory_reclaims_total", "Times that connections held more than --memory allows.", func(s *engine.Stats) uint64 { return s.Reclaims }),
	counter("memory_paid_total", "Connections that lost something by that, because they held most.", func(s *engine.Stats) uint64 { return s.Paid }),
	counter("gate_forwarded_frames_total", "Closed gateway: frames that passed as they came.", func(s *engine.Stats) uint64 { return s.Gate.Forwarded }),
	counter("gate_read_segments_total", "Closed gateway: segments sent with what was read.", func(s *engine.Stats) uint64 { return s.Gate.Sent }),
	counter("gate_allowed_frames_total", "Closed gateway: frames with payload that passed by a rule.", func(s *engine.Stats) uint64 { return s.Gate.Allowed }),
	counter("gate_denied_frames_total", "Closed gateway: frames kept back by a rule.", func(s *engine.Stats) uint64 { return s.Gate.Denied }),
	counter("gate_refused_frames_total", "Closed gateway: frames that are not TCP, and that no rule allows.", func(s *engine.Stats) uint64 { return s.Gate.Refused }),
	counter("gate_unread_segments_total", "Closed gateway: segments kept back because nobody reads them.", func(s *engine.Stats) uint64 { return s.Gate.Unread }),
	counter("gate_early_bytes_total", "Closed gateway: bytes of records that passed before the rest of the record.", func(s *engine.Stats) uint64 { return s.Gate.Early }),
	counter("gate_shut_directions_total", "Closed gateway: directions of which nothing passes any more.", func(s *engine.Stats) uint64 { return s.Gate.Shut }),
	{prometheus.NewDesc("sealane_gateway_connections", "Connections in the table.", nil, nil), prometheus.GaugeValue,
		func(s *engine.Stats) uint64 { return s.Active }},
}

var (
	directions = prometheus.NewDesc("sealane_gateway_directions_total",
		"Directions of TLS connections that ended, by their state then and by why something of them was lost.", []string{"state", "lost"}, nil)
	ringDrops  = prometheus.NewDesc("sealane_gateway_ring_drops_total", "Packets that the kernel dropped because nobody read them in time.", nil, nil)
	keyCount   = prometheus.NewDesc("sealane_gateway_keys", "Connections with keys in the store.", nil, nil)
	keyEvicted = prometheus.NewDesc("sealane_gateway_keys_evicted_total", "Connections whose keys made room for others.", nil, nil)
	keyLines   = prometheus.NewDesc("sealane_gateway_key_log_lines_total", "Lines of key logs.", []string{"kind"}, nil)
	sent       = prometheus.NewDesc("sealane_gateway_sent_frames_total", "Frames sent on interfaces.", nil, nil)
	unread     = prometheus.NewDesc("sealane_gateway_unread_bytes_total", "Bytes that readers of PCAP-over-IP were too slow for.", nil, nil)
	unsent     = prometheus.NewDesc("sealane_gateway_unsent_frames_total", "Frames that could not be sent.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Source) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, to) }

// Collect implements prometheus.Collector.
func (s *Source) Collect(to chan<- prometheus.Metric) {
	stats := s.Stats()
	for i := range metrics {
		m := &metrics[i]
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value(&stats)))
	}
	for state := range stats.Directions {
		for why, count := range stats.Directions[state] {
			if count > 0 {
				to <- prometheus.MustNewConstMetric(directions, prometheus.CounterValue, float64(count), tls.Direction(state).String(), tls.Reason(why).String())
			}
		}
	}
	n := func(d *prometheus.Desc, kind prometheus.ValueType, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, float64(v), labels...)
	}
	_, drops := s.Ring()
	n(ringDrops, prometheus.CounterValue, drops)
	count, evicted := s.Store.Size()
	n(keyCount, prometheus.GaugeValue, uint64(count))
	n(keyEvicted, prometheus.CounterValue, evicted)
	secrets, bad := s.Store.Lines()
	n(keyLines, prometheus.CounterValue, secrets, "secret")
	n(keyLines, prometheus.CounterValue, bad, "bad")
	n(sent, prometheus.CounterValue, s.Output.Sent.Load())
	n(unsent, prometheus.CounterValue, s.Output.Dropped.Load())
	n(unread, prometheus.CounterValue, s.Output.Unread.Load())
}

// Metrics serves them in the format of Prometheus.
func Metrics(s *Source) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
