package entry_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// TestForms: every form in the wild is read, and what of it is not followed is said.
func TestForms(t *testing.T) {
	t.Parallel()
	npx := entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx", Args: []string{"-y", "x"}}
	web := entry.Entry{Name: "a", Type: entry.HTTP, URL: "https://x.example/mcp"}
	for _, c := range []struct {
		in   string
		want *entry.Entry // nil: none
		says string       // "" nothing
	}{
		{`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}`, &npx, ""},
		{"\xef\xbb\xbf" + `{"mcpServers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "x"]}}}`, &npx, ""},
		{`{"a": {"command": "npx", "args": ["-y", "x"]}}`, &npx, ""},
		{`{"$schema": "x", "servers": {"a": {"command": "npx", "args": ["-y", "x"]}}, "inputs": []}`, &npx,
			"not followed here: inputs"},
		{`{"mcp": {"servers": {"a": {"command": "npx", "args": ["-y", "x"]}}}}`, &npx, ""},
		{`{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "x"]}}}`, &npx, ""},
		{`{"servers": {"command": "npx"}}`, &entry.Entry{Name: "servers", Type: entry.Stdio, Command: "npx"}, ""},
		{`{"a": {"command": "npx -y x"}}`, &npx, "its command has blanks"},
		{`{"a": {"command": "npx", "args": "-y x"}}`, &npx, "args is one text"},
		{`{"a": {"cmd": "npx", "arguments": ["-y", "x"], "description": "d"}}`, &npx, ""},
		{"{\n// mine\n\"a\": {\"command\": \"npx\", /* // */ \"args\": [\"-y\", \"x\",],},\n}", &npx, "comments"},
		{`{"a": {"url": "https://x.example/mcp"}}`, &web, ""},
		{`{"a": {"type": "streamable-http", "url": "https://x.example/mcp"}}`, &web, ""},
		{`{"a": {"transport": "streamableHttp", "serverUrl": "https://x.example/mcp"}}`, &web, ""},
		{`{"a": {"type": "weird", "url": "https://x.example/mcp"}}`, &web, `its type "weird" is not known`},
		{`{"a": {"url": "https://x.example/sse"}}`, &entry.Entry{Name: "a", Type: entry.SSE,
			URL: "https://x.example/sse"}, ""},
		{`{"a": {"type": "sse", "url": "https://x.example/mcp", "headers": {"K": "v", "N": 1}}}`,
			&entry.Entry{Name: "a", Type: entry.SSE, URL: "https://x.example/mcp",
				Headers: map[string]string{"K": "v", "N": "1"}}, ""},
		{`{"a": {"command": "npx", "env": {"A": "1", "B": 2, "C": true, "D": null}, "cwd": "sub"}}`,
			&entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx", Cwd: "sub",
				Env: map[string]string{"A": "1", "B": "2", "C": "true"}}, ""},
		{`{"a": {"command": "npx", "timeout": 60000, "startup_timeout_sec": 5}}`,
			&entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx", Timeout: time.Minute, Start: 5 * time.Second},
			""},
		{`{"a": {"command": "npx", "timeout": 60}}`,
			&entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx", Timeout: time.Minute}, "taken for seconds"},
		// What limits is followed; what cannot be read turns it off.
		{`{"a": {"command": "npx", "disabled": true}}`, &entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx",
			Off: true}, ""},
		{`{"a": {"command": "npx", "enabled": false}}`, &entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx",
			Off: true}, ""},
		{`{"a": {"command": "npx", "disabled": "yes"}}`, &entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx",
			Off: true}, "true or false"},
		{`{"a": {"command": "npx", "disabled": true, "disabled": false}}`,
			&entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx", Off: true}, ""},
		{`{"a": {"command": "npx", "disabledTools": ["x"], "tools": ["y"]}}`, &entry.Entry{Name: "a", Type: entry.Stdio,
			Command: "npx", Without: []string{"x"}, Only: []string{"y"}}, ""},
		{`{"a": {"command": "npx", "tools": ["*"]}}`, &entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx"}, ""},
		{`{"a": {"command": "npx", "excludeTools": 3}}`, &entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx",
			Off: true}, "list of tools"},
		{`{"a": {"command": "npx", "sandbox": "nope"}}`,
			&entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx", Sandbox: troupe.LevelReadOnly}, "only reads"},
		{`{"a": {"command": "npx", "trust": true, "alwaysAllow": ["*"]}}`,
			&entry.Entry{Name: "a", Type: entry.Stdio, Command: "npx"}, "gives nothing here"},
		// What cannot be used is left out, and said.
		{`{"mcpServers": {"a": {}}}`, nil, "no command"}, {`{"mcpServers": {"a": 3}}`, nil, "not an object"},
		{`{"mcpServers": {"a": {"type": "ws", "url": "wss://x"}}}`, nil, "none that Troupe speaks"},
		{`{"mcpServers": {"a": {"type": "http"}}}`, nil, "no command"},
		{`{"mcpServers": {"a": {"command": 3}}}`, nil, "must be a text"},
		{`{"mcpServers": {"__": {"command": "x"}}}`, nil, "no letter"},
		{`{"mcpServers": {"a": {"command": "x", "args": [{}]}}}`, nil, "not a text"},
		{`{"mcpServers": {"a": {"command": "x", "env": {"A=B": "1"}}}}`, nil, "cannot be set"},
		{`{"mcpServers": 3}`, nil, "must be an object"}, {`{`, nil, "not JSON"}, {`null`, nil, "not JSON"},
		{"\xff", nil, "UTF-8"},
		{``, nil, ""}, {`{}`, nil, ""}, {`{"mcpServers": {}}`, nil, ""},
	} {
		got, problems := entry.Parse([]byte(c.in))
		var want []entry.Entry
		if c.want != nil {
			want = []entry.Entry{*c.want}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.in, d)
		}
		if said := fmt.Sprint(problems); !strings.Contains(said, c.says) || c.says == "" && len(problems) > 0 {
			t.Errorf("%s: says %s, want %q", c.in, said, c.says)
		}
	}
}

