package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

type frame struct {
	time int64
	data string
}

func read(t testing.TB, r io.Reader) (frames []frame, secrets string, err error) {
	c, err := NewReader(r)
	if err != nil {
		return nil, "", err
	}
	c.Secrets = func(b []byte) { secrets += string(b) }
	var b Block
	for {
		if err := c.ReadBlock(&b); err == io.EOF {
			return frames, secrets, nil
		} else if err != nil {
			return frames, secrets, err
		}
		for _, f := range b.Frames {
			frames = append(frames, frame{f.Time, string(f.Data)})
		}
	}
}

// oracle reads with gopacket.
func oracle(t *testing.T, file []byte) (frames []frame) {
	var src gopacket.PacketDataSource
	var err error
	if file[0] == 0x0a {
		src, err = pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	} else {
		src, err = pcapgo.NewReader(bytes.NewReader(file))
	}
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, ci, err := src.ReadPacketData()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame{ci.Timestamp.UnixNano(), string(data)})
	}
}

func same(t *testing.T, got, want []frame) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d frames, gopacket reads %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("frame %d: %d bytes at %d, gopacket reads %d at %d", i, len(got[i].data), got[i].time, len(want[i].data), want[i].time)
		}
	}
}

func TestFilesAsGopacket(t *testing.T) {
	names, _ := filepath.Glob("../../testdata/*.pcap*")
	if len(names) < 15 {
		t.Fatalf("%d captures", len(names))
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := oracle(t, file)
		for what, r := range map[string]io.Reader{
			"whole": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)),
			"data with error": iotest.DataErrReader(bytes.NewReader(file)), "halves": iotest.HalfReader(bytes.NewReader(file)),
		} {
			if what == "byte by byte" && len(file) > 30000 {
				continue
			}
			got, secrets, err := read(t, r)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
			same(t, got, want)
			if (len(secrets) > 0) != (filepath.Ext(name) == ".pcapng") {
				t.Errorf("%s: %d bytes of secrets", name, len(secrets))
			}
		}
	}
}

// More than one block of memory, of packets of all sizes.
func TestLongFile(t *testing.T) {
	var file, ng bytes.Buffer
	w := pcapgo.NewWriterNanos(&file)
	w.WriteFileHeader(1<<18, layers.LinkTypeEthernet)
	n, err := pcapgo.NewNgWriter(&ng, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 200000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for i := 0; i < 400; i++ {
		size := i * i % 150001
		ci := gopacket.CaptureInfo{Timestamp: time.Unix(1700000000, int64(i)*12345), CaptureLength: size, Length: size}
		w.WritePacket(ci, data[:size])
		n.WritePacket(ci, data[:size])
	}
	n.Flush()
	for _, f := range [][]byte{file.Bytes(), ng.Bytes()} {
		got, _, err := read(t, bytes.NewReader(f))
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, oracle(t, f))
	}
}

// The other byte order, and units of time other than those of powers of ten.
func TestBigEndianPcapng(t *testing.T) {
	var b []byte
	o := binary.BigEndian
	block := func(kind uint32, body []byte) {
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		b = o.AppendUint32(b, kind)
		b = o.AppendUint32(b, uint32(12+len(body)))
		b = append(b, body...)
		b = o.AppendUint32(b, uint32(12+len(body)))
	}
	block(0x0a0d0d0a, o.AppendUint64(append(o.AppendUint32(nil, 0x1a2b3c4d), 0, 1, 0, 0), ^uint64(0)))
	// Resolution 2^-10, and an offset of 100 seconds.
	block(1, append([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0x8a, 0, 0, 0, 0, 14, 0, 8}, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0))
	block(6, append(o.AppendUint32(nil, 0), 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 3, 0, 0, 0, 3, 'a', 'b', 'c')) // 1536/1024 s
	block(0x12345, []byte("something else"))
	block(3, append(o.AppendUint32(nil, 2), 'd', 'e'))
	got, _, err := read(t, bytes.NewReader(b))
	if err != nil || len(got) != 2 || got[0] != (frame{101500000000, "abc"}) || got[1].data != "de" {
		t.Errorf("%v, %v", got, err)
	}
}

// Captures that end anywhere, or have any byte changed, give the frames before, then an error or an end.
func TestDamage(t *testing.T) {
	for _, name := range []string{"s-0rtt.pcap", "s-aes128-dsb.pcapng"} {
		file, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		file = file[:6500]
		want, _, _ := read(t, bytes.NewReader(file))
		for n := 24; n < len(file); n += 7 {
			got, _, err := read(t, bytes.NewReader(file[:n]))
			if len(got) > len(want) {
				t.Fatalf("%d frames of %d", len(got), len(want))
			}
			same(t, got, want[:len(got)])
			_ = err
			broken := bytes.Clone(file)
			broken[n] ^= 0x80
			read(t, bytes.NewReader(broken))
		}
	}
	for _, bad := range []string{"", "GET / HTTP/1.1\r\nHost: nobody\r\n\r\n", "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00AAAABBBBCCCC"} {
		if _, _, err := read(t, bytes.NewReader([]byte(bad))); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func FuzzReader(f *testing.F) {
	names, _ := filepath.Glob("../../testdata/s-0rtt*.pcap")
	for _, name := range append(names, "../../testdata/s-aes128-dsb.pcapng") {
		file, _ := os.ReadFile(name)
		f.Add(file[:min(len(file), 4000)])
	}
	// The suite's damaged captures: blocks that are endless, empty, or contradict each other.
	file, _ := os.ReadFile("../../testdata/s-aes128-dsb.pcapng")
	for _, at := range []int{4, 8, 28, 32, 36, 60} {
		for _, size := range []uint32{0, 11, 12, 1 << 20, 1<<24 + 4, 0xfffffffc, 0xffffffff} {
			b := bytes.Clone(file[:min(len(file), 2000)])
			binary.LittleEndian.PutUint32(b[at:], size)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		frames, _, _ := read(t, bytes.NewReader(file))
		n := 0
		for _, f := range frames {
			n += len(f.data)
		}
		if n > len(file) {
			t.Errorf("%d bytes of frames in %d bytes", n, len(file))
		}
	})
}
