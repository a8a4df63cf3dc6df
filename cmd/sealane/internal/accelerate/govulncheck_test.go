package accelerate

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "run tests that take minutes, or fetch programs")

const govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.1.4"

// TestGovulncheck has govulncheck look into a program: of two made-up faults in x/crypto, one is in the program's version
// and one was mended in it. The changed version must give the same answer as the stock one.
func TestGovulncheck(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	t.Setenv("GOPROXY", online)
	dir := workPlace(t)
	_, version, _ := strings.Cut(cryptoVersion, " v")
	db := t.TempDir()
	writeFaults(t, db, version)
	bin := t.TempDir()
	t.Setenv("GOBIN", bin)
	mustRun(t, dir, "go", "install", govulncheck)
	mustBuild(t, Job{Output: "changed"})
	mustRun(t, dir, "go", "build", "-o", "stock", ".")
	for _, program := range []string{"stock", "changed"} {
		cmd := exec.Command(filepath.Join(bin, "govulncheck"), "-mode=binary", "-format=json", "-db="+fileURL(db), program)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err, string(out))
		}
		if found := strings.Contains(string(out), `"osv": "GO-2026-0001"`); !found {
			t.Errorf("%s: the fault is not found\n%s", program, out)
		}
		if strings.Contains(string(out), `"osv": "GO-2026-0002"`) {
			t.Errorf("%s: the fault that is mended is found", program)
		}
	}
}

// writeFaults writes a database of faults: one from the version on, one up to it.
func writeFaults(t *testing.T, dir, version string) {
	const when = "2026-01-01T00:00:00Z"
	write := func(name string, v any) {
		content, err := json.Marshal(v)
		if err == nil {
			os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777)
			err = os.WriteFile(filepath.Join(dir, name), content, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	var ids, known []object
	for id, events := range map[string][]object{
		"GO-2026-0001": {{"introduced": version}},
		"GO-2026-0002": {{"introduced": "0"}, {"fixed": version}},
	} {
		write("ID/"+id+".json", object{
			"schema_version": "1.3.1", "id": id, "modified": when, "published": when, "summary": id, "details": id,
			"affected": []object{{
				"package":            object{"name": cryptoModule, "ecosystem": "Go"},
				"ranges":             []object{{"type": "SEMVER", "events": events}},
				"ecosystem_specific": object{"imports": []object{{"path": cipherPath}}},
			}},
			"database_specific": object{"url": "https://example.org/" + id, "review_status": "REVIEWED"},
		})
		ids = append(ids, object{"id": id, "modified": when})
		known = append(known, object{"id": id, "modified": when})
	}
	write("index/db.json", object{"modified": when})
	write("index/modules.json", []object{{"path": cryptoModule, "vulns": ids}})
	write("index/vulns.json", known)
}
