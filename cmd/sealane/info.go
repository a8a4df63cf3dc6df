package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/afalg"
	"github.com/sealane/sealane/cmd/sealane/internal/binary"
	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/report"
)

func infoCommand() *cobra.Command {
	var asJSON bool
	var file string
	c := &cobra.Command{
		Use:   "info",
		Short: "Show the implementations that this machine runs and why, or those in a program",
		Example: `  sealane info
  sealane info --binary ./wireguard-go`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("binary") {
				return binaryInfo(cmd.OutOrStdout(), file, asJSON)
			}
			if err := environment(); err != nil {
				return err
			}
			return machineInfo(cmd.OutOrStdout(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&file, "binary", "", "inspect this Go program instead of this machine")
	return c
}

// A machine is the description of this machine that info prints.
type machine struct {
	Version string          `json:"sealane"`
	Go      string          `json:"go"`
	GOOS    string          `json:"goos"`
	GOARCH  string          `json:"goarch"`
	CPU     string          `json:"cpu"`
	Ciphers []machineCipher `json:"ciphers"`
	AFALG   []machineKernel `json:"af_alg"`
}

// machineKernel describes the support of the operating system's kernel through AF_ALG.
type machineKernel struct {
	Name      string `json:"name"`
	Usable    bool   `json:"usable"`
	Why       string `json:"why,omitempty"`
	Driver    string `json:"driver,omitempty"`
	Hardware  bool   `json:"hardware"`
	Selection string `json:"selection,omitempty"` // decision of SEALANE_AFALG=auto
}

type machineCipher struct {
	Name   string         `json:"name"`
	Line   report.Line    `json:"line"` // the deciding entry of asm/levels.json
	Levels []machineLevel `json:"levels"`

	Batches *machineBatches `json:"batches,omitempty"`
}

// machineBatches describes when packets are processed side by side at the chosen level.
type machineBatches struct {
	From []int `json:"from"` // smallest useful batch, by the number of whole 64-byte blocks in its packets; 0: no useful batch
}

// batches returns nil if the level in use processes packets individually.
func batches() *machineBatches {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil
	}
	plan := kernel.ChaCha20Poly1305BatchPlan(level)
	if plan == nil {
		return nil
	}
	b := new(machineBatches)
	for _, n := range plan.From {
		b.From = append(b.From, int(n))
	}
	return b
}

func (b *machineBatches) String() string {
	var pay []string
	for _, size := range []int{64, 256, 576, 1420} {
		if from := b.From[size/64]; from != 0 {
			pay = append(pay, fmt.Sprintf("from %d packets of %d bytes", from, size))
		}
	}
	if pay == nil {
		pay = []string{"at no size from 64 to 1420 bytes"}
	}
	return strings.Join(pay, ", ")
}

type machineLevel struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Needs       []string `json:"needs"`
	Lacks       []string `json:"lacks"`
	SelfTest    string   `json:"self_test"` // passed, failed or not run
	Chosen      bool     `json:"chosen"`
	Why         string   `json:"why"`
}

func thisMachine() machine {
	m := machine{Version: version(), Go: runtime.Version(), GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, CPU: cpuName()}
	for _, c := range sealane.Ciphers() {
		cipher := machineCipher{Name: c.Name, Line: lineOf(c.Name)}
		for _, l := range c.Levels {
			level := machineLevel{Name: l.Name, Description: l.Description, Needs: []string{}, Lacks: []string{}, SelfTest: selfTest(l), Chosen: l.Chosen, Why: l.Why}
			for _, f := range l.Needs {
				level.Needs = append(level.Needs, f.Name)
				if !f.Present {
					level.Lacks = append(level.Lacks, f.Name)
				}
			}
			cipher.Levels = append(cipher.Levels, level)
		}
		if c.Name == kernel.ChaCha20Poly1305Levels.Primitive {
			cipher.Batches = batches()
		}
		m.Ciphers = append(m.Ciphers, cipher)
	}
	m.AFALG = kernels()
	return m
}

// lineOf returns the entry of the CPU table that decides a cipher's level.
func lineOf(cipher string) report.Line {
	if strings.HasPrefix(cipher, "aes") {
		return report.LineOf(&kernel.AESGCMLevels)
	}
	return report.LineOf(&kernel.ChaCha20Poly1305Levels)
}

func kernels() []machineKernel {
	var all []machineKernel
	for _, s := range afalg.Available() {
		all = append(all, machineKernel{Name: string(s.Algorithm), Usable: s.Usable, Why: s.Why, Driver: s.Driver, Hardware: s.Hardware})
	}
	for i, s := range afalg.Selections() {
		choice := "in the process: "
		if s.Kernel {
			choice = "in the kernel: "
		}
		all[i].Selection = choice + s.Why
	}
	return all
}

func (k machineKernel) String() string {
	if !k.Usable {
		return "not usable: " + k.Why
	}
	switch {
	case k.Driver == "":
		return "known-answer tests passed; driver unknown"
	case k.Hardware:
		return "known-answer tests passed; driver " + k.Driver + ", a crypto engine"
	}
	return "known-answer tests passed; driver " + k.Driver + ", software"
}

