package kernel

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestOffsets compares this package's layout and flags with asm/args.h, in both directions.
func TestOffsets(t *testing.T) {
	ours := map[string]uint64{
		"ARG_OUT": offsetOut, "ARG_IN": offsetIn, "ARG_BYTES": offsetBytes, "ARG_AD": offsetAD, "ARG_AD_BYTES": offsetADBytes,
		"ARG_KEY": offsetKey, "ARG_NONCE": offsetNonce, "ARG_TAG": offsetTag, "ARG_STATE": offsetState, "ARG_TOTAL": offsetTotal,
		"ARG_FLAGS": offsetFlags, "ARGS_BYTES": argsBytes,
		"FLAG_FIRST": FlagFirst, "FLAG_LAST": FlagLast, "FLAG_OPEN": FlagOpen,
		"STATE_H": offsetH, "STATE_R": offsetR, "STATE_S": offsetS, "STATE_COUNTER": offsetCounter, "STATE_BYTES": stateBytes,
	}
	header, err := os.ReadFile("../../asm/args.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#define SEALANE_((?:ARGS?|FLAG|STATE)_\w+) +(\w+)`).FindAllStringSubmatch(string(header), -1) {
		want, err := strconv.ParseUint(m[2], 0, 64)
		if err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
		if got, ok := ours[m[1]]; !ok || got != want {
			t.Errorf("%s is %d here, %d in args.h", m[1], got, want)
		}
		delete(ours, m[1])
	}
	for name := range ours {
		t.Errorf("%s is not in args.h", name)
	}
}
