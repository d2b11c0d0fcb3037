package hidden

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// reader reads folders, without a look at each file.
type reader struct {
	buf   []byte
	disks map[uint64]disk
}

// disk is a kind of file system.
type disk int

const (
	local  disk = iota // all that changes passes this kernel
	remote             // others may change it, and no watch tells
	kernel             // it holds no files of anyone
)

// read looks at a folder: first it is watched, then read, so that nothing can come in between.
func (p *part) read(n *node) error {
	fd, err := unix.Open(n.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(n.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: n.path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	d, err := p.disk(fd)
	if err != nil || d == kernel {
		return err
	}
	if p.watch != nil && !p.useless.Load() {
		if d == remote {
			p.noWatch("part of it is on a file system that other machines or programs can change")
		} else if why, err := p.watch.place(n); err != nil {
			return &fs.PathError{Op: "watch", Path: n.path, Err: err}
		} else if why != "" {
			p.noWatch(why)
		} else {
			p.watched = append(p.watched, n)
		}
	}
	return p.entries(fd, n)
}

func (p *part) entries(fd int, n *node) error {
	if p.buf == nil {
		p.buf = make([]byte, 64<<10)
	}
	for {
		size, err := unix.ReadDirent(fd, p.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "read", Path: n.path, Err: err}
		}
		if size <= 0 {
			return nil
		}
		for b := p.buf[:size]; len(b) > direntName; {
			length, kind := int(binary.NativeEndian.Uint16(b[16:])), b[18]
			name, _, _ := bytes.Cut(b[direntName:length], []byte{0})
			b = b[length:]
			if s := string(name); s != "." && s != ".." {
				p.entry(n, s, kind == unix.DT_DIR || kind == unix.DT_UNKNOWN && isDir(fd, s))
			}
		}
	}
}

// direntName is where the name stands in what getdents64 tells of a file.
const direntName = 19

func isDir(fd int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// disk tells what a folder is on.
func (p *part) disk(fd int) (disk, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return remote, fmt.Errorf("look at a folder: %w", err)
	}
	if d, ok := p.disks[st.Dev]; ok {
		return d, nil
	}
	if p.disks == nil {
		p.disks = make(map[uint64]disk)
	}
	var at unix.Statfs_t
	if err := unix.Fstatfs(fd, &at); err != nil {
		return remote, fmt.Errorf("look at a file system: %w", err)
	}
	p.disks[st.Dev] = diskOf(uint32(at.Type))
	return p.disks[st.Dev], nil
}

// What is not in golang.org/x/sys.
const (
	zfs      = 0x2fc12fc1
	bcachefs = 0xca451a4e
	jfs      = 0x3153464a
	ntfs3    = 0x7366746e
)

func diskOf(magic uint32) disk {
	switch magic {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1,
		unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.ISOFS_SUPER_MAGIC, unix.NILFS_SUPER_MAGIC,
		unix.REISERFS_SUPER_MAGIC, unix.ECRYPTFS_SUPER_MAGIC, zfs, bcachefs, jfs,
		ntfs3:
		return local
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC,
		unix.DEVPTS_SUPER_MAGIC, unix.EFIVARFS_MAGIC, unix.HUGETLBFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC,
		unix.BINFMTFS_MAGIC, unix.NSFS_MAGIC:
		return kernel
	}
	return remote
}

// isNoFolder: the name is another thing now, or the path is longer than this system takes, so that nothing could be
// put in its place either.
func isNoFolder(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENAMETOOLONG)
}

// couldOpen reports whether the user could make a folder one that can be looked into.
func couldOpen(path string) bool {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return !isGone(err)
	}
	return int(st.Uid) == unix.Geteuid()
}
