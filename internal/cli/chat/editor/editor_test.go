//go:build unix

package editor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/cli/chat/editor"
	"github.com/troupe-dev/troupe/internal/cli/chat/ptytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// terminal is a person in front of an editor.
type terminal struct {
	*ptytest.Terminal
	*editor.Editor
	t *testing.T
}

func open(t *testing.T, w, h int, o editor.Options) *terminal {
	t.Helper()
	x := &terminal{Terminal: ptytest.Open(t, w, h), t: t}
	e, err := editor.Open(x.TTY, x.TTY, o)
	if err != nil {
		t.Fatal(err)
	}
	x.Editor = e
	x.SetPrompt("> ")
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		x.Terminal.Close()
	})
	return x
}

func (x *terminal) event(want editor.Event) {
	x.t.Helper()
	select {
	case got := <-x.Events():
		if got != want {
			x.t.Fatalf("got the event %+v, want %+v", got, want)
		}
	case <-time.After(2 * time.Minute):
		x.t.Fatalf("no event came; want %+v", want)
	}
}

const (
	up, down, right, left = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
	altEnter              = "\x1b\r"
)

func TestTyping(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, keys, want string }{
		{"plain", "hello", "hello"},
		{"in the middle", "helo" + left + "l", "hello"},
		{"home and end", "bc\x01a\x05d", "abcd"},
		{"word by word", "one two three\x1bb\x1bbX", "one Xtwo three"},
		{"ctrl-arrow", "one two\x1b[1;5DX", "one Xtwo"},
		{"kill and yank", "one two\x17x\x19", "one xtwo"},
		{"kill to the end", "one two\x01\x1b[C\x0b", "o"},
		{"wide", "日本語" + left + left + "\x7f", "本語"},
		{"combining", "e\u0301x" + left + left + "y", "ye\u0301x"},
		{"family", "a👨\u200d👩\u200d👧b" + left + "\x7f", "ab"},
		{"delete", "abc\x01\x1b[3~", "bc"},
		{"ctrl-d deletes", "abc\x01\x04", "bc"},
		{"alt-enter", "one" + altEnter + "two", "one\ntwo"},
		{"ctrl-j", "one\ntwo", "one\ntwo"},
		{"shift-enter", "one\x1b[13;2utwo", "one\ntwo"},
		{"backslash", "one\\\rtwo", "one\ntwo"},
		{"up within", "one" + altEnter + "two" + up + "X", "oneX\ntwo"},
		{"paste", "a \x1b[200~x\r\ny\rz\x1b[201~ b", "a x\ny\nz b"},
		{"paste is not keys", "\x1b[200~\x03\x04\x1b[A\t\x1b[201~", "\x03\x04\x1b[A\t"},
		{"long paste", "\x1b[200~" + strings.Repeat("x\n", 20) + "\x1b[201~!", strings.Repeat("x\n", 20) + "!"},
		{"unknown sequences", "a\x1b[15~\x1bOP\x1b[?1;2cb", "ab"},
		{"broken UTF-8", "a\xff\xfeb", "ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := open(t, 40, 10, editor.Options{})
			x.Keys(tt.keys + "\r")
			x.event(editor.Event{Kind: editor.Line, Text: tt.want})
		})
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	x := open(t, 20, 10, editor.Options{})
	x.Keys("a long text that goes over the edge")
	x.Screen(wrapped("> a long text that goes over the edge", 19))
	x.Keys("\r")
	x.event(editor.Event{Kind: editor.Line, Text: "a long text that goes over the edge"})
	x.Keys("日本語日本語日本語日本語")
	x.Until("wide rows", func(s string) bool { return strings.HasSuffix(s, "\n> 日本語日本語日本\n  語日本語") })
}

