package main

import (
	"fmt"
	"strconv"
	"strings"
)

// processors parses a list of processors, such as 2,3 or 2-5, one for each worker. An empty list gives nil.
func processors(list string, workers int) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var all []int
	for _, part := range strings.Split(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || b < a || b >= 1024 {
			return nil, fmt.Errorf("--cpus %q: %q is neither a processor's number nor a range of them", list, part)
		}
		for ; a <= b; a++ {
			for _, other := range all {
				if other == a {
					return nil, fmt.Errorf("--cpus %q: %d is listed twice", list, a)
				}
			}
			all = append(all, a)
		}
	}
	if len(all) != workers {
		return nil, fmt.Errorf("--cpus %q: %d processors for %d workers", list, len(all), workers)
	}
	return all, nil
}
