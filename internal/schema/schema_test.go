package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/schema"
)

func TestParse(t *testing.T) {
	laughs := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`
	for i := range 40 {
		laughs += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	laughs += `"d40":{}}}`
	for name, c := range map[string]struct{ text, want string }{
		"fine": {`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			""},
		"const":      {`{"type":"object","properties":{"$ref":{"const":{"$ref":"http://x"}}}}`, ""},
		"not JSON":   {`{"type":`, "is no JSON"},
		"a list":     {`[1]`, "is no JSON schema"},
		"no object":  {`{"type":"array"}`, `its "type" must be "object"`},
		"untyped":    {`{"properties":{}}`, `its "type" must be "object"`},
		"a choice":   {`{"type":"object","anyOf":[{}]}`, `has "anyOf" at its top`},
		"bad type":   {`{"type":"object","properties":{"a":{"type":"thing"}}}`, "is no JSON schema"},
		"bad regexp": {`{"type":"object","properties":{"a":{"pattern":"("}}}`, "is no JSON schema"},
		"remote": {`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`,
			"nothing is fetched"},
		"a file":   {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "nothing is fetched"},
		"unused":   {`{"type":"object","$defs":{"a":{"items":{"$ref":"other.json"}}}}`, "nothing is fetched"},
		"dynamic":  {`{"type":"object","properties":{"a":{"$dynamicRef":"#x"}}}`, "$dynamicRef"},
		"dangling": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/no"}}}`, "which is not there"},
		"itself":   {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`, "from within itself"},
		"large":    {`{"type":"object","description":"` + strings.Repeat("x", schema.MaxBytes) + `"}`, "the most is"},
		"laughs":   {laughs, "is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Parse([]byte(c.text))
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	s, err := schema.Parse([]byte(`{"type":"object","properties":{"n":{"type":"integer","minimum":1},
		"tags":{"type":"array","items":{"enum":["a","b"]}}},"required":["n"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"n":1,"tags":["a"]}`: "", `{}`: "n", `{"n":"1"}`: "integer", `{"n":0}`: "minimum", `{"n":1,"x":2}`: "x",
		`{"n":1,"tags":["c"]}`: "enum", `[]`: "object", `{"n":`: "no JSON",
		`{"n":"` + strings.Repeat("ä", 5000) + `"}`: "…",
	} {
		err := s.Check([]byte(value))
		got := fmt.Sprint(err)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%.40s: got %v, want %q", value, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, `{"a":"b"}`)
	f.Add(`{"type":"object","items":{"anyOf":[{"not":{}}]}}`, `{}`)
	f.Fuzz(func(t *testing.T, text, value string) {
		if s, err := schema.Parse([]byte(text)); err == nil {
			_ = s.Check([]byte(value))
		}
	})
}
