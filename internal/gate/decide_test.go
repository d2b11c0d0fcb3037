package gate

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

func TestTableOrder(t *testing.T) {
	t.Parallel()
	want := []string{"managed deny", "hook deny", "deny rule", "ask rule", "mode", "allow rule", "hook allow",
		"declared", "read-only run", "ask"}
	if got := rowNames(); !slices.Equal(got, want) {
		t.Errorf("the table is %q, want %q", got, want)
	}
}

func rowNames() []string {
	var names []string
	for _, s := range table() {
		names = append(names, string(s.name))
	}
	return names
}

// The picture of a call's way has the rows of the table in their order.
func TestTableIsDrawn(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## A call's way through the gate\n")
	_, box, _ := strings.Cut(section, "┌")
	box, _, _ = strings.Cut(box, "└")
	var drawn []string
	for row := range strings.SplitSeq(strings.NewReplacer("─", "", "┐", "", "│", "", "\n", " ").Replace(box), "→") {
		name, _, _ := strings.Cut(row, ",")
		name, _, _ = strings.Cut(name, ":")
		drawn = append(drawn, strings.TrimSpace(name))
	}
	if want := append([]string{"filter of tools"}, rowNames()...); !slices.Equal(drawn, want) {
		t.Errorf("ARCHITECTURE.md draws %q, the table is %q", drawn, want)
	}
}

// Every mode × what the call would do × the kind of rule that covers it.
func TestModes(t *testing.T) {
	t.Parallel()
	calls := []struct {
		name string
		tool string
		a    troupe.Access
	}{
		{"read in", "Read", reads("/proj/x")},
		{"read out", "Read", reads("/etc/x")},
		{"birth", "Agent", troupe.Access{Class: troupe.ClassRead, Agent: "Explore"}},
		{"edit in", "Edit", writes("/proj/x")},
		{"edit out", "Edit", writes("/etc/x")},
		{"command", "Bash", bash("make")},
	}
	// Columns: no rule, allow, ask, deny. a: allow, ?: ask, -: deny.
	want := map[troupe.Mode][]string{
		troupe.ModeDefault:     {"aa?-", "?a?-", "aa?-", "?a?-", "?a?-", "?a?-"},
		troupe.ModeAcceptEdits: {"aa?-", "?a?-", "aa?-", "aa?-", "?a?-", "?a?-"},
		troupe.ModeAuto:        {"aa?-", "?a?-", "aa?-", "?a?-", "?a?-", "???-"}, // Bash leaves open what is run
		troupe.ModePlan:        {"aa--", "-a--", "aa--", "----", "----", "----"},
		troupe.ModeDontAsk:     {"aa--", "-a--", "aa--", "-a--", "-a--", "-a--"},
		troupe.ModeBypass:      {"aa?-", "aa?-", "aa?-", "aa?-", "aa?-", "aa?-"},
		"":                     {"aa--", "-a--", "aa--", "----", "----", "----"},
		"yolo":                 {"aa--", "-a--", "aa--", "----", "----", "----"},
	}
	for mode, rows := range want {
		for i, c := range calls {
			for j, effect := range []troupe.Effect{"", troupe.Allow, troupe.Ask, troupe.Deny} {
				q := Query{Tool: c.tool, Access: c.a, Roots: []string{"/proj"},
					Chain: []Layer{{Agent: "main", Mode: mode}}}
				if effect != "" {
					q.Chain[0].Rules = []rule.Rule{parse(t, effect, c.tool)}
				}
				d := Decide(q)
				short := map[troupe.Effect]byte{troupe.Allow: 'a', troupe.Ask: '?', troupe.Deny: '-'}[d.Effect]
				if short != rows[i][j] {
					t.Errorf("mode %q, %s, rule %q: %c, want %c (%+v)", mode, c.name, effect, short, rows[i][j], d)
				}
				if d.Why == "" || d.Step == "" {
					t.Errorf("mode %q, %s: an answer without a reason: %+v", mode, c.name, d)
				}
			}
		}
	}
	for _, m := range troupe.Modes() {
		if _, known := Meaning(m); !known {
			t.Errorf("mode %s has no meaning", m)
		}
	}
}