// TestClearScreen: Ctrl-L leaves the foot alone at the top, and the keys after it draw no second one.
func TestClearScreen(t *testing.T) {
	t.Parallel()
	for _, w := range []int{60, 100} {
		x := open(t, w, 10, editor.Options{})
		x.Flow("one\ntwo\n", "the status line")
		x.Keys("hi")
		x.Screen("one\ntwo\nthe status line\n> hi")
		x.Keys("\x0c")
		x.Screen("the status line\n> hi")
		x.Keys("!")
		x.Screen("the status line\n> hi!")
	}
}

// wrapped breaks a text of single-width characters as the editor does.
func wrapped(s string, w int) string {
	var out []string
	for len(s) > w {
		out = append(out, strings.TrimRight(s[:w], " "))
		s = "  " + s[w:]
	}
	return strings.Join(append(out, s), "\n")
}

// TestPrintWhileTyping has several goroutines print while somebody types. Every line must
// come out whole, and the text must stand below them unharmed.
func TestPrintWhileTyping(t *testing.T) {
	t.Parallel()
	x := open(t, 40, 12, editor.Options{})
	const printers, lines = 4, 50
	var wg sync.WaitGroup
	for p := range printers {
		wg.Go(func() {
			for i := range lines {
				x.Print(fmt.Sprintf("printer %d says line %d", p, i))
				x.Flow("", fmt.Sprintf("and is half-way to the next, which is long enough to wrap, %d", i))
			}
		})
	}
	const typed = "typed while all that was going on, over the edge of the screen"
	for _, r := range typed {
		x.Keys(string(r))
	}
	wg.Wait()
	x.Flow("", "")
	foot := wrapped("> "+typed, 39)
	x.Until("…"+foot, func(s string) bool {
		return strings.HasSuffix(s, "\n"+foot) &&
			!strings.Contains(s, "half-way")
	})
	got := x.Shown()
	rows := strings.Split(strings.TrimSuffix(got, foot), "\n")
	next := make([]int, printers)
	for _, row := range rows[:len(rows)-1] {
		var p, i int
		if n, err := fmt.Sscanf(row, "printer %d says line %d", &p, &i); n != 2 || err != nil ||
			row != fmt.Sprintf("printer %d says line %d", p, i) {
			t.Fatalf("a row is garbled: %q in\n%s", row, got)
		}
		if next[p] != i {
			t.Fatalf("printer %d: line %d came when %d was next", p, i, next[p])
		}
		next[p]++
	}
	for p, n := range next {
		if n != lines {
			t.Errorf("printer %d: %d lines of %d", p, n, lines)
		}
	}
	x.Keys("\r")
	x.event(editor.Event{Kind: editor.Line, Text: typed})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	x := open(t, 30, 8, editor.Options{})
	x.Keys("typing")
	x.Flow("", "The answer")
	x.Screen("The answer\n> typing")
	x.Flow("The answer is 42.\n", "And it")
	x.Screen("The answer is 42.\nAnd it\n> typing")
	x.Flow("And it was.", "")
	x.Screen("The answer is 42.\nAnd it was.\n> typing")
}

func TestTailNeverPushesTheTextOut(t *testing.T) {
	t.Parallel()
	x := open(t, 30, 6, editor.Options{})
	x.Keys("typing")
	x.Flow("", strings.Repeat("many words ", 100))
	x.Until("five rows", func(s string) bool {
		return strings.Count(s, "\n") == 4 && strings.HasSuffix(s, "\n> typing")
	})
	x.Flow("done", "")
	x.Screen("done\n> typing")
}

func TestResize(t *testing.T) {
	t.Parallel()
	x := open(t, 60, 10, editor.Options{})
	text := strings.Repeat("0123456789", 9)
	x.Print("above")
	x.Keys(text)
	x.Screen("above\n" + wrapped("> "+text, 59))
	x.Cursor(2, 35)
	x.Resize(33, 10)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	x.Screen("above\n" + wrapped("> "+text, 32))
}

