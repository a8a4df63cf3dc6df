package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A configuration file is TOML with the names of the flags: interface = ["eth0"], key-wait = "50ms", workers = 2. The
// command line takes precedence.

// Flags that are allowed only on the command line.
var notInFiles = []string{"config", "check", "help"}

// A configuration is the source of a command's settings.
type configuration struct {
	file  string
	check bool
	argv  map[string]bool // flags set on the command line
}

func (c *configuration) flags(f *pflag.FlagSet) {
	f.StringVar(&c.file, "config", "", "read settings from this TOML file, named like these flags; flags on the command line take precedence")
	f.BoolVar(&c.check, "check", false, "check all settings, and do nothing else")
}

// applyConfig sets the flags of cmd from the file in --config, if there is one.
func applyConfig(cmd *cobra.Command) error {
	name := cmd.Flags().Lookup("config")
	if name == nil || name.Value.String() == "" {
		return nil
	}
	return loadConfig(cmd.Flags(), name.Value.String())
}

// Limits of a configuration file. Real ones have a few kilobytes and no nested tables. Parsing time grows with the
// square of the nesting depth.
const (
	maxConfig  = 64 << 10
	maxNesting = 100
)

func readConfig(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(b) > maxConfig {
		return "", fmt.Errorf("%s: longer than %d bytes", file, maxConfig)
	}
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) > maxNesting {
		return "", fmt.Errorf("%s: more than %d lists and tables", file, maxNesting)
	}
	for n, line := range bytes.Split(b, []byte{'\n'}) {
		if name, _, _ := bytes.Cut(line, []byte{'='}); bytes.Count(name, []byte{'.'}) > maxNesting && !bytes.ContainsAny(name, `"'#`) {
			return "", fmt.Errorf("%s, line %d: unknown setting", file, n+1)
		}
	}
	return string(b), err
}

// loadConfig sets flags that are not set yet.
func loadConfig(f *pflag.FlagSet, file string) error {
	text, err := readConfig(file)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	var values map[string]any
	if _, err := toml.Decode(text, &values); err != nil {
		var where toml.ParseError
		if errors.As(err, &where) {
			return fmt.Errorf("%s, line %d: %s", file, where.Position.Line, where.Message)
		}
		return fmt.Errorf("--config: %w", err)
	}
	return setFlags(f, file, values)
}

// setFlags sets all flags, or returns an error that names the first wrong one in alphabetical order.
func setFlags(f *pflag.FlagSet, file string, values map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		flag := f.Lookup(name)
		if flag == nil || slices.Contains(notInFiles, name) {
			return fmt.Errorf("%s: %s: unknown setting", file, name)
		}
		if flag.Changed {
			continue
		}
		if err := setFlag(flag, values[name]); err != nil {
			return fmt.Errorf("%s: %s: %w", file, name, err)
		}
		flag.Changed = true
	}
	return nil
}

func setFlag(flag *pflag.Flag, value any) error {
	kind := flag.Value.Type()
	said := fmt.Sprint(value)
	if len(said) > 80 {
		said = said[:80] + "..."
	}
	wrong := fmt.Errorf("%s is no %s", said, kinds[kind])
	switch v := value.(type) {
	case string:
		switch kind {
		case "stringSlice", "stringArray":
			return flag.Value.(pflag.SliceValue).Replace([]string{v})
		case "string":
			return flag.Value.Set(v)
		case "duration":
			if flag.Value.Set(v) != nil {
				return wrong
			}
			return nil
		}
	case int64:
		if kind == "int" || kind == "uint16" {
			if flag.Value.Set(strconv.FormatInt(v, 10)) != nil {
				return wrong
			}
			return nil
		}
	case bool:
		if kind == "bool" {
			return flag.Value.Set(strconv.FormatBool(v))
		}
	case []any:
		if kind != "stringSlice" && kind != "stringArray" {
			return wrong
		}
		all := make([]string, len(v))
		for i := range v {
			s, ok := v[i].(string)
			if !ok {
				return wrong
			}
			all[i] = s
		}
		return flag.Value.(pflag.SliceValue).Replace(all)
	}
	return wrong
}

var kinds = map[string]string{"stringSlice": "list of strings", "stringArray": "list of strings", "string": "string", "duration": `duration, such as "50ms"`, "int": "number",
	"uint16": "number up to 65535", "bool": "true or false"}
