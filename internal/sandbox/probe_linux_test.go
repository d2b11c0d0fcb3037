//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// What others have mounted below /tmp, if only for a moment, is no reason to do without
// namespaces for good.
func TestNamespacesBesideMountsOfOthers(t *testing.T) {
	t.Parallel()
	if !privileged() {
		t.Skip("only root can mount")
	}
	dir, err := os.MkdirTemp("/tmp", "sandbox-mount")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	done := make(chan error, 1)
	go ending(func() { done <- besideMount(dir) })
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// besideMount asks for namespaces as one who may not mount, on a thread that alone sees what is
// mounted at dir.
func besideMount(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	all, few := ownCapabilities(), ownCapabilities()
	few[0].Effective &^= 1 << capSysAdmin
	if err := unix.Capset(&head, &few[0]); err != nil {
		return err
	}
	if ok, _ := tryNamespaces(); !ok {
		return nil // nobody can have them here
	}
	if err := unix.Capset(&head, &all[0]); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4k"); err != nil {
		return err
	}
	if err := unix.Capset(&head, &few[0]); err != nil {
		return err
	}
	if ok, why := tryNamespaces(); !ok {
		return fmt.Errorf("something is mounted below /tmp, and there are no namespaces: %s", why)
	}
	return nil
}
