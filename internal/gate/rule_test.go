package gate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

func parse(t testing.TB, effect troupe.Effect, text string) rule.Rule {
	t.Helper()
	r, err := ParseRule(troupe.Rule{Effect: effect, Text: text, Source: "test"})
	if err != nil {
		t.Fatalf("ParseRule(%s %q): %v", effect, text, err)
	}
	return r
}

// query is a call in /proj by a session in mode dontAsk, where whatever no rule allows is
// denied, so that the effect shows what the rules say.
func query(tool string, a troupe.Access, rules ...rule.Rule) Query {
	return Query{
		Tool: tool, Access: a, Home: "/home/u", Roots: []string{"/proj", "/out"},
		Chain: []Layer{{Agent: "main", Mode: troupe.ModeDontAsk, Rules: rules}},
	}
}

func bash(command string) troupe.Access {
	return troupe.Access{Class: troupe.ClassExec, Command: command}
}

func reads(paths ...string) troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: paths}
}

func writes(paths ...string) troupe.Access {
	return troupe.Access{Class: troupe.ClassEdit, Writes: paths}
}

func TestAllowRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule string
		tool string
		call troupe.Access
		want bool
	}{
		{"Bash", "Bash", bash("rm -rf /"), true},
		{"Bash(*)", "Bash", bash("rm -rf /"), true},
		{"bash", "Bash", bash("ls"), true},
		{"Bash(go test ./...)", "Bash", bash("go test ./..."), true},
		{"Bash(go test ./...)", "Bash", bash("go test ./... "), true},
		{"Bash(go test ./...)", "Bash", bash("go test ./...; rm x"), false},
		{"Bash(go test ./...)", "Bash", bash("go  test ./..."), true},
		{`Bash(make \*.go)`, "Bash", bash("make *.go"), true},
		{`Bash(make \*.go)`, "Bash", bash("make a.go"), false},
		{`Bash(echo (a))`, "Bash", bash("echo (a)"), true},
		{`Bash(find . \( -name x \))`, "Bash", bash(`find . \( -name x \)`), true},
		{`Bash(find . \( -name x \))`, "Bash", bash(`find . ( -name x )`), false},
		{"Edit", "Bash", bash("make"), false},
		{"Edit", "Edit", writes("/etc/x"), true},
		{"Edit", "Write", writes("/etc/x"), true},
		{"Write", "Write", writes("/etc/x"), true},
		{"Write", "Edit", writes("/etc/x"), false},
		{"Read", "Grep", reads("/etc"), true},
		{"Read", "Glob", reads("/etc"), true},
		{"Grep", "Read", reads("/etc/x"), false},
		{"Read(//etc/**)", "Read", reads("/etc/x/y"), true},
		{"Read(//etc/**)", "Grep", reads("/etc"), true},
		{"Read(//etc/**)", "Read", reads("/etcetera/x"), false},
		{"Read(//etc)", "Read", reads("/etc/x"), true},
		{"Read(//etc/**)", "Read", reads("/etc/../root/x"), false},
		{"Read(//etc/**)", "Edit", writes("/etc/x"), false},
		{"Read(~/notes/*.md)", "Read", reads("/home/u/notes/a.md"), true},
		{"Read(~/notes/*.md)", "Read", reads("/home/u/notes/b/a.md"), false},
		{"Read(~/notes/*.md)", "Read", reads("/home/uu/notes/a.md"), false},
		{"Edit(/src/**)", "Edit", writes("/proj/src/a/b.go"), true},
		{"Edit(/src/**)", "Edit", writes("/src/a.go"), false},
		{"Edit(src/**)", "Write", writes("/proj/src/a.go"), true},
		{"Edit(./src/)", "Write", writes("/proj/src/a.go"), true},
		{"Edit(src)", "Write", writes("/proj/deep/src/a.go"), true},
		{"Edit(src/x)", "Write", writes("/proj/deep/src/x"), false},
		{"Edit(*.go)", "Edit", writes("/proj/a/b.go"), true},
		{"Edit(/*.go)", "Edit", writes("/proj/a/b.go"), false},
		{"Edit(*.go)", "Edit", writes("/elsewhere/b.go"), false},
		{"Edit(**/gen/*.go)", "Edit", writes("/proj/a/gen/b/gen/c.go"), true},
		{"Edit(a/**/z)", "Edit", writes("/proj/a/z"), true},
		{"Edit(a/**/z)", "Edit", writes("/proj/a/b/c/z"), true},
		{"Edit(a/**/z)", "Edit", writes("/proj/a/b/c/y"), false},
		{"Edit([a-c].go)", "Edit", writes("/proj/b.go"), true},
		{"Edit([!a-c].go)", "Edit", writes("/proj/b.go"), false},
		{"Edit([!a-c].go)", "Edit", writes("/proj/d.go"), true},
		{`Edit(a\[1\].go)`, "Edit", writes("/proj/a[1].go"), true},
		{`Edit(a\[1\].go)`, "Edit", writes("/proj/a1.go"), false},
		{"Edit(../other/**)", "Edit", writes("/other/x"), true},
		{"Edit(a/../b)", "Edit", writes("/proj/b"), true},
		{"Edit(src/**)", "Edit", writes("/proj/src/x", "/etc/x"), false},
		{"Edit(src/**)", "Edit", writes("src/x"), false},
		{"Edit(//**)", "Edit", writes("/anything"), true},
		{"Agent(Explore)", "Read", reads("/etc/x"), false},
		{"Edit(*.ipynb)", "NotebookEdit", writes("/proj/a.ipynb"), true},
		{"NotebookEdit", "NotebookEdit", writes("/etc/a.ipynb"), true},
		{"NotebookEdit", "Edit", writes("/etc/a.ipynb"), false},
		{"mcp__s", "mcp__s__t", troupe.Access{Class: troupe.ClassExec}, true},
		{"mcp__s", "mcp__st__t", troupe.Access{Class: troupe.ClassExec}, false},
		{"mcp__s__*", "mcp__s__t", troupe.Access{Class: troupe.ClassExec}, true},
		{"mcp__s__get_*", "mcp__s__get_x", troupe.Access{Class: troupe.ClassExec}, true},
		{"mcp__s__get_*", "mcp__s__put_x", troupe.Access{Class: troupe.ClassExec}, false},
		{"mcp__s__t", "mcp__s__t", troupe.Access{Class: troupe.ClassExec}, true},
		{"mcp__s__t", "mcp__s__tt", troupe.Access{Class: troupe.ClassExec}, false},
		{"Skill(review)", "Skill", troupe.Access{Class: troupe.ClassExec, Agent: "review"}, true},
		{"Skill(review)", "Skill", troupe.Access{Class: troupe.ClassExec, Agent: "other"}, false},
		{"Skill(review)", "Agent", troupe.Access{Class: troupe.ClassExec, Agent: "review"}, false},
	}
	for _, test := range tests {
		d := Decide(query(test.tool, test.call, parse(t, troupe.Allow, test.rule)))
		if got := d.Effect == troupe.Allow; got != test.want {
			t.Errorf("allow %s, %s %+v: %+v", test.rule, test.tool, test.call, d)
		}
		if d.Effect == troupe.Allow && (d.Step != StepAllowRule || d.Rule != test.rule || d.Source != "test") {
			t.Errorf("allow %s: decided by %+v", test.rule, d)
		}
	}
}

