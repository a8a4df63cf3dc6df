package aead

import (
	"crypto/cipher"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// BenchmarkRatio alternates between all levels, and for AES-GCM the standard library, and takes the minimum of many
// short runs of each. It reports nanoseconds per packet and the ratio of throughput to the standard library. Figures of
// one size come from one run. Module bench has the other peers.
func BenchmarkRatio(b *testing.B) {
	type contender struct {
		name string
		aead cipher.AEAD
		best time.Duration
	}
	for _, v := range variants {
		for _, open := range []bool{false, true} {
			for _, n := range []int{0, 64, 256, 576, 1024, 1420, 4096, 16384} {
				for _, adBytes := range []int{0, 13} {
					name := fmt.Sprintf("%s/%s/%d/AD=%d", v.name, map[bool]string{false: "Seal", true: "Open"}[open], n, adBytes)
					b.Run(name, func(b *testing.B) {
						key := make([]byte, v.keySize)
						peer, err := v.peer(key)
						peer = must(b, peer, err)
						var contenders []*contender
						if v.table == &kernel.AESGCMLevels {
							contenders = append(contenders, &contender{name: "std", aead: peer})
						}
						for _, row := range v.table.Rows {
							if row.Lacks() == nil {
								ours, err := v.ours(kernel.Level(row.Level), key)
								contenders = append(contenders, &contender{name: row.Name, aead: must(b, ours, err)})
							}
						}
						nonce, ad, text, out := make([]byte, v.nonceSize), make([]byte, adBytes), make([]byte, n), make([]byte, n+tagSize)
						sealed := peer.Seal(nil, nonce, text, ad)
						packets := 1 + 20000/(n+200)
						b.ResetTimer()
						for range b.N {
							for _, c := range contenders {
								start := time.Now()
								for range packets {
									if open {
										if _, err := c.aead.Open(out[:0], nonce, sealed, ad); err != nil {
											b.Fatal(err)
										}
									} else {
										c.aead.Seal(out[:0], nonce, text, ad)
									}
								}
								if took := time.Since(start); c.best == 0 || took < c.best {
									c.best = took
								}
							}
						}
						b.ReportMetric(0, "ns/op") // meaningless sum of all
						for _, c := range contenders {
							b.ReportMetric(float64(c.best.Nanoseconds())/float64(packets), c.name+"-ns")
							if std := contenders[0]; std.name == "std" && c != std {
								b.ReportMetric(float64(std.best)/float64(c.best), c.name+"/std")
							}
						}
					})
				}
			}
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			key := make([]byte, v.keySize)
			for range b.N {
				level, ok := v.table.Choose()
				if !ok {
					b.Fatal("no level works")
				}
				if _, err := v.ours(kernel.Level(level), key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOverhead alternates Seal and Open with the bare kernel, and reports the difference in nanoseconds.
func BenchmarkOverhead(b *testing.B) {
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		b.Run(row.Name, func(b *testing.B) {
			skipUnsupported(b, row)
			var key [keySize]byte
			var nonce [nonceSize]byte
			var text, out [64 + tagSize]byte
			level := kernel.Level(row.Level)
			a, err := NewChaCha20Poly1305(level, key[:])
			a = must(b, a, err)
			sealed := a.Seal(nil, nonce[:], text[:64], nil)
			args := kernel.PacketArgs{
				Out: unsafe.Pointer(&out), In: unsafe.Pointer(&text), Bytes: 64, Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&nonce),
				Tag: unsafe.Pointer(&out[64]), Total: 64, Flags: kernel.FlagFirst | kernel.FlagLast,
			}
			opens := args
			opens.In, opens.Flags = unsafe.Pointer(&sealed[0]), args.Flags|kernel.FlagOpen
			const packets = 100
			var best [4]time.Duration
			for range b.N {
				for i, f := range []func(){
					func() { kernel.ChaCha20Poly1305(level, &args) },
					func() { a.Seal(out[:0], nonce[:], text[:64], nil) },
					func() { kernel.ChaCha20Poly1305(level, &opens) },
					func() { a.Open(out[:0], nonce[:], sealed, nil) },
				} {
					start := time.Now()
					for range packets {
						f()
					}
					if took := time.Since(start); best[i] == 0 || took < best[i] {
						best[i] = took
					}
				}
			}
			ns := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / packets }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ns(best[0]), "kernel-ns")
			b.ReportMetric(ns(best[1]-best[0]), "Seal-adds-ns")
			b.ReportMetric(ns(best[3]-best[2]), "Open-adds-ns")
		})
	}
}

// BenchmarkBatch alternates between batches, the same packets individually and with another implementation, and the
// bare batch kernel. It reports nanoseconds per packet.
func BenchmarkBatch(b *testing.B) {
	for _, v := range variants {
		if v.table != &kernel.ChaCha20Poly1305Levels || v.nonceSize != nonceSize {
			continue
		}
		for _, row := range kernel.ChaCha20Poly1305BatchLevels.Rows {
			for _, open := range []bool{false, true} {
				for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 16, 64} {
					for _, bytes := range []int{16, 64, 100, 128, 180, 192, 240, 256, 300, 320, 384, 448, 576} {
						way := map[bool]string{false: "Seal", true: "Open"}[open]
						b.Run(fmt.Sprintf("%s/%s/%s/%dx%d", v.name, row.Name, way, n, bytes), func(b *testing.B) {
							skipUnsupported(b, row)
							benchmarkBatch(b, v, kernel.Level(row.Level), open, n, bytes)
						})
					}
				}
			}
		}
	}
}

func benchmarkBatch(b *testing.B, v variant, level kernel.Level, open bool, n, bytes int) {
	peers, ops := make([]cipher.AEAD, n), make([]Op, n)
	for i := range ops {
		key := make([]byte, v.keySize)
		key[0] = byte(i)
		ours, err := v.ours(level, key)
		ours = must(b, ours, err)
		peer, err := v.peer(key)
		peers[i] = must(b, peer, err)
		ops[i] = Op{AEAD: ours, Dst: make([]byte, 0, bytes+100), Nonce: make([]byte, nonceSize), Src: make([]byte, bytes, bytes+100)}
		if open {
			ops[i].Src = ours.Seal(nil, ops[i].Nonce, ops[i].Src, nil)
		}
	}
	direction := uint64(0)
	if open {
		direction = kernel.FlagOpen
	}
	if kernel.ChaCha20Poly1305BatchPlan(level) == nil {
		b.Skip("no batch kernel")
	}
	w := new(workspace)
	var p planner
	p.find(ops, direction)
	w.fill(ops, 0, &p)
	turns := []struct {
		name string
		f    func()
	}{
		{"batch", func() { runBatch(ops, direction) }},
		{"single", func() {
			for i := range ops {
				ops[i].alone(direction)
			}
		}},
		{"peer", func() {
			for i := range ops {
				if op := &ops[i]; open {
					op.Out, op.Err = peers[i].Open(op.Dst, op.Nonce, op.Src, nil)
				} else {
					op.Out = peers[i].Seal(op.Dst, op.Nonce, op.Src, nil)
				}
			}
		}},
		{"kernel", func() { w.callKernel(&p) }},
	}
	repeats := 1 + 10000/(n*(bytes+200))
	best := make([]time.Duration, len(turns))
	b.ResetTimer()
	for range b.N {
		for i, turn := range turns {
			start := time.Now()
			for range repeats {
				turn.f()
			}
			if took := time.Since(start); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, turn := range turns {
		b.ReportMetric(float64(best[i].Nanoseconds())/float64(n*repeats), turn.name+"-ns")
	}
}

// BenchmarkSeal seals packets at the chosen level.
func BenchmarkSeal(b *testing.B) {
	for _, v := range variants[:3] {
		level, ok := v.table.Choose()
		if !ok {
			b.Fatal("no level")
		}
		a, err := v.ours(kernel.Level(level), make([]byte, v.keySize))
		a = must(b, a, err)
		for _, n := range []int{64, 1420} {
			b.Run(fmt.Sprintf("%s/%d", v.name, n), func(b *testing.B) {
				buf, nonce := make([]byte, n, n+v.tagSize), make([]byte, v.nonceSize)
				for range b.N {
					a.Seal(buf[:0], nonce, buf, nil)
				}
			})
		}
	}
}
