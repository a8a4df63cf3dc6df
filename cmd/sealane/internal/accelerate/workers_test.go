package accelerate

import (
	"strings"
	"testing"
)

// sender and receiver are the loops of wireguard-go, in little.
const (
	sender = `package device

import (
	"crypto/cipher"
	"sync"
)

type Outbound struct {
	Buffer, Packet, Sealed []byte
	Nonce                  byte
	Send                   cipher.AEAD
}

type Container struct {
	sync.Mutex
	elems []*Outbound
}

type queue struct{ c chan *Container }

type Device struct{ queue struct{ encryption, decryption queue } }

func (device *Device) RoutineEncryption(id int) {
	var nonce [12]byte
	for elemsContainer := range device.queue.encryption.c {
		for _, elem := range elemsContainer.elems {
			nonce[4] = elem.Nonce
			elem.Packet = elem.Send.Seal(
				elem.Buffer[:4],
				nonce[:],
				elem.Packet,
				nil,
			)
		}
		elemsContainer.Unlock()
	}
}
`
	receiver = `package device

func (device *Device) RoutineDecryption(id int) {
	var nonce [12]byte
	for elemsContainer := range device.queue.decryption.c {
		for _, elem := range elemsContainer.elems {
			var err error
			nonce[4] = elem.Nonce
			content := elem.Packet[4:]
			elem.Packet, err = elem.Send.Open(
				content[:0],
				nonce[:],
				content,
				nil,
			)
			if err != nil {
				elem.Packet = nil
			}
		}
		elemsContainer.Unlock()
	}
}
`
	both = `package device

// Both seals and opens packets; every seventh is forged.
func Both(containers [][]*Outbound) {
	var d Device
	d.queue.encryption.c, d.queue.decryption.c = make(chan *Container, len(containers)), make(chan *Container, len(containers))
	var all []*Container
	for _, elems := range containers {
		c := &Container{elems: elems}
		c.Lock()
		all = append(all, c)
		d.queue.encryption.c <- c
	}
	close(d.queue.encryption.c)
	d.RoutineEncryption(0)
	n := 0
	for _, c := range all {
		c.Lock()
		for _, elem := range c.elems {
			elem.Sealed = append([]byte(nil), elem.Packet...)
			if n++; n%7 == 0 {
				elem.Packet[9] ^= 1
			}
		}
		d.queue.decryption.c <- c
	}
	close(d.queue.decryption.c)
	d.RoutineDecryption(0)
	for _, c := range all {
		c.Lock()
	}
}
`
	batchProgram = `package main

import (
	"fmt"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.zx2c4.com/wireguard/device"
)

func main() {
	aead, _ := chacha20poly1305.New(make([]byte, 32))
	var containers [][]*device.Outbound
	for n := range 40 {
		var elems []*device.Outbound
		for i := range n*n%90 {
			buffer := make([]byte, 2000)
			elems = append(elems, &device.Outbound{Buffer: buffer, Packet: buffer[4:][:i*n%1400], Nonce: byte(i), Send: aead})
		}
		containers = append(containers, elems)
	}
	device.Both(containers)
	for _, elems := range containers {
		for _, elem := range elems {
			fmt.Println(elem.Packet != nil, elem.Sealed, elem.Buffer[:4+len(elem.Packet)])
		}
	}
}
`
	wireguardMod = "module golang.zx2c4.com/wireguard\n\ngo 1.20\n"
	usesDevice   = "\nrequire golang.zx2c4.com/wireguard v0.0.0\n\nreplace golang.zx2c4.com/wireguard => ./wg\n"
)

// batched is a program with wireguard-go in little in its folder wg.
func batched(edit ...string) map[string]string {
	return plain(append([]string{
		"go.mod", mod + requires(cryptoVersion, sysVersion) + usesDevice, "main.go", batchProgram, "wg/go.mod", wireguardMod,
		"wg/device/send.go", sender, "wg/device/receive.go", receiver, "wg/device/both.go", both,
	}, edit...)...)
}

// TestBuildBatch builds programs whose workers take batches. Their output must equal the stock programs'.
func TestBuildBatch(t *testing.T) {
	change := strings.NewReplacer("elem.Send", "aead", "for _, elem := range elemsContainer.elems {", "for _, elem := range elemsContainer.elems {\naead := elem.Send\n")
	job := Job{Batch: true}
	for _, c := range []testCase{
		{name: "module", files: batched(), job: job, built: "thing"},
		{name: "changed in details", files: batched("wg/device/send.go", change.Replace(sender)), job: job, built: "thing"},
		{name: "workspace", files: batched("go.mod", mod+requires(cryptoVersion, sysVersion),
			"go.work", "go 1.24.0\n\nuse (\n\t.\n\t./wg\n)\n"), job: job, built: "thing"},
		{name: "part of wireguard", files: plain("go.mod", strings.Replace(wireguardMod, "1.20", "1.24.0", 1)+requires(cryptoVersion, sysVersion), "device/send.go", sender,
			"device/receive.go", receiver, "device/both.go", both, "main.go", batchProgram), job: job, built: "wireguard"},
		{name: "without wireguard", files: plain(), job: job, want: "does not use golang.zx2c4.com/wireguard/device"},
		{name: "file gone", files: batched("wg/device/receive.go", "package device\n", "wg/device/other.go", receiver), job: job,
			want: "this version of golang.zx2c4.com/wireguard/device cannot take batches, build it without --batch: RoutineDecryption in receive.go is not"},
		{name: "no file", files: batched("wg/device/send.go", "package device\n", "wg/device/other.go", sender), job: job, want: "RoutineEncryption in send.go"},
		{name: "two packets in a loop", files: batched("wg/device/send.go", strings.Replace(sender, "elemsContainer.Unlock()",
			"elemsContainer.elems[0].Packet = elemsContainer.elems[0].Send.Seal(nil, nonce[:], nil, nil)\nelemsContainer.Unlock()", 1)), job: job, want: "is not the loop that sealane knows"},
		{name: "unlocked elsewhere", files: batched("wg/device/send.go", strings.Replace(sender, "elemsContainer.Unlock()", "unlock(elemsContainer)", 1)+
			"\nfunc unlock(c *Container) { c.Unlock() }\n"), job: job, want: "is not the loop that sealane knows"},
		{name: "result used at once", files: batched("wg/device/send.go", strings.Replace(sender, "elem.Packet = elem.Send.Seal(", "elem.Packet = append(elem.Packet, elem.Send.Seal(", 1)+
			""), job: job, want: "send.go"},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
}