// TestOneBad: one bad entry never affects another.
func TestOneBad(t *testing.T) {
	t.Parallel()
	got,
		problems := entry.Parse([]byte(`{"mcpServers": {"bad": {"command": ["x", 3]}, "a": {"command": "x"}, "": {}, "b": {"url": "http://y"}}}`))
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || len(problems) != 2 {
		t.Errorf("%v %v", got, problems)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	at := entry.Places{Cwd: "/w", Home: "/h", Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "s${X}", "EMPTY": ""}[name]
		return v, ok
	}}
	e := entry.Entry{Type: entry.Stdio, Command: "${userHome}/bin/x",
		Args: []string{"--k=${TOKEN}", "${NO:-d:-e}", "${EMPTY:-f}", "$A${", "${EMPTY}"},
		Env:  map[string]string{"T": "${env:TOKEN}"}, Cwd: "sub"}
	got, err := e.Expand(at)
	want := entry.Entry{Type: entry.Stdio, Command: "/h/bin/x", Args: []string{"--k=s${X}", "d:-e", "f", "$A${", ""},
		Env: map[string]string{"T": "s${X}"}, Cwd: "/w/sub"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if e.Args[0] != "--k=${TOKEN}" || e.Env["T"] != "${env:TOKEN}" {
		t.Error("the entry was changed", e)
	}
	if d := cmp.Diff([]string{"EMPTY", "NO", "TOKEN"}, e.Variables()); d != "" {
		t.Error(d)
	}
	for in, says := range map[string]string{"https://${HOST}/": "HOST not set", "ftp://x": "no address",
		"${TOKEN}":               "no address",
		"https://x/${input:key}": "input:key not set"} {
		if _, err := (entry.Entry{Type: entry.HTTP, URL: in}).Expand(at); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// TestToolNames: the names are what both providers' APIs take, no two are alike, and a rule about one server covers no
// tool of another.
func TestToolNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very long ", 30)
	names := map[string]string{}
	for _, server := range []string{"a", "a_b", "a b", "git.hub", "GitHub", long, long + "2", "__x__y__", "ü-ö1"} {
		tools := []string{"get issue", "get_issue", "get.issue", "GET_ISSUE", long, long + "2", "_x", "b__c", "世界", "x"}
		for i, name := range entry.ToolNames(server, tools) {
			if !regexp.MustCompile(`^mcp__[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*__[a-zA-Z0-9_-]+$`).MatchString(name) ||
				len(name) > 64 {
				t.Errorf("%s %s: %q", server, tools[i], name)
			}
			if before, twice := names[name]; twice && entry.Safe(before) != entry.Safe(server) {
				t.Errorf("%s: %s and %s", name, before, server)
			} else if twice && before == server {
				t.Errorf("%s twice of %s", name, server)
			}
			names[name] = server
		}
	}
	if got := entry.ToolNames("git.hub", []string{"get_issue"})[0]; got != "mcp__git_hub__get_issue" {
		t.Error(got)
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`["a", {"b": {"command": "x"}}, {"c": null}]`: "a b:x c",
		`"a, b"`:                           "a b",
		`{"a": {"command": "x"}, "b": {}}`: "a:x b",
		`[{"name": "a", "command": "x"}]`:  "a:x",
		`[{"a": {"command": 3}}]`:          "a:!",
		`[3]`:                              "!", `3`: "!", `null`: "!",
	} {
		refs, problems := entry.Refs([]byte(in))
		var got []string
		for _, r := range refs {
			switch {
			case r.Bad != "":
				got = append(got, r.Name+":!")
			case r.Inline != nil:
				got = append(got, r.Name+":"+r.Inline.Command)
			default:
				got = append(got, r.Name)
			}
		}
		for _, p := range problems {
			if p.Unusable && p.Server == "" {
				got = append(got, "!")
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", in, s, want)
		}
	}
}

// FuzzConfig: whatever stands in .mcp.json, it is read without harm: names are safe, entries have what they take, and
// one file read twice says the same.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{`{"mcpServers": {"a": {"command": "npx", "args": ["-y"], "env": {"A": "${B:-c}"}}}}`,
		`{"a": {"url": "https://x/sse", "headers": {"A": "b"}, "timeout": 5}}`, "{//x\n\"a\":{\"command\":[\"x\"],},}",
		`{"servers": {"a": {"type": "http", "url": "http://x", "tools": ["a"], "disabled": 1}}}`,
		`{"mcp":{"servers":3}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, problems := entry.Parse(data)
		again, _ := entry.Parse(data)
		if d := cmp.Diff(got, again); d != "" {
			t.Fatal(d)
		}
		names := map[string]bool{}
		for _, e := range got {
			if names[e.Name] || entry.Safe(e.Name) == "" {
				t.Fatalf("the name %q", e.Name)
			}
			names[e.Name] = true
			if e.Type == entry.Stdio && e.Command == "" || e.Type != entry.Stdio && e.URL == "" || e.Type == "" {
				t.Fatalf("%+v", e)
			}
			raw, err := json.Marshal(e)
			var back entry.Entry
			if err != nil || json.Unmarshal(raw, &back) != nil || back.Hash() != e.Hash() {
				t.Fatalf("%s: %v", raw, err)
			}
			_, _ = e.Expand(entry.Places{Cwd: "/w", Lookup: func(string) (string, bool) { return "", false }})
			for _, n := range entry.ToolNames(e.Name, []string{e.Command, e.URL, "a"}) {
				if len(n) > 64 {
					t.Fatal(n)
				}
			}
		}
		for _, p := range problems {
			if strings.ContainsAny(p.String(), "\n\x1b") {
				t.Fatalf("%q", p)
			}
		}
	})
}

// TestOAuth: as which client a user logs in, in the spellings of other programs. What leads away from this machine is
// not followed, and the hash of entries without it stays.
func TestOAuth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want *entry.OAuth
		says string
	}{
		{in: `"title": "no oauth"`},
		{in: `"oauth": {"clientId": "me", "callbackPort": 8080}`,
			want: &entry.OAuth{ID: "me", Redirect: "http://localhost:8080/callback"}},
		{in: `"oauth": {"clientId": "me", "clientSecret": "${S}", "scopes": ["a", "b"], "issuer": "https://i"}`,
			want: &entry.OAuth{ID: "me", Secret: "${S}", Scopes: []string{"a", "b"}, Issuer: "https://i"}},
		{in: `"auth": {"CLIENT_ID": "me", "scope": "a b"}`, want: &entry.OAuth{ID: "me", Scopes: []string{"a", "b"}}},
		{in: `"oauth": {"redirectUri": "http://127.0.0.1:7777/oauth/callback"}`,
			want: &entry.OAuth{Redirect: "http://127.0.0.1:7777/oauth/callback"}},
		{in: `"oauth": {"redirectUri": "https://evil.example/callback"}`, says: "must be an address of this machine"},
		{in: `"oauth": {"redirectUri": "http://localhost.evil.example:80/"}`,
			says: "must be an address of this machine"},
		{in: `"oauth": {"authorizationUrl": "https://evil.example"}`, says: "is not followed"},
		{in: `"oauth": {"callbackPort": 99999}`, says: "must be the number of a port"},
		{in: `"oauth": true`, says: "troupe mcp login"},
	} {
		file := `{"mcpServers": {"s": {"url": "https://x/mcp", ` + c.in + `}}}`
		list, problems := entry.Parse([]byte(file))
		if len(list) != 1 || !cmp.Equal(list[0].OAuth, c.want) {
			t.Errorf("%s: %+v, want %+v", c.in, list, c.want)
		}
		if said := fmt.Sprint(problems); c.says == "" && len(problems) > 0 || !strings.Contains(said, c.says) {
			t.Errorf("%s says %v", c.in, said)
		}
	}
	e, err := (entry.Entry{Type: entry.HTTP, URL: "https://x",
		OAuth: &entry.OAuth{Secret: "${S}"}}).Expand(entry.Places{
		Lookup: func(string) (string, bool) { return "word", true }})
	if err != nil || e.OAuth.Secret != "word" {
		t.Errorf("%+v, %v", e.OAuth, err)
	}
	for in, want := range map[string]string{"docs": "docs", "a b; rm -rf ~": "'a b; rm -rf ~'", "it's": `'it'\''s'`,
		"-x": "'-x'"} {
		if got := entry.Word(in); got != want {
			t.Errorf("%s is %s as a word, want %s", in, got, want)
		}
	}
}

