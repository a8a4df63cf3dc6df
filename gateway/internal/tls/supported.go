package tls

// Supported tells whether records of a version and cipher suite can be opened here.
func Supported(version, suite uint16) bool {
	s := suites[suite]
	return s != nil && s.version == version
}
