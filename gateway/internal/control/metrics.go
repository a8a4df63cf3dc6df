package control

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sealane/sealane/gateway/internal/engine"
	table "github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/quic"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A Source provides counters on each request for metrics.
type Source struct {
	Stats  func() engine.Stats
	Faces  func() []Face
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

func labelled(name, help, label, value string, count func(s *engine.Stats) uint64) metric {
	return metric{prometheus.NewDesc("sealane_gateway_"+name, help, nil, prometheus.Labels{label: value}), prometheus.CounterValue, count}
}

func quicEnd(how quic.Life) metric {
	return labelled("quic_connections_ended_total", "QUIC connections that are over, by how they ended.", "how", how.String(),
		func(s *engine.Stats) uint64 { return s.QUIC.Ends[how-quic.Closed] })
}

func quicPackets(kind string, count func(s *quic.Stats) uint64) metric {
	return labelled("quic_packets_total", "Packets of QUIC, by what became of them.", "kind", kind, func(s *engine.Stats) uint64 { return count(&s.QUIC) })
}

var metrics = []metric{
	counter("frames_total", "Frames read.", func(s *engine.Stats) uint64 { return s.Frames }),
	counter("bytes_total", "Bytes of frames read.", func(s *engine.Stats) uint64 { return s.Bytes }),
	labelled("verdicts_total", verdictHelp, "verdict", "tcp", func(s *engine.Stats) uint64 { return s.Verdicts[packet.TCP] }),
	labelled("verdicts_total", verdictHelp, "verdict", "other", func(s *engine.Stats) uint64 { return s.Verdicts[packet.Other] }),
	labelled("verdicts_total", verdictHelp, "verdict", "fragment", func(s *engine.Stats) uint64 { return s.Verdicts[packet.Fragment] }),
	labelled("verdicts_total", verdictHelp, "verdict", "malformed", func(s *engine.Stats) uint64 { return s.Verdicts[packet.Malformed] }),
	labelled("verdicts_total", verdictHelp, "verdict", "udp", func(s *engine.Stats) uint64 { return s.Verdicts[packet.UDP] }),

	counter("fragments_total", "IP fragments.", func(s *engine.Stats) uint64 { return s.Fragments.Seen }),
	counter("fragments_duplicate_total", "IP fragments that said nothing new.", func(s *engine.Stats) uint64 { return s.Fragments.Duplicates }),
	counter("fragments_bad_total", "IP fragments that cannot be right, or are of a refused packet.", func(s *engine.Stats) uint64 { return s.Fragments.Bad }),
	labelled("fragmented_packets_total", fragmentedHelp, "outcome", "whole", func(s *engine.Stats) uint64 { return s.Fragments.Whole }),
	labelled("fragmented_packets_total", fragmentedHelp, "outcome", "overlap", func(s *engine.Stats) uint64 { return s.Fragments.Overlaps }),
	labelled("fragmented_packets_total", fragmentedHelp, "outcome", "expired", func(s *engine.Stats) uint64 { return s.Fragments.Expired }),
	labelled("fragmented_packets_total", fragmentedHelp, "outcome", "evicted", func(s *engine.Stats) uint64 { return s.Fragments.Evicted }),

	labelled("tunnels_total", tunnelHelp, "kind", "vxlan", func(s *engine.Stats) uint64 { return s.Tunnels.VXLAN }),
	labelled("tunnels_total", tunnelHelp, "kind", "geneve", func(s *engine.Stats) uint64 { return s.Tunnels.GENEVE }),
	labelled("tunnels_total", tunnelHelp, "kind", "gtp", func(s *engine.Stats) uint64 { return s.Tunnels.GTP }),
	labelled("tunnels_total", tunnelHelp, "kind", "gre", func(s *engine.Stats) uint64 { return s.Tunnels.GRE }),
	labelled("tunnels_total", tunnelHelp, "kind", "erspan", func(s *engine.Stats) uint64 { return s.Tunnels.ERSPAN }),
	labelled("tunnels_total", tunnelHelp, "kind", "ipip", func(s *engine.Stats) uint64 { return s.Tunnels.IPinIP }),
	labelled("tunnels_total", tunnelHelp, "kind", "mpls", func(s *engine.Stats) uint64 { return s.Tunnels.MPLS }),
	labelled("tunnels_total", tunnelHelp, "kind", "pppoe", func(s *engine.Stats) uint64 { return s.Tunnels.PPPoE }),
	labelled("tunnels_total", tunnelHelp, "kind", "llc", func(s *engine.Stats) uint64 { return s.Tunnels.LLC }),
	counter("tunnels_too_deep_total", "Frames with more tunnels in each other than are looked into.", func(s *engine.Stats) uint64 { return s.Tunnels.Deep }),
	counter("zones_shared_total", "Frames of a network that shares its number with others.", func(s *engine.Stats) uint64 { return s.Tunnels.SharedZones }),

	counter("connections_total", "TCP connections seen to begin.", func(s *engine.Stats) uint64 { return s.Flows }),
	counter("connections_not_tls_total", "Connections that are of no interest.", func(s *engine.Stats) uint64 { return s.Ignored }),
	counter("connections_tls_later_total", "Connections in which TLS began after something else.", func(s *engine.Stats) uint64 { return s.Prefaced }),
	counter("connections_evicted_total", "Connections removed because the table was full.", func(s *engine.Stats) uint64 { return s.Evicted }),
	counter("connections_decrypted_total", "Connections with at least one record opened.", func(s *engine.Stats) uint64 { return s.Decrypted }),
	counter("connections_undecrypted_total", "TLS connections that ended without a record opened.", func(s *engine.Stats) uint64 { return s.Undecrypted }),
	counter("connections_unsupported_total", "Of these, with a version or suite that is not read.", func(s *engine.Stats) uint64 { return s.Unsupported }),
	counter("connections_waited_total", "Connections that had to wait for keys.", func(s *engine.Stats) uint64 { return s.Waiting }),
	counter("connections_keys_late_total", "Connections whose keys came while they waited.", func(s *engine.Stats) uint64 { return s.Late }),

	labelled("tls_connections_ended_total", endHelp, "how", "ended", func(s *engine.Stats) uint64 { return s.Ends[0] }),
	labelled("tls_connections_ended_total", endHelp, "how", "idle", func(s *engine.Stats) uint64 { return s.Ends[table.Idle-table.Ended] }),
	labelled("tls_connections_ended_total", endHelp, "how", "evicted", func(s *engine.Stats) uint64 { return s.Ends[table.Evicted-table.Ended] }),

	counter("segments_unrelated_total", "Segments of no connection.", func(s *engine.Stats) uint64 { return s.Unrelated }),
	counter("connections_joined_total", "Connections whose beginning was not seen, found by trial with secrets of the key log.", func(s *engine.Stats) uint64 { return s.Joined }),
	counter("segments_doubtful_total", "FINs, RSTs and SYNs that may be forged.", func(s *engine.Stats) uint64 { return s.Doubtful }),
	counter("cut_bytes_total", "Bytes of payload that the capture left out.", func(s *engine.Stats) uint64 { return s.Cut }),
	counter("tcp_reordered_total", "Segments that came before their turn.", func(s *engine.Stats) uint64 { return s.Reordered }),
	counter("tcp_repeated_total", "Segments seen before.", func(s *engine.Stats) uint64 { return s.Repeated }),
	counter("tcp_conflicts_total", "Segments that contradict others.", func(s *engine.Stats) uint64 { return s.Conflicts }),
	counter("tcp_holes_total", "Holes in streams that were given up.", func(s *engine.Stats) uint64 { return s.Holes }),
	counter("memory_reclaims_total", "Times that connections held more than --memory allows.", func(s *engine.Stats) uint64 { return s.Reclaims }),
	counter("memory_paid_total", "Connections that lost something by that, because they held most.", func(s *engine.Stats) uint64 { return s.Paid }),
	counter("gate_forwarded_frames_total", "Closed gateway: frames that passed as they came.", func(s *engine.Stats) uint64 { return s.Gate.Forwarded }),
	counter("gate_read_segments_total", "Closed gateway: segments sent with data that was read.", func(s *engine.Stats) uint64 { return s.Gate.Sent }),
	counter("gate_resent_segments_total", "Closed gateway: of these, those that were sent again.", func(s *engine.Stats) uint64 { return s.Gate.Resent }),
	counter("gate_allowed_frames_total", "Closed gateway: frames with payload that passed by a rule.", func(s *engine.Stats) uint64 { return s.Gate.Allowed }),
	counter("gate_denied_frames_total", "Closed gateway: frames kept back by a rule.", func(s *engine.Stats) uint64 { return s.Gate.Denied }),
	counter("gate_refused_frames_total", "Closed gateway: frames that are not TCP, and that no rule allows.", func(s *engine.Stats) uint64 { return s.Gate.Refused }),
	counter("gate_unread_segments_total", "Closed gateway: segments kept back because they cannot be read.", func(s *engine.Stats) uint64 { return s.Gate.Unread }),
	counter("gate_early_bytes_total", "Closed gateway: bytes of records that passed before the rest of the record.", func(s *engine.Stats) uint64 { return s.Gate.Early }),
	counter("gate_shut_directions_total", "Closed gateway: directions of which nothing passes any more.", func(s *engine.Stats) uint64 { return s.Gate.Shut }),
	counter("tcp_hole_bytes_total", "Bytes in these.", func(s *engine.Stats) uint64 { return s.HoleBytes }),
	counter("tcp_outside_window_total", "Segments outside of the window.", func(s *engine.Stats) uint64 { return s.Stats.Unrelated }),
	counter("tcp_held_dropped_total", "Segments dropped because too many were held.", func(s *engine.Stats) uint64 { return s.Stats.Evicted }),
	counter("tcp_contested_total", "Records that did not open with the first copy of their bytes.", func(s *engine.Stats) uint64 { return s.Contested }),
	counter("tcp_settled_total", "Of these, opened with other copies.", func(s *engine.Stats) uint64 { return s.Settled }),
	counter("tcp_replays_total", "Handshakes read again, from other copies.", func(s *engine.Stats) uint64 { return s.Replays }),
	counter("tcp_bad_checksum_total", "Segments dropped for their checksum, where those of the connection are good.", func(s *engine.Stats) uint64 { return s.BadSums }),
	counter("tcp_deferred_total", "Times that copies were not tried because too many had been.", func(s *engine.Stats) uint64 { return s.Deferred }),

	counter("records_total", "Records opened.", func(s *engine.Stats) uint64 { return s.TLS.Records }),
	counter("plaintext_bytes_total", "Bytes of application data delivered.", func(s *engine.Stats) uint64 { return s.TLS.Bytes }),
	counter("bad_records_total", "Records that did not authenticate.", func(s *engine.Stats) uint64 { return s.TLS.BadRecords }),
	counter("bad_padding_total", "Records that held nothing but zeroes.", func(s *engine.Stats) uint64 { return s.TLS.BadPadding }),
	counter("lost_bytes_total", "Bytes of records lost.", func(s *engine.Stats) uint64 { return s.TLS.LostBytes }),
	counter("trials_total", "Openings tried after loss.", func(s *engine.Stats) uint64 { return s.TLS.Trials }),
	counter("resynchronisations_total", "Times that reading went on after loss.", func(s *engine.Stats) uint64 { return s.TLS.Resyncs }),
	counter("key_updates_total", "KeyUpdates.", func(s *engine.Stats) uint64 { return s.TLS.KeyUpdates }),
	counter("surplus_messages_total", "Handshake messages after a KeyUpdate in one record, which are not read.", func(s *engine.Stats) uint64 { return s.TLS.Surplus }),
	counter("early_data_accepted_bytes_total", "Bytes of 0-RTT data delivered.", func(s *engine.Stats) uint64 { return s.TLS.EarlyAccepted }),
	counter("early_data_dropped_bytes_total", "Bytes of 0-RTT data that the server did not accept.", func(s *engine.Stats) uint64 { return s.TLS.EarlyDropped }),
	counter("directions_given_up_total", "Directions of which nothing more will be read.", func(s *engine.Stats) uint64 { return s.TLS.GivenUp }),
	counter("held_bytes_dropped_total", "Bytes dropped because too many waited for keys.", func(s *engine.Stats) uint64 { return s.TLS.HeldOut }),
	counter("partial_records_dropped_total", "Records dropped because too many were partial.", func(s *engine.Stats) uint64 { return s.TLS.PartialOut }),

	counter("quic_connections_total", "QUIC connections seen to begin.", func(s *engine.Stats) uint64 { return s.QUIC.Connections }),
	counter("quic_connections_decrypted_total", "QUIC connections of which a packet opened.", func(s *engine.Stats) uint64 { return s.QUIC.Decrypted }),
	counter("quic_connections_undecrypted_total", "QUIC connections that ended without.", func(s *engine.Stats) uint64 { return s.QUIC.Undecrypted }),
	counter("quic_connections_waited_total", "QUIC connections that had to wait for keys.", func(s *engine.Stats) uint64 { return s.QUIC.Waited }),
	counter("quic_connections_moved_total", "Times that a QUIC connection came on other addresses.", func(s *engine.Stats) uint64 { return s.QUIC.Migrations }),
	counter("quic_connections_merged_total", "QUIC connections that turned out to be another one, whose first packets came again.", func(s *engine.Stats) uint64 { return s.QUIC.Merged }),
	quicEnd(quic.Closed), quicEnd(quic.Reset), quicEnd(quic.Idle), quicEnd(quic.Evicted), quicEnd(quic.Over),
	quicPackets("0-RTT", func(s *quic.Stats) uint64 { return s.Packets[0] }),
	quicPackets("handshake", func(s *quic.Stats) uint64 { return s.Packets[1] }),
	quicPackets("1-RTT", func(s *quic.Stats) uint64 { return s.Packets[2] }),
	quicPackets("not authentic", func(s *quic.Stats) uint64 { return s.Refused }),
	quicPackets("of no connection", func(s *quic.Stats) uint64 { return s.Unrelated }),
	quicPackets("without keys", func(s *quic.Stats) uint64 { return s.WaitingDropped }),
	quicPackets("0-RTT that the server rejected", func(s *quic.Stats) uint64 { return s.EarlyRejected }),
	quicPackets("with unknown frames", func(s *quic.Stats) uint64 { return s.BadFrames }),
	quicPackets("Retry", func(s *quic.Stats) uint64 { return s.Retries }),
	quicPackets("version negotiation", func(s *quic.Stats) uint64 { return s.Negotiations }),
	counter("quic_key_updates_total", "Key updates of QUIC.", func(s *engine.Stats) uint64 { return s.QUIC.KeyUpdates }),
	counter("quic_streams_total", "Streams of QUIC.", func(s *engine.Stats) uint64 { return s.QUIC.Streams }),
	counter("quic_streams_refused_total", "Frames of streams that were too many.", func(s *engine.Stats) uint64 { return s.QUIC.StreamsRefused }),
	counter("quic_stream_bytes_total", "Bytes of streams delivered.", func(s *engine.Stats) uint64 { return s.QUIC.StreamBytes }),
	counter("quic_holes_total", "Holes in streams that were given up.", func(s *engine.Stats) uint64 { return s.QUIC.Holes }),
	counter("quic_hole_bytes_total", "Bytes in these.", func(s *engine.Stats) uint64 { return s.QUIC.HoleBytes }),
	counter("quic_datagrams_total", "Unreliable datagrams of QUIC, which are not delivered.", func(s *engine.Stats) uint64 { return s.QUIC.Datagrams }),
	counter("quic_datagram_bytes_total", "Bytes in these.", func(s *engine.Stats) uint64 { return s.QUIC.DatagramBytes }),
	counter("http3_headers_total", "Headers and trailers of HTTP/3.", func(s *engine.Stats) uint64 { return s.HTTP3.Headers }),
	counter("http3_headers_unreadable_total", "Of these, those that QPACK could not read.", func(s *engine.Stats) uint64 { return s.HTTP3.Unreadable }),
	counter("http3_body_bytes_total", "Bytes of bodies of HTTP/3.", func(s *engine.Stats) uint64 { return s.HTTP3.Bytes }),
	counter("http3_streams_cut_total", "Streams of HTTP/3 that were not read to their end.", func(s *engine.Stats) uint64 { return s.HTTP3.Cut }),
	counter("http3_pushes_total", "Streams that a server pushed, which are not delivered.", func(s *engine.Stats) uint64 { return s.HTTP3.Pushes }),
	counter("quic_memory_reclaims_total", "Times that connections of QUIC held too much.", func(s *engine.Stats) uint64 { return s.QUIC.Reclaims }),
	{prometheus.NewDesc("sealane_gateway_connections", "Connections in the table.", nil, nil), prometheus.GaugeValue,
		func(s *engine.Stats) uint64 { return s.Active }},
}

const (
	endHelp        = "Connections with a ClientHello that are over, by how they ended."
	verdictHelp    = "Frames, by what they are."
	fragmentedHelp = "IP packets that came in fragments, by what became of them."
	tunnelHelp     = "Tunnels looked into, by kind."
)

// A Face has the counters of one interface.
type Face struct {
	Name     string
	Bytes    uint64
	Verdicts [packet.Verdicts]uint64
	Dropped  uint64 // by the kernel, because they were not read in time
	Blocked  uint64 // not forwarded, because they could not be read
}

// Add adds the counts of another core.
func (f *Face) Add(o *Face) {
	f.Bytes += o.Bytes
	f.Dropped += o.Dropped
	f.Blocked += o.Blocked
	for i := range f.Verdicts {
		f.Verdicts[i] += o.Verdicts[i]
	}
}

var (
	directions = prometheus.NewDesc("sealane_gateway_directions_total",
		"Directions of TLS connections that ended, by their state then and by why something of them was lost.", []string{"state", "lost"}, nil)
	faceFrames  = prometheus.NewDesc("sealane_gateway_interface_frames_total", "Frames read, by interface and by what they are.", []string{"interface", "verdict"}, nil)
	faceBytes   = prometheus.NewDesc("sealane_gateway_interface_bytes_total", "Bytes of frames read, by interface.", []string{"interface"}, nil)
	faceDropped = prometheus.NewDesc("sealane_gateway_interface_lost_frames_total", "Frames that were not read or not forwarded, by interface and reason.", []string{"interface", "reason"}, nil)
	keyCount    = prometheus.NewDesc("sealane_gateway_keys", "Connections with keys in the store.", nil, nil)
	keyEvicted  = prometheus.NewDesc("sealane_gateway_keys_evicted_total", "Connections whose keys made room for others.", nil, nil)
	keyLines    = prometheus.NewDesc("sealane_gateway_key_log_lines_total", "Lines of key logs.", []string{"kind"}, nil)
	sent        = prometheus.NewDesc("sealane_gateway_sent_frames_total", "Frames sent on interfaces.", nil, nil)
	unread      = prometheus.NewDesc("sealane_gateway_unread_bytes_total", "Bytes that readers of PCAP-over-IP were too slow for.", nil, nil)
	unsent      = prometheus.NewDesc("sealane_gateway_unsent_frames_total", "Frames that could not be sent.", nil, nil)
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
	for _, f := range s.Faces() {
		for v, count := range f.Verdicts {
			n(faceFrames, prometheus.CounterValue, count, f.Name, packet.Verdict(v).String())
		}
		n(faceBytes, prometheus.CounterValue, f.Bytes, f.Name)
		n(faceDropped, prometheus.CounterValue, f.Dropped, f.Name, "ring full")
		n(faceDropped, prometheus.CounterValue, f.Blocked, f.Name, "cannot be read")
	}
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

// Metrics serves metrics in the format of Prometheus.
func Metrics(s *Source) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
