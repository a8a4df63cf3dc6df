package packet

import "testing"

// The cost of finding the core of a packet.
func BenchmarkUsual(b *testing.B) {
	p := NewPlacement()
	var template Template
	x, y := [16]byte{10: 0xff, 11: 0xff, 12: 10}, [16]byte{10: 0xff, 11: 0xff, 12: 11}
	template.Init(&[12]byte{}, 0, false, &x, &y, 5000, 443)
	frame := make([]byte, template.Size()+100)
	template.Build(frame, 1, 1, ACK, 1, frame[:100], false)
	sum := uint32(0)
	for b.Loop() {
		h, _ := p.Usual(frame)
		sum += h
	}
	_ = sum
}
