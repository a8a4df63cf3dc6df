package main

import (
	"fmt"
	"strconv"
	"strings"
)

var frameSizes = []int{64, 128, 256, 512, 1024}

// A modeled is one size on the network processor.
type modeled struct {
	bytes          int // of the frame
	work           profile
	published      float64 // packets a second with the published placement
	contended      float64 // with the waits for others at the same memory
	best           float64
	where          placement
	tried          int
	messageReading float64 // published placement, the bytes being the message's
	busy, waiting  cost    // published, best
}

type report struct {
	m        *measurements
	sizes    []modeled
	chacha10 float64 // bits a second
	choices  []choice
	gateway  gatewayPlaces
}

func newReport(m *measurements, gateway gatewayPlaces) *report {
	r := &report{m: m, choices: sensitivity(), gateway: gateway}
	p := &networkProcessor
	for _, n := range frameSizes {
		text := n - frameOverhead
		s := modeled{bytes: n, work: profileOf(text)}
		s.busy = p.evaluate(&s.work, publishedPlacement)
		s.published = p.rate(s.busy)
		s.contended = p.contended(&s.work, publishedPlacement)
		s.where, s.tried = p.best(&s.work, text)
		s.waiting = p.evaluate(&s.work, s.where)
		s.best = p.rate(s.waiting)
		message := profileOf(n)
		s.messageReading = p.rate(p.evaluate(&message, publishedPlacement))
		r.sizes = append(r.sizes, s)
	}
	work := profileOfChaCha(10, chaCha10Frame-ethernetHeader)
	r.chacha10 = p.rate(p.evaluate(&work, publishedChaCha10Placement)) * chaCha10Frame * 8
	return r
}

func percent(got, want float64) string { return fmt.Sprintf("%+.1f %%", 100*(got/want-1)) }

func (r *report) text() string {
	var b strings.Builder
	b.WriteString("Written by `make nicmodel`. README.md explains the figures.\n\n## The published network processor\n\n")
	b.WriteString("| frame, bytes | instructions | words accessed | published placement, Mpps | with contention | best placement, Mpps | published, Mpps | error | error if the bytes are the message's |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range r.sizes {
		words := 0
		for _, n := range s.work.accesses {
			words += n
		}
		published, failing, message := "", "", ""
		if p := publishedPackets[s.bytes]; p > 0 {
			published, failing, message = fmt.Sprintf("%.2f", p/1e6), percent(s.published, p), percent(s.messageReading, p)
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %.2f | %.2f | %.2f | %s | %s | %s |\n", s.bytes, s.work.instructions, words, s.published/1e6, s.contended/1e6, s.best/1e6, published, failing, message)
	}
	fmt.Fprintf(&b, "\nChaCha10 alone, frames of 1024 bytes: %.2f Gbit/s modeled, %.2f published, error %s.\n", r.chacha10/1e9, publishedChaCha10/1e9, percent(r.chacha10, publishedChaCha10))
	last := r.sizes[len(r.sizes)-1]
	fmt.Fprintf(&b, "\nPlacements, a frame of %d bytes, of %d that fit:\n\n| | bytes | words accessed | published | best |\n|---|--:|--:|---|---|\n", last.bytes, last.tried)
	for o, n := range sizesFor(last.bytes - frameOverhead) {
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", objectNames[o], n, last.work.accesses[o], networkProcessor.memories[publishedPlacement[o]].name, networkProcessor.memories[last.where[o]].name)
	}
	fmt.Fprintf(&b, "\nA frame of %d bytes keeps an engine busy for %.1f µs as published and %.1f µs at best. Its thread waits for %.1f µs and %.1f µs, in which others run.\n",
		last.bytes, last.busy.busy/1000, last.waiting.busy/1000, last.busy.wait/1000, last.waiting.wait/1000)
	b.WriteString("\nThe effect of each choice alone, with contention and the published placement:\n\n| choice | taken | from | to | 64 bytes | 1024 bytes | ChaCha10 |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range r.choices {
		fmt.Fprintf(&b, "| %s | %g | %g | %g |", c.name, c.at, c.low, c.high)
		for k := range c.lowest {
			fmt.Fprintf(&b, " %+.1f to %+.1f %% |", 100*c.lowest[k], 100*c.highest[k])
		}
		b.WriteString("\n")
	}
	r.gateway.text(&b)
	c := r.m.core()
	fmt.Fprintf(&b, "\n## Many flows: one %s\n\nMeasured: ", c.name)
	for i, m := range c.memories {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.name)
		if m.bytes > 0 {
			fmt.Fprintf(&b, " %d KiB", m.bytes>>10)
		}
		fmt.Fprintf(&b, " %.1f ns", m.latency)
	}
	b.WriteString(".\n\n| message, bytes | flows | modeled, Mpps | measured, Mpps | error |\n|--:|--:|--:|--:|--:|\n")
	for _, message := range r.m.Messages {
		for _, flows := range flowCounts {
			got, want := c.rate(message.Bytes, flows), 1e9/message.Flows[strconv.Itoa(flows)]
			fmt.Fprintf(&b, "| %d | %d | %.3f | %.3f | %s |\n", message.Bytes, flows, got/1e6, want/1e6, percent(got, want))
		}
	}
	fmt.Fprintf(&b, "\n## Many flows: one %s\n\n| message, bytes | flows | modeled, Mpps |\n|--:|--:|--:|\n", dpuCore.name)
	for _, n := range []int{64, 1024} {
		for _, flows := range flowCounts {
			fmt.Fprintf(&b, "| %d | %d | %.3f |\n", n, flows, dpuCore.rate(n, flows)/1e6)
		}
	}
	return b.String()
}
