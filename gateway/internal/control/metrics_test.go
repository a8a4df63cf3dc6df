package control

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
)

// number gives each count in a struct a value of its own, and returns their names.
func number(v reflect.Value, path string, next *uint64, names map[uint64]string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			number(v.Field(i), path+"."+v.Type().Field(i).Name, next, names)
		}
	case reflect.Array:
		for i := range v.Len() {
			number(v.Index(i), path+"["+strconv.Itoa(i)+"]", next, names)
		}
	case reflect.Uint64:
		*next++
		v.SetUint(*next)
		names[*next] = path
	}
}

// served are all metrics of a Source, in the format of Prometheus.
func served(s *Source) string {
	w := httptest.NewRecorder()
	Metrics(s).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func numbered() (*Source, map[uint64]string) {
	var stats engine.Stats
	next, names := uint64(1000), map[uint64]string{}
	number(reflect.ValueOf(&stats).Elem(), "Stats", &next, names)
	face := Face{Name: "eth0"}
	number(reflect.ValueOf(&face).Elem(), "Face", &next, names)
	counts := new(output.Counts)
	counts.Sent.Store(next + 1)
	counts.Dropped.Store(next + 2)
	counts.Unread.Store(next + 3)
	names[next+1], names[next+2], names[next+3] = "Sent", "Dropped", "Unread"
	return &Source{Stats: func() engine.Stats { return stats }, Faces: func() []Face { return []Face{face} },
		Store: keys.NewStore(1), Output: counts}, names
}

// Each counter is a metric, and no metric has the count of another.
func TestEverythingCountedIsAMetric(t *testing.T) {
	s, names := numbered()
	text := served(s)
	for n, name := range names {
		if c := len(regexp.MustCompile(`(?m) `+strconv.FormatUint(n, 10)+`$`).FindAllString(text, -1)); c != 1 {
			t.Errorf("%s is in %d metrics", name, c)
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d counts", len(names))
	}
}

// Every query of the dashboard uses existing metrics and their labels, and every metric is in it.
func TestDashboard(t *testing.T) {
	s, _ := numbered()
	have := map[string]map[string]bool{}
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		have[f.GetName()] = map[string]bool{}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				have[f.GetName()][l.GetName()] = true
			}
		}
	}
	text, err := os.ReadFile("../../grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, wrong := range dashboardErrors(t, text, have, used) {
		t.Error(wrong)
	}
	for name := range have {
		if !used[name] {
			t.Errorf("%s is not in the dashboard", name)
		}
	}
	// It can fail.
	broken := strings.Replace(string(text), "sealane_gateway_records_total", "sealane_gateway_recods_total", 1)
	broken = strings.Replace(broken, "by (verdict)", "by (colour)", 1)
	if n := len(dashboardErrors(t, []byte(broken), have, map[string]bool{})); n != 2 {
		t.Errorf("%d errors in a dashboard with two", n)
	}
}

func dashboardErrors(t *testing.T, text []byte, have map[string]map[string]bool, used map[string]bool) (wrong []string) {
	t.Helper()
	var board struct {
		Title, UID string
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil || board.Title == "" || len(board.Panels) < 5 {
		t.Fatalf("%v: %q has %d panels", err, board.Title, len(board.Panels))
	}
	metric := regexp.MustCompile(`sealane_gateway_[a-z0-9_]+`)
	label := regexp.MustCompile(`(?:by|without) \(([a-z_, ]+)\)|([a-z_]+)=~?"`)
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			wrong = append(wrong, p.Title+" has no query")
		}
		for _, q := range p.Targets {
			names := metric.FindAllString(q.Expr, -1)
			if len(names) == 0 {
				wrong = append(wrong, p.Title+": no metric in "+q.Expr)
			}
			for _, name := range names {
				used[name] = true
				if have[name] == nil {
					wrong = append(wrong, p.Title+": there is no "+name)
					continue
				}
				for _, m := range label.FindAllStringSubmatch(q.Expr, -1) {
					for _, l := range strings.FieldsFunc(m[1]+m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
						if !have[name][l] && l != "instance" && l != "job" {
							wrong = append(wrong, p.Title+": "+name+" has no label "+l)
						}
					}
				}
			}
		}
	}
	return wrong
}
