package accelerate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/cmd/sealane/internal/binary"
)

// tlsProgram prints the packets, errors and panics of the standard library's AES-GCM for nonces and tags of all lengths. It
// also prints the bytes that arrive through TLS with every cipher suite that has an AEAD.
const tlsProgram = `package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"testing"
	"time"
)

func try(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(what, "panics:", r)
		}
	}()
	f()
}

func sum(b []byte) string { s := sha256.Sum256(b); return fmt.Sprintf("%d bytes %x", len(b), s[:8]) }

func gcm() {
	data := make([]byte, 200000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	for keyBytes := 16; keyBytes <= 32; keyBytes += 8 {
		block, _ := aes.NewCipher(data[7:][:keyBytes])
		for _, nonceBytes := range []int{12, 1, 8, 16, 100, 0, -1} {
			a, err := cipher.NewGCMWithNonceSize(block, nonceBytes)
			fmt.Println(keyBytes, nonceBytes, err)
			if err != nil {
				continue
			}
			for _, n := range []int{0, 1, 16, 100, 1420, 5000, 70000, 140000} {
				sealed := a.Seal(nil, data[:nonceBytes], data[:n], data[:n%50])
				opened, err := a.Open(nil, data[:nonceBytes], sealed, data[:n%50])
				fmt.Println(sum(sealed), sum(opened), err)
				sealed[n/2] ^= 1
				out := make([]byte, 0, n)
				opened, err = a.Open(out, data[:nonceBytes], sealed, data[:n%50])
				fmt.Println(opened, err, sum(out[:n]))
			}
			try("nonce", func() { a.Seal(nil, data[:nonceBytes+1], data[:5], nil) })
			try("nonce", func() { a.Open(nil, data[:nonceBytes+1], data[:50], nil) })
			try("overlap", func() { a.Seal(data[1:1], data[:nonceBytes], data[:50], nil) })
			try("overlap", func() { a.Open(data[1:1], data[:nonceBytes], data[:50], nil) })
			try("overlap with data", func() { a.Seal(data[100:100], data[:nonceBytes], data[:50], data[110:120]) })
			_, err = a.Open(nil, data[:nonceBytes], data[:5], nil)
			fmt.Println(err, a.NonceSize(), a.Overhead())
		}
		for tagBytes := 11; tagBytes <= 17; tagBytes++ {
			a, err := cipher.NewGCMWithTagSize(block, tagBytes)
			fmt.Println(keyBytes, tagBytes, err)
			if err == nil {
				sealed := a.Seal(nil, data[:12], data[:99], data[:9])
				fmt.Println(sum(sealed), len(a.Seal([]byte("prefix"), data[:12], nil, nil)))
				fmt.Println(a.Open(sealed[:0], data[:12], sealed, data[:9]))
			}
		}
		a, err := cipher.NewGCMWithRandomNonce(block)
		fmt.Println(err)
		sealed := a.Seal(nil, nil, data[:300], data[:3])
		opened, err := a.Open(nil, nil, sealed, data[:3])
		fmt.Println(len(sealed), sum(opened), err)
		copied := append(data[:300:300], make([]byte, 28)...)
		copied = a.Seal(copied[:0], nil, copied[:300], nil)
		copied, err = a.Open(copied[:0], nil, copied, nil)
		fmt.Println(sum(copied), err)
	}
}

func modes() {
	data := make([]byte, 150000)
	for i := range data {
		data[i] = byte(i*i>>5 + i)
	}
	for keyBytes := 16; keyBytes <= 32; keyBytes += 8 {
		block, _ := aes.NewCipher(data[3:][:keyBytes])
		all := sha256.New()
		for _, low := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\xff\xff\xff\xf8", "\xff\xff\xff\xff\xff\xff\xff\xd5"} {
			for _, high := range []string{"\x01\x02\x03\x04\x05\x06\x07\x08", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
				one := cipher.NewCTR(block, []byte(high+low))
				out := make([]byte, len(data))
				for _, n := range []int{65536, 65537, 131072 + 40, len(data)} {
					cipher.NewCTR(block, []byte(high+low)).XORKeyStream(out, data[:n])
					all.Write(out[:n])
				}
				for n := 0; n < 600; n++ {
					one.XORKeyStream(out[5:], data[n:2*n])
					one.XORKeyStream(out[:n], out[:n])
					all.Write(out[:600])
				}
				fmt.Printf("%d CTR %x\n", keyBytes, all.Sum(nil)[:8])
				encrypt, decrypt := cipher.NewCBCEncrypter(block, []byte(high+low)), cipher.NewCBCDecrypter(block, []byte(low+high))
				for n := 0; n <= 140000; n += 16 + n/40&^15 {
					encrypt.CryptBlocks(out[16:], data[:n])
					encrypt.CryptBlocks(out[:n], out[:n])
					all.Write(out[:n+1])
					decrypt.CryptBlocks(out[16:], data[1:n+1])
					decrypt.CryptBlocks(out[:n], out[:n])
					all.Write(out[:n+1])
					if n%3 == 1 {
						encrypt.(interface{ SetIV([]byte) }).SetIV(data[:16])
						decrypt.(interface{ SetIV([]byte) }).SetIV(data[n:][:16])
					}
				}
				fmt.Printf("%d CBC %x\n", keyBytes, all.Sum(nil)[:8])
				try("CTR, too short", func() { one.XORKeyStream(data[:1999], data[:2000]) })
				try("CTR, overlap", func() { one.XORKeyStream(data[1:2001], data[:2000]) })
				try("CBC, no blocks", func() { decrypt.CryptBlocks(data[:2001], data[:2001]) })
				try("CBC, too short", func() { decrypt.CryptBlocks(data[:1984], data[:2000]) })
				try("CBC, overlap", func() { encrypt.CryptBlocks(data[16:2016], data[:2000]) })
				try("CBC, overlap", func() { decrypt.CryptBlocks(data[15:2015], data[:2000]) })
				if os.Getenv("ALLOCATIONS") == "any" {
					continue
				}
				fmt.Println("allocations:", testing.AllocsPerRun(10, func() {
					one.XORKeyStream(out[:4096], out[:4096])
					encrypt.CryptBlocks(out[:4096], out[:4096])
					decrypt.CryptBlocks(out[:4096], out[:4096])
				}))
			}
		}
		for n := 0; n < 16; n++ {
			try("CTR", func() { cipher.NewCTR(block, data[:n]) })
			try("CBC", func() { cipher.NewCBCDecrypter(block, data[:n]) })
		}
		out := make([]byte, 16)
		block.Encrypt(out, data[:16])
		block.Decrypt(data[:16], data[16:])
		fmt.Printf("%d %x %x\n", keyBytes, out, data[:16])
	}
}

func session(version uint16, suite uint16) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"here"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	server, client := net.Pipe()
	config := &tls.Config{MinVersion: version, MaxVersion: version, CipherSuites: []uint16{suite}, InsecureSkipVerify: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	go func() {
		s := tls.Server(server, config)
		text := make([]byte, 300000)
		for i := range text {
			text[i] = byte(i >> 4)
		}
		s.Write(text)
		s.Close()
	}()
	c := tls.Client(client, config)
	text, err := io.ReadAll(c)
	state := c.ConnectionState()
	fmt.Println(tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite), sum(text), err)
}

func main() {
	// The first calls of all are made side by side.
	first := make(chan string)
	block, _ := aes.NewCipher(make([]byte, 16))
	for i := range 8 {
		go func() {
			b := make([]byte, 4096)
			switch i % 3 {
			case 0:
				cipher.NewCTR(block, b[:16]).XORKeyStream(b, b)
			case 1:
				cipher.NewCBCDecrypter(block, b[:16]).CryptBlocks(b, b)
			default:
				cipher.NewCBCEncrypter(block, b[:16]).CryptBlocks(b, b)
			}
			first <- fmt.Sprint(i%3, " ", sum(b))
		}()
	}
	var sums []string
	for range 8 {
		sums = append(sums, <-first)
	}
	slices.Sort(sums)
	fmt.Println(sums)
	gcm()
	modes()
	session(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA)
	for _, suite := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256} {
		session(tls.VersionTLS12, suite)
	}
	session(tls.VersionTLS13, 0)
}
`

