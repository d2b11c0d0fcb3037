//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// aside runs f on a thread that has a "/" of its own, with some folders in it, and its own mounts.
func aside(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can have a root of its own")
	}
	root := t.TempDir()
	done := make(chan error, 1)
	go ending(func() {
		err := errors.Join(
			unix.Unshare(unix.CLONE_NEWNS),
			unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("tmpfs", root, "tmpfs", 0, ""),
			os.MkdirAll(root+"/proc", 0o755), os.MkdirAll(root+"/dev/shm", 0o755), os.MkdirAll(root+"/site", 0o755),
			os.MkdirAll(root+"/usr", 0o755),
			unix.Mount("/proc", root+"/proc", "", unix.MS_BIND, ""),
			os.WriteFile(root+"/dev/null", nil, 0o644),
			unix.Chroot(root), unix.Chdir("/"),
		)
		if err == nil {
			f()
		}
		done <- err
	})
	if err := <-done; err != nil {
		t.Skip("no root of its own:", err)
	}
}

// A ruleset is used again while a new one would grant the same, and not when one thing is different.
func TestRulesetsFollowTheMachine(t *testing.T) {
	version, why := landlockVersion()
	if version == 0 {
		t.Skip(why)
	}
	version = min(version, newestLandlock)
	same := terms{version: version, tcp: true, changeable: []string{"/site"}}
	mount := func(at string) error { return unix.Mount("tmpfs", at, "tmpfs", 0, "") }
	cases := []struct {
		name   string
		change func() error
		terms  terms
		again  bool
	}{
		{name: "nothing", change: func() error { return nil }, again: true},
		{name: "a file within", change: func() error { return os.WriteFile("/site/f", nil, 0o644) }, again: true},
		{name: "a folder made again", change: func() error {
			return errors.Join(os.RemoveAll("/site"), unix.Mkdir("/site", 0o755))
		}},
		{name: "a granted folder below another made again", terms: terms{version: version, tcp: true,
			changeable: []string{"/site/deep"}}, change: func() error {
			return errors.Join(unix.Rmdir("/site/deep"), unix.Mkdir("/site/deep", 0o755))
		}},
		{name: "a granted folder that is gone", terms: terms{version: version, tcp: true,
			changeable: []string{"/site/deep"}}, change: func() error { return unix.Rmdir("/site/deep") }},
		{name: "a granted folder that was not there", terms: terms{version: version, tcp: true,
			changeable: []string{"/site/late"}}, change: func() error { return unix.Mkdir("/site/late", 0o755) }},
		{name: "another in its place", change: func() error {
			return errors.Join(unix.Mkdir("/usr/other", 0o755),
				unix.Renameat2(unix.AT_FDCWD, "/usr/other", unix.AT_FDCWD, "/site", unix.RENAME_EXCHANGE))
		}},
		{name: "a new folder in the root", change: func() error { return unix.Mkdir("/new", 0o755) }},
		{name: "one less", change: func() error { return os.Remove("/usr") }},
		{name: "a folder that is read only made again", change: func() error {
			return errors.Join(os.Remove("/usr"),
				unix.Mkdir("/usr", 0o755))
		}},
		{name: "a mount over a folder that is read only", change: func() error { return mount("/usr") }},
		{name: "a mount over a granted folder", change: func() error { return mount("/site") }},
		{name: "a mount over the root's device", change: func() error { return mount("/dev/shm") }},
		{name: "a mount within", change: func() error {
			return errors.Join(os.MkdirAll("/site/deep", 0o755),
				mount("/site/deep"))
		}},
		{name: "a device in the place of a file", change: func() error {
			return errors.Join(os.Remove("/dev/null"), unix.Mknod("/dev/null", unix.S_IFCHR|0o666,
				int(unix.Mkdev(1, 3))))
		}},
	}
	for _, c := range cases {
		if c.terms.version == 0 {
			c.terms = same
		}
		aside(t, func() {
			k := rulesets{calm: 1}
			check(t, c.name, os.MkdirAll("/site/deep", 0o755))
			first := kept(t, &k, c.terms)
			tick(t)
			check(t, c.name, c.change())
			second, err := k.take(c.terms, false)
			check(t, c.name, err)
			if again := first == second; again != c.again {
				t.Errorf("%s: used again: %v", c.name, again)
			}
		})
	}
	aside(t, func() {
		k := rulesets{calm: 1}
		check(t, "mount", mount("/site"))
		first := kept(t, &k, same)
		before, _, err := identify(unix.AT_FDCWD, "/site")
		check(t, "look", err)
		// which nothing kept open hinders
		check(t, "mount another", errors.Join(unix.Unmount("/site", 0), mount("/site")))
		after, _, err := identify(unix.AT_FDCWD, "/site")
		check(t, "look", err)
		t.Logf("another mount has the same numbers: %v", before.inode == after.inode && before.minor == after.minor)
		if second, err := k.take(same, false); err != nil || first == second {
			t.Errorf("unmounted and mounted: used again (%v)", err)
		}
	})
	aside(t, func() {
		k := rulesets{calm: 1}
		first := kept(t, &k, same)
		for name, other := range map[string]terms{
			"another folder":  {version: version, tcp: true, changeable: []string{"/usr"}},
			"one more":        {version: version, tcp: true, changeable: []string{"/site", "/usr"}},
			"all of TCP":      {version: version, changeable: []string{"/site"}},
			"a port":          {version: version, tcp: true, ports: []int{443}, changeable: []string{"/site"}},
			"another version": {version: version - 1, tcp: true, changeable: []string{"/site"}},
		} {
			if len(other.ports) > 0 && version < 4 || other.version == 0 {
				continue
			}
			if second, err := k.take(other, false); err != nil || first == second {
				t.Errorf("%s: used again (%v)", name, err)
			}
		}
		carved := terms{version: version, tcp: true, changeable: []string{"/site"}, carved: []string{"/site/secret"}}
		one, err := k.take(carved, false)
		check(t, "carved", err)
		if two, err := k.take(carved, false); err != nil || one == two {
			t.Errorf("something was carved out: used again (%v)", err)
		}
		if alone, err := k.take(same, true); err != nil || alone == first {
			t.Errorf("alone: used again (%v)", err)
		}
		if again, err := k.take(same, false); err != nil || again != first {
			t.Errorf("after all that it was not used again (%v)", err)
		}
	})
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// kept takes a ruleset that is kept.
func kept(t *testing.T, k *rulesets, terms terms) *ruleset {
	t.Helper()
	for range 2 { // the first look at the mounts says that there may be others
		first, err := k.take(terms, false)
		check(t, "make a ruleset", err)
		second, err := k.take(terms, false)
		check(t, "use a ruleset again", err)
		if first == second {
			return first
		}
	}
	t.Error("nothing is kept")
	return nil
}

// tick waits until what changes from now on has another time than the root.
func tick(t *testing.T) {
	t.Helper()
	_, root, err := identify(unix.AT_FDCWD, "/")
	check(t, "look", err)
	for err == nil {
		var now unix.StatxTimestamp
		check(t, "write", os.WriteFile("/site/tick", nil, 0o644))
		if _, now, err = identify(unix.AT_FDCWD, "/site/tick"); now.Sec > root.Sec || now.Nsec > root.Nsec {
			return
		}
	}
}

// While the root is so new that its next change might carry the same time, nothing is kept.
func TestRestlessRootIsNotTrusted(t *testing.T) {
	version, why := landlockVersion()
	if version == 0 {
		t.Skip(why)
	}
	aside(t, func() {
		k := New(Options{}).rulesets.calm
		if k < time.Second {
			t.Errorf("%s is less than some file systems can tell apart", k)
		}
		restless := rulesets{calm: time.Hour}
		for range 3 {
			_, err := restless.take(terms{version: min(version, newestLandlock), tcp: true}, false)
			check(t, "make a ruleset", err)
		}
		if n := len(restless.kept); n > 0 {
			t.Errorf("%d are kept", n)
		}
	})
}

// What is in use stays open, what is neither in use nor kept does not, and there is a bound.
func TestRulesetsAreClosed(t *testing.T) {
	version, why := landlockVersion()
	if version == 0 {
		t.Skip(why)
	}
	aside(t, func() { rulesetsAreClosed(t, min(version, newestLandlock)) }) // where no other test mounts anything
}

func rulesetsAreClosed(t *testing.T, version int) {
	t.Helper()
	terms := func(i int) terms {
		dir := filepath.Join("/site", fmt.Sprint(i))
		check(t, "make", os.MkdirAll(dir, 0o755))
		return terms{version: version, tcp: true, changeable: []string{dir}}
	}
	open := func(r *ruleset) bool {
		_, err := r.file.Stat()
		if err != nil && !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
		return err == nil
	}
	k := rulesets{calm: 1}
	used := kept(t, &k, terms(0))
	k.back(used) // it was taken twice
	var all []*ruleset
	for i := range 3 * maxRulesets {
		other, err := k.take(terms(i+1), false)
		check(t, "take", err)
		k.back(other)
		all = append(all, other)
	}
	if len(k.kept) != maxRulesets {
		t.Errorf("%d are kept", len(k.kept))
	}
	for i, other := range all {
		if kept := i >= 2*maxRulesets; open(other) != kept {
			t.Errorf("ruleset %d: open %v", i, !kept)
		}
	}
	if !open(used) {
		t.Error("one that is in use was closed")
	}
	if flags, err := unix.FcntlInt(uintptr(used.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("it would be inherited: %d, %v", flags, err)
	}
	k.back(used)
	if open(used) {
		t.Error("one that nobody has is still open")
	}
	late, err := terms(0).make()
	check(t, "make", err)
	late.users = 1
	k.keep(late, k.epoch-1)
	k.back(late)
	if open(late) {
		t.Error("one was kept though something was mounted while it was made")
	}
	alone, err := k.take(terms(0), true)
	check(t, "take alone", err)
	k.back(alone)
	if open(alone) {
		t.Error("one that was nobody else's is still open")
	}
}

// Many want many, while what is granted changes.
func TestRulesetsAtOnce(t *testing.T) {
	r := newRoom(t, Options{})
	needLandlock(t, r)
	k := rulesets{calm: 1}
	var group sync.WaitGroup
	for g := range 6 {
		group.Go(func() {
			for i := range 200 {
				dir := filepath.Join(r.temp, fmt.Sprint((g+i)%(maxRulesets+4)))
				_ = os.Mkdir(dir, 0o755)
				got, err := k.take(terms{version: r.box.report().Landlock, changeable: []string{dir}}, i%7 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				if i%5 == 0 {
					_ = os.Remove(dir)
				}
				if _, err := got.file.Stat(); err != nil {
					t.Errorf("it is in use: %v", err)
				}
				k.back(got)
			}
		})
	}
	group.Wait()
	for _, r := range k.kept {
		if r.users != 1 {
			t.Errorf("%d have one that nobody has", r.users)
		}
	}
}

// The same through the front door: a temporary folder that was made again can be written, and
// one whose name another has got cannot.
func TestGrantsFollowTheirNames(t *testing.T) {
	r := newRoom(t, Options{})
	needLandlock(t, r)
	try := func(what, want string) {
		t.Helper()
		if out, _, _ := r.run("echo x > " + r.temp + "/x && echo -n yes; echo x 2>/dev/null > " + r.temp +
			".old/x && echo -n old; true"); out != want {
			t.Errorf("%s: %q, want %q", what, out, want)
		}
	}
	for range 3 {
		try("as it was", "yes")
	}
	check(t, "rename", os.Rename(r.temp, r.temp+".old"))
	check(t, "make", os.Mkdir(r.temp, 0o700))
	try("made again", "yes")
	check(t, "remove", os.RemoveAll(r.temp+".old"))
	check(t, "remove", os.RemoveAll(r.temp))
	check(t, "make", os.Mkdir(r.temp, 0o700))
	try("removed and made again", "yes")
	ports := []int{1}
	r.conf.Network = troupe.Network{Ports: ports}
	_, _, _ = r.run("true")
	ports[0] = 2 // whose slice it is
	for _, one := range r.box.rulesets.kept {
		if len(one.ports) > 0 && one.ports[0] != 1 {
			t.Error("the terms of a kept ruleset changed")
		}
	}
}

// Kept rulesets reach nobody that we start, confined or not.
func TestRulesetsAreNotInherited(t *testing.T) {
	r := newRoom(t, Options{})
	needLandlock(t, r)
	for range 3 {
		if out, _, _ := r.run("ls -l /proc/self/fd"); strings.Contains(out, "landlock") ||
			strings.Contains(out, "mountinfo") {
			t.Error(out)
		}
	}
	if len(r.box.rulesets.kept) == 0 {
		t.Log("the root has just changed: nothing was kept")
	}
	out, err := exec.CommandContext(t.Context(), "ls", "-l", "/proc/self/fd").Output()
	if err != nil || strings.Contains(string(out), "landlock") || strings.Contains(string(out), "mountinfo") {
		t.Errorf("%v: %s", err, out)
	}
}
