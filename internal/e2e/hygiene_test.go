package e2e_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// holds is a run of a main agent and one in the background that stops in the middle until
// somebody writes to "go", each of its steps with an effect that can be counted.
const holds = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {name: kid, description: d, prompt: p, run_in_background: true}}]
  - {agent: main, turn: 2, calls: [{tool: Bash, input: {command: "echo main 2 >> main.txt"}}]}
  - {agent: main, text: all done}
  - {turn: 1, calls: [{tool: Bash, input: {command: "echo kid 1 >> kid.txt"}}]}
  - {turn: 2, calls: [{tool: Bash, input: {command: "echo up > ready && cat go"}}]}
  - {turn: 3, calls: [{tool: Bash, input: {command: "echo kid 3 >> kid.txt"}}]}
  - text: seen
`

// held begins such a run, waits until it stops in the middle, and kills it there.
func held(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.write("../s.yaml", holds)
	ready := p.fifo("ready")
	p.mkfifo("go")
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
		"bypassPermissions", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	ready()
	// By now the main agent is done as well, or soon.
	if err := proc.await(regexp.MustCompile(`"session\.ended".*"type":"main"`)); err != nil {
		t.Fatal(err)
	}
	_ = proc.cmd.Process.Kill() // it waits for the kid
	if r, err := proc.wait(); err != nil || r.code != -1 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	return p
}

// goesOn resumes such a run to its end: nothing is lost and nothing was done twice.
func (p *place) goesOn() {
	p.t.Helper()
	run := p.run(0, "-p", "--resume", "job")
	if run.Result != "all done" || len(run.Agents) != 2 || run.Agents[1].Status != troupe.Completed {
		p.t.Errorf("in the end: %+v", run)
	}
	p.audit("job")
	if got, want := p.read("kid.txt")+p.read("main.txt"), "kid 1\nkid 3\nmain 2\n"; got != want {
		p.t.Errorf("the effects are %q, want %q", got, want)
	}
}

// TestResumeBehindTheEnd: the main agent has ended and one in the background has not when the
// process is killed. There is something to go on with, though the last word is said.
func TestResumeBehindTheEnd(t *testing.T) {
	t.Parallel()
	p := held(t)
	p.goesOn()
	if r := p.troupe("-p", "--resume", "job"); r.code != 2 ||
		!strings.Contains(r.errOut, "nothing left to continue") {
		t.Errorf("with nothing left: exit %d\n%s", r.code, r.errOut)
	}
	// Words that somebody left meanwhile are something to go on with.
	if r := p.troupe("send", "job", "one more thing"); r.code != 0 || !strings.Contains(r.out, "--resume") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if run := p.run(0, "-p", "--resume", "job"); run.NumTurns != 5 {
		t.Errorf("after the words: %+v", run)
	}
	p.audit("job")
}

// other runs a command as somebody who may not do everything.
func (p *place) other(args ...string) (ran, bool) {
	p.t.Helper()
	cmd := p.command(args...)
	if os.Geteuid() == 0 {
		mine := filepath.Join(p.root, "troupe") // the built one is in a folder of root's
		if err := os.Link(binary, mine); err != nil && !errors.Is(err, os.ErrExist) {
			p.t.Fatal(err)
		}
		cmd.Path = mine
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Logf("cannot become another user here: %v", err)
		return ran{}, false
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}, true
}

// TestUnwritableHome: a home that may be read and not written is one clear message, nothing in
// it changes, and once it may be written the run goes on.
func TestUnwritableHome(t *testing.T) {
	t.Parallel()
	p := held(t)
	for dir := p.root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		mode(t, dir, 0o755)
	}
	mode(t, p.dir, 0o777)
	mode(t, filepath.Join(p.root, "user"), 0o755) // whose settings are read, and cannot be passed over
	modes := map[string][2]os.FileMode{p.home(): {0o555, 0o700}}
	entries, err := os.ReadDir(p.home())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			modes[filepath.Join(p.home(), e.Name())] = [2]os.FileMode{0o555, 0o700}
		} else {
			modes[filepath.Join(p.home(), e.Name())] = [2]os.FileMode{0o444, 0o600}
		}
	}
	for name, m := range modes {
		mode(t, name, m[0])
	}
	before := contents(t, p.home())
	for _, args := range [][]string{{"-p", "--resume", "job"}, {"-p", "new", "--model", "script:../s.yaml"},
		{"rm", "job"}, {"send", "job", "hello"}} {
		r, ok := p.other(args...)
		if !ok {
			t.Skip("only one user here, who may do everything")
		}
		if r.code != 1 && r.code != 2 || r.out != "" || !strings.HasPrefix(r.errOut, "troupe: ") ||
			strings.Contains(r.errOut, "goroutine") ||
			!strings.Contains(r.errOut, p.home()) || !strings.Contains(r.errOut, "TROUPE_HOME") {
			t.Errorf("troupe %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errOut)
		}
	}
	if after := contents(t, p.home()); after != before {
		t.Errorf("the home was changed:\n%s\n%s", before, after)
	}
	for name, m := range modes {
		mode(t, name, m[1])
	}
	p.goesOn()
}

func mode(t *testing.T, name string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, m); err != nil {
		t.Fatal(err)
	}
}

// contents lists the files below a folder with a sum of what they hold.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %x\n", strings.TrimPrefix(name, dir), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// database opens a home's database beside the program.
func (p *place) database() *sql.DB {
	p.t.Helper()
	// It may meet a commit of a process at work, which is short.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.home(), "troupe.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return db
}

func (p *place) exec(db *sql.DB, query string, args ...any) {
	p.t.Helper()
	if _, err := db.ExecContext(p.t.Context(), query, args...); err != nil {
		p.t.Fatalf("%s: %v", query, err)
	}
}

// TestNewerDatabaseIsUntouched: whatever an older troupe is asked to do with a newer one's
// database, it says why it does not, and not a byte of the home changes.
func TestNewerDatabaseIsUntouched(t *testing.T) {
	t.Parallel()
	p := held(t)
	db := p.database()
	var version int
	if err := db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	p.exec(db, "PRAGMA user_version = 99")
	p.exec(db, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, p.home())
	for _, command := range []string{"-p go --model script:../s.yaml", "-p --resume job", "sessions", "show job",
		"log job", "tasks", "requests", "send job hello", "stop job", "rm job", "rm --older-than 1h", "undo job"} {
		p.refuses([]string{"troupe.db", "version 99", "newer troupe"}, strings.Fields(command)...)
	}
	if after := contents(t, p.home()); after != before {
		t.Errorf("the home was changed:\n%s\n%s", before, after)
	}
	db = p.database()
	p.exec(db, fmt.Sprintf("PRAGMA user_version = %d", version))
	p.goesOn()
}

// TestTwoAtOnce: two processes that resume one session in the same moment. One of them gets
// it; the other says so, or that there is nothing left to do, and nothing is done twice.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := held(t)
			var both sync.WaitGroup
			ends := make([]ran, 3)
			for i := range ends {
				both.Go(func() {
					proc, err := startProcess(p.command("-p", "--resume", "job"))
					if err == nil {
						ends[i], err = proc.wait()
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
			won := 0
			for _, r := range ends {
				switch {
				case r.code == 0 && r.out == "all done\n":
					won++
				case r.code == 2 &&
					regexp.MustCompile(`is being run by process|has just taken|nothing left to continue`).MatchString(r.errOut):
				default:
					t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
				}
			}
			if won != 1 {
				t.Errorf("%d processes took the session to its end", won)
			}
			p.audit("job")
			if got, want := p.read("kid.txt")+p.read("main.txt"), "kid 1\nkid 3\nmain 2\n"; got != want {
				t.Errorf("the effects are %q, want %q", got, want)
			}
		})
	}
}

// shift moves every time that a home holds by so many years: as if the clock had been set since.
func (p *place) shift(years int) {
	p.t.Helper()
	db := p.database()
	step := int64(years) * 365 * 24 * int64(time.Hour)
	for _, column := range []string{"events.at", "sessions.created_at", "sessions.started_at", "sessions.ended_at",
		"sessions.until", "owners.started_at"} {
		table, name, _ := strings.Cut(column, ".")
		p.exec(db, fmt.Sprintf("UPDATE %s SET %s = %s + ? WHERE %s <> 0", table, name, name, name), step)
	}
	at := regexp.MustCompile(`"20(\d\d)(-\d\d-\d\dT[0-9:.]+Z")`)
	for _, table := range []string{"events", "mail"} {
		rows, err := db.QueryContext(p.t.Context(), "SELECT rowid_, body FROM (SELECT "+
			map[string]string{"events": "session || ':' || seq", "mail": "sent"}[table]+" AS rowid_, body FROM "+table+
			") WHERE body IS NOT NULL")
		if err != nil {
			p.t.Fatal(err)
		}
		changed := make(map[string][]byte)
		for rows.Next() {
			var id string
			var body []byte
			if err := rows.Scan(&id, &body); err != nil {
				p.t.Fatal(err)
			}
			changed[id] = at.ReplaceAllFunc(body, func(m []byte) []byte {
				s := at.FindSubmatch(m)
				var year int
				fmt.Sscan(string(s[1]), &year) //nolint:errcheck // two digits, as matched
				return fmt.Appendf(nil, `"20%02d%s`, year+years, s[2])
			})
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			p.t.Fatal(err)
		}
		where := map[string]string{"events": "session || ':' || seq = ?", "mail": "sent = ?"}[table]
		for id, body := range changed {
			p.exec(db, "UPDATE "+table+" SET body = ? WHERE "+where, body, id)
		}
	}
}

