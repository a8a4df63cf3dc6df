package seed

import "testing"

func TestOf(t *testing.T) {
	t.Setenv("SEALANE_SEED", "0x10")
	if n := Of(t); *again == 0 && n != 16 {
		t.Errorf("%d, and SEALANE_SEED is 16", n)
	}
	t.Setenv("SEALANE_SEED", "")
	if a, b := Of(t), Of(t); *again == 0 && (a == 16 || a == b) {
		t.Errorf("%d and %d: not fresh", a, b)
	}
}
