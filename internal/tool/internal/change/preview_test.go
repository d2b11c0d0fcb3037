package change

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 6000 {
		many.WriteString(strconv.Itoa(i) + "\n")
	}
	got := diff("f", true, many.String(), strings.ReplaceAll(many.String(), "7", "a longer number"))
	var added, removed, left int
	if _, err := fmt.Sscanf(got, "f: changes, %d lines added, %d removed\n", &added, &removed); err != nil ||
		added != removed || added < 813 {
		t.Errorf("%v: %.200s", err, got)
	}
	_, end, _ := strings.Cut(got, "… ")
	if _, err := fmt.Sscanf(end, "and %d lines more, not shown; ", &left); err != nil || left < 1 ||
		len(got) > maxDiff+1000 {
		t.Errorf("%v: %d bytes, %d left", err, len(got), left)
	}
	// What is shown and what is counted is all there is.
	if lines := strings.Count(got, "\n") - 4 + left; lines < added+removed {
		t.Errorf("%d lines of a diff with %d and %d", lines, added, removed)
	}
}

// TestLongLinesAreSeen: what stands far behind in a line is seen too, or it is said where it stands.
func TestLongLinesAreSeen(t *testing.T) {
	t.Parallel()
	const evil = "; rm -rf ~/EVIL"
	got := diff("f", false, "", "echo "+strings.Repeat("-", 5000)+evil+"\n")
	if !strings.Contains(got, evil) {
		t.Errorf("%.200s", got)
	}
	got = diff("f", true, "echo "+strings.Repeat("-", 50_000)+"\n", "echo "+strings.Repeat("-", 50_000)+evil+"\n")
	if !strings.Contains(got, evil) {
		t.Errorf("%.200s", got)
	}
	got = diff("f", false, "", "echo "+strings.Repeat("-", 50_000)+evil+"\n")
	if !strings.Contains(got, "bytes more; "+allOfIt) {
		t.Errorf("%.200s", got[len(got)-200:])
	}
}

// A diff says all there is to say: whoever carries it out gets the text after from the one before.
func TestDiffIsWhole(t *testing.T) {
	t.Parallel()
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "dd"}), 0, 40).Draw(t, "lines"),
			"\n")
		if rapid.Bool().Draw(t, "ended") {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		if rapid.Bool().Draw(t, "near") { // most changes leave most of a file as it is
			around := strings.Repeat("same\n", rapid.IntRange(0, 9).Draw(t, "around"))
			before, after = around+before+"\n"+around, around+after+"\n"+around
		}
		if before == after {
			return
		}
		d := diff("f", true, before, after)
		if got := patch(t, before, d); got != after {
			t.Fatalf("%q with\n%s\nis %q, want %q", before, d, got, after)
		}
	})
}

// patch carries out a unified diff, and checks every line of it that says what is there.
func patch(t *rapid.T, before, d string) string {
	lines, at := splitLines(before), 0
	var out strings.Builder
	take := func() string {
		if at >= len(lines) {
			t.Fatalf("the diff goes beyond the end:\n%s", d)
		}
		at++
		return lines[at-1]
	}
	body := strings.SplitAfter(d, "\n")[3:]
	for i, l := range body {
		if l == "" {
			continue
		}
		text := l[1:]
		if i+1 < len(body) && strings.HasPrefix(body[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch l[0] {
		case '@':
			var from, n, to, m int
			head := strings.NewReplacer("@@ -", "", " @@", "", "+", "").Replace(strings.TrimSpace(l))
			for j, part := range strings.Fields(head) {
				start, count, ok := strings.Cut(part, ",")
				if !ok {
					count = "1"
				}
				a, _ := strconv.Atoi(start)
				b, _ := strconv.Atoi(count)
				if j == 0 {
					from, n = a, b
				} else {
					to, m = a, b
				}
			}
			if n > 0 {
				from--
			}
			for at < from {
				out.WriteString(take())
			}
			if m > 0 {
				to--
			}
			if have := len(splitLines(out.String())); have != to {
				t.Fatalf("hunk %q begins at line %d of the result:\n%s", l, have, d)
			}
		case ' ':
			if have := take(); have != text {
				t.Fatalf("%q stands where the diff says %q:\n%s", have, text, d)
			}
			out.WriteString(text)
		case '-':
			if have := take(); have != text {
				t.Fatalf("%q stands where the diff removes %q:\n%s", have, text, d)
			}
		case '+':
			out.WriteString(text)
		}
	}
	for at < len(lines) {
		out.WriteString(take())
	}
	return out.String()
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n")
	f.Add("", "x")
	f.Add("\x00", "\u202e\r")
	f.Fuzz(func(t *testing.T, before, after string) {
		d := diff("f", true, before, after)
		for _, r := range d {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' {
				t.Fatalf("%q hides %q", d, r)
			}
		}
		if len(d) > 2*maxDiff {
			t.Fatalf("%d bytes", len(d))
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	var s strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&s, "line %d of a file\n", i)
	}
	before := s.String()
	for name, after := range map[string]string{
		"one line of 2 MB": strings.Replace(before, "line 50000 ", "LINE ", 1),
		"all of 1 MB":      strings.ReplaceAll(before, "line", "LINE"),
	} {
		b.Run(name, func(b *testing.B) {
			from := before
			if name == "all of 1 MB" {
				from, after = before[:maxCompared-10], after[:maxCompared-10]
			}
			for b.Loop() {
				diff("f", true, from, after)
			}
		})
	}
}