func tlsFiles(edit ...string) map[string]string {
	files := map[string]string{"go.mod": mod, "main.go": tlsProgram}
	for i := 0; i < len(edit); i += 2 {
		files[edit[i]] = edit[i+1]
	}
	return files
}

func vendorSomething(t *testing.T, dir string) { mustRun(t, dir, "go", "mod", "vendor") }

// TestStd builds programs on sealane that use the standard library's ciphers. Their output must equal the stock
// programs'.
func TestStd(t *testing.T) {
	if len(gcmKernels(runtime.GOARCH)) == 0 {
		t.Skip("NOT RUN: sealane has no kernels for " + runtime.GOARCH)
	}
	std := func(flags ...string) Job { return Job{Std: true, Flags: flags} }
	overlay := "package main\n\nfunc init() { println(\"overlaid\") }\n"
	cases := []testCase{
		{name: "TLS", files: tlsFiles(), job: std(), built: "thing"},
		{name: "x/crypto too", files: plain("tls.go", strings.Replace(tlsProgram, "func main()", "func init()", 1)), job: std(), built: "thing"},
		{name: "only x/crypto", files: plain(), job: std(), built: "thing"},
		{name: "workspace", files: tlsFiles("go.work", "go 1.24.0\n\nuse .\n"), job: std(), built: "thing"},
		{name: "an overlay of its own", files: tlsFiles("more.txt", overlay, "overlay.json", `{"Replace": {"more.go": "more.txt"}}`), job: std("-overlay=overlay.json"), built: "thing"},
		{name: "GOFLAGS", files: tlsFiles("tagged.go", "//go:build special\n\npackage main\n\nfunc init() { println(\"tagged\") }\n"), job: std(),
			setUp: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "-mod=mod -tags=special") }, built: "thing"},
		{name: "an overlay in GOFLAGS", files: tlsFiles("more.txt", overlay, "overlay.json", `{"Replace": {"more.go": "more.txt"}}`), job: std(),
			setUp: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "-overlay=overlay.json") }, built: "thing"},
		{name: "no such overlay", files: tlsFiles(), job: std("-overlay=overlay.json"), want: "overlay.json: no such file"},
		{name: "overlay without =", files: tlsFiles(), job: std("-overlay", "overlay.json"), want: "write -overlay overlay.json with ="},
		{name: "vendored", files: plain("tls.go", strings.Replace(tlsProgram, "func main()", "func init()", 1)), setUp: vendorSomething, job: std(), want: "-mod=mod"},
		{name: "nothing to accelerate", files: map[string]string{"go.mod": mod, "main.go": "package main\n\nfunc main() {}\n"}, job: std(), want: "uses neither"},
		{name: "never called", files: map[string]string{"go.mod": mod, "main.go": "package main\n\nimport _ \"crypto/tls\"\n\nfunc main() {}\n"}, job: std(), want: "never seals or opens"},
		{name: "GOFIPS140", files: tlsFiles(), job: std(), setUp: func(t *testing.T, _ string) { t.Setenv("GOFIPS140", "latest") }, want: "GOFIPS140=latest asks for a FIPS 140-3 module"},
		{name: "a validated module", files: tlsFiles(), job: std(), setUp: func(t *testing.T, _ string) { t.Setenv("GOFIPS140", "v1.0.0") }, want: "is not validated"},
		{name: "FIPS mode in a directive", files: tlsFiles("fips.go", "//go:debug fips140=on\npackage main\n"), job: std(), want: "turns FIPS 140-3 mode on by itself (fips140=on"},
		{name: "FIPS mode in go.mod", files: tlsFiles("go.mod", mod+"\ngodebug fips140=only\n"), job: std(), want: "turns FIPS 140-3 mode on by itself (fips140=only"},
		{name: "boringcrypto", files: tlsFiles(), job: std(), setUp: func(t *testing.T, _ string) { t.Setenv("GOEXPERIMENT", "boringcrypto") }, want: "BoringSSL"},
		{name: "no kernels", files: tlsFiles(), job: Job{Std: true, GOOS: "linux", GOARCH: "loong64"}, want: "no kernel for loong64"},
		{name: "wasm", files: tlsFiles(), job: Job{Std: true, GOOS: "js", GOARCH: "wasm"}, want: "no kernel for wasm"},
		{name: "Windows on ARM", files: tlsFiles(), job: Job{Std: true, GOOS: "windows", GOARCH: "arm64"}, want: "windows/arm64"},
		{name: "offline, latest", files: tlsFiles(), job: Job{Std: true, Package: "golang.zx2c4.com/wireguard@latest"}, want: "this needs the network"},
		{name: "not in the module cache", files: tlsFiles("go.mod", mod+requires("golang.org/x/text v0.1.0"), "text.go", "package main\n\nimport _ \"golang.org/x/text\"\n"), job: std(), want: "go.sum"},
	}
	if *long {
		cases = append(cases,
			testCase{name: "-trimpath", files: tlsFiles(), job: std("-trimpath"), built: "thing"},
			testCase{name: "kernels left out", files: tlsFiles(), job: std("-tags=purego"), want: "has only the levels portable of"},
			testCase{name: "for Windows", files: tlsFiles(), job: Job{Std: true, GOOS: "windows", GOARCH: "amd64"}, built: "thing.exe"},
			testCase{name: "for macOS", files: tlsFiles(), job: Job{Std: true, GOOS: "darwin", GOARCH: "arm64"}, built: "thing"},
			testCase{name: "for 64-bit ARM", files: tlsFiles(), job: Job{Std: true, GOOS: "linux", GOARCH: "arm64"}, built: "thing"},
			testCase{name: "for 32-bit ARM", files: tlsFiles(), job: Job{Std: true, GOOS: "linux", GOARCH: "arm"}, built: "thing"},
			testCase{name: "race detector", files: tlsFiles(), job: std("-race"), setUp: func(t *testing.T, _ string) {
				t.Setenv("CGO_ENABLED", "1")
				t.Setenv("ALLOCATIONS", "any") // the detector is told which bytes assembly reads and writes
			}, built: "thing"})
	}
	root := strings.TrimSpace(mustRun(t, ".", "go", "env", "GOROOT"))
	before := hashTree(t, filepath.Join(root, "src", "crypto"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
	if !maps.Equal(before, hashTree(t, filepath.Join(root, "src", "crypto"))) {
		t.Error("the Go installation was written to")
	}
}

// TestStdRefusesFIPS starts a program in the mode that it cannot serve, and one that reads the mode from its environment.
func TestStdRefusesFIPS(t *testing.T) {
	dir := stdPlace(t)
	mustBuild(t, Job{Std: true})
	for mode, want := range map[string]string{"on": "is not validated", "only": "is not validated", "off": "TLS 1.3"} {
		cmd := exec.Command(filepath.Join(dir, "thing"))
		cmd.Env = append(os.Environ(), "GODEBUG=fips140="+mode)
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), want) || (err == nil) != (mode == "off") {
			t.Errorf("fips140=%s: %v\n%.400s", mode, err, out)
		}
	}
}

