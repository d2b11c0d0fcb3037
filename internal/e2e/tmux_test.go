//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const paneScript = `replies:
  - agent: main
    turn: 1
    calls:
      - {tool: SendMessage, input: {to: Ann, message: make it}}
      - {tool: SendMessage, input: {to: Ben, message: wait}}
  - agent: main
    text: I wait.
  - name: Ann
    turn: 1
    calls: [{tool: WebFetch, input: {url: "https://example.invalid/x", prompt: read it}}]
  - name: Ann
    contains: and more
    text: More of it.
  - name: Ann
    text: It is made.
  - name: Ben
    turn: 1
    delay: 600s
    text: I have waited.
  - text: Yes.
`

// window is a terminal in a tmux server of its own.
type window struct {
	*place
	env []string
}

func newWindow(t *testing.T) *window {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux: the panes of a team are NOT tested")
	}
	sockets, err := os.MkdirTemp("", "troupe-tmux-") // the path of a socket may not be long
	if err != nil {
		t.Fatal(err)
	}
	w := &window{place: newPlace(t, "TERM=xterm-256color", "TMUX_TMPDIR="+sockets, "LC_ALL=C.UTF-8")}
	w.env = w.environ
	t.Cleanup(func() {
		pid, _ := w.try("display-message", "-p", "#{pid}")
		_, _ = w.try("kill-server")
		if n, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil {
			w.until("the end of the tmux server", func() bool { return syscall.Kill(n, 0) != nil })
		}
		if err := os.RemoveAll(sockets); err != nil {
			t.Error(err)
		}
	})
	w.write("../s.yaml", paneScript)
	w.write("../home/settings.json",
		`{"teams": {"t": {"members": [{"name": "Ann"}, {"name": "Ben"}, {"name": "Carl"}]}}}`)
	return w
}

func (w *window) try(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-f", "/dev/null"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *window) tmux(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("tmux %q: %v\n%s\n%s", args, err, out, w.all())
	}
	return out
}

// begin starts the conversation in a window of a size; its pane is %0, and stays when it has ended.
func (w *window) begin(columns, rows int, args ...string) {
	w.t.Helper()
	w.tmux(append([]string{"new-session", "-d", "-s", "lead", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows),
		binary}, args...)...)
	w.tmux("set-option", "-g", "remain-on-exit", "on")
}

// panes are the titles of the viewers.
func (w *window) panes() string {
	out, _ := w.try("list-panes", "-a", "-F", "#{?@troupe_session,#{pane_title},}")
	titles := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(s string) bool { return s == "" })
	slices.Sort(titles)
	return strings.Join(titles, ", ")
}

func (w *window) pane(title string) string {
	w.t.Helper()
	for line := range strings.Lines(w.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_title}")) {
		if id, of, _ := strings.Cut(line, " "); strings.HasPrefix(of, title) {
			return id
		}
	}
	w.t.Fatalf("no pane has the title %s\n%s", title, w.all())
	return ""
}

func (w *window) screen(pane string) string {
	out, _ := w.try("capture-pane", "-p", "-J", "-S", "-", "-t", pane)
	return out
}

// all is what stands in every pane, for failures.
func (w *window) all() string {
	ids, _ := w.try("list-panes", "-a", "-F", "#{pane_id}")
	var b strings.Builder
	for _, id := range strings.Fields(ids) {
		fmt.Fprintf(&b, "-- %s\n%s\n", id, strings.TrimSpace(w.screen(id)))
	}
	return b.String()
}

func (w *window) until(what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("waited in vain for %s; the panes are %s\n%s", what, w.panes(), w.all())
		}
	}
}

func (w *window) titles(want string) {
	w.t.Helper()
	w.until("the panes "+want, func() bool { return w.panes() == want })
}

func (w *window) says(pane, words string) {
	w.t.Helper()
	w.until(pane+" to show "+words, func() bool { return strings.Contains(w.screen(pane), words) })
}

func (w *window) number(pane, what string) int {
	w.t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(w.tmux("display-message", "-p", "-t", pane, "#{"+what+"}")))
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestPain40Panes: a team in tmux has a pane for each member, live, with its state in the title; what one asks is
// answered there; a closed pane stops nothing and stays closed; an agent that is stopped marks its pane; when the
// process is killed the panes say so and stay, and the next one finds them; hide, show and the end.
func TestPain40Panes(t *testing.T) {
	t.Parallel()
	w := newWindow(t)
	w.begin(160, 45, "team", "mend it", "--team", "t", "--model", "script:../s.yaml", "--name", "job")
	w.titles("Ann · asking, Ben · working, Carl · idle")
	if columns := w.number("%0", "pane_width"); columns < 60 || columns > 110 {
		t.Errorf("the conversation has %d columns of 160", columns)
	}
	if at := strings.TrimSpace(w.tmux("display-message", "-p", "#{pane_id}")); at != "%0" {
		t.Errorf("the keyboard went to %s", at)
	}
	ann := w.pane("Ann")
	w.tmux("send-keys", "-t", ann, "n, not that", "Enter")
	w.titles("Ann · idle, Ben · working, Carl · idle")
	w.says("%0", "denied by you")
	w.tmux("send-keys", "-t", ann, "and more", "Enter")
	w.says(ann, "More of it.")

	w.tmux("kill-pane", "-t", w.pane("Carl"))
	w.tmux("send-keys", "-t", "%0", "/panes", "Enter")
	w.says("%0", "In panes: Ann, Ben\nWithout: Carl (closed)")
	if r := w.troupe("send", "job/Carl", "are you there?"); r.code != 0 {
		t.Error(r.errOut)
	}
	w.until("Carl to answer", func() bool { return strings.Contains(w.troupe("log", "job/Carl").out, "Yes.") })
	if r := w.troupe("stop", "job/Ben", "--now"); r.code != 0 {
		t.Error(r.errOut)
	}
	w.titles("Ann · idle, Ben · stopped")

	if err := syscall.Kill(w.number("%0", "pane_pid"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.titles("Ann · no process, Ben · no process")
	w.says(ann, "which ran this session, is gone")
	w.tmux("send-keys", "-t", ann, "and more, later", "Enter")
	w.says(ann, "Kept: no process is running it")
	w.tmux("respawn-pane", "-k", "-t", "%0", "-c", w.dir, binary, "--resume", "job")
	w.titles("Ann · idle, Ben · stopped, Carl · idle")
	if got := w.pane("Ann"); got != ann {
		t.Errorf("Ann's pane is %s, and was %s", got, ann)
	}
	w.until("the words that were kept to be answered", func() bool {
		return strings.Count(w.screen(ann), "More of it.") == 2
	})

	w.tmux("send-keys", "-t", "%0", "/panes hide ann", "Enter")
	w.titles("Ben · stopped, Carl · idle")
	w.tmux("send-keys", "-t", "%0", "/panes show", "Enter")
	w.says("%0", "In panes: Ann, Ben, Carl")
	w.titles("Ann · idle, Ben · stopped, Carl · idle")
	w.tmux("send-keys", "-t", w.pane("Ben"), "half a thought")
	w.says(w.pane("Ben"), "half a thought")
	w.tmux("send-keys", "-t", "%0", "C-d")
	w.titles("Ben · no process") // for the sake of the words that were not sent
	w.tmux("send-keys", "-t", w.pane("Ben"), "C-c", "C-c")
	w.titles("")
	w.audit("job")
}

// TestTmuxAsleep: a session that is put away from another terminal takes its panes with it; one that stays, for the
// sake of words that were not sent, says how the session goes on, as does `troupe attach`.
func TestTmuxAsleep(t *testing.T) {
	t.Parallel()
	w := newWindow(t)
	w.begin(160, 45, "team", "mend it", "--team", "t", "--model", "script:../s.yaml", "--name", "job")
	w.titles("Ann · asking, Ben · working, Carl · idle")
	ann, ben := w.pane("Ann"), w.pane("Ben")
	w.tmux("send-keys", "-t", ann, "n, not that", "Enter")
	w.titles("Ann · idle, Ben · working, Carl · idle")
	w.tmux("send-keys", "-t", ben, "half a thought")
	w.says(ben, "half a thought")
	if r := w.troupe("sleep", "job", "--now"); r.code != 0 {
		t.Fatal(r.errOut)
	}
	w.titles("Ben · asleep")
	w.says(ben, "Its session is asleep.")
	if screen := w.screen(ben); strings.Contains(screen, "--resume") {
		t.Errorf("the pane advises what is refused:\n%s", screen)
	}
	w.tmux("send-keys", "-t", ben, "C-c", "C-c")
	w.titles("")
	w.tmux("respawn-pane", "-k", "-t", "%0", "-c", w.dir, binary, "attach", "job/Ann")
	w.says("%0", "Its session is asleep. What you write waits until you wake it: troupe wake ")
}

// TestTmuxSmall: in a window of the usual size the conversation keeps 15 rows, and who has no pane is named; a window
// that becomes narrower leaves it 60 columns.
func TestTmuxSmall(t *testing.T) {
	t.Parallel()
	w := newWindow(t)
	w.begin(80, 24, "team", "--team", "t", "--model", "script:../s.yaml", "--name", "job", "mend it now")
	w.says("%0", "No room for a pane: Ben, Carl.")
	w.titles("Ann · asking")
	if rows := w.number("%0", "pane_height"); rows < 14 { // one row is the edge with the titles
		t.Errorf("the conversation has %d rows of 24", rows)
	}
	w.tmux("kill-pane", "-t", w.pane("Ann"))
	w.tmux("resize-window", "-t", "lead", "-x", "140", "-y", "40")
	w.tmux("send-keys", "-t", "%0", "n", "Enter")
	w.tmux("send-keys", "-t", "%0", "/panes show", "Enter")
	w.titles("Ann · idle, Ben · working, Carl · idle")
	w.tmux("resize-window", "-t", "lead", "-x", "90")
	w.until("60 columns", func() bool { return w.number("%0", "pane_width") == 60 })
}

// TestTmuxApart: where a conversation is in no tmux, members are in a tmux session of its own, which is told and ends
// with it.
func TestTmuxApart(t *testing.T) {
	t.Parallel()
	w := newWindow(t)
	term, end := w.talk(100, "team", "mend it", "--team", "t", "--model", "script:../s.yaml", "--name", "job")
	term.Until("how to see the panes", func(s string) bool {
		return strings.Contains(s, "Members of the team are shown in tmux: tmux attach -t troupe-")
	})
	w.titles("Ann · asking, Ben · working, Carl · idle")
	term.Keys("n\r")
	w.titles("Ann · idle, Ben · working, Carl · idle")
	if r := w.troupe("stop", "job/Ben", "--now"); r.code != 0 {
		t.Error(r.errOut)
	}
	w.titles("Ann · idle, Ben · stopped, Carl · idle")
	end()
	w.until("the end of the session of the panes", func() bool {
		out, err := w.try("list-sessions")
		return err != nil || !strings.Contains(out, "troupe-")
	})
	if _, err := os.Stat(filepath.Join(w.root, "user", ".tmux.conf")); err == nil {
		t.Error("a file of tmux's was written")
	}
}
