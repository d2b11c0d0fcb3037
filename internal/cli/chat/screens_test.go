//go:build unix

package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// screens plays what a person does at terminals of 60 and 100 columns. What is on the screen in
// the end is compared with testdata/screens.
func screens(t *testing.T, name string, f func() *fake, b wire.Begin, play func(p *person, f *fake)) {
	t.Helper()
	for _, width := range []int{60, 100} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			f := f()
			p := sitAt(t, f, b, width)
			p.sees("\n>")
			play(p, f)
			shown := p.Shown()
			if i := strings.Index(shown, "\n> "); i >= 0 && !strings.HasPrefix(name, "banner") {
				shown = shown[i+1:] // the folder of a test has another name each time
			}
			goldenScreen(t, filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", name, width)), shown+"\n")
		})
	}
}

func goldenScreen(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is missing; run the test with -update", file)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

func callBlock(reply, index int, name, input string) troupe.Block {
	return troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: reply, Index: index, Name: name,
		Input: input}}
}

// TestWorkIsSeen: whatever goes on, a line says what it is, for how long, and what ends it.
func TestWorkIsSeen(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			switch what {
			case "wait":
				f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/claude-opus"})
			case "run":
				f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{
					callBlock(1, 0, "Bash", `{"command":"go test ./... -run TestLogin","timeout":300000}`),
					callBlock(1, 1, "Agent", `{"description":"Look at auth"}`),
				}}, troupe.ToolStarted{Reply: 1, Name: "Bash"},
					troupe.ToolStarted{Reply: 1, Call: 1, Name: "Agent", Child: childID})
				f.add(childID, troupe.Created{Name: "Auth Explorer", Title: "Look at auth", Parent: rootID,
					Profile: troupe.Profile{Type: "Explore"}}, troupe.Started{Run: 1},
					troupe.CallSealed{Reply: 1, Model: "anthropic/claude-haiku"})
				f.prints(troupe.Coord{Reply: 1}, "ok a\nok b\nok c\nok d\n--- FAIL: TestLogin (0.1s)\n")
			}
		})
	}
	screens(t, "work", f, wire.Begin{}, func(p *person, f *fake) {
		p.Keys("wait\r")
		p.seconds.Store(14)
		p.shows("\n… waiting for claude-opus · 12 s · Esc stops\n»")
		p.Keys("run\r")
		p.seconds.Store(40)
		p.shows("FAIL: TestLogin")
		p.shows("waiting for claude-haiku · 3")
		f.mu.Lock()
		f.slow = true
		f.mu.Unlock()
		p.Keys("use tabs, please\r")
		p.shows("queued: “use tabs, please”")
		p.Keys("/tasks\r")
		p.Until("the rows twice", func(s string) bool { return strings.Count(s, "claude-haiku") == 2 })
	})
}

// TestWorkGoesOn: the rows are drawn anew while nothing happens.
func TestWorkGoesOn(t *testing.T) {
	t.Parallel()
	p := sit(t, newFake(func(f *fake, _ string) { f.add(rootID, troupe.CallSealed{Reply: 1, Model: "x/m"}) }),
		wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	for n := int64(10); n < 13; n++ {
		p.seconds.Store(n)
		p.sees(fmt.Sprintf("\n… waiting for m · %d s · Esc stops\n»", n-2))
	}
}