func TestStrictestRuleWins(t *testing.T) {
	t.Parallel()
	allow, ask, deny := parse(t, troupe.Allow, "Bash"), parse(t, troupe.Ask, "Bash(ls)"),
		parse(t, troupe.Deny, "Bash(ls)")
	for _, test := range []struct {
		rules []rule.Rule
		want  troupe.Effect
		step  troupe.Step
	}{
		{[]rule.Rule{allow, ask, deny}, troupe.Deny, StepDenyRule},
		{[]rule.Rule{deny, ask, allow}, troupe.Deny, StepDenyRule},
		{[]rule.Rule{allow, ask}, troupe.Ask, StepAskRule},
		{[]rule.Rule{ask, allow}, troupe.Ask, StepAskRule},
	} {
		q := query("Bash", bash("ls"), test.rules...)
		q.Chain[0].Mode = troupe.ModeDefault
		if d := Decide(q); d.Effect != test.want || d.Step != test.step || d.Grant != "" {
			t.Errorf("%+v", d)
		}
	}
}

func TestDeclaredIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]troupe.Access{
		"a read that writes":         {Class: troupe.ClassRead, Writes: []string{"/proj/x"}},
		"a read with a command":      {Class: troupe.ClassRead, Command: "make"},
		"an impossible class":        {Class: -1},
		"a relative path":            reads("x"),
		"a way out":                  reads("/proj/../etc/x"),
		"a sibling with a like name": reads("/project/x"),
		"no path at all":             reads(),
	} {
		q := Query{Tool: "Read", Access: a, Roots: []string{"/proj"}, Chain: []Layer{{Mode: troupe.ModeDefault}}}
		if d := Decide(q); d.Effect == troupe.Allow {
			t.Errorf("%s: %+v", name, d)
		}
	}
	q := Query{Tool: "Edit", Access: troupe.Access{Class: troupe.ClassEdit}, Roots: []string{"/proj"},
		Chain: []Layer{{Mode: troupe.ModeAcceptEdits}}}
	if d := Decide(q); d.Effect == troupe.Allow {
		t.Errorf("an edit of nothing: %+v", d)
	}
	q.Access = writes("/proj/x", "/etc/x") // a link in the workspace, and where it leads
	if d := Decide(q); d.Effect == troupe.Allow {
		t.Errorf("an edit through a link: %+v", d)
	}
}

func TestLinkNeedsBothEnds(t *testing.T) {
	t.Parallel()
	link, target := parse(t, troupe.Allow, "Edit(/link)"), parse(t, troupe.Allow, "Edit(//etc/x)")
	call := writes("/proj/link", "/etc/x")
	for _, one := range []rule.Rule{link, target} {
		if d := Decide(query("Edit", call, one)); d.Effect != troupe.Deny {
			t.Errorf("one end allowed: %+v", d)
		}
	}
	if d := Decide(query("Edit", call, link, target)); d.Effect != troupe.Allow {
		t.Errorf("both ends allowed: %+v", d)
	}
	d := Decide(query("Edit", call))
	if d.Grant != "" || !strings.Contains(d.Why, "Edit(//proj/link) and Edit(//etc/x)") {
		t.Errorf("%+v does not name both rules", d)
	}
	// Leave to read a path is not leave to write it, whatever tool asks.
	if d := Decide(query("Read", writes("/etc/x"), parse(t, troupe.Allow, "Read(//etc/**)"))); d.Effect != troupe.Deny {
		t.Errorf("a read rule allows a write: %+v", d)
	}
	// A read within the workspace needs no rule for its own end.
	if d := Decide(query("Read", reads("/proj/link", "/etc/x"),
		parse(t, troupe.Allow, "Read(//etc/x)"))); d.Effect != troupe.Allow {
		t.Errorf("read through a link: %+v", d)
	}
}