func TestDenyRules(t *testing.T) {
	t.Parallel()
	spawn := troupe.Access{Class: troupe.ClassRead, Agent: "Explore"}
	tests := []struct {
		rule string
		tool string
		call troupe.Access
		want bool
	}{
		{"Bash", "Bash", bash("ls"), true},
		{"bash", "Bash", bash("ls"), true},
		{"*", "WebFetch", troupe.Access{}, true},
		{"mcp__github__*", "mcp__github__delete", troupe.Access{Class: troupe.ClassExec}, true},
		{"mcp__github__*", "mcp__other__delete", troupe.Access{Class: troupe.ClassExec}, false},
		{"Bash(rm -rf x)", "Bash", bash("rm -rf x"), true},
		{"Bash(rm -rf x)", "Bash", bash("  rm \t-rf x\n"), true},
		{"Bash(rm -rf x)", "Bash", bash("rm -rf xy"), false},
		{`Bash(echo \(a\))`, "Bash", bash("echo (a)"), true},
		{"Read", "Grep", reads("/proj"), true},
		{"Read(.env)", "Read", reads("/proj/a/.env"), true},
		{"Read(.env)", "Grep", reads("/proj/a/.env"), true},
		{"Read(.env)", "Edit", writes("/proj/.env"), true},
		{"Read(.env)", "Write", writes("/proj/.env"), false},
		{"Read(secrets)", "Read", reads("/proj/secrets/a/b"), true},
		{"Read(.env)", "Read", reads("/proj/link", "/proj/.env"), true}, // one of two paths
		{"Read(.env)", "Read", reads("./.env"), true},                   // who knows where that is
		{"Read(.env)", "Read", reads(), true},
		{"Edit(go.mod)", "Write", writes("/proj/go.mod"), true},
		{"Write(go.mod)", "Edit", writes("/proj/go.mod"), true},
		{"Edit(go.mod)", "Notebook", writes("/proj/go.mod"), true},
		{"Edit(go.mod)", "Read", reads("/proj/go.mod"), false},
		{"Agent(explore)", "Agent", spawn, true},
		{"Task(Explore)", "Agent", spawn, true},
		{"Task", "Agent", spawn, true},
		{"Agent(Plan)", "Agent", spawn, false},
	}
	for _, test := range tests {
		for _, effect := range []troupe.Effect{troupe.Deny, troupe.Ask} {
			// A bypassing session: only deny and ask rules can stand in its way.
			q := query(test.tool, test.call, parse(t, effect, test.rule))
			q.Chain[0].Mode = troupe.ModeBypass
			d := Decide(q)
			want := troupe.Allow
			if test.want {
				want = effect
			}
			if d.Effect != want {
				t.Errorf("%s %s, %s %+v: %+v", effect, test.rule, test.tool, test.call, d)
			}
		}
	}
}

