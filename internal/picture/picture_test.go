package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestGolden(t *testing.T) {
	t.Parallel()
	in, err := os.ReadFile("testdata/run.ansi")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := SVG(&got, string(in), Options{Title: "make demo", Columns: 72}); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/run.svg"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the picture is another; look at it, and if it is right: go test ./internal/picture -update\n%s",
			got.Bytes())
	}
}

// shown is the text of a screen, row by row.
func shown(columns int, ansi string) string {
	s := newScreen(columns)
	s.write(ansi)
	var rows []string
	for _, row := range s.trimmed() {
		var b strings.Builder
		for _, c := range row {
			b.WriteString(c.text)
		}
		rows = append(rows, b.String())
	}
	return strings.Join(rows, "\n")
}

func TestScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\nb\n", "a\nb"},
		{"carriage return writes over", "hello\rJ", "Jello"},
		{"backspace", "ab\bc", "ac"},
		{"tab", "a\tb", "a       b"},
		{"wraps", "0123456789ab", "0123456789\nab"},
		{"a wide character wraps whole", "012345678漢", "012345678\n漢"},
		{"a mark belongs to its letter", "e\u0301x", "e\u0301x"},
		{"a mark on a wide character", "漢\u0301x", "漢\u0301x"},
		{"up, and the line again", "one\ntwo\n\x1b[2A\x1b[2KONE\n", "ONE\ntwo"},
		{"erase to the end of the line", "abcdef\x1b[3D\x1b[K!", "abc!"},
		{"erase below", "a\nb\nc\x1b[2A\x1b[J", "a"},
		{"clear", "a\nb\x1b[2Jc", "c"},
		{"column", "abc\x1b[2GX", "aXc"},
		{"titles and links are not text", "\x1b]0;t\x07a\x1b]8;;u\x1b\\b", "ab"},
		{"private modes", "\x1b[?25la\x1b[?25h", "a"},
		{"cut short", "a\x1b[3", "a"},
		{"moves past the edges stay on the screen", "\x1b[99999999A\x1b[99999999B\x1b[99999999C!", "         !"},
	} {
		if got := shown(10, c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		params string
		want   look
	}{
		{"31", look{fg: palette(1)}},
		{"1;92", look{bold: true, fg: palette(10)}},
		{"38;5;208", look{fg: "#ff8700"}},
		{"48;5;244;3", look{bg: "#808080", italic: true}},
		{"38;2;1;2;255;4", look{fg: "#0102ff", underline: true}},
		{"38;5", look{}},
		{"38;2;1;2", look{}},
		{"38;5;999", look{}},
		{"1;0", look{}},
		{"x", look{}},
	} {
		if got := (look{}).with(c.params); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.params, got, c.want)
		}
	}
	all := look{}.with("1;2;3;4;7;9;31;41")
	if got := all.with("22;23;24;27;29;39;49"); got != (look{}) {
		t.Errorf("everything off: got %+v", got)
	}
	if fg, bg := (look{reverse: true}).colours(); fg != paper || bg != ink {
		t.Errorf("reversed: %s on %s", fg, bg)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSVGReportsAFullDisk(t *testing.T) {
	t.Parallel()
	if err := SVG(full{}, "text", Options{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

// Whatever a program prints, the picture is XML that a viewer can read.
func FuzzSVG(f *testing.F) {
	f.Add("plain", 80)
	f.Add("\x1b[38;2;1;2;3mcolour\x1b[0m\r\n<&>\x00\xff\ufffe", 7)
	f.Add("\x1b[99999B\x1b[2J\x1b[", 1)
	f.Add("漢字\x1b[1A\x1b[K", 1)
	f.Fuzz(func(t *testing.T, ansi string, columns int) {
		var b bytes.Buffer
		if err := SVG(&b, ansi, Options{Title: ansi, Columns: columns % 200}); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(&b)
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
