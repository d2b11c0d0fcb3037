package gate

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestWiderIsEnough: the rule about a folder that is offered allows the call and its like beside it, and
// none is offered where it would open more than one project.
func TestWiderIsEnough(t *testing.T) {
	t.Parallel()
	// Edit reads what it changes, and says so first.
	edits := func(name string) troupe.Access {
		return troupe.Access{Class: troupe.ClassEdit, Reads: []string{name}, Writes: []string{name}}
	}
	protected := query("Edit", writes("/proj/src/.envrc"))
	protected.Protected = []string{"/proj/**/.envrc"}
	linked := query("Read", reads("/ws/lib/a", "/etc/a")) // the rule allows the link, and not where it leads
	linked.Chain[0].Rules = append(linked.Chain[0].Rules, parse(t, troupe.Allow, "Read(//ws/**)"))
	deep := query("Grep", reads("/home/u/src"))
	deep.Roots = []string{"/home/u/src/proj"}
	for name, tt := range map[string]struct {
		q     Query
		want  string
		other troupe.Access // beside it
	}{
		"an edit":               {query("Edit", writes("/proj/src/a")), "Edit(//proj/src/**)", writes("/proj/src/x/b")},
		"a new file":            {query("Write", writes("/proj/src/a")), "Edit(//proj/src/**)", writes("/proj/src/b")},
		"as Edit says it":       {query("Edit", edits("/proj/src/a")), "Edit(//proj/src/**)", edits("/proj/src/b")},
		"an edit at the top":    {query("Edit", writes("/proj/a.go")), "Edit(//proj/**)", writes("/proj/src/b.go")},
		"an edit elsewhere":     {query("Edit", writes("/ws/lib/a.go")), "Edit(//ws/lib/**)", writes("/ws/lib/b.go")},
		"a read elsewhere":      {query("Read", reads("/ws/lib/a.go")), "Read(//ws/lib/**)", reads("/ws/lib/x/b.go")},
		"a search elsewhere":    {query("Grep", reads("/ws/lib")), "Read(//ws/lib/**)", reads("/ws/lib/b.go")},
		"a folder with a star":  {query("Read", reads("/ws/l*b/a.go")), `Read(//ws/l\*b/**)`, reads("/ws/l*b/b.go")},
		"a read in the root":    {query("Read", reads("/a.go")), "", troupe.Access{}},
		"a read in a home":      {query("Read", reads("/home/u/a.go")), "", troupe.Access{}},
		"a search of all homes": {query("Glob", reads("/home")), "", troupe.Access{}},
		"above the project":     {query("Grep", reads("/")), "", troupe.Access{}},
		"all beside a project":  {deep, "", troupe.Access{}},
		"a protected file":      {protected, "", troupe.Access{}},
		"a link elsewhere":      {query("Edit", writes("/proj/src/a", "/etc/a")), "", troupe.Access{}},
		"a read by a link":      {linked, "", troupe.Access{}},
		"a command":             {query("Bash", bash("make")), "", troupe.Access{}},
	} {
		q := tt.q
		q.Home, q.Chain[0].Mode = "/home/u", troupe.ModeDefault
		d := Decide(q)
		if d.Effect == troupe.Allow || d.Wider != tt.want {
			t.Errorf("%s: %+v, want %q", name, d, tt.want)
		}
		if tt.want == "" {
			continue
		}
		q.Chain[0].Rules = append(q.Chain[0].Rules, parse(t, troupe.Allow, tt.want))
		if d := Decide(q); d.Effect != troupe.Allow {
			t.Errorf("%s: %s does not allow it: %+v", name, tt.want, d)
		}
		if q.Access = tt.other; Decide(q).Effect != troupe.Allow {
			t.Errorf("%s: %s does not allow %+v", name, tt.want, tt.other)
		}
	}
}

// TestOutsideIsSaid: whoever is asked about a write reads that it is outside of the folder.
func TestOutsideIsSaid(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"/etc/hosts": "writes /etc/hosts, outside of the folder", "/proj/a": ""} {
		q := query("Write", writes(name))
		q.Chain[0].Mode = troupe.ModeDefault
		why := Decide(q).Why
		if want != "" && !strings.Contains(why, want) || want == "" && strings.Contains(why, "outside") {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// TestRuleForOne: an allow rule for one session counts for it and those below it, and takes nothing from what
// binds them.
func TestRuleForOne(t *testing.T) {
	t.Parallel()
	allow := parse(t, troupe.Allow, "Edit(/**)")
	allow.Written.For = "kid"
	line := func(modes map[troupe.SessionID]troupe.Mode, ids ...troupe.SessionID) (out []Layer) {
		for _, id := range ids {
			mode, ok := modes[id]
			if !ok {
				mode = troupe.ModeDefault
			}
			out = append(out, Layer{Session: id, Mode: mode})
		}
		out[0].Rules = append(out[0].Rules, allow)
		return out
	}
	plan := map[troupe.SessionID]troupe.Mode{"main": troupe.ModePlan}
	for name, tt := range map[string]struct {
		chain []Layer
		want  troupe.Effect
	}{
		"the root":           {line(nil, "main"), troupe.Ask},
		"the one":            {line(nil, "main", "kid"), troupe.Allow},
		"below it":           {line(nil, "main", "kid", "grandkid"), troupe.Allow},
		"another":            {line(nil, "main", "other"), troupe.Ask},
		"the one, in a plan": {line(plan, "main", "kid"), troupe.Deny},
		"the one plans":      {line(map[troupe.SessionID]troupe.Mode{"kid": troupe.ModePlan}, "main", "kid"), "deny"},
	} {
		q := query("Edit", writes("/proj/x"))
		q.Chain = tt.chain
		if d := Decide(q); d.Effect != tt.want {
			t.Errorf("%s: %+v, want %s", name, d, tt.want)
		}
	}
}

// TestGitElsewhere: what git would change is asked of its arguments where it runs in the session's folder; of
// git in a folder that the command only comes to, nothing is known.
func TestGitElsewhere(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"git checkout x": "checkout x", "cd sub && git checkout x": "elsewhere", "git -C sub checkout x": "elsewhere",
		"git -C . checkout x": "checkout x", "git -C $X checkout x": "elsewhere", "git checkout $X": "",
		"git status":         "not asked",
		"git reset --hard x": "reset --hard x", "git reset --merge x": "reset --merge x",
		"git reset --keep x": "reset --keep x", "git reset --har x": "reset --har x",
		"git reset --soft x": "not asked", "git reset x": "not asked",
	} {
		asked := "not asked"
		q := query("Bash", bash(command))
		q.Levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
		q.GitChanges = func(args []string) []string {
			if asked = strings.Join(args, " "); args != nil && len(args) == 0 {
				asked = "elsewhere"
			}
			return nil
		}
		if Decide(q); asked != want {
			t.Errorf("%s: asked about %q, want %q", command, asked, want)
		}
	}
}
