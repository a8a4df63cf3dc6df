package afalg

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const procCrypto = `name         : gcm(aes)
driver       : gcm-aes-caam
module       : caam
priority     : 4000
refcnt       : %d
internal     : no
type         : aead
async        : yes

name         : gcm(aes)
driver       : generic-gcm-aesni
priority     : 400
refcnt       : %d
async        : yes

name         : gcm(aes)
driver       : __gcm-better
priority     : 5000
refcnt       : 9
internal     : yes

name         : rfc7539(chacha20,poly1305)
driver       : rfc7539(chacha20-neon,poly1305-neon)
priority     : 300
refcnt       : 2
async        : no
`

// TestPick: the driver that the sockets use is found by its reference count, or else by priority.
func TestPick(t *testing.T) {
	text := func(engine, aesni int) []driver { return driversIn(fmt.Sprintf(procCrypto, engine, aesni)) }
	before := text(1, 5)
	for _, c := range []struct {
		what   string
		before []driver
		after  []driver
		want   string
	}{
		{"the engine's users became more", before, text(1+probes, 5), "gcm-aes-caam"},
		{"the kernel keeps the engine from sockets", before, text(1, 5+probes), "generic-gcm-aesni"},
		{"and some other program uses the engine meanwhile", before, text(1+probes-1, 5+probes), "generic-gcm-aesni"},
		{"others went meanwhile", before, text(1, 5+probes-1), "gcm-aes-caam"},
		{"a driver that came into being", driversIn(fmt.Sprintf(strings.ReplaceAll(procCrypto, "caam", "other"), 1, 5)), text(1+probes, 5), "gcm-aes-caam"},
	} {
		if d, ok := pick(string(AESGCM), c.before, c.after); !ok || d.name != c.want {
			t.Errorf("%s: %s", c.what, d.name)
		}
	}
	if d, ok := pick(string(ChaCha20Poly1305), before, before); !ok || d.name != "rfc7539(chacha20-neon,poly1305-neon)" || d.priority != 300 || d.hardware() {
		t.Errorf("%+v", d)
	}
	if d, ok := pick(string(AESGCM), nil, nil); ok {
		t.Errorf("%+v of nothing", d)
	}
}

// TestHardware checks the names of the drivers for both algorithms, also within templates, in Linux 6.1 and later.
func TestHardware(t *testing.T) {
	for _, c := range []struct {
		async, hardware bool
		names           string
	}{
		{true, true, `artpec-gcm-aes atmel-gcm-aes gcm-aes-caam gcm-aes-caam-qi gcm-aes-caam-qi2 gcm-aes-ccp gcm-aes-ccree gcm-aes-chcr
			gcm-aes-iproc gcm-aes-keembay-ocs gcm-aes-omap gcm-aes-ppc4xx hisi_sec_gcm mtk-gcm-aes n5_aes_gcm
			rfc7539-chacha20-poly1305-caam rfc7539-chacha20-poly1305-caam-qi2 safexcel-chacha20-poly1305 safexcel-gcm-aes
			starfive-gcm-aes stm32-gcm-aes xilinx-zynqmp-aes-gcm gcm-aes-tegra qat_aes_gcm cpt_gcm_aes gcm-aes-someone's
			gcm_base(ctr-aes-caam,ghash-generic) gcm_base(ctr-aes-sun8i-ce,ghash-ce) gcm_base(ctr-aes-omap,ghash-neon)
			gcm_base(ctr-aes-talitos,ghash-generic) gcm_base(ctr-aes-s5p,ghash-generic) gcm_base(ctr-aes-qce,ghash-generic)
			gcm_base(ctr(ecb-aes-rk),ghash-generic) gcm_base(mv-ctr-cesa-aes,ghash-generic) gcm_base(ctr-aes-dcp,ghash-generic)
			pcrypt(gcm-aes-caam) rfc7539(chacha20-someone,poly1305-neon)`},
		{false, true, "gcm-aes-nx"},
		{true, false, `generic-gcm-aesni generic-gcm-aesni-avx generic-gcm-vaes-avx10_256 generic-gcm-vaes-avx10_512 generic-gcm-vaes-avx2
			cryptd(__generic-gcm-aesni) pcrypt(generic-gcm-aesni) gcm_base(ctr-aes-neonbs,cryptd(ghash-ce-sync))
			gcm_base(ctr-aes-aesni,ghash-clmulni) gcm_base(ctr-aes-ce,ghash-ce) cryptd(rfc7539(chacha20-neon,poly1305-neon))
			gcm_base(ctr(aes-arm),ghash-generic) gcm_base(ctr(aes-padlock),ghash-generic)`},
		{false, false, `gcm-aes-ce gcm-aes-s390 gcm-aes-neonbs gcm-aes-lib rfc7539(chacha20-generic,poly1305-generic) rfc7539(chacha20-arm,poly1305-arm)
			rfc7539(chacha20-lib,poly1305-lib) rfc7539(chacha20-simd,poly1305-simd) rfc7539(chacha20-mips,poly1305-mips)
			rfc7539(chacha20-s390,poly1305-generic) gcm_base(ctr(aes-fixed-time),ghash-generic) gcm_base(ctr-aes-sparc64,ghash-generic)
			gcm_base(ctr-aes-riscv64-zvkned-zvkb,ghash-riscv64-zvkg) gcm_base(ctr-ppc-spe,ghash-generic) aes_gcm_p10
			gcm_base(ctr(aes-arm64),ghash-neon) aes-gcm-p10-le something-new`},
	} {
		for _, name := range strings.Fields(c.names) {
			if d := (driver{name: name, async: c.async}); d.hardware() != c.hardware {
				t.Errorf("%s, asynchronous: %v, hardware: %v", name, c.async, !c.hardware)
			}
		}
	}
}

