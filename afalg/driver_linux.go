package afalg

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A driver is one of the kernel's implementations of an algorithm, as /proc/crypto has it.
type driver struct {
	algorithm, name string
	priority        int
	users           int
	async, internal bool
}

// driversIn reads the text of /proc/crypto.
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

// How many sockets are opened to see whose users become more. Others, who come and go, open one at a time.
const probes = 3

// driverBehind returns the driver that the sockets of an algorithm get. It is the one that has more users while some more
// sockets are open: priorities do not tell, since from 7.2 on Linux keeps drivers of engines from AF_ALG, but has them in
// /proc/crypto all the same.
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

// pick returns the driver with most new users; if others' going hides them, or the kernel does not count, the one of the
// highest priority.
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

// Parts of the names of crypto engines' drivers in Linux (drivers/crypto), and of the kernel's own code (arch/*/crypto,
// crypto, lib/crypto), some of which is called asynchronously too.
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

// hardware says whether the driver, or one that it is put together from, is that of a crypto engine: it has an engine's
// name, or it is asynchronous without a name of the kernel's own code. The kernel's flag for that
// (CRYPTO_ALG_KERN_DRIVER_ONLY) is no better, many engines' drivers do not set it.
func (d driver) hardware() bool {
	// gcm_base(ctr-aes-caam,ghash-generic) is made by a template of two drivers.
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
