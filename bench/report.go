package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// write makes the three files of a run: path.md, path.json and path.svg.
func (r *results) write(path string, outcomes []outcome) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	raw, err := r.raw(outcomes)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".json", raw, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(path+".md", []byte(r.markdown(filepath.Base(path), outcomes)), 0o644); err != nil {
		return err
	}
	if err := r.plot(path + ".svg"); err != nil {
		return err
	}
	fmt.Printf("wrote %s.md, .json, .svg\n", path)
	return nil
}

// raw gives everything as JSON.
func (r *results) raw(outcomes []outcome) ([]byte, error) {
	type rawCell struct {
		Op    string             `json:"op"`
		Bytes int                `json:"bytes"`
		AD    int                `json:"ad"`
		Keys  int                `json:"keys"`
		Batch int                `json:"batch"`
		Ns    map[string]float64 `json:"ns"`
	}
	type rawTable struct {
		ClockGHz    float64     `json:"clock_ghz"`
		Repetitions int         `json:"repetitions"`
		Candidates  []candidate `json:"candidates"`
		Cells       []rawCell   `json:"cells"`
	}
	tables := map[string]rawTable{}
	for language, t := range r.tables {
		raw := rawTable{ClockGHz: t.ClockGHz, Repetitions: t.Repetitions, Candidates: t.Candidates}
		for _, c := range cells() {
			raw.Cells = append(raw.Cells, rawCell{c.Op, c.Bytes, c.AD, c.Keys, c.Batch, t.Ns[c]})
		}
		tables[language] = raw
	}
	out, err := json.MarshalIndent(struct {
		*results
		Tables   map[string]rawTable `json:"tables"`
		Outcomes []outcome           `json:"outcomes"`
	}{r, tables, outcomes}, "", " ")
	return append(out, '\n'), err
}

// A report is Markdown in progress.
type report struct{ strings.Builder }

func (w *report) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// grid writes a table with right-aligned numbers.
func (w *report) grid(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w.line("| %s |", strings.Join(head, " | "))
	w.line("|---|%s", strings.Repeat("---:|", len(head)-1))
	for _, row := range rows {
		w.line("| %s |", strings.Join(row, " | "))
	}
	w.line("")
}

func (r *results) markdown(name string, outcomes []outcome) string {
	w := &report{}
	w.line("# %s of sealane beside its peers: %s\n", alg.Name, r.Machine.CPU)
	w.line("Written by `make bench` on %s; do not edit. %s/%s, %s, one core.\n", r.Date, r.Machine.OS, r.Machine.Arch, r.Go)
	w.line("%s (%s), out of place (in Rust in place, which is all that its peers have), a new nonce per packet, written just", alg.Name, alg.Standard)
	w.line("before it. All candidates of one language take turns in one process, pinned to one CPU; the processes alternate.")
	w.line("Each figure is the smallest time of many short batches. The clock of such a machine drifts: compare figures of one run only, and trust the ratios.")
	w.line("%.0f s, %d rounds; the last round made %.1f %% of the times smaller by more than 1 %%.\n", r.Seconds, r.Rounds, r.Moved*100)
	if r.Machine.Class != "" {
		w.line("Its floors are those of %s.\n", r.Machine.Class)
	}
	w.line("![throughput beside the peers](%s.svg)\n", name)
	r.writeCandidates(w)
	writeOutcomes(w, outcomes)
	for _, language := range languages {
		if t := r.tables[language]; t != nil {
			t.writeRatios(w, language)
		}
	}
	if alg.Batches {
		r.writeBatches(w)
	}
	r.writeSweep(w)
	for _, language := range languages {
		if t := r.tables[language]; t != nil {
			t.writeTimes(w, language)
		}
	}
	r.writeSetup(w)
	r.writeCallOverhead(w)
	return strings.TrimRight(w.String(), "\n") + "\n"
}

func (r *results) writeCandidates(w *report) {
	w.line("## Candidates\n")
	var rows [][]string
	for _, language := range languages {
		t := r.tables[language]
		if t == nil {
			w.line("%s was not measured.\n", language)
			continue
		}
		for _, c := range t.Candidates {
			rows = append(rows, []string{language, c.Name, c.Version, c.How})
		}
	}
	w.line("| language | name | version | used through |\n|---|---|---|---|")
	for _, row := range rows {
		w.line("| %s |", strings.Join(row, " | "))
	}
	w.line("")
}

func sizeHead(first string, sizes []int) []string {
	head := []string{first}
	for _, n := range sizes {
		head = append(head, sizeName(n))
	}
	return head
}

// inGrid reports whether an outcome belongs to a row of sizes.
func (o *outcome) inGrid() bool {
	if o.Batch > 0 {
		return o.Batch == batched
	}
	return slices.Contains(sizes, o.Bytes) && !strings.Contains(o.Title, "all sizes")
}

