//go:build !unix

package output

const noFollow = 0
