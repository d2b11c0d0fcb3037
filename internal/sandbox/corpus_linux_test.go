//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newFixture makes the repository that the recorded commands run in.
func newFixture(t *testing.T, o Options) *room {
	t.Helper()
	for _, tool := range []string{"bash", "git", "gcc", "zip", "bzip2"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the fixture needs %s", tool)
		}
	}
	r := newRoom(t, o)
	base := filepath.Dir(r.ws)
	out, err := exec.CommandContext(t.Context(), "bash", "../../testdata/attacks/mkfixture.sh",
		filepath.Join(base, "fixture")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.ws, r.home = filepath.Join(base, "fixture", "ws"), filepath.Join(base, "fixture", "home")
	r.env = slices.DeleteFunc(r.env, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	r.env = append(r.env, "HOME="+r.home, "GIT_CONFIG_NOSYSTEM=1")
	return r
}

// state is every file below a folder, with what can be changed of it.
func state(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := info.Mode().String() + info.ModTime().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf("%x", sha256.Sum256(data))
		}
		all[path] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func changes(before, after map[string]string) []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if before[path] != after[path] {
			list = append(list, path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			list = append(list, "-"+path)
		}
	}
	return list
}

// restore makes a folder what it was, from a copy: only what differs, for to make all of it anew takes seconds.
func restore(t *testing.T, dir, kept string, first map[string]string) {
	t.Helper()
	now := state(t, dir)
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if was, now := first[path], now[path]; was != now && (was == "" || was[0] != 'd' || now[0] != 'd') {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(first)) {
		if _, err := os.Lstat(path); err == nil {
			continue // it was never changed, or came back with its folder
		}
		from := filepath.Join(kept, strings.TrimPrefix(path, dir))
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, path).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(first))) { // a folder's time after what is in it
		info, err := os.Lstat(filepath.Join(kept, strings.TrimPrefix(path, dir)))
		if err == nil && info.IsDir() {
			err = errors.Join(os.Chmod(path, info.Mode()), os.Chtimes(path, time.Time{}, info.ModTime()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if list := changes(first, state(t, dir)); len(list) > 0 {
		t.Fatalf("it is not as it was: %q", list)
	}
}

// brief: the same again on lesser kernels, or by another user, is left out.
func brief() bool { return testing.Short() && !everything() }

// rows reads a table of recorded commands; with -short one in eight.
func rows(t *testing.T, name string) (list [][]string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "attacks", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); line != "" && line[0] != '#' {
			list = append(list, strings.Split(line, "\t"))
		}
	}
	if !brief() {
		return list
	}
	const oneOf = 8
	for i := range list {
		if i%oneOf == 0 {
			list[i/oneOf] = list[i]
		}
	}
	return list[:(len(list)+oneOf-1)/oneOf]
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	var text string
	if err := json.Unmarshal([]byte(s), &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// allAttacks is the variable that has all cases run on all kernels, and what tries to hit a moment try as often as
// we ever do. That takes minutes. Without it the whole kernel has all cases and the others a part.
const allAttacks = "TROUPE_ALL_ATTACKS"

func everything() bool { return os.Getenv(allAttacks) != "" }

// often is how often to try to hit a moment, of most tries.
func often(most int) int {
	const oneOf, briefly = 4, 16
	switch {
	case everything():
		return most
	case brief():
		return most / briefly
	default:
		return most / oneOf
	}
}

// listener is a port on loopback that nobody may reach; called reports whether somebody did.
func listener(t *testing.T) (port string, called func() bool) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	callers := make(chan string, 1000)
	go func() {
		defer close(callers)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			callers <- c.RemoteAddr().String()
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		for range callers {
		}
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, func() bool {
		t.Helper()
		// Who called before is taken before us, however late that is.
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		others := false
		for caller := range callers {
			if caller == c.LocalAddr().String() {
				break
			}
			others = true
		}
		return others
	}
}

// oldLandlock is what older kernels have. Those without namespaces or notifications can be had in other ways, and are
// tested with the whole program.
func oldLandlock() Options { return Options{Landlock: 1, NoNamespaces: true} }

// onEach runs a test on the whole kernel and on an older one, where it has a part of the cases.
func onEach(t *testing.T, test func(t *testing.T, o Options, sampled bool)) {
	t.Helper()
	t.Run("whole", func(t *testing.T) {
		t.Parallel()
		test(t, Options{}, false)
	})
	t.Run("old landlock", func(t *testing.T) {
		t.Parallel()
		if brief() {
			t.Skip("without -short it runs")
		}
		test(t, oldLandlock(), !everything())
	})
}

// No recorded attack has its effect when it runs read-only, whatever the kernel lacks, and
// where it had one without the sandbox it was seen to try.
func TestRecordedAttacks(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"whole": {}, "least": {Landlock: 1, NoNotify: true, NoNamespaces: true}, "old landlock": oldLandlock(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "whole" && brief() {
				t.Skip("without -short it runs")
			}
			r := newFixture(t, o)
			needLandlock(t, r)
			port, called := listener(t)
			before := state(t, filepath.Dir(r.ws))
			unseen := 0
			for i, row := range rows(t, "readonly.tsv") {
				if name != "whole" && !everything() && i%4 != 0 {
					continue
				}
				id, class, needs := row[0], row[1], row[7]
				if needs == "norun" || needs == "pty" {
					continue
				}
				command := strings.ReplaceAll(unquote(t, row[2]), "{PORT}", port)
				out, code, w := r.brief(command)
				if list := changes(before, state(t, filepath.Dir(r.ws))); len(list) > 0 {
					t.Errorf("%s %s: %s\nchanged %q\n%s", id, class, command, list, out)
					before = state(t, filepath.Dir(r.ws))
				}
				if called() {
					t.Errorf("%s: %s\nreached the listener", id, command)
				}
				if len(w.Attempts) == 0 && r.box.Support(t.Context()).Notify && !strings.Contains(out, "not found") {
					unseen++
					t.Logf("%s: nothing was attempted: %s\nexit %d\n%.400s", id, command, code, out)
				}
			}
			t.Logf("%d attacks did not get to attempt anything", unseen)
		})
	}
}

func needLandlock(t testing.TB, r *room) {
	t.Helper()
	if len(r.box.Levels()) == 0 {
		t.Skip("this kernel cannot confine commands")
	}
}

// What only reads is not held to want more.
func TestRecordedHarmless(t *testing.T) {
	t.Parallel()
	onEach(t, recordedHarmless)
}

func recordedHarmless(t *testing.T, o Options, sampled bool) {
	t.Helper()
	r := newFixture(t, o)
	needLandlock(t, r)
	r.env = append(r.env, "GOCACHE="+filepath.Join(r.temp, "go"), "GOPATH="+filepath.Join(r.temp, "gopath"),
		"GOTOOLCHAIN=local")
	before := state(t, filepath.Dir(r.ws))
	for i, row := range rows(t, "benign.tsv") {
		if sampled && i%4 != 0 {
			continue
		}
		out, code, w := r.brief(unquote(t, row[2]))
		if len(w.Attempts) > 0 || w.Blind {
			t.Errorf("%s %s: %s\nattempted %s\nexit %d\n%.300s", row[0], row[1], row[2], attempts(w), code, out)
		}
		if code == 126 || strings.Contains(out, "ermission denied") || strings.Contains(out, "not permitted") {
			t.Errorf("%s: %s\nexit %d\n%.300s", row[0], row[2], code, out)
		}
	}
	if list := slices.DeleteFunc(changes(before, state(t, filepath.Dir(r.ws))),
		func(p string) bool { return strings.HasPrefix(p, r.temp) }); len(list) > 0 {
		t.Errorf("changed %q", list)
	}
}

// A repository that was made to run something has no effect either.
func TestRecordedHostileRepositories(t *testing.T) {
	t.Parallel()
	onEach(t, recordedHostileRepositories)
}

func recordedHostileRepositories(t *testing.T, o Options, sampled bool) {
	t.Helper()
	r := newFixture(t, o)
	needLandlock(t, r)
	fixture := filepath.Dir(r.ws)
	kept := filepath.Join(t.TempDir(), "kept")
	if out, _, _ := r.plain("cp -a " + fixture + " " + kept); out != "" {
		t.Fatal(out)
	}
	first := state(t, fixture)
	for i, row := range rows(t, "hostile_repo.tsv") {
		if row[5] == "pty" || sampled && i%4 != 0 {
			continue
		}
		restore(t, fixture, kept, first)
		r.plain(unquote(t, row[2]))
		before := state(t, fixture)
		out, _, w := r.brief(unquote(t, row[3]))
		if list := changes(before, state(t, fixture)); len(list) > 0 {
			t.Errorf("%s %s: changed %q\n%s", row[0], row[3], list, out)
		}
		if row[6] == "yes" && len(w.Attempts) == 0 && !strings.Contains(out, "not found") {
			t.Logf("%s %s: nothing was attempted\n%.300s", row[0], row[3], out)
		}
	}
}

// What hidden files hold does not come out.
func TestRecordedLeaks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, o Options, sampled bool) {
		t.Helper()
		r := newFixture(t, o)
		needLandlock(t, r)
		list, _, _ := r.plain("grep -rlE 'FAKE-KEY|fake-123' --exclude-dir=.git " + filepath.Dir(r.ws))
		if r.conf.Hidden = strings.Fields(list); len(r.conf.Hidden) == 0 {
			t.Fatal("the fixture holds no secret")
		}
		for i, row := range rows(t, "leak.tsv") {
			// Variables and what git keeps are not for the sandbox to hide.
			if row[1] != "leakfile" || strings.Contains(row[2], "git") || sampled && i%4 != 0 {
				continue
			}
			out, code, _ := r.brief(unquote(t, row[2]))
			if strings.Contains(out, "FAKE-KEY") || strings.Contains(out, "fake-123") {
				t.Errorf("%s %s: exit %d\n%.300s", row[0], row[2], code, out)
			}
		}
	})
}
