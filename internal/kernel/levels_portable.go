package kernel

import "github.com/sealane/sealane/internal/dispatch"

func chaCha20Poly1305Rows() []dispatch.Row { return nil }

// ChaCha20Poly1305 runs a level's kernel. The CPU must have what it needs.
func ChaCha20Poly1305(level Level, a *Args) {
	raceArgs(a)
	ChaCha20Poly1305Portable(a)
}
