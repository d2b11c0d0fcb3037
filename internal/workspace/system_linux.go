package workspace

import (
	"os"
	"strings"
)

// systemVersion is the distribution and the kernel.
func systemVersion() []string {
	var out []string
	release, _ := os.ReadFile("/etc/os-release") // what it does not say is left out
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			out = append(out, strings.Trim(strings.TrimSpace(name), `"'`))
		}
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err == nil {
		out = append(out, "kernel "+strings.TrimSpace(string(kernel)))
	}
	return out
}
