//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"strings"
	"testing"
)

func TestForbiddenBy(t *testing.T) {
	t.Parallel()
	for file, says := range map[string]string{
		"/proc/sys/kernel/unprivileged_userns_clone=0\n":             "unprivileged_userns_clone=0",
		"/proc/sys/user/max_user_namespaces=0\n":                     "max_user_namespaces=0",
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns=1\n": "apparmor_restrict",
		"/proc/sys/user/max_user_namespaces=15000\n":                 "",
	} {
		name, value, _ := strings.Cut(file, "=")
		got := forbiddenBy(func(f string) ([]byte, error) {
			if f != name {
				return nil, fs.ErrNotExist
			}
			return []byte(value), nil
		})
		if (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("%s: %q", file, got)
		}
	}
}
