// Package gas reads the text of instructions as GNU as has them.
package gas

import "strings"

// Operands splits the text after a mnemonic at the commas outside brackets and braces, and trims the spaces around
// each operand. Empty text is one empty operand.
func Operands(text string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	return append(list, strings.TrimSpace(text[start:]))
}
