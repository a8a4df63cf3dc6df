// Command example sends datagrams between two sockets of this machine.
// It seals and opens them in batches, as a tunnel does with the packets of many peers.
//
//	go run github.com/sealane/sealane/batch/example@latest
//
// Every peer has its own key. A datagram consists of the peer number (4 bytes), the packet number (8 bytes) and the
// ciphertext. The packet number is the nonce: the sender counts, and never uses a number twice.
package main

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/sealane/sealane/batch"
	"github.com/sealane/sealane/chacha20poly1305"
)

const (
	peers      = 8
	burst      = 32 // packets in a batch
	bursts     = 50
	textBytes  = 256
	headBytes  = 12
	roomBytes  = 2048
	forgedEach = 10 // every tenth datagram is forged in transit
)

// A packet is a buffer with the other fields of a batch.Op. Packets are allocated once and reused, so a batch allocates
// nothing.
type packet struct {
	buffer [roomBytes]byte
	nonce  [chacha20poly1305.NonceSize]byte
}

func main() {
	log.SetFlags(0)
	aeads := make([]cipher.AEAD, peers)
	for i := range aeads {
		key := make([]byte, chacha20poly1305.KeySize)
		rand.Read(key) // a real program gets it from a key exchange
		var err error
		if aeads[i], err = chacha20poly1305.New(key); err != nil {
			log.Fatal(err)
		}
	}
	receiver, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		if receiver, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			log.Fatal(err)
		}
	}
	sender, err := net.DialUDP("udp", nil, receiver.LocalAddr().(*net.UDPAddr))
	if err != nil {
		log.Fatal(err)
	}
	packets, ops := make([]packet, burst), make([]batch.Op, burst)
	numbers := make([]uint64, peers)
	authentic, forged := 0, 0
	for b := range bursts {
		seal(aeads, numbers, packets, ops)
		for i := range ops {
			if (b*burst+i)%forgedEach == 0 {
				ops[i].Out[len(ops[i].Out)-1] ^= 1 // forged in transit
			}
			if _, err := sender.Write(packets[i].buffer[:headBytes+len(ops[i].Out)]); err != nil {
				log.Fatal(err)
			}
		}
		n, err := receive(receiver, packets, ops, aeads)
		if err != nil {
			log.Fatal(err)
		}
		authentic += batch.OpenBatch(ops[:n])
		for i := range ops[:n] {
			if ops[i].Err != nil {
				forged++ // its buffer holds zeroes; the other packets are not affected
			}
		}
	}
	fmt.Printf("%d packets of %d bytes for %d peers: %d authentic, %d not\n", burst*bursts, textBytes, peers, authentic, forged)
}

// seal writes a burst of datagrams to the packet buffers. It seals each in place, after its header.
func seal(aeads []cipher.AEAD, numbers []uint64, packets []packet, ops []batch.Op) {
	for i := range packets {
		p, peer := &packets[i], i%peers
		numbers[peer]++
		binary.BigEndian.PutUint32(p.buffer[0:], uint32(peer))
		binary.BigEndian.PutUint64(p.buffer[4:], numbers[peer])
		copy(p.nonce[4:], p.buffer[4:headBytes])
		text := p.buffer[headBytes:][:textBytes] // here the buffer's current contents serve as plaintext
		ops[i] = batch.Op{AEAD: aeads[peer], Dst: text[:0], Nonce: p.nonce[:], Src: text, AD: p.buffer[:headBytes]}
	}
	batch.SealBatch(ops)
}

// receive reads a burst of datagrams, fills ops for those that are worth opening, in place, and returns their number.
func receive(conn *net.UDPConn, packets []packet, ops []batch.Op, aeads []cipher.AEAD) (n int, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return 0, err
	}
	for range packets {
		p := &packets[n]
		size, err := conn.Read(p.buffer[:])
		if err != nil {
			return n, err
		}
		if size < headBytes {
			continue
		}
		peer := binary.BigEndian.Uint32(p.buffer[0:])
		if peer >= peers {
			continue // a real program also rejects replays: it checks authentic packet numbers against a window
		}
		copy(p.nonce[4:], p.buffer[4:headBytes])
		sealed := p.buffer[headBytes:size]
		ops[n] = batch.Op{AEAD: aeads[peer], Dst: sealed[:0], Nonce: p.nonce[:], Src: sealed, AD: p.buffer[:headBytes]}
		n++
	}
	return n, nil
}
