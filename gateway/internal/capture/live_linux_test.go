package capture

import (
	"os"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// Rings of one group share the packets of an interface; other groups have other numbers.
func TestGroups(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("packet sockets need CAP_NET_RAW")
	}
	var numbers []uint16
	for range 3 {
		var group uint16
		for i := range 3 {
			before := group
			l, err := OpenLive("lo", LiveOptions{Group: &group, Placement: packet.NewPlacement(), Blocks: 1, Incoming: true})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if group == 0 || i > 0 && group != before {
				t.Errorf("ring %d is in group %d, the one before in %d", i, group, before)
			}
		}
		for _, n := range numbers {
			if n == group {
				t.Errorf("group %d twice", n)
			}
		}
		numbers = append(numbers, group)
	}
}
