//go:build !linux && !darwin

package workspace

// systemVersion is not known here.
func systemVersion() []string { return nil }
