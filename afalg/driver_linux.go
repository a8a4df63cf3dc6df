package afalg

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A driver is an entry of /proc/crypto: one of the kernel's implementations of an algorithm.
type driver struct {
	algorithm, name string
	priority        int
	users           int
	async, internal bool
}

// driversIn parses the text of /proc/crypto.
func driversIn(text string) []driver {
	var all []driver
	for _, entry := range strings.Split(text, "\n\n") {
		fields := make(map[string]string)
		for _, line := range strings.Split(entry, "\n") {
			if key, value, ok := strings.Cut(line, ":"); ok {
				fields[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
		}
		d := driver{algorithm: fields["name"], name: fields["driver"], async: fields["async"] == "yes", internal: fields["internal"] == "yes"}
		var err error
		if d.priority, err = strconv.Atoi(fields["priority"]); err != nil {
			continue
		}
		d.users, _ = strconv.Atoi(fields["refcnt"])
		all = append(all, d)
	}
	return all
}

// probes is the number of sockets opened to see whose reference count rises. Other programs open sockets one at a time.
const probes = 3

// driverBehind returns the driver that the sockets of an algorithm use: the one whose reference count rises while
// additional sockets are open. Priorities do not identify it, since Linux 7.2 hides engine drivers from AF_ALG but
// still lists them in /proc/crypto.
func driverBehind(algorithm string, open func() (int, error)) (driver, bool) {
	before, err := os.ReadFile("/proc/crypto")
	if err != nil {
		return driver{}, false
	}
	for range probes {
		fd, err := open()
		if err != nil {
			return driver{}, false
		}
		defer unix.Close(fd)
	}
	after, err := os.ReadFile("/proc/crypto")
	if err != nil {
		return driver{}, false
	}
	return pick(algorithm, driversIn(string(before)), driversIn(string(after)))
}

// pick returns the driver with the largest rise. If other programs' closing sockets hide it, or the kernel does not
// count, it returns the driver with the highest priority.
func pick(algorithm string, before, after []driver) (best driver, ok bool) {
	most := 0
	for _, d := range after {
		if d.algorithm != algorithm || d.internal {
			continue
		}
		more := d.users
		for _, b := range before {
			if b.algorithm == algorithm && b.name == d.name {
				more -= b.users
			}
		}
		if more < probes {
			more = 0
		}
		if !ok || more > most || more == most && d.priority > best.priority {
			best, most, ok = d, more, true
		}
	}
	return best, ok
}

// Parts of driver names: of crypto engines in Linux (drivers/crypto), and of the kernel's own code (arch/*/crypto,
// crypto, lib/crypto), some of which is also asynchronous.
var (
	engines = []string{
		"artpec", "aspeed", "atmel", "caam", "ccp", "ccree", "cesa", "chcr", "cpt", "dcp", "eip93", "hisi", "iproc", "keembay", "mtk", "n5",
		"nx", "omap", "ppc4xx", "qat", "qce", "rk", "rk2", "s5p", "sa2ul", "safexcel", "starfive", "stm32", "sun4i", "sun8i", "talitos",
		"tegra", "ux500", "virtio", "zynqmp",
	}
	software = []string{
		"aesni", "arm", "arm64", "asm", "avx", "avx10", "avx2", "avx512", "ce", "clmulni", "fixed", "generic", "lasx", "lib", "loongarch",
		"mips", "neon", "neonbs", "p10", "p8", "padlock", "pclmul", "ppc", "riscv64", "s390", "simd", "sparc64", "sse2", "ssse3", "vaes",
		"x86",
	}
)

// hardware reports whether the driver, or one that it is composed of, belongs to a crypto engine. Such a driver has
// the name of an engine, or is asynchronous and has no name of the kernel's own code. The kernel's flag
// CRYPTO_ALG_KERN_DRIVER_ONLY is not reliable, because many engine drivers do not set it.
func (d driver) hardware() bool {
	// For example, gcm_base(ctr-aes-caam,ghash-generic) is a template over two drivers.
	for _, part := range strings.FieldsFunc(d.name, func(r rune) bool { return r == ',' || r == ')' }) {
		part = part[strings.LastIndexByte(part, '(')+1:]
		words := strings.FieldsFunc(part, func(r rune) bool { return r == '-' || r == '_' })
		has := func(list []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
		}
		if has(engines) || d.async && part != "" && !has(software) {
			return true
		}
	}
	return false
}