func TestInterruptAndEOF(t *testing.T) {
	t.Parallel()
	x := open(t, 40, 10, editor.Options{})
	x.Keys("half a thought\x03")
	x.event(editor.Event{Kind: editor.Interrupt, Text: "half a thought"})
	x.Screen("> half a thought")
	x.Clear()
	x.Screen(">")
	x.Keys("\x03")
	x.event(editor.Event{Kind: editor.Interrupt})
	x.Keys("\x04")
	x.event(editor.Event{Kind: editor.EOF})
}

func TestMark(t *testing.T) {
	t.Parallel()
	x := open(t, 40, 10, editor.Options{})
	x.SetMark(1)
	x.Keys("y")
	x.Screen("> y")
	x.SetMark(2) // something appeared that the person had not seen when they began
	x.Keys("\r")
	x.event(editor.Event{Kind: editor.Line, Text: "y", Mark: 1})
	x.Keys("y\r")
	x.event(editor.Event{Kind: editor.Line, Text: "y", Mark: 2})
}

func TestHangUp(t *testing.T) {
	t.Parallel()
	x := open(t, 40, 10, editor.Options{})
	x.HangUp()
	ev := <-x.Events()
	if ev.Kind != editor.Closed || ev.Err == nil {
		t.Fatalf("got %+v", ev)
	}
	x.Print("nobody sees this")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history")
	mask := func(s string) string { return strings.ReplaceAll(s, "hunter2", "[masked]") }
	x := open(t, 40, 10, editor.Options{History: file, Mask: mask})
	for _, s := range []string{"first", "the pass is hunter2", "two" + altEnter + "lines", "y", "  "} {
		x.Keys(s + "\r")
		<-x.Events()
	}
	x.Keys("draft" + up)
	x.Until("the newest", func(s string) bool { return strings.HasSuffix(s, "\n> two\n  lines") })
	x.Keys(up + up + up + up + up)
	x.Until("the oldest", func(s string) bool { return strings.HasSuffix(s, "\n> first") })
	x.Keys(strings.Repeat(down, 6))
	x.Until("the draft", func(s string) bool { return strings.HasSuffix(s, "\n> draft") })

	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the history file: %v, %v", info, err)
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "hunter2") {
		t.Fatalf("the history holds %s (%v)", data, err)
	}

	// Another process finds it, and searches it.
	z := open(t, 40, 10, editor.Options{History: file})
	z.Keys("fir\x12")
	z.Screen("> first")
	z.Keys("\r")
	z.event(editor.Event{Kind: editor.Line, Text: "first"})
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, "\"entry %d\"\n", i)
	}
	b.WriteString("not JSON\n")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	x := open(t, 40, 10, editor.Options{History: file})
	x.Keys(up)
	x.Screen("> entry 2499")
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "\n") != 1000 || !strings.HasPrefix(string(data), "\"entry 1500\"\n") {
		t.Errorf("%d lines are left (%v)", strings.Count(string(data), "\n"), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	words := []string{"/agents", "/background", "/bye"}
	complete := func(before string) (int, []string) {
		var out []string
		from := strings.LastIndexByte(before, ' ') + 1
		for _, w := range words {
			if strings.HasPrefix(w, before[from:]) {
				out = append(out, w)
			}
		}
		return from, out
	}
	x := open(t, 40, 10, editor.Options{Complete: complete})
	x.Keys("日 /a\t")
	x.Screen("> 日 /agents")
	x.Keys("\x15/b\t") // nothing can be added, so what there is is shown at once
	x.Screen("/background  /bye\n> /b")
	x.Keys("a\t\r")
	x.event(editor.Event{Kind: editor.Line, Text: "/background"})
}

func TestHiddenCharactersAreShown(t *testing.T) {
	t.Parallel()
	x := open(t, 60, 10, editor.Options{})
	x.Keys("\x1b[200~rm\u200b \u202e\x07\x1b[31mx\x1b[201~")
	x.Screen(`> rm\u200b \u202e\x07\x1b[31mx`)
}
