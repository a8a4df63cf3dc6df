package aes

import "testing"

// The wipe of a packet skips some fields. The level must not have written to them.
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
			if p.hashKey == [BlockSize]byte{} || p.tag == [BlockSize]byte{} {
				t.Fatal("the packet holds nothing")
			}
			p.wipe()
			key, hash := &p.message.key, &p.hash
			if key.Schedule != [len(key.Schedule)]byte{} || key.Inverse != [len(key.Inverse)]byte{} ||
				hash.Schedule != [len(hash.Schedule)]byte{} || hash.Table != [len(hash.Table)]byte{} ||
				p.hashKey != [BlockSize]byte{} || p.tag != [BlockSize]byte{} || p.sivWork != (sivWork{}) {
				t.Errorf("%d bytes: something of the packet stays", length)
			}
		}
	}
}
