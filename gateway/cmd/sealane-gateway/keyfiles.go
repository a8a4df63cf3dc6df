package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sealane/sealane/gateway/internal/keys"
)

// checkMode refuses key logs that others may read.
func checkMode(f *os.File, allow bool) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := st.Mode(); mode.IsRegular() && mode.Perm()&0o077 != 0 && !allow {
		return fmt.Errorf("%s has mode %04o: others can read these keys; chmod 600 it, or give --allow-readable-keys",
			f.Name(), mode.Perm())
	}
	return nil
}

// loadKeys reads a whole key log.
func loadKeys(name string, allow bool, log *keys.Log) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := checkMode(f, allow); err != nil {
		return err
	}
	if _, err := io.Copy(log, f); err != nil {
		return err
	}
	log.Flush()
	return nil
}
