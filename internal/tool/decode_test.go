package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

type sample struct {
	path, mode string
	offset     int
	all        bool
}

func (s *sample) fields() []tool.Field {
	return []tool.Field{
		{Name: "file_path", Also: "path", String: &s.path, Required: true, NotEmpty: true, MaxBytes: 4096},
		{Name: "mode", String: &s.mode, Enum: []string{"fast", "slow"}, Doc: "how <it> runs"},
		{Name: "offset", Int: &s.offset, Min: 1, Max: 100},
		{Name: "replace_all", Bool: &s.all},
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	preset := sample{mode: "slow", offset: 7, all: true}
	for _, c := range []struct {
		in   string
		want sample
	}{
		{`{"file_path":"a"}`, sample{"a", "slow", 7, true}},
		{` { "path" : "a\n\u00e9\ud83d\ude00" , "mode":"fast", "offset": 12 , "replace_all": false } `,
			sample{"a\né😀", "fast", 12, false}},
		{`{"file_path":"a","offset":"5","replace_all":"False"}`, sample{"a", "slow", 5, false}},
		{`{"file_path":"a","offset":5.0,"mode":null}`, sample{"a", "slow", 5, true}},
		{`{"file_path":"a","offset":1e2}`, sample{"a", "slow", 100, true}},
		{`{"file_path":"{\"x\":[1,2]},\\"}`, sample{`{"x":[1,2]},\`, "slow", 7, true}},
		{`{"file_path":"\ufffd � \\ud800"}`, sample{`� � \ud800`, "slow", 7, true}},
	} {
		got := preset
		if err := tool.Decode("T", c.in, got.fields()); err != nil || got != c.want {
			t.Errorf("%s:\n got %+v %v\nwant %+v", c.in, got, err, c.want)
		}
	}
}

func TestDecodeProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{``, "`file_path` is required"},
		{`null`, "the input must be a JSON object, got null"},
		{`{"file_path":"a"`, "it ends in the middle"},
		{`{"file_path":"a",}`, "near"},
		{`{"file_path":5}`, "`file_path` must be a string, got a number"},
		{`{"file_path":{"a":1}}`, "got an object (write it as text, inside a string)"},
		{`{"file_path":" "}`, "`file_path` must not be empty"},
		{`{"file_path":"a\u0000b"}`, "`file_path` holds a NUL byte"},
		{`{"file_path":"\ud800x"}`, "half of a surrogate pair"},
		{`{"file_path":"\udc00"}`, "half of a surrogate pair"},
		{`{"file_path":"\ud800\ud800"}`, "half of a surrogate pair"},
		{`{"file_path":"` + strings.Repeat("x", 5000) + `"}`, "`file_path` has 5 KB, the most is 4 KB"},
		{`{"file_path":"a","mode":"warp"}`, "`mode` must be one of fast, slow; got \"warp\""},
		{`{"file_path":"a","offset":"ten"}`, "`offset` must be a whole number, got a string"},
		{`{"file_path":"a","offset":1.5}`, "`offset` must be a whole number, got 1.5"},
		{`{"file_path":"a","offset":0}`, "`offset` must be at least 1, got 0"},
		{`{"file_path":"a","offset":"101"}`, "`offset` must be at most 100, got 101"},
		{`{"file_path":"a","offset":99999999999999999999}`, "`offset` is out of range"},
		{`{"file_path":"a","offset":1e400}`, "`offset` is out of range"},
		{`{"file_path":"a","replace_all":1}`, "`replace_all` must be true or false, got a number"},
		{`{"file_path":"a","path":"b"}`, "`file_path` is given twice"},
		{`{"filepath":"a"}`, "there is no parameter `filepath`; did you mean `file_path`?; `file_path` is required"},
		{`{"file_path":"a","zzz":1}`, "there is no parameter `zzz`; there are: file_path, mode, offset, replace_all"},
		{`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`, "and 2 more"},
	} {
		err := tool.Decode("T", c.in, new(sample).fields())
		var ie *tool.InputError
		if !errors.As(err, &ie) || ie.Tool != "T" || !strings.Contains(ie.Problem, c.want) {
			t.Errorf("%.80s:\n got %v\nwant %s", c.in, err, c.want)
		}
	}
}

// What the schema allows the decoder takes, and the other way round, for plain values.
func TestSchemaAgreesWithDecode(t *testing.T) {
	t.Parallel()
	raw := tool.Schema(new(sample).fields())
	if want := `{"type":"object","properties":{"file_path":{"type":"string","minLength":1},"mode":{"type":"string","description":"how <it> runs","enum":["fast","slow"]},` +
		`"offset":{"type":"integer","minimum":1,"maximum":100},"replace_all":{"type":"boolean"}},"required":["file_path"]}`; string(raw) != want {
		t.Errorf("schema\n got %s\nwant %s", raw, want)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{`"a"`, `""`, `3`, `null`, ``} {
		for _, mode := range []string{`"fast"`, `"warp"`, `1`, ``} {
			for _, offset := range []string{`1`, `0`, `100`, `101`, `2.5`, `[]`, ``} {
				in := object("file_path", path, "mode", mode, "offset", offset)
				var v any
				if err := json.Unmarshal([]byte(in), &v); err != nil {
					t.Fatal(err)
				}
				valid, accepted := resolved.Validate(v) == nil, tool.Decode("T", in, new(sample).fields()) == nil
				if valid != accepted {
					t.Errorf("%s: schema says %v, decoder says %v", in, valid, accepted)
				}
			}
		}
	}
}

func object(kv ...string) string {
	var parts []string
	for i := 0; i < len(kv); i += 2 {
		if kv[i+1] != "" {
			parts = append(parts, `"`+kv[i]+`":`+kv[i+1])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestDecodeConformance(t *testing.T) {
	t.Parallel()
	spec := tool.Describe(troupe.ToolFacts{Name: "T"}, "Does a thing.\n", new(sample).fields()).Spec()
	tooltest.Spec(t, spec)
	tooltest.Inputs(t, spec, `{"file_path":"a","mode":"fast"}`, func(in string) error {
		return tool.Decode("T", in, new(sample).fields())
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"file_path":"a","offset":"5","replace_all":true}`)
	f.Add(`{"file_path":"\ud83d\ude00\\","x":[{"y":"]}"}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		var got sample
		err := tool.Decode("T", in, got.fields())
		var ie *tool.InputError
		if err != nil {
			if !errors.As(err, &ie) || len(ie.Problem) > 1000 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		var std map[string]any
		if err := json.Unmarshal([]byte(in), &std); err != nil {
			t.Fatalf("accepted what is no JSON object: %v", err)
		}
		if want, _ := std["file_path"].(string); std["file_path"] != nil && got.path != want {
			t.Fatalf("read %q where the standard decoder reads %q", got.path, want)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := `{"file_path":"/home/someone/project/internal/server/login.go","offset":20,"mode":"fast","replace_all":true}`
	b.ReportAllocs()
	for b.Loop() {
		var s sample
		if err := tool.Decode("Read", in, s.fields()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode10MB(b *testing.B) {
	in := `{"file_path":"` + strings.Repeat("x", 10<<20) + `"}`
	b.ReportAllocs()
	for b.Loop() {
		var s sample
		if err := tool.Decode("Read", in, s.fields()); err == nil {
			b.Fatal("accepted")
		}
	}
}

// TestAdvertised: who looks at an input from outside finds each parameter under the name that is advertised.
func TestAdvertised(t *testing.T) {
	t.Parallel()
	d := tool.Describe(troupe.ToolFacts{Name: "T"}, "d", new(sample).fields())
	for in, want := range map[string]string{
		`{"path":"a","mode":"path"}`:     `{"file_path":"a","mode":"path"}`,
		` { "p\u0061th" : {"path":1} } `: ` { "file_path" : {"path":1} } `,
		`{"path":1,"path":2}`:            `{"file_path":1,"file_path":2}`, `["path"]`: `["path"]`,
		`{"path":`: `{"path":`, ``: ``,
	} {
		if got := d.Advertised(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