// floorRows groups outcomes into one row per title and direction.
func floorRows(outcomes []outcome) (titles []string, rows map[string]map[int]outcome) {
	rows = map[string]map[int]outcome{}
	for _, o := range outcomes {
		if !o.inGrid() {
			continue
		}
		title := o.Title + ": " + o.Op
		if rows[title] == nil {
			rows[title] = map[int]outcome{}
			titles = append(titles, title)
		}
		rows[title][o.Bytes] = o
	}
	return titles, rows
}

func writeOutcomes(w *report, outcomes []outcome) {
	w.line("## Floors\n")
	w.line("Ratio of throughputs, and in brackets the least that is accepted; **bold** misses it. One key, no associated data.\n")
	titles, byTitle := floorRows(outcomes)
	var rows, batchRows [][]string
	for _, title := range titles {
		row := []string{title}
		columns, to := sizes, &rows
		if strings.Contains(title, "packets a call") {
			columns, to = batchSizes, &batchRows
		}
		for _, n := range columns {
			o, ok := byTitle[title][n]
			switch {
			case !ok:
				row = append(row, "")
			case o.Got == 0:
				row = append(row, "not run")
			case o.State == "fail":
				row = append(row, fmt.Sprintf("**%.2f** (%.2f)", o.Got, o.Limit))
			default:
				row = append(row, fmt.Sprintf("%.2f (%.2f)", o.Got, o.Limit))
			}
		}
		*to = append(*to, row)
	}
	w.grid(sizeHead("bytes", sizes), rows)
	w.grid(sizeHead("bytes", batchSizes), batchRows)
	for _, o := range outcomes {
		if o.inGrid() {
			continue
		}
		w.line("- %s", o)
	}
	w.line("")
}

func (o outcome) String() string {
	what := o.Title
	if o.Op != "setup" {
		what += fmt.Sprintf(", %s, %d bytes", o.Op, o.Bytes)
	}
	if o.Got == 0 {
		return fmt.Sprintf("%s: %s", what, o.State)
	}
	return fmt.Sprintf("%s: %.2f (limit %.2f) %s", what, o.Got, o.Limit, o.State)
}

// printOutcomes counts the floors that are met, lists the others, and returns the number of failures.
func printOutcomes(w io.Writer, outcomes []outcome) (failed int) {
	count := map[string]int{}
	for _, o := range outcomes {
		switch {
		case o.State == "pass":
			count["pass"]++
		case o.State == "fail":
			count["fail"]++
			fmt.Fprintln(w, "FAIL", o)
		default:
			count["not run"]++
		}
	}
	fmt.Fprintf(w, "floors: %d met, %d missed, %d not run\n", count["pass"], count["fail"], count["not run"])
	return count["fail"]
}

// writeRatios writes the throughput of every level relative to each peer.
func (t *table) writeRatios(w *report, language string) {
	levels := t.levels()
	if len(levels) == 0 {
		return
	}
	w.line("## %s: times as fast as the peers\n", language)
	for _, k := range []struct {
		title string
		ad    int
		keys  int
		only  bool // the level that programs get
	}{
		{"One key, no associated data", 0, 1, false},
		{"One key, 13 bytes of associated data", 13, 1, true},
		{fmt.Sprintf("%d keys in turn, no associated data", manyKeys), 0, manyKeys, true},
	} {
		w.line("### %s\n", k.title)
		var rows [][]string
		for _, level := range levels {
			if k.only && level != t.level() {
				continue
			}
			for _, peer := range t.peers() {
				for _, op := range []string{"seal", "open"} {
					row := []string{fmt.Sprintf("%s ÷ %s, %s", level, peer, op)}
					for _, n := range sizes {
						row = append(row, fmt.Sprintf("%.2f", t.ratio(cell{op, n, k.ad, k.keys, 0}, level, peer)))
					}
					rows = append(rows, row)
				}
			}
		}
		w.grid(sizeHead("bytes", sizes), rows)
	}
}

