// Command age encrypts a file with filippo.io/age, and decrypts it.
package main

import (
	"fmt"
	"io"

	"filippo.io/age"

	"github.com/sealane/sealane/test/long/gains/measure"
)

func main() { measure.Main("chacha20poly1305", transfer) }

func transfer(suite string, size int64, begin func()) error {
	if suite != "chacha20poly1305" {
		return fmt.Errorf("age has no %s", suite)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	begin()
	r, w := io.Pipe()
	go func() {
		sealed, err := age.Encrypt(w, identity.Recipient())
		if err == nil {
			err = measure.Write(sealed, size)
		}
		if err == nil {
			err = sealed.Close()
		}
		w.CloseWithError(err)
	}()
	opened, err := age.Decrypt(r, identity)
	if err != nil {
		return err
	}
	return measure.Check(opened, size)
}