func selfTest(l sealane.Level) string {
	switch {
	case !l.Supported:
		return "not run"
	case l.Passed:
		return "passed"
	}
	return "failed"
}

func machineInfo(w io.Writer, asJSON bool) error {
	m := thisMachine()
	if asJSON {
		return writeJSON(w, m)
	}
	fmt.Fprintf(w, "sealane %s, %s, %s/%s\n%s\n", m.Version, m.Go, m.GOOS, m.GOARCH, m.CPU)
	for _, c := range m.Ciphers {
		fmt.Fprintf(w, "\n%s\n", c.Name)
		for _, l := range c.Levels {
			mark := " "
			if l.Chosen {
				mark = "*"
			}
			fmt.Fprintf(w, "%s %-9s  self-test %-7s  %s\n", mark, l.Name, l.SelfTest, l.Why)
			needs := "nothing"
			if len(l.Needs) > 0 {
				needs = strings.Join(l.Needs, " ")
			}
			fmt.Fprintf(w, "             %s; needs %s\n", l.Description, needs)
		}
		fmt.Fprintf(w, "  %-9s  %s\n", "CPU", c.Line)
		if c.Batches != nil {
			fmt.Fprintf(w, "  %-9s  faster %s\n", "batches", c.Batches)
		}
	}
	fmt.Fprintf(w, "\nLinux kernel, through AF_ALG (only for programs that import package afalg, with SEALANE_AFALG=auto)\n")
	for _, k := range m.AFALG {
		fmt.Fprintf(w, "  %s  %s\n", k.Name, k)
		if k.Selection != "" {
			fmt.Fprintf(w, "             SEALANE_AFALG=auto: %s\n", k.Selection)
		}
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// cpuName returns the operating system's name of the processor.
func cpuName() string {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for _, line := range strings.Split(string(content), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "a " + runtime.GOARCH + " processor"
}

func binaryInfo(w io.Writer, file string, asJSON bool) error {
	p, err := binary.Read(file)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(w, p)
	}
	name := p.Package
	if p.Module != "" {
		name += strings.TrimSuffix(", module "+p.Module+" "+p.Version, " ")
	}
	fmt.Fprintf(w, "%s\n%s, %s/%s\n", name, p.Go, p.GOOS, p.GOARCH)
	if p.Uses || p.Stream == binary.OnSealane || p.SSH == binary.OnSealane || p.StdGCM == binary.OnSealane || p.StdCipher == binary.OnSealane || p.StdModes == binary.OnSealane {
		fmt.Fprintf(w, "contains sealane %s, levels %s\n", p.Sealane, strings.Join(p.Levels, " "))
	} else {
		fmt.Fprintln(w, "does not contain sealane")
	}
	xcrypto := ""
	switch {
	case p.Called:
		xcrypto = binary.OnSealane
	case p.Stock:
		xcrypto = binary.Stock
	}
	for _, cipher := range []struct{ name, runs, with string }{
		{strings.TrimSpace("golang.org/x/crypto "+p.Crypto) + ", ChaCha20-Poly1305", xcrypto, "sealane build"},
		{"golang.org/x/crypto, bare ChaCha20", p.Stream, map[bool]string{true: "sealane build"}[p.GOARCH == "amd64" || p.GOARCH == "arm"]},
		{"golang.org/x/crypto/ssh, ChaCha20-Poly1305", p.SSH, "sealane build"},
		{"standard library, ChaCha20-Poly1305", p.StdCipher, "sealane build --std"},
		{"standard library, AES-GCM", p.StdGCM, "sealane build --std"},
		{"standard library, AES-CTR and AES-CBC", p.StdModes, map[bool]string{true: "sealane build --std"}[p.GOARCH == "amd64" || p.GOARCH == "arm64"]},
	} {
		switch cipher.runs {
		case binary.OnSealane:
			fmt.Fprintf(w, "%s: runs on sealane\n", cipher.name)
		case binary.Stock:
			if cipher.with == "" {
				fmt.Fprintf(w, "%s: stock\n", cipher.name)
			} else {
				fmt.Fprintf(w, "%s: stock; %s replaces it\n", cipher.name, cipher.with)
			}
		default:
			fmt.Fprintf(w, "%s: not in the program\n", cipher.name)
		}
	}
	for _, other := range p.Others {
		fmt.Fprintf(w, "%s has its own ChaCha20-Poly1305\n", other)
	}
	return nil
}

func selftestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "selftest",
		Short: "Run the known-answer tests of every implementation that this CPU can run",
		Long:  "Run the known-answer tests of every implementation that this CPU can run. The exit status is 0 if all of them pass.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := environment(); err != nil {
				return err
			}
			var failed []string
			for _, c := range thisMachine().Ciphers {
				for _, l := range c.Levels {
					why := ""
					if l.SelfTest == "not run" {
						why = ": " + l.Why
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s %-8s  %s%s\n", c.Name, l.Name, l.SelfTest, why)
					if l.SelfTest == "failed" {
						failed = append(failed, c.Name+" "+l.Name)
					}
				}
			}
			if len(failed) > 0 {
				return errors.New("known-answer tests failed: " + strings.Join(failed, ", "))
			}
			return nil
		},
	}
}
