package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

// runProgram makes the C program, or another one with the same output, measure for d.
func runProgram(program string, d time.Duration, cpu int) (*table, error) {
	args := []string{"--alg", alg.Name, "--seconds", strconv.FormatFloat(d.Seconds(), 'f', 2, 64)}
	if cpu >= 0 {
		args = append(args, "--cpu", strconv.Itoa(cpu))
	}
	out, err := exec.Command(program, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s", program, err, exit.Stderr)
	} else if err != nil {
		return nil, err
	}
	var report struct {
		ClockGHz    float64 `json:"clock_ghz"`
		Repetitions int
		Candidates  []candidate
		Cells       []struct {
			cell
			Ns map[string]float64
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	t := &table{Candidates: report.Candidates, ClockGHz: report.ClockGHz, Repetitions: report.Repetitions,
		Ns: make(map[cell]map[string]float64)}
	for _, c := range report.Cells {
		t.Ns[c.cell] = c.Ns
	}
	for _, c := range cells() {
		if t.Ns[c] == nil {
			return nil, fmt.Errorf("%s does not measure: %s", program, c)
		}
	}
	return t, nil
}