// levelProgram prints which of its ciphers run on sealane. It also prints whether the stack of a new goroutine grows.
// That happens when it first seals or opens AES-GCM, or calls a function that needs much stack. The output for one
// packet follows.
const levelProgram = `package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"reflect"
	"unsafe"

	"golang.org/x/crypto/chacha20poly1305"
)

var sink byte

//go:noinline
func deep(n int) {
	var b [2000]byte
	b[n] = byte(n)
	sink += b[n/2]
}

// grows reports whether f makes the stack of a new goroutine grow, which moves the stack.
func grows(f func()) bool {
	moved := make(chan bool)
	go func() {
		var here byte
		before := uintptr(unsafe.Pointer(&here))
		f()
		moved <- uintptr(unsafe.Pointer(&here)) != before
	}()
	return <-moved
}

func main() {
	key := make([]byte, 32)
	block, _ := aes.NewCipher(key)
	gcm, _ := cipher.NewGCM(block)
	level := uint64(0)
	if data := reflect.ValueOf(gcm).Elem().FieldByName("gcmPlatformData"); data.FieldByName("key").IsValid() {
		level = data.FieldByName("key").FieldByName("level").Uint()
	}
	plain, _ := chacha20poly1305.New(key)
	extended, _ := chacha20poly1305.NewX(key)
	text := make([]byte, 64, 100)
	sealed := gcm.Seal(nil, key[:12], text, nil)
	fmt.Printf("%v %T %T, grows: %v %v %v\n", level != 0, plain, extended, grows(func() { deep(1) }),
		grows(func() { gcm.Seal(text[:0], key[:12], text, nil) }), grows(func() { gcm.Open(text[:0], key[:12], sealed, nil) }))
	for _, a := range []cipher.AEAD{gcm, plain, extended} {
		sealed := a.Seal(nil, key[:a.NonceSize()], make([]byte, 1000), key[:5])
		opened, err := a.Open(nil, key[:a.NonceSize()], sealed, key[:5])
		_, forged := a.Open(nil, key[:a.NonceSize()], sealed, key[:6])
		fmt.Printf("%x %x %v %v\n", sealed, opened, err, forged)
	}
	all := sha256.New()
	for n := 16; n < 5000; n += n/3&^15 + 16 {
		text := make([]byte, n)
		cipher.NewCTR(block, key[:16]).XORKeyStream(text, text)
		all.Write(text)
		cipher.NewCBCDecrypter(block, key[:16]).CryptBlocks(text, text)
		all.Write(text)
		cipher.NewCBCEncrypter(block, key[:16]).CryptBlocks(text, text)
		all.Write(text)
	}
	fmt.Printf("%x\n", all.Sum(nil))
}
`