// Complaint 9 and 23: a child cannot escape its parent's mode or rules, and has its
// parent's grants; complaint 10: what a profile does not offer does not run.
func TestChain(t *testing.T) {
	t.Parallel()
	main := func(m troupe.Mode, rules ...rule.Rule) Layer { return Layer{Agent: "main", Mode: m, Rules: rules} }
	child := func(m troupe.Mode, rules ...rule.Rule) Layer {
		return Layer{Agent: "main/Fixer", Mode: m, Rules: rules}
	}
	allow, deny := parse(t, troupe.Allow, "Bash(make)"), parse(t, troupe.Deny, "Bash(make)")
	tests := []struct {
		name  string
		chain []Layer
		want  troupe.Effect
		step  troupe.Step
		says  string // in Why
	}{
		{"plan holds for children", []Layer{main(troupe.ModePlan), child(troupe.ModeBypass)}, troupe.Deny, StepMode,
			"decided for main"},
		{"asking holds for children", []Layer{main(troupe.ModeDefault), child(troupe.ModeBypass)}, troupe.Ask, StepAsk,
			"decided for main"},
		{"a child's own mode", []Layer{main(troupe.ModeBypass), child(troupe.ModePlan)}, troupe.Deny, StepMode, "plan"},
		{"bypass twice", []Layer{main(troupe.ModeBypass), child(troupe.ModeBypass)}, troupe.Allow, StepMode, ""},
		{"grants are inherited", []Layer{main(troupe.ModeDefault, allow), child(troupe.ModeDefault)}, troupe.Allow,
			StepAllowRule, ""},
		{"a child grants itself nothing", []Layer{main(troupe.ModeDefault), child(troupe.ModeDefault, allow)},
			troupe.Ask, StepAsk, "main"},
		{"denials are inherited", []Layer{main(troupe.ModeBypass, deny), child(troupe.ModeBypass, allow)}, troupe.Deny,
			StepDenyRule, "set for main"},
		{"a child's own denial", []Layer{main(troupe.ModeBypass), child(troupe.ModeBypass, deny)}, troupe.Deny,
			StepDenyRule, "denies it"},
		{"grandchildren too", []Layer{main(troupe.ModeDefault, allow), child(troupe.ModeDefault),
			{Agent: "main/a/b", Mode: troupe.ModeDefault}}, troupe.Allow, StepAllowRule, ""},
	}
	for _, test := range tests {
		d := Decide(Query{Tool: "Bash", Access: bash("make"), Roots: []string{"/proj"}, Chain: test.chain})
		if d.Effect != test.want || d.Step != test.step || !strings.Contains(d.Why, test.says) {
			t.Errorf("%s: %+v", test.name, d)
		}
	}

	same := Decide(Query{Tool: "Bash", Access: bash("make"),
		Chain: []Layer{main(troupe.ModeDefault), child(troupe.ModeDefault)}})
	if strings.Contains(same.Why, "main") {
		t.Errorf("what the child's own mode says is blamed on its parent: %q", same.Why)
	}
	offered := func(chain ...Layer) troupe.Decision {
		return Decide(Query{Tool: "Bash", Access: bash("make"), Chain: chain})
	}
	coordinator := Layer{Agent: "main", Mode: troupe.ModeBypass, Offered: []string{"Agent"}}
	worker := Layer{Agent: "main/w", Mode: troupe.ModeBypass, Offered: []string{"Bash"}}
	reader := Layer{Agent: "main/r", Mode: troupe.ModeBypass, Offered: []string{},
		Rules: []rule.Rule{parse(t, troupe.Allow, "Bash")}}
	if d := offered(coordinator, worker); d.Effect != troupe.Allow {
		t.Errorf("a worker is limited by what its coordinator was offered: %+v", d)
	}
	for _, chain := range [][]Layer{{coordinator}, {worker, reader}, nil} {
		if d := offered(chain...); d.Effect != troupe.Deny || d.Step != StepProfile {
			t.Errorf("not offered, but %+v", d)
		}
	}
}

// A session that is kept to reading is offered no rule: none would open more to it.
func TestReadOnlySandboxOffersNoGrant(t *testing.T) {
	t.Parallel()
	for _, levels := range [][]troupe.Level{bothLevels, {troupe.LevelWorkspace}} {
		for bound, grant := range map[troupe.Level]string{
			"": "Bash(make)", troupe.LevelWorkspace: "Bash(make)", troupe.LevelReadOnly: "",
		} {
			q := query("Bash", bash("make"))
			q.Levels, q.Chain[0].Mode, q.Chain[0].Sandbox = levels, troupe.ModeDefault, bound
			if d := Decide(q); d.Grant != grant {
				t.Errorf("levels %q, sandbox %q: %+v, want the grant %q", levels, bound, d, grant)
			}
		}
	}
}

