package workspace

import "syscall"

// systemVersion is the version of macOS.
func systemVersion() []string {
	version, err := syscall.Sysctl("kern.osproductversion")
	if err != nil {
		return nil
	}
	return []string{"macOS " + version}
}