// writeBatches writes the figures of batches, and the small packets per second of every candidate.
func (r *results) writeBatches(w *report) {
	w.line("## Batches: %d packets a call\n", batched)
	w.line("Each packet in its own memory; mix is 7 packets of 64, 4 of 576 and 1 of 1420 bytes. Peers do the same packets in a loop.\n")
	for _, language := range languages {
		t := r.tables[language]
		if t == nil || len(t.levels()) == 0 {
			continue
		}
		best := t.level()
		var ratios, times [][]string
		for _, keys := range []int{manyKeys, 1} {
			for _, op := range []string{"seal", "open"} {
				how := fmt.Sprintf("%s, %d keys", op, keys)
				if keys == 1 {
					how = op + ", one key"
				}
				for _, peer := range t.peers() {
					row := []string{fmt.Sprintf("%s ÷ %s, %s", best, peer, how)}
					for _, n := range batchSizes {
						row = append(row, fmt.Sprintf("%.2f", t.ratio(cell{op, n, 0, keys, batched}, best, peer)))
					}
					ratios = append(ratios, row)
				}
				for _, c := range t.Candidates {
					row := []string{c.Name + ", " + how}
					for _, n := range batchSizes {
						row = append(row, fmt.Sprintf("%.1f", t.Ns[cell{op, n, 0, keys, batched}][c.Name]))
					}
					times = append(times, row)
				}
			}
		}
		w.line("### %s: times as fast as the peers\n", language)
		w.grid(sizeHead("bytes", batchSizes), ratios)
		w.line("### %s: ns per packet\n", language)
		w.grid(sizeHead("bytes", batchSizes), times)
	}
	w.line("### Million packets of 64 bytes a second, one core, %d keys\n", manyKeys)
	var rows [][]string
	for _, language := range languages {
		t := r.tables[language]
		if t == nil {
			continue
		}
		for _, c := range t.Candidates {
			row := []string{language + ", " + c.Name}
			for _, k := range []cell{{"seal", 64, 0, manyKeys, 0}, {"open", 64, 0, manyKeys, 0}, {"seal", 64, 0, manyKeys, batched}, {"open", 64, 0, manyKeys, batched}} {
				row = append(row, fmt.Sprintf("%.2f", 1e3/t.Ns[k][c.Name]))
			}
			rows = append(rows, row)
		}
	}
	w.grid([]string{"", "seal", "open", "seal a batch", "open a batch"}, rows)
}

func (t *table) writeTimes(w *report, language string) {
	w.line("## %s: figures of this run\n", language)
	w.line("One key, no associated data; core clock %.2f GHz by a chain of dependent additions, %d repetitions. ns per packet,",
		t.ClockGHz, t.Repetitions)
	w.line("MB/s (10^6 bytes) and core cycles per byte.\n")
	for _, op := range []string{"seal", "open"} {
		for _, unit := range []struct {
			name  string
			value func(ns float64, n int) string
		}{
			{"ns", func(ns float64, _ int) string { return fmt.Sprintf("%.0f", ns) }},
			{"MB/s", func(ns float64, n int) string { return fmt.Sprintf("%.0f", float64(n)/ns*1e3) }},
			{"cycles/byte", func(ns float64, n int) string { return fmt.Sprintf("%.3f", ns*t.ClockGHz/float64(n)) }},
		} {
			var rows [][]string
			for _, c := range t.Candidates {
				row := []string{c.Name}
				for _, n := range sizes {
					row = append(row, unit.value(t.Ns[cell{op, n, 0, 1, 0}][c.Name], n))
				}
				rows = append(rows, row)
			}
			w.grid(sizeHead(op+", "+unit.name, sizes), rows)
		}
	}
}

func (r *results) writeSweep(w *report) {
	if len(r.Sweep) == 0 {
		return
	}
	w.line("## Every size from 0 to %d bytes, Go, the level that programs get against %s\n", maxBytes, alg.Peer)
	var rows [][]string
	for _, s := range r.Sweep {
		slower := "none"
		if s.Slower > 0 {
			slower = fmt.Sprintf("%d sizes, the first %v", s.Slower, s.FirstSlower)
		}
		rows = append(rows, []string{s.Op, fmt.Sprintf("%.2f", s.Least), fmt.Sprint(s.LeastAt), fmt.Sprintf("%.2f", s.Median), slower})
	}
	w.grid([]string{"", "smallest ratio", "at bytes", "median ratio", "slower at"}, rows)
}

func (r *results) writeSetup(w *report) {
	w.line("## Key set-up\n")
	var rows [][]string
	for _, language := range languages {
		t := r.tables[language]
		if t == nil {
			continue
		}
		for _, c := range t.Candidates {
			if ns := t.Ns[setup][c.Name]; ns > 0 {
				rows = append(rows, []string{language + ", " + c.Name, fmt.Sprintf("%.1f", ns)})
			}
		}
	}
	w.line("In Go this is New, which allocates; in C it gives an existing key object another key; in Rust it makes a key and drops it.\n")
	w.grid([]string{"", "ns"}, rows)
}

// writeCallOverhead compares the call overhead of both languages for the same kernel.
func (r *results) writeCallOverhead(w *report) {
	goTable, cTable := r.tables["Go"], r.tables["C"]
	if goTable == nil || cTable == nil {
		return
	}
	var rows [][]string
	for _, level := range goTable.levels() {
		if level == "portable" || !slices.Contains(cTable.levels(), level) {
			continue
		}
		for _, op := range []string{"seal", "open"} {
			row := []string{level + ", " + op}
			for _, n := range sizes {
				c := cell{op, n, 0, 1, 0}
				row = append(row, fmt.Sprintf("%+.1f", goTable.libraryNs(c, "sealane", level)-cTable.libraryNs(c, "sealane", level)))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return
	}
	w.line("## What a packet costs more in Go than in C, ns\n")
	w.line("The same kernel behind two interfaces, in processes that alternate.\n")
	w.grid(sizeHead("bytes", sizes), rows)
}
