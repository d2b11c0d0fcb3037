package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe asks the kernel. It changes nothing about this process: what has to be tried is
// tried by a child that does nothing else and ends at once.
func Probe(ctx context.Context) Report {
	r := Report{OS: "linux"}
	r.Landlock, r.LandlockNote = landlock()
	r.Namespaces, r.NamespacesNote = namespaces(ctx)
	r.Notify, r.NotifyNote = notify()
	return r
}

// landlock asks for the version; with that flag the call makes no ruleset.
func landlock() (version int, why string) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == 0:
		return int(v), ""
	case errors.Is(errno, unix.ENOSYS):
		return 0, "this kernel was built without it, or is older than 5.13"
	case errors.Is(errno, unix.EOPNOTSUPP):
		return 0, "it is switched off; boot with landlock in the lsm= list"
	default:
		return 0, errno.Error()
	}
}

// notify asks whether seccomp knows the action; nothing is installed.
func notify() (ok bool, why string) {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return false, errno.Error()
	}
	return true, ""
}

// namespaces starts `true` in new user and mount namespaces. The Go runtime makes the
// child's mounts private before it starts the program, which shows that mounting works
// there: some systems let anybody make the namespace and then forbid its use.
func namespaces(ctx context.Context) (ok bool, why string) {
	path, err := exec.LookPath("true")
	if err != nil {
		return false, "not tried: the command `true` was not found"
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWUSER,
		Unshareflags: unix.CLONE_NEWNS,
		UidMappings:  []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings:  []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		if why := forbiddenBy(os.ReadFile); why != "" {
			return false, why
		}
		return false, err.Error()
	}
	return true, ""
}

// forbiddenBy names the setting that explains a refusal, if one does.
func forbiddenBy(read func(string) ([]byte, error)) string {
	for _, s := range []struct{ file, value, name string }{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone"},
		{"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns"},
	} {
		if data, err := read(s.file); err == nil && strings.TrimSpace(string(data)) == s.value {
			return "forbidden by sysctl " + s.name + "=" + s.value
		}
	}
	return ""
}
