// Nicmodel models network processors whose engines have memories of different sizes and latencies.
// It computes the best place for the data of ChaCha20-Poly1305, and the resulting packets per second.
//
//	nicmodel            writes results.md and the plots from measured.json
//	nicmodel -measure   measures this machine's caches and its AEAD over many flows, and writes measured.json
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("nicmodel: ")
	measured := flag.Bool("measure", false, "measure this machine and write measured.json")
	flag.Parse()
	if err := run(*measured); err != nil {
		log.Fatal(err)
	}
}

func run(measured bool) error {
	if measured {
		m, err := measure()
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile("measured.json", append(text, '\n'), 0o644)
	}
	m, err := readMeasurements("measured.json")
	if err != nil {
		return err
	}
	gateway, err := readGateway("gateway.json")
	if err != nil {
		return err
	}
	r := newReport(m, gateway)
	if err := os.WriteFile("results.md", []byte(r.text()), 0o644); err != nil {
		return err
	}
	if err := r.plotPackets("packets.svg"); err != nil {
		return err
	}
	return r.plotFlows("flows.svg")
}

func readMeasurements(path string) (*measurements, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := new(measurements)
	return m, json.Unmarshal(text, m)
}
