package aes

import "testing"

// A wipe clears the whole packet.
func TestGCMSIVWiped(t *testing.T) {
	for _, size := range []int{16, 32} {
		a, err := NewGCMSIV([]byte("a key for AES-GCM-SIV, 32 bytes.")[:size])
		if err != nil {
			t.Fatal(err)
		}
		for _, length := range []int{0, 15, 100, 5000} {
			var p sivPacket
			nonce, text := []byte("twelve bytes"), make([]byte, length)
			p.derive(a.(*gcmSIV), nonce, length)
			p.makeTag(nonce, text, nonce)
			p.crypt(text, text, &p.tag)
			key := &p.key
			if key.Schedule == [len(key.Schedule)]byte{} || key.Table == [len(key.Table)]byte{} ||
				p.hashKey == [BlockSize]byte{} || p.tag == [BlockSize]byte{} {
				t.Fatal("the packet holds nothing")
			}
			p.wipe()
			if p != (sivPacket{}) {
				t.Errorf("%d bytes: something of the packet stays", length)
			}
		}
	}
}
