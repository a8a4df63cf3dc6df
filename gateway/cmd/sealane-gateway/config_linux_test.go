package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"
)

// valueFor is a setting of each kind that differs from all defaults, in TOML and as pflag shows it.
var valueFor = map[string][2]string{
	"stringSlice": {`["a", "b"]`, "[a,b]"}, "stringArray": {`["a", "b"]`, "[a,b]"}, "string": {`"text"`, "text"}, "duration": {`"77ms"`, "77ms"},
	"int": {"77", "77"}, "uint16": {"77", "77"},
}

// Every flag is a setting, and the command line counts more.
func TestConfigHasEveryFlag(t *testing.T) {
	root := rootCommand()
	for _, cmd := range root.Commands() {
		if cmd.Flags().Lookup("config") == nil {
			continue
		}
		var lines []string
		want := map[string]string{}
		f := cmd.Flags()
		f.AddFlagSet(root.PersistentFlags())
		f.VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "config" || flag.Name == "check" || flag.Name == "help" {
				return
			}
			v, ok := valueFor[flag.Value.Type()]
			if flag.Value.Type() == "bool" {
				v, ok = [2]string{"true", "true"}, true
				if flag.DefValue == "true" {
					v = [2]string{"false", "false"}
				}
			}
			if !ok {
				t.Fatalf("--%s is a %s", flag.Name, flag.Value.Type())
			}
			lines = append(lines, flag.Name+" = "+v[0])
			want[flag.Name] = v[1]
		})
		if len(want) < 15 {
			t.Errorf("%s has %d flags", cmd.Name(), len(want))
		}
		f.Set("log", "json")
		want["log"] = "json"
		file := filepath.Join(t.TempDir(), "c.toml")
		os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600)
		if err := loadConfig(f, file); err != nil {
			t.Fatal(err)
		}
		for name, v := range want {
			if got := f.Lookup(name).Value.String(); got != v {
				t.Errorf("%s %s: %q, not %q", cmd.Name(), name, got, v)
			}
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"interface = [\"eth0\"\nworkers = 1", "line 2"},
		{`inteface = "eth0"`, "inteface: unknown setting"},
		{`config = "x"`, "config: unknown setting"},
		{`workers = "two"`, "workers: two is no number"},
		{`workers = 1.5`, "workers: 1.5 is no number"},
		{`workers = 99999999999999999999`, "line 1"},
		{`mark-vlan = 70000`, "mark-vlan: 70000 is no number"},
		{`key-wait = 50`, "key-wait: 50 is no duration"},
		{`key-wait = "fifty"`, "key-wait: fifty is no duration"},
		{`promiscuous = "yes"`, "promiscuous: yes is no true or false"},
		{`keys = [1]`, "keys: [1] is no list"},
		{"[keys]\na = 1", "keys: map[a:1] is no list"},
		{"tap = \"a\"\ntap = \"b\"", "line 2"},
		{"", "nothing to read"},
		{`interface = "eth0"` + "\nunread = \"drop\"", "--unread drop needs --inline"},
		{`interface = "eth0"` + "\nkeys-nats = \"tls://user:guess@host:4222\"", "must not contain a user"},
		{`interface = "eth0"` + "\nwrite-encrypted = \"a.pcap\"", "only a .pcapng"},
		{`interface = "eth0"`, "all settings are valid"},
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		os.WriteFile(file, []byte(c.text), 0o600)
		said, ok := run(t, "live", "--config", file, "--check")
		if !strings.Contains(said, c.says) || ok != strings.HasPrefix(c.says, "all") {
			t.Errorf("%q: success %v, it says %s", c.text, ok, said)
		}
		if strings.Contains(said, "guess") {
			t.Errorf("a password is told: %s", said)
		}
	}
	if said, ok := run(t, "live", "--config", "/nonexistent.toml", "--check"); ok || !strings.Contains(said, "no such file") {
		t.Error(said)
	}
}

// An endless or endlessly nested file is refused as a configuration. It is not read forever, and does not crash the
// process.
func TestConfigBombs(t *testing.T) {
	for name, text := range map[string]string{
		"long":          "tap = \"" + strings.Repeat("x", maxConfig) + "\"",
		"nested lists":  "keys = " + strings.Repeat("[", maxConfig-100),
		"closed lists":  "keys = " + strings.Repeat("[", maxConfig/2-100) + strings.Repeat("]", maxConfig/2-100),
		"nested tables": "keys = " + strings.Repeat("{a=", maxConfig/4),
		"dotted keys":   strings.Repeat("a.", maxConfig/3) + "a = 1",
		"many tables":   strings.Repeat("[a.b.c.d.e.f.g.h]\n", maxConfig/20),
	} {
		file := filepath.Join(t.TempDir(), "c.toml")
		os.WriteFile(file, []byte(text), 0o600)
		if said, ok := run(t, "live", "--config", file, "--check"); ok || !strings.Contains(said, "c.toml") || len(said) > 4096 {
			t.Errorf("%s: success %v, it says %d bytes, %.200s", name, ok, len(said), said)
		}
	}
	if said, ok := run(t, "live", "--config", "/dev/zero", "--check"); ok || !strings.Contains(said, "longer than") {
		t.Errorf("/dev/zero: success %v, %.200s", ok, said)
	}
}

// The configuration in the package is valid, and names only existing settings.
func TestPackagedConfig(t *testing.T) {
	if said, ok := run(t, "live", "--config", "../../packaging/gateway.toml", "--check"); !ok {
		t.Error(said)
	}
}

// Any file is accepted, or refused with the name of a setting or a line.
func FuzzConfig(f *testing.F) {
	packaged, _ := os.ReadFile("../../packaging/gateway.toml")
	f.Add(string(packaged))
	f.Add("interface = [\"eth0\"]\nkey-wait = \"1s\"\nworkers = 2\nmark-vlan = 7\npromiscuous = true")
	f.Fuzz(func(t *testing.T, text string) {
		var values map[string]any
		if _, err := toml.Decode(text, &values); err != nil {
			return
		}
		cmd := liveCommand()
		if err := setFlags(cmd.Flags(), "file", values); err != nil && !strings.HasPrefix(err.Error(), "file: ") {
			t.Error(err)
		}
	})
}
