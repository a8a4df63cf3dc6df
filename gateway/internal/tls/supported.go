package tls

// Supported reports whether this package can open records of a version and cipher suite.
func Supported(version, suite uint16) bool {
	s := suites[suite]
	return s != nil && s.version == version
}