// TestClockJumps: between a run and its resume the clock goes back ten years, or forward.
// Order is the events' numbers, so nothing is lost, doubled or shown in another order.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for _, years := range []int{-10, 10} {
		t.Run(fmt.Sprint(years), func(t *testing.T) {
			t.Parallel()
			p := held(t)
			p.shift(-years) // what is in the home is as much later as the clock has gone back
			before := p.troupe("log", "job", "--tree", "--json").out
			p.goesOn()
			after := p.troupe("log", "job", "--json").out
			if first, _, _ := strings.Cut(before, "\n"); !strings.HasPrefix(after, first+"\n") {
				t.Errorf("the log does not begin as it did:\n%.500s", after)
			}
			for _, command := range []string{"sessions", "show job", "tasks job", "log job --tree", "cost job",
				"doctor"} {
				if r := p.troupe(strings.Fields(command)...); r.code != 0 && (command != "doctor" || r.code != 2) {
					t.Errorf("troupe %s: exit %d\n%s", command, r.code, r.errOut)
				}
			}
			// A clock that has gone back makes nothing old; one that has gone forward does.
			old := p.troupe("rm", "--older-than", "1h", "--dry-run").out
			if strings.Contains(old, "would remove") {
				t.Errorf("a session that has just ended is taken for old:\n%s", old)
			}
		})
	}
}

