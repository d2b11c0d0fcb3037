package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// Rights by the version of the interface that brought them.
const (
	rightsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsFirst = rightsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	// rightsOfFiles are those that a rule about something other than a folder may have.
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// rightsOfDevices are for making devices, which nobody is granted.
	rightsOfDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	netRights   = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	scopeRights = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL

	rulePathBeneath = 1
	ruleNetPort     = 2
	sharedMemory    = "/dev/shm"
	processes       = "/proc"

	// newestLandlock is the last version whose rights are known here.
	newestLandlock = 7
)

// landlockVersion asks for the version; with that flag the call makes no ruleset.
func landlockVersion() (version int, why string) {
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

// fileRights are all rights over files that a version knows.
func fileRights(version int) uint64 {
	rights := uint64(rightsFirst)
	if version >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// ruleset is a Landlock ruleset in the kernel. Its descriptor is closed on exec, and when
// nobody has the ruleset any more.
type ruleset struct {
	terms
	file   *os.File
	fd     int
	rights uint64
	// What has to be the same for it to be used again; see rulesets.
	found  []found
	listed unix.StatxTimestamp // when the names in "/" had last changed
	users  int                 // guarded by the mutex of rulesets
}

// newRuleset makes a ruleset that grants nothing yet.
func newRuleset(t terms) (*ruleset, error) {
	version := t.version
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fileRights(version)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= 4 {
		size += unsafe.Sizeof(attr.Handled_access_net)
		if t.tcp {
			attr.Handled_access_net = netRights
		}
	}
	if version >= 6 {
		size += unsafe.Sizeof(attr.Scoped)
		attr.Scoped = scopeRights
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	return &ruleset{terms: t, file: os.NewFile(fd, "Landlock ruleset"), fd: int(fd), rights: attr.Handled_access_fs},
		nil
}

func (r *ruleset) close() { _ = r.file.Close() } // nothing was written

// write grants everything below a folder, or of a file, but to make devices.
func (r *ruleset) write(path string) error { return r.grant(path, r.rights&^rightsOfDevices) }

// grant is no error where there is nothing, or nothing for us. It notes what it was given to.
func (r *ruleset) grant(path string, rights uint64) error {
	id, err := r.add(path, rights)
	r.found = append(r.found, found{path, id})
	return err
}

// add adds a rule, and says what lies at the path.
func (r *ruleset) add(path string, rights uint64) (identity, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if rights&unix.LANDLOCK_ACCESS_FS_MAKE_DIR != 0 {
		how.Resolve = unix.RESOLVE_NO_SYMLINKS // what may be changed there was settled before
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if absent(err) {
		return identity{}, nil
	}
	if err != nil {
		return identity{}, fmt.Errorf("open %s for the sandbox: %w", path, err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return r.addOpen(fd, path, rights)
}

// absent are the errors of a path that the command could not use either.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR) ||
		errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV)
}

func (r *ruleset) addOpen(fd int, path string, rights uint64) (identity, error) {
	id, _, err := identify(fd, "")
	if err != nil {
		return id, fmt.Errorf("look at %s for the sandbox: %w", path, err)
	}
	rights &= r.rights
	if id.kind != unix.S_IFDIR {
		rights &= rightsOfFiles
	}
	if rights == 0 {
		return id, nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), rulePathBeneath,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	runtime.KeepAlive(&attr)
	if errno == unix.EBADFD {
		return id, nil // a file system that has no paths: the kernel lets everybody use it
	}
	if errno != 0 {
		return id, fmt.Errorf("grant %s in the sandbox: %w", path, errno)
	}
	return id, nil
}

// port grants connecting to a TCP port on any host.
func (r *ruleset) port(port int) error {
	attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), ruleNetPort, uintptr(unsafe.Pointer(&attr)),
		0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("grant port %d in the sandbox: %w", port, errno)
	}
	return nil
}

// readAllBut grants reading everything but devices, which are not files (disks, cameras, the
// user's terminals), and what is hidden, by granting what lies beside them. Landlock grants for
// all below a folder and takes nothing back, so a folder that something hidden lies in is
// granted entry by entry, and what is made in it later is not. Names can be listed everywhere:
// that right cannot be withheld of one folder only.
func (r *ruleset) readAllBut(hidden []string) error {
	if err := r.grant("/", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	if err := r.grant(sharedMemory, rightsRead); err != nil {
		return err
	}
	return r.readBeside("/", append([]string{"/dev"}, hidden...))
}

// ofMachine are the files about processes that are about none of them.
func ofMachine() []string {
	return []string{"cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "filesystems", "cmdline", "cgroups",
		"swaps", "vmstat", "devices", "sys"}
}

// readListed grants reading what is listed, without what is hidden of it, and what the machine says of itself. Of
// processes the child adds its own; see compose.
func (r *ruleset) readListed(hidden []string) error {
	for _, path := range r.readable {
		rights := uint64(rightsRead)
		inside := slices.ContainsFunc(hidden, func(h string) bool { return troupe.Within(h, path) })
		if inside {
			rights = unix.LANDLOCK_ACCESS_FS_READ_DIR
		}
		err := r.grant(path, rights)
		if err == nil && inside {
			err = r.readBeside(path, hidden)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range ofMachine() {
		if err := r.grant(filepath.Join(processes, name), rightsRead); err != nil {
			return err
		}
	}
	return r.grant(processes, unix.LANDLOCK_ACCESS_FS_READ_DIR)
}

func (r *ruleset) readBeside(dir string, hidden []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if absent(err) {
			return nil // nor can the command
		}
		return fmt.Errorf("list %s for the sandbox: %w", dir, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(hidden, path):
		case slices.ContainsFunc(hidden, func(h string) bool { return troupe.Within(h, path) }):
			err = r.readBeside(path, hidden)
		case e.Type()&fs.ModeSymlink != 0:
			// What it leads to is granted, or not, where it lies.
		default:
			_, err = r.add(path, rightsRead)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
