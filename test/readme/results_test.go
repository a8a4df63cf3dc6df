package readme

import (
	"regexp"
	"slices"
	"testing"
)

var image = regexp.MustCompile(`!\[[^]]*\]\((?:bench/results/)?([\w-]+\.svg)\)`)

func images(text string) (found []string) {
	for _, m := range image.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestPlots compares the front page's plots with those of make bench: one for each class of CPU that was measured.
func TestPlots(t *testing.T) {
	front, measured := images(read(t, root+"/README.md")), images(read(t, root+"/bench/results/README.md"))
	if len(measured) == 0 || !slices.Equal(front, measured) {
		t.Errorf("README.md has the plots %q, bench/results/README.md %q", front, measured)
	}
}