// TestLeftovers: what processes that were killed left in the home goes with the next one that
// runs something; what is somebody's, or may be, stays.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	p := held(t)
	outputs := filepath.Join(p.home(), "outputs")
	for name, age := range map[string]time.Duration{"0123456789ab": 2 * time.Hour, "ba9876543210": time.Minute,
		"not a session": 2 * time.Hour} {
		p.write(filepath.Join("..", "home", "outputs", name, "x"), "x")
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(outputs, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if found := left(t, p, "run", "*.sock"); len(found) != 1 {
		t.Errorf("the killed process left the sockets %q", found)
	}
	if found := left(t, p, "owners", "*"); len(found) != 1 {
		t.Errorf("the killed process left the locks %q", found)
	}
	p.goesOn()
	if found := left(t, p, "run", "*.sock"); len(found) > 0 {
		t.Errorf("sockets are left: %q", found)
	}
	if found := left(t, p, "owners", "*"); len(found) > 0 {
		t.Errorf("locks are left: %q", found)
	}
	want := []string{"ba9876543210", "not a session", string(p.report("job").SessionID)}
	slices.Sort(want)
	if got := left(t, p, "outputs", "*"); !slices.Equal(got, want) {
		t.Errorf("of the outputs there are %q, want %q", got, want)
	}
}

func left(t *testing.T, p *place, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.home(), dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// TestOlderThan: rm --older-than forgets old trees whole, says what it would do when asked
// to, and spares whatever is at work, however old.
func TestOlderThan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", holds)
	p.write("../quick.yaml", "replies: [{turn: 1, calls: [{tool: Bash, input: {command: seq 100000}}]}, {text: ok}]\n")
	quick := func(name string) string {
		run := p.run(0, "-p", "go", "--name", name, "--model", "script:../quick.yaml", "--permission-mode",
			"bypassPermissions")
		return string(run.SessionID)
	}
	old := quick("old")
	ready := p.fifo("ready")
	p.mkfifo("go")
	working, err := startProcess(p.command("-p", "go", "--name", "job", "--model", "script:../s.yaml",
		"--permission-mode", "bypassPermissions"))
	if err != nil {
		t.Fatal(err)
	}
	ready()
	p.shift(-1)
	young := quick("young")
	if got := p.troupe("rm", "--older-than", "30d", "--dry-run"); got.code != 0 ||
		got.out != "would remove "+old+" go\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if n := strings.Count(p.troupe("sessions", "--json").out, `"id"`); n != 3 {
		t.Errorf("%d sessions after a dry run", n)
	}
	if got := p.troupe("rm", "--older-than", "30d"); got.code != 0 || got.out != "removed "+old+" go\n" {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	if r := p.troupe("show", "old"); r.code != 2 {
		t.Errorf("it is still there: %s", r.out)
	}
	if got := left(t, p, "outputs", old); len(got) > 0 {
		t.Errorf("its outputs are still there: %q", got)
	}
	if p.report("young").SessionID != troupe.SessionID(young) {
		t.Error("the young one is gone")
	}
	p.write("go", "") // the tree at work was spared, and comes to its end
	if r, err := working.wait(); err != nil || r.code != 0 || r.out != "all done\n" {
		t.Errorf("%v, exit %d\n%s%s", err, r.code, r.out, r.errOut)
	}
	p.audit("job")
	if got := p.troupe("rm", "--older-than", "tomorrow"); got.code != 2 || !strings.Contains(got.errOut, "30d") {
		t.Errorf("exit %d\n%s", got.code, got.errOut)
	}
}
