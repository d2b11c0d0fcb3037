package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// No mode and no rule opens what is protected unless the rule names it.
func TestProtected(t *testing.T) {
	t.Parallel()
	protected := []string{
		"/proj/.git/hooks", "/proj/.git/config", "/proj/**/.claude/settings*.json", "/proj/.mcp.json",
		"/home/u/.bashrc", "/home/u/.config/troupe", "/data/troupe",
	}
	tests := []struct {
		rule string
		file string
		want bool
	}{
		{"Edit", "/proj/.git/hooks/pre-commit", false},
		{"Edit(**)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(/**)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(//**)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(hooks)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(.git)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(.git/*)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(.git/ho*)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(/.git/hooks/**)", "/proj/.git/hooks/pre-commit", true},
		{"Edit(.git/hooks/pre-commit)", "/proj/.git/hooks/pre-commit", true},
		{"Write(//proj/.git/hooks)", "/proj/.git/hooks/pre-commit", true},
		{"Edit(.git/config)", "/proj/.git/hooks/pre-commit", false},
		{"Edit(.git/config)", "/proj/.git/config", true},
		{"Edit(.claude/settings.json)", "/proj/.claude/settings.json", true},
		{"Edit(.claude/settings.json)", "/proj/.claude/settings.local.json", false},
		{"Edit(.claude/settings*.json)", "/proj/.claude/settings.json", false},
		{"Edit(.claude/**)", "/proj/.claude/settings.json", false},
		{"Edit(**/.claude/settings.json)", "/proj/sub/.claude/settings.json", true},
		{"Edit(.mcp.json)", "/proj/.mcp.json", true},
		{"Edit(*.json)", "/proj/.mcp.json", false},
		{"Edit(~/.bashrc)", "/home/u/.bashrc", true},
		{"Edit(~/**)", "/home/u/.bashrc", false},
		{"Edit(~/.config/troupe/x)", "/home/u/.config/troupe/x", true},
		{"Edit(~/.config/**)", "/home/u/.config/troupe/x", false},
		{"Edit(//data/**)", "/data/troupe/x", false},
		{"Edit(//data/troupe/**)", "/data/troupe/x", true},
		// Names that are the same where case makes no difference.
		{"Edit", "/proj/.GIT/config", false},
		{"Edit(.git/config)", "/proj/.Git/Config", false},
		{"Edit(.Git/Config)", "/proj/.Git/Config", true},
		{"Edit", "/proj/sub/.Claude/settings.json", false},
		{"Edit(/**)", "/proj/.CLAUDE/Settings.local.json", false},
		{"Edit", "/proj/.git/hooksx", true},
		{"Edit", "/proj/.gitconfig", true},
		{"Edit(.git/**)", "/proj/.git/description", true},
		{"Edit", "/proj/.claude/x", true},
	}
	for _, test := range tests {
		q := query("Write", writes(test.file), parse(t, troupe.Allow, test.rule))
		q.Protected = protected
		if d := Decide(q); (d.Effect == troupe.Allow) != test.want {
			t.Errorf("%s, %s: %+v", test.rule, test.file, d)
		}
	}
	for mode, want := range map[troupe.Mode]troupe.Effect{
		troupe.ModeDefault: troupe.Ask, troupe.ModeAcceptEdits: troupe.Ask, troupe.ModePlan: troupe.Deny,
		troupe.ModeDontAsk: troupe.Deny, troupe.ModeBypass: troupe.Allow,
	} {
		for _, file := range []string{"/proj/.git/hooks/x", "/proj/new/.claude/settings.local.json",
			"/proj/.git/./config", "/proj/.GIT/hooks/x", "/proj/.Claude/settings.json"} {
			q := query("Edit", writes(file))
			q.Protected, q.Chain[0].Mode = protected, mode
			d := Decide(q)
			if d.Effect != want {
				t.Errorf("%s, %s: %+v", mode, file, d)
			}
			if d.Effect == troupe.Ask && !strings.Contains(d.Why, "protected") {
				t.Errorf("%s, %s: %q does not say why", mode, file, d.Why)
			}
			if d.Grant == "" {
				continue
			}
			q.Chain[0].Rules = allows(t, d.Grant)
			if d := Decide(q); d.Effect != troupe.Allow {
				t.Errorf("%s, %s with its grant: %+v", mode, file, d)
			}
		}
		// A link in the folder that leads to what is protected.
		q := query("Edit", writes("/proj/a", "/proj/.git/config"))
		q.Protected, q.Chain[0].Mode = protected, mode
		if d := Decide(q); d.Effect != want {
			t.Errorf("%s, through a link: %+v", mode, d)
		}
	}
	// What only the disk tells to be part of a repository.
	for rules, want := range map[string]bool{
		"": false, "Edit": false, "Edit(**)": false, "Edit(/g/**)": false, "Edit(con*)": false, "Edit(/g/config)": true,
		"Edit(config)": true,
	} {
		for tool, access := range map[string]troupe.Access{
			"Write": writes("/proj/g/config"),
			"Bash":  {Class: troupe.ClassExec, Command: "echo x > g/config"},
		} {
			q := query(tool, access)
			if rules != "" {
				q.Chain[0].Rules = allows(t, rules)
			}
			q.Chain[0].Mode = troupe.ModeAcceptEdits
			if d := Decide(q); d.Effect != troupe.Allow {
				t.Errorf("%s by %s where it is a file like others: %+v", rules, tool, d)
			}
			q.PartOfGit = func(string) string { return "/proj/g/config" }
			if d := Decide(q); (d.Effect == troupe.Allow) != want {
				t.Errorf("%s by %s: %+v", rules, tool, d)
			}
		}
	}
	// Nor does a hook or a model that allows the call, which names nothing.
	for file, want := range map[string]troupe.Effect{"/proj/.git/hooks/x": troupe.Ask, "/proj/a": troupe.Allow} {
		q := query("Edit", writes(file))
		q.Protected, q.Chain[0].Mode = protected, troupe.ModeDefault
		q.Judged = &troupe.Judgement{Effect: troupe.Allow, By: "the hook"}
		if d := Decide(q); d.Effect != want || want == troupe.Ask && !strings.Contains(d.Why, "protected") {
			t.Errorf("%s, allowed by a hook: %+v", file, d)
		}
	}
	// One that cannot be read protects everything.
	q := query("Edit", writes("/proj/a"), parse(t, troupe.Allow, "Edit"))
	q.Protected = []string{"relative"}
	if d := Decide(q); d.Effect == troupe.Allow {
		t.Errorf("%+v", d)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	chain := []Layer{
		{Managed: []rule.Rule{parse(t, troupe.Deny, "Read(~/.ssh/**)")},
			Rules: []rule.Rule{parse(t, troupe.Deny, "Read(.env)"), parse(t, troupe.Allow, "Read(//x)")}},
		{Rules: []rule.Rule{parse(t, troupe.Ask, "Read(y)"), parse(t, troupe.Deny, "Read(//etc/[a-c]*/*.key)"),
			parse(t, troupe.Deny, `Read(/a\*b)`), parse(t, troupe.Deny, "Edit(../z)")}},
	}
	got := strings.Join(Unreadable(chain, []string{"/proj"}, "/home/u"), " ")
	if want := `/home/u/.ssh/** /proj/**/.env /etc/[a-c]*/*.key /proj/a\*b`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Unwritable(chain, []string{"/proj"}, "/home/u"); len(got) != 1 || got[0] != "/z" {
		t.Errorf("%q", got)
	}
	if got := Unreadable(chain, nil, ""); got[0] != "/**/.ssh/**" || got[1] != "/**/**/.env" {
		t.Errorf("%q", got)
	}
	if Hidden(chain, []string{"/proj"}, "/home/u")("/home/u/.ssh/x") != true {
		t.Error("a managed rule hides nothing")
	}
}

// TestForemost: what lies in the session's folder comes last, whichever folder it is.
func TestForemost(t *testing.T) {
	t.Parallel()
	for cwd, in := range map[string][]string{"/": {"/etc/a", "/b"}, "/proj": {"/proj/a", "/proj/b/c"}} {
		out := []string{"/project/a", "/etc/.envrc"}
		if cwd == "/" {
			out = []string{"/etc/.envrc"}
		}
		var wants []troupe.Attempt
		for _, path := range append(slices.Clone(in), out...) {
			wants = append(wants, troupe.Attempt{Op: troupe.OpCreate, Path: path})
		}
		q := Query{Protected: []string{"/**/.envrc"}}
		got, ordinary := Foremost(&q, cwd, wants, 1)
		if ordinary != len(in) || got[0].Path != "/etc/.envrc" || got[len(got)-1].Path != in[len(in)-1] {
			t.Errorf("in %s: %d ordinary of %v", cwd, ordinary, got)
		}
	}
}