// TestStdPortable: the program's own code runs if sealane has no kernel for the CPU or is disabled.
func TestStdPortable(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT RUN: an emulated CPU without AES is asked for as amd64's")
	}
	dir := t.TempDir()
	for name, content := range plain("main.go", levelProgram) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	mustBuild(t, Job{Std: true})
	mustRun(t, dir, "go", "build", "-o", "stock", ".")
	stock, packets, _ := strings.Cut(mustRun(t, dir, "./stock"), "\n")
	const own = "false *chacha20poly1305.chacha20poly1305 *chacha20poly1305.xchacha20poly1305"
	if stock != own+", grows: true false false" {
		t.Errorf("the stock program runs %s", stock)
	}
	const ours = "true *aead.chaCha20Poly1305 *aead.xChaCha20Poly1305, grows: true false false"
	for _, c := range []struct{ environ, emulator, want string }{
		{"SEALANE_CPU=avx512", "", ours},
		{"SEALANE_CPU=avx2", "", ours},
		{"SEALANE_CPU=aesni", "", ours},
		{"SEALANE_CPU=portable", "", own},
		{"SEALANE_CPU=portable GODEBUG=cpu.aes=off,cpu.pclmulqdq=off", "", own},
		{"SEALANE_ASM=0", "", own},
		{"SEALANE_CPU=avx512", "qemu-x86_64 -cpu Westmere", ours},
		// This CPU has SSSE3 but no AES; the next one has neither.
		{"SEALANE_CPU=avx512", "qemu-x86_64 -cpu Nehalem", ours},
		{"SEALANE_CPU=avx512", "qemu-x86_64 -cpu Opteron_G1", own},
	} {
		command := append(strings.Fields(c.emulator), "./thing")
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Log("NOT RUN: ", err)
			continue
		}
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), strings.Fields(c.environ)...)
		out, err := cmd.CombinedOutput()
		if runs, rest, _ := strings.Cut(string(out), "\n"); err != nil || !strings.HasPrefix(runs, c.want) || rest != packets {
			t.Errorf("%s %s: %v, runs %s, want %s; or packets\n%s\nwant\n%s", c.environ, c.emulator, err, runs, c.want, rest, packets)
		}
	}
}

// TestStdPlanted: a fault in the functions that the standard library calls for CTR or CBC changes the output of
// TestStd's program.
func TestStdPlanted(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	dir := stdPlace(t)
	mustRun(t, dir, "go", "build", "-o", "stock", ".")
	stock := mustRun(t, dir, "./stock")
	const file = "modes/modes.go"
	for _, c := range []struct{ name, correct, wrong string }{
		{"carry", "\t\t\thi++\n", ""},
		{"part", "unsafe.Add(a.In, n)\n\t\tif lo", "a.In\n\t\tif lo"},
		{"wrap", "uint64(uint32(lo))+partBytes/blockBytes > 1<<32", "false"},
		{"initial value", "n := min(left, serialPartBytes)", "n := min(left, serialPartBytes)\n\t\tif left < 500 {\n\t\t\tlane[0].Chain = new([16]byte)\n\t\t}"},
		{"least", "{ctr: 256, decrypt: 32,", "{ctr: 256, decrypt: 48,"}, // no fault
	} {
		planted := false
		mustBuild(t, Job{Std: true, Output: "ours", plant: func(t tree) {
			before := string(t[file])
			t[file] = []byte(strings.Replace(before, c.correct, c.wrong, 1))
			planted = string(t[file]) != before
		}})
		if same := mustRun(t, dir, "./ours") == stock; !planted || same != (c.name == "least") {
			t.Errorf("%s: planted %v, prints the same %v", c.name, planted, same)
		}
	}
}

