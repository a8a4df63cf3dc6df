package batch_test

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/sealane/sealane/batch"
	"github.com/sealane/sealane/chacha20poly1305"
)

func Example() {
	var ops []batch.Op
	for i := range 3 {
		aead, err := chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize)) // one key per packet, or one for all
		if err != nil {
			panic(err)
		}
		nonce := make([]byte, chacha20poly1305.NonceSize)
		nonce[0] = byte(i)
		ops = append(ops, batch.Op{AEAD: aead, Nonce: nonce, Src: fmt.Appendf(nil, "packet %d", i)})
	}
	batch.SealBatch(ops)

	for i := range ops {
		ops[i].Dst, ops[i].Src = ops[i].Out[:0], ops[i].Out // opened in place
	}
	ops[1].Src[0] ^= 1
	fmt.Println(batch.OpenBatch(ops), "packets are authentic")
	for _, op := range ops {
		fmt.Printf("%q, %v\n", op.Out, op.Err)
	}
	// Output:
	// 2 packets are authentic
	// "packet 0", <nil>
	// "", chacha20poly1305: message authentication failed
	// "packet 2", <nil>
}

// TestOthers covers ciphers of other modules, and empty batches.
func TestOthers(t *testing.T) {
	batch.SealBatch(nil)
	if n := batch.OpenBatch([]batch.Op{}); n != 0 {
		t.Errorf("%d of no packets opened", n)
	}
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	ops := make([]batch.Op, 5)
	for i := range ops {
		ops[i] = batch.Op{AEAD: gcm, Nonce: make([]byte, 12), Src: []byte("text")}
	}
	batch.SealBatch(ops)
	for i := range ops {
		ops[i].Src = ops[i].Out
	}
	ops[4].Src = ops[4].Src[1:]
	if n := batch.OpenBatch(ops); n != 4 || string(ops[3].Out) != "text" || ops[4].Err == nil || ops[4].Out != nil {
		t.Errorf("%d opened; %+v", n, ops)
	}
}

// TestExampleProgram runs the example that is a separate program.
func TestExampleProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: builds a program")
	}
	cmd := exec.Command("go", "run", "./example")
	cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=") // for this machine, even when tests are emulated
	out, err := cmd.CombinedOutput()
	if want := "1600 packets of 256 bytes for 8 peers: 1440 authentic, 160 not\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}
