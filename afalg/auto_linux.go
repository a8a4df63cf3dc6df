package afalg

import (
	"crypto/cipher"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/offload"
)

const primitiveGCM = "aesgcm"

func init() {
	if wanted() {
		offload.New = replace
	}
}

// wanted reports whether the environment asks for the kernel.
func wanted() bool { return offload.Variable() == "auto" }

func replace(primitive string, key []byte, inProcess cipher.AEAD) cipher.AEAD {
	algorithm := ChaCha20Poly1305
	if primitive == primitiveGCM {
		algorithm = AESGCM
	}
	if !selections[algorithm]().Kernel {
		return inProcess
	}
	return automatically(algorithm, key, inProcess)
}

// automaticKeys counts the keys that SEALANE_AFALG=auto has given to the kernel. Only the garbage collector closes
// them, so they may use at most a quarter of the process's file descriptors.
var automaticKeys atomic.Int64

func automatically(algorithm Algorithm, key []byte, inProcess cipher.AEAD) cipher.AEAD {
	var limit unix.Rlimit // zero if it is unknown
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	if uint64(automaticKeys.Add(1)) <= limit.Cur/4/(1+poolSize) {
		if a, err := newAEAD(algorithm, key, inProcess); err == nil {
			a.automatic = true
			return a
		}
	}
	automaticKeys.Add(-1)
	return inProcess
}

var selections = map[Algorithm]func() Selection{
	ChaCha20Poly1305: sync.OnceValue(func() Selection { return choose(ChaCha20Poly1305) }),
	AESGCM:           sync.OnceValue(func() Selection { return choose(AESGCM) }),
}

// Selections returns the decisions of SEALANE_AFALG=auto, or nil without that variable.
func Selections() []Selection {
	if !wanted() {
		return nil
	}
	var all []Selection
	for _, a := range algorithms {
		all = append(all, selections[a]())
	}
	return all
}

func choose(algorithm Algorithm) Selection {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return Selection{Algorithm: algorithm, Why: err.Error()}
	}
	return decide(supportOf(algorithm).Support, level)
}

// decide compares instruction counts per packet and reads no clock, so the decision is the same at every start.
// bench/results/afalg-instructions.txt: the path through Linux takes 16,000 to 25,000 instructions besides the cipher.
// At 1420 bytes, ChaCha20-Poly1305 takes 11,000 to 14,000 with vector code, and AES-GCM 4,000 with AES instructions, so
// no engine can win. AES-GCM without AES instructions takes 42,000. An engine that does only the AES part leaves more
// work than it saves.
func decide(s Support, level kernel.Level) Selection {
	no := func(why string) Selection { return Selection{Algorithm: s.Algorithm, Why: why} }
	switch {
	case !s.Usable:
		return no(s.Why)
	case s.Driver == "":
		return no("its driver is not known")
	case !s.Hardware:
		return no("its driver " + s.Driver + " is no crypto engine's")
	case s.Algorithm != AESGCM:
		return no("the way to the engine takes more instructions than the cipher")
	case level != kernel.NEON && level != kernel.ARMv6 && level != kernel.Portable:
		return no("the CPU has AES instructions: the way to the engine takes more instructions than the cipher")
	case strings.Contains(s.Driver, "gcm_base("):
		return no("the engine behind " + s.Driver + " does AES alone")
	}
	return Selection{Algorithm: s.Algorithm, Kernel: true, Why: "the engine's driver is " + s.Driver + ", and the CPU has no AES instructions"}
}