// pathsProgram prints whether sealane or the standard library runs each of the modes, in a program where sealane's
// code flips one bit. The standard library's single blocks give the right output; the example of FIPS 197 checks
// those.
const pathsProgram = `package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"
)

func main() {
	key, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	block, _ := aes.NewCipher(key)
	text, _ := hex.DecodeString("00112233445566778899aabbccddeeff")
	out := make([]byte, 16)
	block.Encrypt(out, text)
	encrypted := hex.EncodeToString(out) == "69c4e0d86a7b0430d8cdb78070b4c55a"
	block.Decrypt(out, out)
	fmt.Println("blocks", whose(encrypted && bytes.Equal(out, text)))
	for _, n := range []int{16, 128, 240, 4096} {
		in, want, got := make([]byte, n), make([]byte, n), make([]byte, n)
		counter := make([]byte, 16)
		for i := 0; i < n; i += 16 {
			counter[15], counter[14] = byte(i/16), byte(i/16>>8)
			block.Encrypt(want[i:], counter)
		}
		cipher.NewCTR(block, make([]byte, 16)).XORKeyStream(got, in)
		fmt.Println("CTR", n, whose(bytes.Equal(got, want)))
		last := make([]byte, 16)
		for i := 0; i < n; i += 16 {
			block.Encrypt(last, last)
			copy(want[i:], last)
		}
		cipher.NewCBCEncrypter(block, make([]byte, 16)).CryptBlocks(got, in)
		fmt.Println("CBC encryption", n, whose(bytes.Equal(got, want)))
		cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(got, want)
		fmt.Println("CBC decryption", n, whose(bytes.Equal(got, in)))
	}
}

func whose(right bool) string {
	if right {
		return "own"
	}
	return "sealane"
}
`

// TestStdPaths: some cases are left to the standard library. They are single blocks, texts that are too short, and
// all texts on CPUs without AES instructions or at the portable level.
func TestStdPaths(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT RUN: an emulated CPU without AES is asked for as amd64's")
	}
	dir := t.TempDir()
	for name, content := range plain("main.go", pathsProgram) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	const file, before, wrong = "modes/modes.go", "kernel.AES(", "defer func(p unsafe.Pointer) { *(*byte)(p) ^= 1 }(unsafe.Pointer(unsafe.SliceData(dst))); kernel.AES("
	planted := 0
	mustBuild(t, Job{Std: true, Output: "ours", plant: func(tree tree) {
		planted = strings.Count(string(tree[file]), before)
		tree[file] = []byte(strings.ReplaceAll(string(tree[file]), before, wrong))
	}})
	if planted != 4 {
		t.Errorf("%d calls of the kernels", planted)
	}
	mode := func(ctr, cbc string) string { // the code that runs CTR of 4096 bytes, and CBC of more than a block
		want := "blocks own\n"
		for _, n := range []int{16, 128, 240, 4096} {
			ctrs, cbcs := "own", "own"
			if n > 16 {
				cbcs = cbc
			}
			if n == 4096 {
				ctrs = ctr
			}
			want += fmt.Sprintf("CTR %d %s\nCBC encryption %d %s\nCBC decryption %d %s\n", n, ctrs, n, cbcs, n, cbcs)
		}
		return want
	}
	for _, c := range []struct{ environ, emulator, want string }{
		{"SEALANE_CPU=aesni", "", mode("sealane", "sealane")},
		{"SEALANE_CPU=portable", "", mode("own", "own")},
		{"SEALANE_ASM=0", "", mode("own", "own")},
		{"SEALANE_CPU=aesni GODEBUG=cpu.aes=off", "", mode("own", "own")},
		{"", "qemu-x86_64 -cpu Westmere", mode("sealane", "sealane")},
		{"", "qemu-x86_64 -cpu Nehalem", mode("own", "own")}, // it has no AES
	} {
		command := append(strings.Fields(c.emulator), "./ours")
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Log("NOT RUN: ", err)
			continue
		}
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), strings.Fields(c.environ)...)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.want {
			t.Errorf("%s %s: %v\n%s\nwant\n%s", c.environ, c.emulator, err, out, c.want)
		}
	}
}

