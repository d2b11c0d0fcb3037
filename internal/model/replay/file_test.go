package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	want := sample()
	text := written(t, want)
	got, err := Read("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if again := written(t, got); again != text {
		t.Errorf("written again it is\n%s\nnot\n%s", again, text)
	}
	// What a later version adds is left alone.
	lines := strings.SplitAfter(text, "\n")
	lines[0] = strings.Replace(lines[0], "{", `{"later":[1],`, 1)
	lines[2] = strings.Replace(lines[2], `{"call":{`, `{"later":{},"call":{"later":1,`, 1)
	lines = append(lines[:3], append([]string{`{"monitor":{"agent":7}}` + "\n"}, lines[3:]...)...)
	if got, err = Read("x", strings.NewReader(strings.Join(lines, ""))); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	text := written(t, sample())
	lines := strings.SplitAfter(text, "\n")
	join := func(l ...string) string { return strings.Join(l, "") }
	for name, c := range map[string]struct{ in, want string }{
		"empty":        {"", "r:1: the file is empty"},
		"no recording": {"hello\n", "r:1: this is not a recording"},
		"other JSON":   {`{"a":1}` + "\n", "r:1: this is not a recording"},
		"newer": {`{"format":"troupe-recording","version":2}` + "\n",
			"r:1: the recording has format version 2"},
		"version 0":       {`{"format":"troupe-recording"}` + "\n", "r:1: the recording has format version 0"},
		"no root":         {`{"format":"troupe-recording","version":1}` + "\n", `r:1: "" is not the id`},
		"cut in a line":   {text[:len(text)-30], "r:10: the file ends in the middle of this line"},
		"cut in a letter": {text[:len(lines[0])+5], "r:2: the file ends in the middle"},
		"cut behind one":  {join(lines[:5]...), "r:5: the recording ends here without its last line"},
		"a NUL": {join(lines[0], lines[1], strings.Replace(lines[2], "fix", "f\x00x", 1)),
			"r:3: the line holds a NUL byte"},
		"no text": {join(lines[0], lines[1], strings.Replace(lines[2], "fix", "f\xffx", 1)),
			"r:3: the line is not valid UTF-8"},
		"no JSON":    {join(lines[0], lines[1], "{]\n"), "r:3: the line cannot be understood"},
		"blank line": {join(lines[0], "\n"), "r:2: the line cannot be understood"},
		"wrong type": {join(lines[0], `{"agent":{"path":7}}`+"\n"), "r:2: the line cannot be understood"},
		"two in one": {join(lines[0], `{"agent":{"path":"a","session":"b"},"mail":{}}`+"\n"),
			"r:2: the line is more than one"},
		"unknown agent": {join(lines[0], lines[2]), `r:2: no line before this one brings an agent "main"`},
		"born twice":    {join(lines[0], lines[1], lines[1]), "r:3: the agent \"main\" is born a second time"},
		"nameless":      {join(lines[0], `{"agent":{}}`+"\n"), "r:2: the agent has no path"},
		"no outcome": {join(lines[0], lines[1], `{"call":{"agent":"main","reply":1}}`+"\n"),
			"r:3: the call has both"},
		"reply 0": {join(lines[0], lines[1], `{"call":{"agent":"main"}}`+"\n"),
			"r:3: the call asks for reply 0"},
		"no result": {join(slices.Delete(slices.Clone(lines), 7, 8)...),
			`"main" sends the result of call 0 of reply 1, and no line before this one has that result`},
		"two results":     {join(lines[:6]...) + lines[5], "has a second result"},
		"no root agent":   {join(lines[0], `{"end":{}}`+"\n"), "no line brings the root"},
		"behind the end":  {text + lines[1], "there is more behind the end"},
		"rubbish behind":  {text + "x", "the file ends in the middle"},
		"mail for nobody": {join(lines[0], `{"mail":{"agent":"x"}}`+"\n"), "r:2: no line before this one brings"},
		"a deep line":     {join(lines[0], strings.Repeat("[", 20_000), "\n"), "r:2: the line cannot be understood"},
		"two at one line": {join(lines[0], strings.TrimSuffix(lines[1], "\n"), lines[1]),
			"r:2: the line cannot be understood"},
		"DOS ends of line": {strings.ReplaceAll(text, "\n", "\r\n") + "x\n", "r:12: there is more behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read("r", strings.NewReader(c.in))
			var u *troupe.UserError
			if !errors.As(err, &u) || u.Code != 2 || !strings.Contains(u.Problem, c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if newer := name == "newer"; errors.Is(err, troupe.ErrNewer) != newer {
				t.Errorf("errors.Is(%v, ErrNewer) is not %v", err, newer)
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	want := sample()
	want.Lines[1].Call.Messages[0].Blocks = append(want.Lines[1].Call.Messages[0].Blocks,
		troupe.Block{Type: troupe.ImageBlock, Image: &troupe.Image{MediaType: "image/png",
			Data: bytes.Repeat([]byte("picture"), 2<<20)}})
	got, err := Read("x", strings.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) { // cmp looks at every byte by itself
		t.Error("a long line is read as another one")
	}
}

func FuzzRead(f *testing.F) {
	text := written(f, sample())
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(strings.Replace(text, "fix it", "\x00", 1))
	f.Add(strings.Replace(text, `"version":1`, `"version":99`, 1))
	f.Add("{\"format\":\"troupe-recording\",\"version\":1,\"root\":\"0123456789ab\"}\n" + strings.Repeat("x", 1<<20))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read("f", strings.NewReader(text))
		if err != nil {
			var u *troupe.UserError
			if !errors.As(err, &u) || !strings.HasPrefix(u.Problem, "f:") {
				t.Fatalf("an error without its line: %v", err)
			}
			return
		}
		again, err := Read("f", strings.NewReader(written(t, r)))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if one, two := written(t, r), written(t, again); one != two {
			t.Fatalf("read again it is\n%s\nnot\n%s", two, one)
		}
		// Whatever the file says, the player does not fall over it.
		p := New(r, Place{Cwd: "/elsewhere", Home: "/"}, intent)
		_, _ = p.Stream(t.Context(), model.Request{Agent: model.Agent{Path: "nobody"}}, nil)
		p.Verdict()
	})
}

func TestMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := generate(rt)
		r.Map(func(string) string { return "gone" })
		for _, l := range append([]Line{{}}, r.Lines...) {
			b, err := json.Marshal(struct {
				H Header
				L Line
			}{r.Header, l})
			if err != nil {
				rt.Fatal(err)
			}
			if strings.Contains(string(b), token) {
				rt.Fatalf("a text was left alone: %s", b)
			}
		}
	})
}