func TestHeadless(t *testing.T) {
	t.Parallel()
	ask := func(tool string, a troupe.Access, rules ...rule.Rule) troupe.Decision {
		q := query(tool, a, rules...)
		q.Chain[0].Mode = troupe.ModeDefault
		return WithoutAsker(Decide(q))
	}
	tests := []struct {
		name  string
		d     troupe.Decision
		grant string
		says  []string
	}{
		{"command", ask("Bash", bash("go test ./...")), "Bash(go test ./...)",
			[]string{"this run cannot ask", `--allowed-tools 'Bash(go test ./...)'`, "permissions.allow"}},
		{"quotes", ask("Bash", bash(`make 'a' "b"`)), `Bash(make 'a' "b")`,
			[]string{`'Bash(make '\''a'\'' "b")'`, `"Bash(make 'a' \"b\")"`}},
		{"edit", ask("Write", writes("/etc/a b[1]")), `Edit(//etc/a b\[1])`,
			[]string{"writes /etc/a b[1]", `"Edit(//etc/a b\\[1])"`}},
		{"read", ask("Grep", reads("/etc")), "Grep(//etc)", []string{"outside the session's folders"}},
		{"several lines", ask("Bash", bash("a\nb")), "Bash(a\nb)", []string{`"Bash(a\nb)"`}},
		{"unbalanced", ask("Bash", bash("echo ) , (")), "Bash(echo ) , ()",
			[]string{`permissions.allow: "Bash(echo ) , ()"`}},
		{"ask rule", ask("Bash", bash("ls"), parse(t, troupe.Ask, "Bash")), "",
			[]string{`"Bash" asks before it (test)`, "without that rule"}},
		{"no exact rule", ask("WebFetch", troupe.Access{Class: troupe.ClassExec}), "",
			[]string{"only the rule WebFetch"}},
		{"not UTF-8", ask("Bash", bash("ls \xff")), "", []string{"only the rule Bash"}},
	}
	for _, test := range tests {
		if test.d.Effect != troupe.Deny || test.d.Grant != test.grant {
			t.Errorf("%s: %+v", test.name, test.d)
		}
		for _, s := range test.says {
			if !strings.Contains(test.d.Why, s) {
				t.Errorf("%s: %q does not say %q", test.name, test.d.Why, s)
			}
		}
		if strings.Contains(test.d.Why, "\n") {
			t.Errorf("%s: %q is more than a line", test.name, test.d.Why)
		}
	}
	for _, name := range []string{"several lines", "unbalanced"} {
		for _, test := range tests {
			if test.name == name && strings.Contains(test.d.Why, "--allowed-tools") {
				t.Errorf("%s: offers a flag that would not survive: %q", name, test.d.Why)
			}
		}
	}
	for _, e := range []troupe.Effect{troupe.Allow, troupe.Deny} {
		if d := (troupe.Decision{Effect: e, Why: "x"}); !reflect.DeepEqual(WithoutAsker(d), d) {
			t.Errorf("Headless changed %s", e)
		}
	}
	d := Decide(query("Bash", bash("make")))
	if d.Grant != "Bash(make)" || !strings.Contains(d.Why, "--allowed-tools") {
		t.Errorf("dontAsk does not say what would have allowed it: %+v", d)
	}
}