func stdPlace(t *testing.T) string {
	if len(gcmKernels(runtime.GOARCH)) == 0 {
		t.Skip("NOT RUN: sealane has no kernels for " + runtime.GOARCH)
	}
	dir := t.TempDir()
	for name, content := range tlsFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// TestStdCache builds stock, with --std and stock again. Packages compiled for one are not used for the other. Two
// builds with --std at once do not disturb each other.
func TestStdCache(t *testing.T) {
	dir := stdPlace(t)
	mustRun(t, dir, "go", "build", "-o", "first", ".")
	errs := make(chan error)
	for i := range 2 {
		go func() {
			_, err := Build(context.Background(), Job{Std: true, Output: filepath.Join(dir, fmt.Sprint("ours", i)), Stderr: os.Stderr})
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	mustRun(t, dir, "go", "build", "-o", "second", ".")
	content := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if !bytes.Equal(content("first"), content("second")) {
		t.Error("the stock program is another after a build with --std")
	}
	if !bytes.Equal(content("ours0"), content("ours1")) {
		t.Error("two builds with --std differ")
	}
	for name, want := range map[string]string{"first": binary.Stock, "ours0": binary.OnSealane} {
		// sealane info --binary prints the same in words: TestInfoBinary.
		if p, err := binary.Read(filepath.Join(dir, name)); err != nil || p.StdGCM != want || p.StdCipher != want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// TestStdReadOnly builds with a read-only Go installation.
func TestStdReadOnly(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	root := strings.TrimSpace(mustRun(t, ".", "go", "env", "GOROOT"))
	probe := filepath.Join(root, "sealane-probe")
	if err := os.WriteFile(probe, nil, 0o666); err == nil {
		os.Remove(probe)
		if os.Getenv("SEALANE_TEST_READ_ONLY") != "" {
			t.Fatal("the Go installation can be written to all the same")
		}
		// With the right to write, the test mounts it read-only for one process.
		cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$0" -test.run='^TestStdReadOnly$' -test.v -long`, os.Args[0], root)
		cmd.Env = append(os.Environ(), "SEALANE_TEST_READ_ONLY=1", "GOMODCACHE=", "XDG_CACHE_HOME=", "GOPROXY=")
		out, err := cmd.CombinedOutput()
		switch {
		case err != nil && !strings.Contains(string(out), "=== RUN"):
			t.Skipf("NOT RUN: cannot mount: %v %s", err, out)
		case err != nil || !strings.Contains(string(out), "--- PASS: TestStdReadOnly"):
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := stdPlace(t)
	mustBuild(t, Job{Std: true})
	if out := mustRun(t, dir, filepath.Join(dir, "thing")); !strings.Contains(out, "TLS 1.3") {
		t.Errorf("prints %s", out)
	}
}

// TestLinkRoot: a Go below the module cache is reached by a link from elsewhere, always the same; any other as it is.
func TestLinkRoot(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	inside := filepath.Join(dir, "mod", "golang.org", "toolchain")
	if err := os.MkdirAll(inside, 0o777); err != nil {
		t.Fatal(err)
	}
	links := map[string]bool{}
	for range 2 {
		b := build{scratch: t.TempDir(), env: environment{GOROOT: inside, GOMODCACHE: filepath.Join(dir, "mod")}}
		if err := b.linkRoot(); err != nil {
			t.Fatal(err)
		}
		to, err := os.Readlink(b.env.GOROOT)
		if err != nil || to != inside || strings.HasPrefix(b.env.GOROOT, b.env.GOMODCACHE) || b.program0 != filepath.Join(b.env.GOROOT, "bin", "go") ||
			!slices.Contains(b.environ, "GOROOT="+b.env.GOROOT) || !slices.Contains(b.environ, "GOTOOLCHAIN=local") {
			t.Errorf("%v: %q, %+v", err, to, b)
		}
		links[b.env.GOROOT] = true
	}
	if len(links) != 1 {
		t.Errorf("%v: what was compiled is not found again", links)
	}
	b := build{env: environment{GOROOT: filepath.Join(dir, "go"), GOMODCACHE: filepath.Join(dir, "mod")}}
	if err := b.linkRoot(); err != nil || b.env.GOROOT != filepath.Join(dir, "go") || b.environ != nil {
		t.Errorf("%v, %+v", err, b)
	}
}

// stdOf returns a build by the Go at hand, for some system.
func stdOf(t *testing.T, goos, goarch string) build {
	return build{env: environment{GOROOT: strings.TrimSpace(mustRun(t, ".", "go", "env", "GOROOT")), GOVERSION: runtime.Version(), GOOS: goos, GOARCH: goarch}}
}

// TestStdDeclarations: the declarations that sealane replaces are found for every system with kernels. A declaration
// that is missing or of another type is named.
func TestStdDeclarations(t *testing.T) {
	for _, goarch := range []string{"amd64", "arm64", "arm"} {
		b := stdOf(t, "linux", goarch)
		if err := b.checkStd(); err != nil {
			t.Fatalf("%s: %v\nRead what changed, and run the tests of crypto with --std.", goarch, err)
		}
	}
	b := stdOf(t, "linux", "amd64")
	changed := build{env: b.env}
	changed.env.GOROOT = t.TempDir()
	for _, p := range []string{stdCipher, stdAES, stdGCM} {
		if err := os.MkdirAll(changed.std(p), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, file := range glob(b.std(p) + "/*.go") {
			content, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(filepath.Join(changed.std(p), filepath.Base(file)), content, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(file, from, to string) error {
		name := filepath.Join(changed.env.GOROOT, "src", filepath.FromSlash(file))
		content, err := os.ReadFile(name)
		if err != nil || strings.Count(string(content), from) != 1 {
			t.Fatalf("%s has not one %q: %v", file, from, err)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(content), from, to, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(name, content, 0o666)
		return changed.checkStd()
	}
	for _, c := range []struct{ file, from, to, want string }{
		{stdGCM + "/gcm.go", "var errOpen", "var more int\n\nvar errOpen", ""},
		{stdGCM + "/gcm_s390x.go", "func initGCM(", "func initGCM(n int, ", ""}, // of another system
		{stdGCM + "/gcm_asm.go", "func seal(", "func sealAll(", "gcm has no seal func(out []byte"},
		{stdGCM + "/gcm_asm.go", "func open(out []byte,", "func open(out string,", "gcm has open func(out string, g *GCM"},
		{stdGCM + "/gcm_asm.go", "func initGCM(g *GCM)", "func initGCM(g *GCM) error", "gcm has initGCM func(g *GCM) error"},
		{stdGCM + "/gcm.go", "tagSize   int", "tagBytes  int", "gcm has GCM struct{"},
		{stdGCM + "/gcm.go", "var errOpen", "var errOpened", "gcm has no errOpen"},
		{stdAES + "/aes.go", "rounds int", "rounds uint", "aes has blockExpanded struct{"},
		{stdAES + "/aes.go", "dec [60]uint32", "dec [64]uint32", "aes has blockExpanded struct{"},
		{stdAES + "/aes_asm.go", "\tblockExpanded\n", "\tmore int\n\tblockExpanded\n", "aes has block struct{"},
		{stdAES + "/ctr.go", "ivlo, ivhi uint64 //", "iv [2]uint64 //", "aes has CTR struct{"},
		{stdAES + "/ctr.go", "func (c *CTR) XORKeyStreamAt(", "func (c *CTR) XORKeyStreamFrom(", "aes has no CTR.XORKeyStreamAt func(dst, src []byte, offset uint64)"},
		{stdAES + "/cbc_noasm.go", "func cryptBlocksDec(b *Block,", "func cryptBlocksDec(b Block,", "aes has cryptBlocksDec func(b Block"},
		{stdAES + "/cbc.go", "package aes", "package aes }", "cbc.go:5:"},
		{stdCipher + "/xchacha20poly1305.go", "func NewX(", "func NewY(", "has 1 of the functions New and NewX"},
		{stdCipher + "/chacha20poly1305.go", "func New(key []byte)", "func New(key []byte, n int)", "its New is not"},
	} {
		err := check(c.file, c.from, c.to)
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || err != nil && (!strings.Contains(got, c.want) || !strings.Contains(got, "without --std")) {
			t.Errorf("%s with %q: error %v, want %q", c.file, c.to, err, c.want)
		}
	}
	b.env.GOROOT = t.TempDir()
	if err := b.checkStd(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a standard library: %v", err)
	}
}

// orderProgram prints whether its AES-GCM and its AES-CBC run on sealane, and whether their output is right.
const orderProgram = `package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"
	"reflect"
)

func main() {
	block, _ := aes.NewCipher(make([]byte, 16))
	gcm, _ := cipher.NewGCM(block)
	text := make([]byte, 32)
	cipher.NewCBCDecrypter(block, text[:16]).CryptBlocks(text, text)
	platform := reflect.ValueOf(gcm).Elem().FieldByName("gcmPlatformData")
	key := platform.FieldByName("key")
	fmt.Println(hex.EncodeToString(gcm.Seal(nil, text[:12], nil, nil)), hex.EncodeToString(text), key.IsValid() && key.FieldByName("level").Uint() != 0)
}
`

// orderPlace makes a folder with that program. It returns the program's output with the standard library's ciphers,
// without the owner of each cipher.
func orderPlace(t *testing.T) (stock string) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range map[string]string{"go.mod": mod, "main.go": orderProgram} {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, dir, "go", "build", "-o", "stock", ".")
	return strings.TrimSuffix(mustRun(t, dir, "./stock"), "false\n")
}

// orderPrints builds it with sealane, and returns its output.
func orderPrints(t *testing.T, plant func(patched map[[2]string][]byte)) string {
	mustBuild(t, Job{Std: true, Output: "ours", plantStd: plant})
	return mustRun(t, ".", "./ours")
}

// TestStdOrder: where the standard library's key schedule is not as sealane takes it, the program's own code runs.
func TestStdOrder(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT RUN: changes the key schedule as it is on amd64")
	}
	stock := orderPlace(t)
	if got := orderPrints(t, nil); got != stock+"true\n" {
		t.Errorf("prints %s, want %strue", got, stock)
	}
	for name, fault := range map[string][2]string{
		"elsewhere": {"; _ [sealanePad]byte", "; _ [sealanePad+8]byte"},
		"inverse":   {"enc [60]uint32\n\tdec [60]uint32", "dec [60]uint32\n\tenc [60]uint32"},
	} {
		got := orderPrints(t, func(patched map[[2]string][]byte) {
			for at, content := range patched {
				patched[at] = []byte(strings.ReplaceAll(string(content), fault[0], fault[1]))
			}
		})
		if got != stock+"false\n" {
			t.Errorf("%s: prints %s, want %sfalse", name, got, stock)
		}
	}
}

// notStd are tests of the standard library that cannot pass with --std: they start themselves in FIPS mode, which is
// refused. Others need the network.
const notStd = "^Test(FIPS140Only|FIPSServer|GCMNoncesFIPSV1|WithoutEnforcement|ACVP|CASTPasses|CASTFailures|IntegrityCheck" +
	"|BogoSuite|VerifyHostname$|RealResumption)"

// defaults is the default GODEBUG in a test of a package in a folder's module. The language version determines it.
func defaults(t *testing.T, dir, pkg string) string {
	return strings.TrimSpace(mustRun(t, dir, "go", "list", "-test", "-f", `{{if eq .Name "main"}}{{.DefaultGODEBUG}}{{end}}`, pkg))
}

// testStd runs tests of the standard library with sealane in it. They run in a module of the standard library's
// language version, so that they keep their meaning.
func testStd(t *testing.T, job Job, packages ...string) {
	t.Helper()
	dir := t.TempDir()
	language := strings.TrimPrefix(strings.Fields(mustRun(t, ".", "go", "env", "GOVERSION"))[0], "go")
	write := func(language string) {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/std\n\ngo "+language+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("1.21")
	in := filepath.Join(strings.TrimSpace(mustRun(t, ".", "go", "env", "GOROOT")), "src")
	if defaults(t, dir, "crypto/tls") == defaults(t, in, "crypto/tls") {
		t.Error("an old language version changes nothing that this test would notice")
	}
	write(language)
	if got, want := defaults(t, dir, "crypto/tls"), defaults(t, in, "crypto/tls"); got != want {
		t.Fatalf("the tests of crypto/tls run with GODEBUG=%s, in the standard library with %q", got, want)
	}
	t.Chdir(dir)
	for _, pkg := range packages {
		job := job
		job.Std, job.Package = true, pkg
		job.Flags = append([]string{"-skip=" + notStd}, job.Flags...)
		var out bytes.Buffer
		job.Stdout, job.Stderr = &out, &out
		_, err := Test(context.Background(), job)
		t.Logf("%s\n%s", pkg, &out)
		if err != nil || !strings.Contains(out.String(), "ok  \t"+strings.TrimSuffix(pkg, "...")) || strings.Contains(out.String(), "FAIL") {
			t.Errorf("%s: %v", pkg, err)
		}
	}
}

// TestStdOwn runs the standard library's own tests of AES and its modes.
func TestStdOwn(t *testing.T) {
	stdPlace(t)
	testStd(t, Job{Flags: []string{"-short"}}, "crypto/cipher", "crypto/aes", "crypto/internal/fips140/aes")
}

// TestStdAll runs those of all that has to do with them.
func TestStdAll(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	longModuleCache(t) // some fetch the data that they test with
	t.Setenv("GOTOOLCHAIN", "local")
	stdPlace(t)
	testStd(t, Job{Flags: []string{"-timeout=30m"}}, "crypto/...", "net/http")
}

// TestStdEmulated runs those of AES-GCM and TLS for ARM.
func TestStdEmulated(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	for _, c := range []struct{ goarch, goarm, emulator string }{
		{"arm64", "", "qemu-aarch64 -cpu cortex-a53"}, {"arm", "5", "qemu-arm -cpu cortex-a7"}, {"arm", "5", "qemu-arm -cpu arm1176"},
		{"riscv64", "", "qemu-riscv64 -cpu max"}, {"mips", "", "qemu-mips -cpu 24Kf"}, {"mipsle", "", "qemu-mipsel -cpu 24Kf"},
		{"mips64", "", "qemu-mips64 -cpu MIPS64R2-generic"},
	} {
		t.Run(c.emulator, func(t *testing.T) {
			if _, err := exec.LookPath(strings.Fields(c.emulator)[0]); err != nil {
				t.Skip("NOT RUN: ", err)
			}
			t.Setenv("GOARM", c.goarm)
			testStd(t, Job{GOOS: "linux", GOARCH: c.goarch, Flags: []string{"-short", "-exec=" + c.emulator, "-timeout=30m"}}, "crypto/cipher", "crypto/aes", "crypto/tls")
		})
	}
}

// releases returns the proxy's Go releases, from the oldest that sealane builds with. Of each it returns the first
// and the newest; the newest of all is last.
func releases(t *testing.T) (versions []string) {
	list := exec.Command("go", "list", "-m", "-versions", "-f", `{{join .Versions " "}}`, "golang.org/toolchain")
	list.Env = append(os.Environ(), "GOPROXY="+strings.TrimPrefix(online, downloads+",")) // the module cache has no list
	out, err := list.Output()
	if err != nil {
		t.Skip("NOT RUN: cannot list the releases of Go: ", err)
	}
	newest := map[int]int{} // patch release by minor release
	for _, v := range strings.Fields(string(out)) {
		var minor, patch int
		if n, _ := fmt.Sscanf(v, "v0.0.1-go1.%d.%d.linux-amd64", &minor, &patch); n == 2 && strings.HasSuffix(v, ".linux-amd64") && minor >= 24 {
			newest[minor] = max(newest[minor], patch)
		}
	}
	for _, minor := range slices.Sorted(maps.Keys(newest)) {
		versions = append(versions, fmt.Sprintf("go1.%d.0", minor))
		if newest[minor] > 0 {
			versions = append(versions, fmt.Sprintf("go1.%d.%d", minor, newest[minor]))
		}
	}
	if len(versions) == 0 {
		t.Fatalf("no release of Go in the list of golang.org/toolchain: %s", out)
	}
	return versions
}

// TestStdReleases builds with the oldest and the newest of each release of Go, which GOTOOLCHAIN leaves below the module cache.
func TestStdReleases(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long")
	}
	for _, version := range releases(t) {
		t.Run(version, func(t *testing.T) {
			longModuleCache(t)
			t.Setenv("GOTOOLCHAIN", version)
			dir := stdPlace(t)
			// Before it, go may say that it downloads this version.
			if got := mustRun(t, dir, "go", "env", "GOVERSION"); !strings.HasSuffix("\n"+got, "\n"+version+"\n") {
				t.Fatalf("this is %s", got)
			}
			mustBuild(t, Job{Std: true})
			mustRun(t, dir, "go", "build", "-o", "stock", ".")
			if got, want := mustRun(t, dir, filepath.Join(dir, "thing")), mustRun(t, dir, filepath.Join(dir, "stock")); got != want {
				t.Errorf("prints\n%swant\n%s", got, want)
			}
		})
	}
}