const token = "§"

func generate(rt *rapid.T) Recording {
	text := func(label string) string { return token + rapid.StringN(0, 12, -1).Draw(rt, label) }
	num := rapid.IntRange(0, 5)
	blocks := func(label string) []troupe.Block {
		var out []troupe.Block
		for range rapid.IntRange(1, 3).Draw(rt, label) {
			switch rapid.IntRange(0, 3).Draw(rt, "block") {
			case 0:
				out = append(out, troupe.Text(text("text")))
			case 1:
				out = append(out, callBlock(num.Draw(rt, "reply"), num.Draw(rt, "index"), text("tool"), text("input")))
			case 2:
				out = append(out, result(num.Draw(rt, "reply"), num.Draw(rt, "call"), text("result")).Blocks...)
			default:
				out = append(out, troupe.Block{Type: troupe.ThinkingBlock, Text: text("thinking"), Raw: text("raw"),
					Provider: text("provider")})
			}
		}
		return out
	}
	r := Recording{Header: Header{
		Format: Format, Version: Version, Root: rootID, Prompt: text("prompt"), Args: []string{text("arg")},
		Place: Place{Cwd: text("cwd"), Home: text("home")}, Settings: text("settings"),
		Models: []Model{{Name: text("name")}},
	}}
	r.Lines = append(r.Lines, Line{Agent: &Agent{Path: "main", Session: rootID, System: text("system"),
		Tools: []string{text("offered")}}})
	for at := range 36 { // requests may send results only of calls that have them
		r.Lines = append(r.Lines, Line{Tool: &Tool{Agent: "main", Reply: at / 6, Call: at % 6, Name: text("tool")}})
	}
	for i := range rapid.IntRange(0, 6).Draw(rt, "lines") {
		switch rapid.IntRange(0, 3).Draw(rt, "line") {
		case 0:
			r.Lines = append(r.Lines, Line{Call: &Call{
				Agent: "main", Reply: i + 1, Messages: []troupe.Message{{Role: troupe.User,
					Blocks: blocks("messages")}},
				Said: &Said{Blocks: blocks("said"), Usage: troupe.Usage{Input: int64(num.Draw(rt, "tokens"))}},
			}})
		case 1:
			r.Lines = append(r.Lines, Line{Call: &Call{Agent: "main", Reply: i + 1,
				Failed: &Failed{Message: text("message"), Partial: text("partial")}}})
		case 2:
			r.Lines = append(r.Lines, Line{Tool: &Tool{
				Agent: "main", Reply: i + 1, Call: 6, Name: text("tool"), Input: text("input"),
				Blocks: blocks("result"),
				Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{Command: text("command"),
					Tests: &troupe.TestCount{Runner: text("runner")}}}},
				End: &troupe.Outcome{Result: text("outcome"), Error: text("error")},
			}})
		default:
			r.Lines = append(r.Lines, Line{Mail: &Sent{Agent: "main",
				Mail: troupe.Mail{Blocks: blocks("mail"), Stop: &troupe.Stop{By: text("by")}}}})
		}
	}
	return r
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := generate(rt)
		var b bytes.Buffer
		if err := want.Write(&b); err != nil {
			rt.Fatal(err)
		}
		got, err := Read("x", &b)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestFolders(t *testing.T) {
	t.Parallel()
	then := Place{Cwd: "/home/ada/p", Home: "/home/ada", Config: "/home/ada/.config/troupe"}
	for _, c := range []struct {
		now      Place
		in, want string
	}{
		{Place{Cwd: "/ci/p", Home: "/ci"}, "/home/ada/p/x /home/ada/p. /home/ada/px /home/ada",
			"/ci/p/x /ci/p. /ci/px /ci"},
		{Place{Cwd: "/ci/p", Home: "/ci"}, "/home/adam /mnt/home/ada /home/ada.old a/home/ada file:///home/ada",
			"/home/adam /mnt/home/ada /home/ada.old a/home/ada file:///ci"},
		{Place{Cwd: "/home/ada/p/p"}, "/home/ada/p /home/ada/p/p /home/ada", "/home/ada/p/p /home/ada/p/p/p /home/ada"},
		{Place{Cwd: "/home/ada"}, "/home/ada/p", "/home/ada"},
		{then, "/home/ada/p", "/home/ada/p"},
	} {
		if got := today(then, c.now).in(c.in); got != c.want {
			t.Errorf("in %+v, %q becomes %q, want %q", c.now, c.in, got, c.want)
		}
	}
	same := alike(then, Place{Cwd: "/home/ada/p/p", Home: "/"})
	if a, b := same.in("/home/ada/p/x"), same.in("/home/ada/p/p/x"); a != b {
		t.Errorf("%q is not %q", a, b)
	}
}