// TestToldIsAll: a person who is asked about an entry is shown each field that it has, and so each variable of theirs
// that it would take. A field that is added later has to be told, or be one of those that say nothing of what it does.
func TestToldIsAll(t *testing.T) {
	t.Parallel()
	untold := []string{".Name", ".Off", ".Sandbox"} // Sandbox: as far as it is followed, told by who asks
	typ := reflect.TypeFor[entry.Entry]()
	var each func(path string, typ reflect.Type, index []int)
	each = func(path string, typ reflect.Type, index []int) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			at, name := append(slices.Clone(index), i), path+"."+f.Name
			if f.Type.Kind() == reflect.Pointer {
				each(name, f.Type.Elem(), at)
				continue
			}
			if slices.Contains(untold, name) {
				continue
			}
			for _, kind := range []entry.Type{entry.Stdio, entry.HTTP} {
				e := entry.Entry{Name: "a", Type: kind, OAuth: &entry.OAuth{}}
				before := e.Told()
				want := fill(t, reflect.ValueOf(&e).Elem().FieldByIndex(at))
				other := name == ".Command" || name == ".Args"
				if other && kind != entry.Stdio || name == ".URL" && kind == entry.Stdio || name == ".Type" {
					continue // of the other kind
				}
				if got := e.Told(); !strings.Contains(got, want) || got == before {
					t.Errorf("%s is not told: %s", name, got)
				}
			}
		}
	}
	each("", typ, nil)
	e := entry.Entry{Name: "a", Type: entry.HTTP, URL: "https://${A}", Headers: map[string]string{"H": "${B}"},
		OAuth: &entry.OAuth{ID: "${C}", Secret: "${D}", Issuer: "${E}"}}
	for _, name := range e.Variables() {
		if !strings.Contains(e.Told(), "${"+name+"}") {
			t.Errorf("%s is taken and not told: %s", name, e.Told())
		}
	}
	if got := e.OAuth.Line(); strings.Contains(got, "${D}") {
		t.Errorf("the line has the secret: %s", got)
	}
}

// fill puts something into a field, and says what has to be seen of it.
func fill(t *testing.T, v reflect.Value) string {
	t.Helper()
	const text = "to-be-told"
	switch value := v.Addr().Interface().(type) {
	case *string:
		*value = text
	case *entry.Type:
		*value = entry.SSE
	case *[]string:
		*value = []string{text}
	case *map[string]string:
		*value = map[string]string{text: text}
	case *time.Duration:
		*value = 61 * time.Second
		return "1m1s"
	default:
		t.Fatalf("a field of the type %v: say here how it is filled", v.Type())
	}
	return text
}

// TestLine: where the words of a command end is seen.
func TestLine(t *testing.T) {
	t.Parallel()
	e := entry.Entry{Type: entry.Stdio, Command: "sh", Args: []string{"-c", "echo it's", "", "x y", "plain"}}
	if got, want := e.Line(), `sh -c 'echo it'\''s' '' 'x y' plain`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
