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
	screensOf(t, name, f, b, func(p *person, f *fake) {
		p.t.Helper()
		p.sees("\n>")
		play(p, f)
	})
}

// screensOf is screens for a conversation that does not begin with an empty prompt.
func screensOf(t *testing.T, name string, f func() *fake, b wire.Begin, play func(p *person, f *fake)) {
	t.Helper()
	for _, width := range []int{60, 100} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			f := f()
			p := sitAt(t, f, b, width)
			play(p, f)
			shown := p.Shown()
			if b.Cwd == "" { // its folder has another name each time, and how the first lines wrap is as its name
				shown = shown[max(strings.Index(shown, "\n> "), 0)+1:]
				shown = strings.ReplaceAll(shown, p.cwd, "/ws")
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

func finished(reply, index int, name, text string) troupe.ToolFinished {
	return troupe.ToolFinished{Name: name, Result: troupe.Result{Reply: reply, Call: index,
		Blocks: []troupe.Block{troupe.Text(text)}}}
}
