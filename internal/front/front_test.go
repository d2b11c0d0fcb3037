package front_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/front"
)

func known(key string) bool {
	return slices.Contains([]string{"name", "description", "tools", "hooks", "model"}, key)
}

// TestParse: what people and other programs write, and how it is read.
func TestParse(t *testing.T) {
	t.Parallel()
	text := func(s string) front.Value { return front.Value{Kind: front.Text, Text: s} }
	list := func(s ...string) front.Value { return front.Value{Kind: front.List, List: append([]string{}, s...)} }
	tree := func(s string) front.Value { return front.Value{Kind: front.Tree, JSON: []byte(s)} }
	f := func(key string, line int, v front.Value) front.Field {
		return front.Field{Key: key, Line: line, Value: v}
	}
	for name, test := range map[string]struct {
		data   string
		fields []front.Field
		body   string
		notes  int
	}{
		"plain": {"---\nname: a\ntools: Read\n---\n\nBody\n", []front.Field{f("name", 2, text("a")),
			f("tools", 3, text("Read"))}, "Body", 0},
		"of Windows": {"\xef\xbb\xbf---\r\nname: a\r\n---\r\nOne\r\nTwo", []front.Field{f("name", 2, text("a"))},
			"One\nTwo", 0},
		"of old Macs":    {"---\rname: a\r---\rBody", []front.Field{f("name", 2, text("a"))}, "Body", 0},
		"blank lines":    {"\n \n---\t\nname: a\n---\nBody", []front.Field{f("name", 4, text("a"))}, "Body", 0},
		"not UTF-8":      {"---\nname: a\xff\n---\nBody", []front.Field{f("name", 2, text("a�"))}, "Body", 1},
		"with a comment": {"---  # mine\nname: a\n---\nB", []front.Field{f("name", 2, text("a"))}, "B", 0},
		"none":           {"# Title\n---\nWords: a\n---", nil, "# Title\n---\nWords: a\n---", 0},
		"empty":          {"---\n---\nBody", nil, "Body", 0},
		"a bare star":    {"---\ntools: *\n---\nB", []front.Field{f("tools", 2, text("*"))}, "B", 0},
		"numbers": {"---\nn: 0x10\nb: yes\n---\nB", []front.Field{f("n", 2, text("0x10")), f("b", 3, text("yes"))},
			"B", 0},
		"null": {"---\ntools:\nmodel: ~\n---\nB", []front.Field{f("tools", 2, front.Value{Kind: front.Nothing}),
			f("model", 3, front.Value{Kind: front.Nothing})}, "B", 0},
		"lists": {"---\ntools: []\nname: [a, 1]\n---\nB",
			[]front.Field{f("tools", 2, list()), f("name", 3, list("a", "1"))}, "B", 0},
		"a tree": {"---\nhooks:\n  Stop: [{a: 1}]\n---\nB",
			[]front.Field{f("hooks", 2, tree(`{"Stop":[{"a":1}]}`))}, "B", 0},
		"a reference": {"---\nname: &a x\ntools: [*a]\n---\nB",
			[]front.Field{f("name", 2, text("x")), f("tools", 3, front.Value{})}, "B", 0},
		"twice": {"---\nname: a\nname: b\n---\nB", []front.Field{f("name", 2, text("a")),
			f("name", 3, text("b"))}, "B", 0},
		"twice inside": {"---\nhooks: {a: 1, a: {}}\n---\nB", []front.Field{f("hooks", 2, front.Value{})}, "B", 0},
		"a colon": {"---\nname: a\ndescription: Use: now. Then\n  more\n\nContext: x\n<example>\ntools: Read, " +
			"Bash\n---\nB",
			[]front.Field{f("name", 2, text("a")), f("description", 3,
				text("Use: now. Then\nmore\nContext: x\n<example>")),
				f("tools", 8, text("Read, Bash"))}, "B", 1},
		"a colon, and lists": {"---\ndescription: a: b\ntools:\n  - Read\n  - Bash\nname: [x, 'y']\n---\nB",
			[]front.Field{f("description", 2, text("a: b")), f("tools", 3, list("Read", "Bash")),
				f("name", 6, list("x", "y"))}, "B", 1},
		"a colon, and a tree": {"---\ndescription: a: b\nhooks:\n  Stop:\n    - run: x\n---\nB",
			[]front.Field{f("description", 2, text("a: b")), f("hooks", 3, tree(`{"Stop":[{"run":"x"}]}`))}, "B", 1},
		"a colon, and a block": {"---\ndescription: |\n  one\n two\nmodel: opus\n---\nB",
			[]front.Field{f("description", 2, text("one\ntwo")), f("model", 5, text("opus"))}, "B", 1},
		"a list that is none": {"---\ndescription: a: b\ntools:\n- Read\n  Bash: [\n---\nB",
			[]front.Field{f("description", 2, text("a: b")), f("tools", 3, front.Value{})}, "B", 1},
	} {
		doc, err := front.Parse([]byte(test.data), known)
		if err != nil || doc.Body != test.body || len(doc.Notes) != test.notes {
			t.Errorf("%s: %v, %q, %v", name, err, doc.Body, doc.Notes)
		}
		if diff := cmp.Diff(test.fields, doc.Fields); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for data, says := range map[string]string{"": "empty", "\n \n": "empty", "---\nname: a\n": "does not end",
		"a\x00b":                     "NUL",
		"# Title\n---\nname: a\n---": "something stands before it"} {
		_, err := front.Parse([]byte(data), known)
		if _, ok := errors.AsType[*front.Problem](err); !ok || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// TestDeep: a file made to grow or to exhaust the stack is read as one that says nothing certain.
func TestDeep(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	bomb := "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nhooks: [*c, *c]\n"
	for _, text := range []string{"hooks: " + deep + "\n", bomb} {
		doc, err := front.Parse([]byte("---\n"+text+"---\nB"), known)
		if err != nil || doc.Body != "B" {
			t.Fatal(err)
		}
		for _, f := range doc.Fields {
			if f.Key == "hooks" && f.Value.Kind != front.Unreadable && f.Value.Kind != front.Text {
				t.Errorf("%.80s: %+v", text, f.Value.Kind)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"---\nname: a\n---\nB", "---\ndescription: a: b\ntools:\n - x\n---\n", "\xff",
		"---\r---\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := front.Parse(data, known)
		if err != nil {
			if e, ok := errors.AsType[*front.Problem](err); !ok || e.Text == "" {
				t.Errorf("%v", err)
			}
			return
		}
		most := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 2
		for _, field := range doc.Fields {
			v := field.Value
			if field.Line < 1 || field.Line > most || v.Kind == front.Tree && len(v.JSON) == 0 ||
				v.Kind == front.List && v.List == nil {
				t.Errorf("%+v of %d lines", field, most)
			}
		}
		if strings.TrimSpace(doc.Body) != doc.Body {
			t.Errorf("body %q", doc.Body)
		}
	})
}