func FuzzCommandSpec(f *testing.F) {
	for _, s := range []string{"ls *", `\*`, `\\*\`, `a\b`, "**"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		w, problem := rule.ParseWildcard(rule.CommandSpec(command))
		if problem != "" || !w.Exact() || w.Lits[0] != command {
			t.Errorf("%q came back as %+v, %s", command, w, problem)
		}
	})
}

func FuzzDecide(f *testing.F) {
	f.Add("Bash", "ls", "/proj/a", "/proj/b", "Explore", "default", 2, "Bash(ls)", "deny", "")
	f.Add("Edit", "", "a", "../b", "", "", -1, "Edit(**/**/x)", "allow", "read-only")
	f.Add("Bash", "cd ~/x && cat *.e* $HOME/y > z; sudo a b=c", "/p", "/q", "", "acceptEdits", 2, "Read(**/[!a]/*.e)",
		"ask", "workspace")
	f.Add("WebFetch", "", "/p", "/q", "https://ａ。b@c:1", "plan", 0, "WebFetch(domain:*.b)", "deny", "none")
	f.Fuzz(func(t *testing.T, tool, command, read, write, agent, mode string, class int, text, effect, sandbox string) {
		r, _ := ParseRule(troupe.Rule{Effect: troupe.Effect(effect), Text: text})
		q := Query{
			Tool: tool,
			Access: troupe.Access{Class: troupe.Class(class), Reads: []string{read}, Writes: []string{write},
				Command: command, Agent: agent, URL: agent},
			Chain: []Layer{{Mode: troupe.Mode(mode), Rules: []rule.Rule{r}},
				{Mode: troupe.ModeDefault, Sandbox: troupe.Level(sandbox)}},
			Roots: []string{read, write}, Home: write, Protected: []string{read + "/x", write},
		}
		for _, levels := range [][]troupe.Level{nil, bothLevels} {
			q.Levels = levels
			d := Decide(q)
			if (d.Effect == troupe.Deny || command == "") != (d.Sandbox == "") {
				t.Errorf("%+v", d)
			}
			parent := q
			parent.Chain = q.Chain[:1]
			if above := Decide(parent); openness(above) < openness(d) {
				t.Errorf("more than its parent: %+v, %+v", d, above)
			}
			if _, _, err := Compared(t.Context(), q.Chain); err != nil {
				t.Error(err)
			}
			if d = WithoutAsker(d); d.Effect != troupe.Allow && d.Effect != troupe.Deny || d.Why == "" {
				t.Errorf("%+v", d)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	var rules []rule.Rule
	for i := range 20 {
		effect := []troupe.Effect{troupe.Deny, troupe.Allow, troupe.Ask, troupe.Allow}[i%4]
		text := []string{"Bash(curl x%d)", "Bash(make t%d)", "Read(secrets%d/**/*.key)", "Edit(src%d/**/gen/*.go)"}[i%4]
		rules = append(rules, parse(b, effect, fmt.Sprintf(text, i)))
	}
	chain := []Layer{{Agent: "main", Mode: troupe.ModeDefault, Rules: rules},
		{Agent: "main/x", Mode: troupe.ModeDefault, Offered: []string{"Bash", "Edit", "Read"}}}
	for name, a := range map[string]troupe.Access{
		"Read": reads("/proj/internal/a/b/c.go"), "Edit": writes("/proj/internal/a/gen/c.go", "/proj/b/c.go"),
		"Bash": bash("go test ./internal/..."),
	} {
		b.Run(name, func(b *testing.B) {
			q := Query{Levels: bothLevels, Tool: name, Access: a, Chain: chain, Roots: []string{"/proj", "/out"},
				Home: "/home/u"}
			b.ReportAllocs()
			for b.Loop() {
				Decide(q)
			}
		})
	}
}

// A long compound, each part of it looked at by each rule.
func BenchmarkCompound(b *testing.B) {
	var command strings.Builder
	for i := 0; command.Len() < 10<<10; i++ {
		fmt.Fprintf(&command, "go test -run 'Test%d' ./internal/a%d | tail -%d && ", i, i, i)
	}
	command.WriteString("make")
	q := query("Bash", bash(command.String()), allows(b, "Bash(go test:*)", "Bash(make:*)")...)
	for i := range 20 {
		q.Chain[0].Rules = append(q.Chain[0].Rules, parse(b, troupe.Deny, fmt.Sprintf("Bash(rm x%d:*)", i)))
	}
	q.Chain[0].Rules = append(q.Chain[0].Rules, parse(b, troupe.Deny, "Read(.env)"))
	q.Levels = bothLevels
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(q); d.Step != StepAllowRule {
			b.Fatalf("%+v", d)
		}
	}
}