func TestPlacesUnknown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Read(~/x)", "Read(/x)"} {
		q := query("Read", reads("/somewhere"), parse(t, troupe.Deny, text))
		q.Home, q.Roots = "", nil
		q.Chain[0].Mode = troupe.ModeBypass
		if d := Decide(q); d.Effect != troupe.Deny {
			t.Errorf("deny %s without a folder to anchor it: %+v", text, d)
		}
		q.Chain[0] = Layer{Mode: troupe.ModeDontAsk, Rules: []rule.Rule{parse(t, troupe.Allow, text)}}
		if d := Decide(q); d.Effect != troupe.Deny {
			t.Errorf("allow %s without a folder to anchor it: %+v", text, d)
		}
	}
}

// What cannot be followed as written must allow nothing, deny all that it may have meant,
// and say so.
func TestUnreadRules(t *testing.T) {
	t.Parallel()
	everything := map[string]troupe.Access{
		"Bash": bash("make"), "Read": reads("/proj/x"), "Write": writes("/proj/x"), "Agent": {Agent: "Plan"},
	}
	tests := []struct {
		text   string
		denies []string
	}{
		{"Bash(:*)", []string{"Bash"}},
		{"Bash(npm:* run)", []string{"Bash"}},
		{"Bash:*", []string{"Bash"}},
		{"Edit:*", []string{"Write"}},
		{"Baash(rm)", []string{"Bash"}},
		{"Raed(.env)", []string{"Read"}},
		{"Bash(rm -rf", []string{"Bash"}},
		{"Bash()", []string{"Bash"}},
		{"Bash rm", []string{"Bash"}},
		{"Bash(rm) x", []string{"Bash"}},
		{"bash)", []string{"Bash"}},
		{"Bash(\xff)", []string{"Bash"}},
		{"Read()", []string{"Read"}},
		{"Read([a)", []string{"Read"}},
		{"Read([[:alpha:]])", []string{"Read"}},
		{"Read(!x)", []string{"Read"}},
		{"Read($HOME/x)", []string{"Read"}},
		{"Read(~root/x)", []string{"Read"}},
		{"Read(*/../x)", []string{"Read"}},
		{"Edit(a\x00b)", []string{"Write"}},
		{"Agent(a, b)", []string{"Agent"}},
		{"Agent(*-worker)", []string{"Agent"}},
		{"", []string{"Bash", "Read", "Write", "Agent"}},
		{"  ", []string{"Bash", "Read", "Write", "Agent"}},
		{"(rm)", []string{"Bash", "Read", "Write", "Agent"}},
		{"Ba*(x", []string{"Bash", "Read", "Write", "Agent"}},
		{"WebFetch(x)", nil},
		{"WebFetch(domain:)", nil},
		{"WebFetch(domain:example.*)", nil},
		{"WebFetch(domain:a/b)", nil},
		{"WebFetch(domain:u@b)", nil},
		{"Other(x)", nil},
	}
	for _, test := range tests {
		for _, effect := range []troupe.Effect{troupe.Allow, troupe.Ask, troupe.Deny, "dney"} {
			r, err := ParseRule(troupe.Rule{Effect: effect, Text: test.text, Source: "settings.json"})
			var e *rule.Error
			if !errors.As(err, &e) || e.Problem == "" || e.Instead == "" ||
				!strings.Contains(err.Error(), "settings.json") {
				t.Errorf("%s %q: error %v does not say enough", effect, test.text, err)
				continue
			}
			for tool, access := range everything {
				q := query(tool, access, r)
				if effect != troupe.Allow {
					q.Chain[0].Mode = troupe.ModeBypass
				}
				d := Decide(q)
				switch effect {
				case troupe.Allow:
					if d.Step == StepAllowRule {
						t.Errorf("allow %q allows %s", test.text, tool)
					}
				case troupe.Ask, troupe.Deny:
					if got, want := d.Effect == effect, slices.Contains(test.denies, tool); got != want {
						t.Errorf("%s %q, %s: %+v", effect, test.text, tool, d)
					}
					if d.Effect == effect && !strings.Contains(d.Why, "may have meant") {
						t.Errorf("%s %q: %q does not say that the rule was not read", effect, test.text, d.Why)
					}
				default:
					if d.Effect != troupe.Deny {
						t.Errorf("%s %q, %s: %+v", effect, test.text, tool, d)
					}
				}
			}
		}
	}
}

