package afalg

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/offload"
	"github.com/sealane/sealane/internal/report"
)

// The measurement before the choice: the smallest time per packet of some short runs of either side, in turns.
const (
	measuredBytes  = 1420
	measuredRuns   = 6
	packetsPerRun  = 32
	clearlyFaster  = 0.95 // the kernel's time, of that in the process
	autoVariable   = "SEALANE_AFALG"
	primitiveCha20 = "chacha20poly1305"
	primitiveGCM   = "aesgcm"
)

func init() {
	if wanted() {
		offload.New = replace
	}
}

// wanted says whether the environment asks for the kernel. Other values than auto have no effect.
var wanted = sync.OnceValue(func() bool {
	switch v := dispatch.Getenv(autoVariable); v {
	case "auto":
		return true
	case "", "0", "off":
	default:
		report.Warn(fmt.Sprintf("%s=%q has no effect: it may be auto or off", autoVariable, v))
	}
	return false
})

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

// The keys that the kernel has without the program's having asked for that. Nothing closes them but the collector, so they
// leave the program three of four of the file descriptors it may have.
var automaticKeys atomic.Int64

func automatically(algorithm Algorithm, key []byte, inProcess cipher.AEAD) cipher.AEAD {
	var limit unix.Rlimit // none, if it cannot be had
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

// Selections returns what SEALANE_AFALG=auto came to, after measuring if that was not done yet; nil without the variable.
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
	no := func(why string) Selection { return Selection{Algorithm: algorithm, Why: why} }
	if runtime.GOARCH == "arm" && !dispatch.Has("neon") {
		return no("ARM without NEON: the kernel is slower there, by experience")
	}
	s := supportOf(algorithm)
	if s.err != nil {
		return no(s.Why)
	}
	key := make([]byte, 32)
	inProcess, err := inProcessOf(algorithm, key)
	if err != nil {
		return no(err.Error())
	}
	kernel, err := newAEAD(algorithm, key, inProcess)
	if err != nil {
		return no(err.Error())
	}
	defer kernel.Close()
	nonce, text := make([]byte, nonceSize), make([]byte, measuredBytes)
	if !bytes.Equal(kernel.Seal(nil, nonce, text, nonce), inProcess.Seal(nil, nonce, text, nonce)) {
		return no(fmt.Sprintf("the kernel (%s) seals %d bytes wrongly", s.Driver, measuredBytes))
	}
	ours, theirs := time.Duration(1<<62), time.Duration(1<<62)
	for range measuredRuns {
		ours, theirs = min(ours, sealing(inProcess)), min(theirs, sealing(kernel))
	}
	if kernel.InProcess() > 0 {
		return no("the kernel does not seal every packet")
	}
	return Selection{
		Algorithm: algorithm,
		Kernel:    float64(theirs) < clearlyFaster*float64(ours),
		Why:       fmt.Sprintf("%d bytes take %v in the kernel (%s), %v in the process", measuredBytes, theirs, s.Driver, ours),
	}
}

// sealing returns the time that a takes for a packet.
func sealing(a cipher.AEAD) time.Duration {
	var nonce [nonceSize]byte
	text := make([]byte, measuredBytes)
	out := make([]byte, 0, measuredBytes+tagSize)
	start := time.Now()
	for i := range packetsPerRun {
		nonce[0] = byte(i)
		out = a.Seal(out[:0], nonce[:], text, nil)
	}
	return time.Since(start) / packetsPerRun
}