func TestLongDifference(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("all work and no play ", 20) + "\n"
	long := strings.Repeat(line, 2000)
	a := request{messages: []troupe.Message{user(long + "here\n" + long)}}
	b := request{messages: []troupe.Message{user(long + "there\n" + long)}}
	d, _ := differs(a, b)
	if !strings.Contains(d, "-    here\n") || !strings.Contains(d, "+    there\n") || strings.Count(d, "\n") > 20 {
		t.Errorf("the difference is\n%s", d)
	}
	b = request{messages: []troupe.Message{user(strings.Repeat("something else\n", 5000))}}
	if d, _ = differs(a, b); strings.Count(d, "\n") > mostLines+1 || !strings.Contains(d, "more lines") {
		t.Errorf("the difference has %d lines", strings.Count(d, "\n"))
	}
	// One word within a line that is longer than any screen.
	one := strings.Repeat("x ", 5000)
	a, b = request{messages: []troupe.Message{user(one + "here")}},
		request{messages: []troupe.Message{user(one + "there")}}
	if d, _ = differs(a, b); !strings.Contains(d, "here") || len(d) > 4000 {
		t.Errorf("the difference is\n%s", d)
	}
	a.messages[0].Blocks[0].Provider = "other"
	if d, _ = differs(a, request{messages: []troupe.Message{user(one + "here")}}); d == "" {
		t.Error("a difference that cannot be shown is not told")
	}
}

func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sample.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, sample()); got != string(text) {
		t.Errorf("the form has changed; it was\n%s\nand is\n%s", text, got)
	}
}

// What is said of a task at work depends on the moment, and was said in other words by earlier versions.
func TestProgressOfAnyVersion(t *testing.T) {
	t.Parallel()
	v := newVolatile(nil)
	want := v.text("X (agent): running\nrunning; 12 model replies, 30 tool uses, 4 tokens so far", true)
	for _, said := range []string{"1 model replies, 1 tool uses, 4", "1 model reply, 1 tool use, 4",
		"2 model replies, 0 tool uses, 9"} {
		if got := v.text("X (agent): running\nrunning; "+said+" tokens so far", true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