// An allow rule says which tools it is about.
func TestWideAllowRules(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"*", "mcp__*", "mcp__*__get", "mcp____x*", "Ba*", "**", "Bash*"} {
		r, err := ParseRule(troupe.Rule{Effect: troupe.Allow, Text: text})
		if err == nil {
			t.Errorf("%q is followed", text)
		}
		for _, tool := range []string{"Bash", "mcp__a__get", "Read"} {
			if d := Decide(query(tool, troupe.Access{Class: troupe.ClassExec}, r)); d.Effect == troupe.Allow {
				t.Errorf("%q allows %s: %+v", text, tool, d)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"Read, Edit", []string{"Read", "Edit"}},
		{"Read Edit", []string{"Read", "Edit"}},
		{"Bash(go test ./...),Bash(a (b, c)) Edit", []string{"Bash(go test ./...)", "Bash(a (b, c))", "Edit"}},
		{"Bash(rm -rf", []string{"Bash(rm -rf"}},
	}
	for _, test := range tests {
		if got := rule.Split(test.in); !slices.Equal(got, test.want) {
			t.Errorf("rule.Split(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func TestHidden(t *testing.T) {
	t.Parallel()
	if Hidden([]Layer{{Rules: []rule.Rule{parse(t, troupe.Allow, "Read(x)"), parse(t, troupe.Deny, "Edit(x)")}}}, nil,
		"") != nil {
		t.Error("rules that hide nothing make a test")
	}
	chain := []Layer{
		{Rules: []rule.Rule{parse(t, troupe.Deny, "Read(.env)")}},
		{Rules: []rule.Rule{parse(t, troupe.Ask, "Read(~/keys/**)")}},
	}
	hidden := Hidden(chain, []string{"/proj"}, "/home/u")
	for file, want := range map[string]bool{
		"/proj/a/.env": true, "/proj/a/.envrc": false, "/home/u/keys/k": true, "/proj/keys/k": false,
		"/proj/x/../.env": true,
	} {
		if hidden(file) != want {
			t.Errorf("hidden(%s) = %v", file, !want)
		}
	}
}

// What is denied is so in all letters; leave is for the letters that it names.
func TestFoldedCase(t *testing.T) {
	t.Parallel()
	deny := parse(t, troupe.Deny, "Read(secrets/*.KEY)")
	for _, file := range []string{"/proj/Secrets/a.key", "/Proj/secrets/A.kEy", "/proj/secrets/a.KEY"} {
		if d := Decide(query("Read", reads(file), deny)); d.Effect != troupe.Deny || d.Step != StepDenyRule {
			t.Errorf("%s: %+v", file, d)
		}
		if hidden := Hidden([]Layer{{Rules: []rule.Rule{deny}}}, []string{"/proj"}, ""); !hidden(file) {
			t.Errorf("%s is not hidden", file)
		}
	}
	for command, want := range map[string]troupe.Effect{
		"cat TopSecret.TXT": troupe.Deny, "cat < TOPSECRET.txt": troupe.Deny, "cat TOP*": troupe.Ask,
		"cat topsecrets.txt": troupe.Allow, "echo x > Go.Mod": troupe.Deny,
	} {
		if d := run(command, nil, parse(t, troupe.Deny, "Read(topsecret.txt)"),
			parse(t, troupe.Deny, "Edit(go.mod)")); d.Effect != want {
			t.Errorf("%q: %+v", command, d)
		}
	}
	allow := parse(t, troupe.Allow, "Edit(src/*.go)")
	for file, want := range map[string]troupe.Effect{"/proj/src/a.go": troupe.Allow, "/proj/SRC/a.go": troupe.Deny,
		"/proj/src/a.GO": troupe.Deny} {
		if d := Decide(query("Edit", writes(file), allow)); d.Effect != want {
			t.Errorf("%s: %+v", file, d)
		}
	}
	q := query("Write", writes("/proj/.Git/Hooks/x"), parse(t, troupe.Allow, "Write"))
	q.Protected = []string{"/proj/.git/hooks"}
	if d := Decide(q); d.Effect == troupe.Allow {
		t.Errorf("protected in other letters: %+v", d)
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"Bash", "Bash(go test ./...)", "Read(//etc/**)", "Edit(~/a/[!b]*/../c)",
		"Agent(Explore)", "Bash(git *)", `Bash(a \\\* b)`, "mcp__*", "", "Read([[:alpha:]])", "(", ")("} {
		f.Add(s, "/proj/a/b", "ls *")
	}
	f.Fuzz(func(t *testing.T, text, file, command string) {
		calls := []Query{query("Read", reads(file)), query("Edit", writes(file)), query("Bash", bash(command)),
			query("Agent", troupe.Access{Agent: command})}
		for _, effect := range []troupe.Effect{troupe.Allow, troupe.Ask, troupe.Deny} {
			r, err := ParseRule(troupe.Rule{Effect: effect, Text: text})
			for _, q := range calls {
				before := Decide(q)
				q.Chain[0].Rules = []rule.Rule{r}
				after := Decide(q)
				if effect == troupe.Allow && err != nil && after.Effect != before.Effect {
					t.Errorf("a broken allow rule %q changed %v to %v", text, before, after)
				}
				if effect != troupe.Allow && strictness(after.Effect) < strictness(before.Effect) {
					t.Errorf("%s %q allows", effect, text)
				}
			}
		}
	})
}