// The kernel's generic code, from which its templates make asynchronous drivers.
var plainest = map[Algorithm]string{
	ChaCha20Poly1305: "rfc7539(chacha20-generic,poly1305-generic)",
	AESGCM:           "gcm_base(ctr(aes-generic),ghash-generic)",
}

// needDriver makes the kernel instantiate a driver, which the algorithm's sockets may use from then on.
func needDriver(t *testing.T, algorithm Algorithm, name string) {
	t.Helper()
	need(t, algorithm)
	fd, err := bound(name)
	if err != nil {
		if os.Getenv("SEALANE_AFALG_REQUIRED") != "" && !keepsEngines(t) {
			t.Fatal(name, ": ", err)
		}
		t.Skip("NOT RUN: no ", name, ": ", err)
	}
	unix.Close(fd)
}

// keepsEngines reports whether this is Linux 7.2 or later, which offers sockets neither engines nor other asynchronous
// drivers.
func keepsEngines(t *testing.T) bool {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 7 || major == 7 && minor >= 2
}

// TestDriverBehind: among several drivers, it returns the one that the sockets use.
func TestDriverBehind(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		for _, name := range []string{plainest[algorithm], "cryptd(" + plainest[algorithm] + ")"} {
			needDriver(t, algorithm, name)
			if d, ok := driverBehind(string(algorithm), func() (int, error) { return bound(name) }); !ok || d.name != name || d.priority == 0 || d.hardware() {
				t.Errorf("%s: %+v", name, d)
			}
		}
	})
}

// TestAsynchronous runs packets over drivers that answer later and from another kernel thread, as engine drivers do.
func TestAsynchronous(t *testing.T) {
	for _, template := range []string{"cryptd", "pcrypt"} {
		t.Run(template, func(t *testing.T) {
			each(t, func(t *testing.T, algorithm Algorithm) { asynchronous(t, template, algorithm) })
		})
	}
}

func asynchronous(t *testing.T, template string, algorithm Algorithm) {
	name := template + "(" + plainest[algorithm] + ")"
	needDriver(t, algorithm, name)
	if d, ok := driverBehind(string(algorithm), func() (int, error) { return bound(name) }); !ok || d.name != name || !d.async {
		t.Errorf("%+v", d)
	}
	r := rand.New(rand.NewPCG(12, 13))
	key := fill(32, r)
	process, err := inProcessOf(algorithm, key)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAEAD(Algorithm(name), key, process)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var lengths [][2]int
	for n := 0; n <= 1500; n += 23 {
		lengths = append(lengths, [2]int{n, n % 33})
	}
	inAndOut(t, a, process, append(lengths, [2]int{MaxPacket - tagSize, 0}))
	tamper(t, a)
	inKernel(t, a)
	concurrently(t, a, process)
}
