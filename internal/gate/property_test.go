package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Generators.

func genPath(t *rapid.T) string {
	return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"proj", "src", "a.go", "b.go", "etc", "*",
		"[x]", "..", "home", "u", `\`, ".env", ".git", "hooks"}), 1, 5).Draw(t, "path"), "/")
}

func genCommand(t *rapid.T) string {
	part := rapid.SampledFrom([]string{
		"ls", "ls *", `a \* (b)`, "rm x", " ls", "make all", "make > out", "cat .env", "cd src", "cd /etc",
		"git status", "git -c a=b log",
		"echo x > src/a.go", "echo x > .git/hooks/a", "timeout 3 make", "sudo rm x", "PATH=. make", "FOO=1 make",
		"$X y", "x=1", "cat < src/b.go", "rg a", "sort -o x y", "(make)", "make $(rm x)", "make\r",
	})
	sep := rapid.SampledFrom([]string{"; ", " && ", " | ", "\n"})
	s := part.Draw(t, "part")
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		s += sep.Draw(t, "sep") + part.Draw(t, "part")
	}
	return s
}

func genCall(t *rapid.T) (string, troupe.Access) {
	tool := rapid.SampledFrom([]string{"Bash", "Bash", "Bash", "Read", "Grep", "Glob", "Edit", "Write", "NotebookEdit",
		"Agent", "Skill", "WebFetch", "mcp__s__t", "Other"}).Draw(t, "tool")
	a := troupe.Access{Class: troupe.Class(rapid.IntRange(0, 2).Draw(t, "class"))}
	switch tool {
	case "Bash":
		return tool, bash(genCommand(t))
	case "Agent", "Skill":
		return tool, troupe.Access{Agent: rapid.SampledFrom([]string{"Explore", "Plan"}).Draw(t, "agent")}
	case "WebFetch":
		return tool, fetch(rapid.SampledFrom([]string{"https://a.b/c", "https://x.a.b", "https://a.b@c", "?"}).Draw(t,
			"url"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "reads") {
		a.Reads = append(a.Reads, genPath(t))
	}
	for range rapid.IntRange(0, 2).Draw(t, "writes") {
		a.Writes = append(a.Writes, genPath(t))
	}
	return tool, a
}

func genRule(t *rapid.T) rule.Rule {
	r := troupe.Rule{
		Effect: rapid.SampledFrom([]troupe.Effect{troupe.Allow, troupe.Ask, troupe.Deny}).Draw(t, "effect"),
		Text: rapid.SampledFrom([]string{
			"Bash", "Bash(ls)", `Bash(ls \*)`, "Bash(rm *)", "Bash(make:*)", "Bash(make*)", "Bash(* all)",
			"Bash(git status:*)", "Bash(git *)", "Bash(timeout:*)", "Bash(PATH=. make:*)", "Bash(sort:*)",
			"Bash(cat .env)", "Bash(:*)",
			"Read", "Read(.env)", "Read(//etc/**)", "Read(~/**)", "Edit(src/**)", "Edit", "Write(/src)", "Edit(*.go)",
			"Edit(.git/hooks/**)", "Write(/out)",
			"Agent", "Agent(Explore)", "Skill(Plan)", "Other", "*", "", "Read(//**)", "Edit(//**)", "Grep(src)",
			"WebFetch", "WebFetch(domain:a.b)", "WebFetch(domain:*.a.b)", "mcp__s", "mcp__s__*", "mcp__s__t",
		}).Draw(t, "rule"),
	}
	out, _ := ParseRule(r)
	return out
}

func genLayer(t *rapid.T, i int) Layer {
	l := Layer{
		Agent: fmt.Sprint("a", i), Mode: rapid.SampledFrom(append(troupe.Modes(), "unheard of")).Draw(t, "mode"),
		Sandbox: rapid.SampledFrom([]troupe.Level{"", "", "", troupe.LevelReadOnly, troupe.LevelWorkspace,
			troupe.LevelNone, "unheard of"}).Draw(t, "sandbox"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		l.Rules = append(l.Rules, genRule(t))
	}
	for range rapid.IntRange(0, 1).Draw(t, "managed") {
		l.Managed = append(l.Managed, genRule(t))
	}
	return l
}

func genChain(t *rapid.T) []Layer {
	var chain []Layer
	for i := range rapid.IntRange(1, 4).Draw(t, "depth") {
		chain = append(chain, genLayer(t, i))
	}
	return chain
}

func genQuery(t *rapid.T) Query {
	tool, access := genCall(t)
	return Query{
		Tool: tool, Access: access, Chain: genChain(t), Roots: []string{"/proj", "/out"}, Home: "/home/u",
		Levels: rapid.SampledFrom([][]troupe.Level{
			nil, {troupe.LevelReadOnly}, {troupe.LevelReadOnly, troupe.LevelWorkspace}, {troupe.LevelWorkspace},
		}).Draw(t, "levels"),
		Protected: rapid.SampledFrom([][]string{nil, {"/proj/.git/hooks", "/proj/**/.env"}}).Draw(t, "protected"),
		SafeGit:   rapid.Bool().Draw(t, "safe git"),
	}
}

// openness orders decisions: by effect, then by the level.
func openness(d troupe.Decision) int {
	level := map[troupe.Level]int{troupe.LevelWorkspace: 1, troupe.LevelNone: 2}[d.Sandbox]
	if d.Effect == troupe.Deny {
		level = 0
	}
	return -10*strictness(d.Effect) + level
}

// authority(child) ⊆ authority(parent): whatever a child may do, every session above it may.
func TestChildHasNoMoreThanParent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := genQuery(t)
		whole := Decide(q)
		bound := troupe.LevelNone
		for n := 1; n <= len(q.Chain); n++ {
			shorter := q
			shorter.Chain = q.Chain[:n]
			if above := Decide(shorter); openness(above) < openness(whole) {
				t.Fatalf("the child may %+v, its ancestor %d may only %+v", whole, n-1, above)
			}
			if s := q.Chain[n-1].Sandbox; s != "" {
				bound = bound.Meet(s)
			}
		}
		if q.Access.Command == "" {
			return
		}
		// With the exception that is none: what only reads needs nobody to hold it.
		read := len(q.Levels) == 0 || !slices.Contains(q.Levels, troupe.LevelReadOnly)
		if s := whole.Sandbox; whole.Effect != troupe.Deny && s != bound.Meet(s) && !read {
			t.Fatalf("%+v goes beyond the bound %s", whole, bound)
		}
		if whole.Effect != troupe.Deny && (whole.Sandbox == "" ||
			(whole.Sandbox == troupe.LevelNone) != (whole.Beyond == "")) {
			t.Fatalf("a command without a level: %+v", whole)
		}
	})
}

// The same for trees in which modes, rules and bounds change while all live.
func TestTreeOfAuthority(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type node struct {
			parent int
			layer  Layer
		}
		nodes := []node{{-1, genLayer(t, 0)}}
		chain := func(i int) (out []Layer) {
			for ; i >= 0; i = nodes[i].parent {
				out = append(out, nodes[i].layer)
			}
			slices.Reverse(out)
			return out
		}
		q := genQuery(t)
		for step := range rapid.IntRange(1, 20).Draw(t, "steps") {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
			l := &nodes[i].layer
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				nodes = append(nodes, node{i, genLayer(t, step)})
			case 1:
				l.Mode = rapid.SampledFrom(troupe.Modes()).Draw(t, "new mode")
			case 2:
				l.Rules = append(slices.Clone(l.Rules), genRule(t))
			case 3:
				if len(l.Rules) > 0 {
					l.Rules = slices.Clone(l.Rules)[1:]
				}
			}
			for i := 1; i < len(nodes); i++ {
				own, above := q, q
				own.Chain, above.Chain = chain(i), chain(nodes[i].parent)
				if mine, its := Decide(own), Decide(above); openness(mine) > openness(its) {
					t.Fatalf("session %d may %+v, its parent %+v", i, mine, its)
				}
			}
		}
	})
}

// With all rules in one place, a chain of modes means the meet of the modes.
func TestChainIsMeetOfModes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := genQuery(t)
		meet, _ := Meaning(q.Chain[0].Mode)
		for i := range q.Chain[1:] {
			l := &q.Chain[i+1]
			m, _ := Meaning(l.Mode)
			meet = Mode{min(meet.Ceiling, m.Ceiling), min(meet.Self, m.Self), stricter(meet.OnAsk, m.OnAsk),
				meet.Judged && m.Judged}
			l.Rules, l.Managed = nil, nil
		}
		q.known = known()
		c := newCall(&q)
		c.matchRules(q.Chain)
		one := (&view{call: &c, layer: 0, mode: meet, bound: boundOf(q.Chain)}).judge(table())
		if d := Decide(q); d.Effect != one.effect {
			t.Fatalf("the chain says %+v, the meet %+v", d, one)
		}
	})
}

// A rule more, of the kind that forbids, never allows; of the kind that allows, never
// forbids. Neither does the order of rules within a layer matter.
func TestRulesAreMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := genQuery(t)
		before := Decide(q)
		extra := genRule(t)
		i := rapid.IntRange(0, len(q.Chain)-1).Draw(t, "where")
		l := &q.Chain[i]
		l.Rules = append(slices.Clone(l.Rules), extra)
		after := Decide(q)
		if extra.Written.Effect == troupe.Allow && openness(after) < openness(before) ||
			extra.Written.Effect != troupe.Allow && openness(after) > openness(before) {
			t.Fatalf("%v: %+v became %+v", extra.Written, before, after)
		}
		slices.Reverse(l.Rules)
		if again := Decide(q); openness(again) != openness(after) || again.Beyond != after.Beyond ||
			again.Step != after.Step {
			t.Fatalf("in another order %+v became %+v", after, again)
		}
		// What is managed counts no less than what is not.
		l.Rules = slices.DeleteFunc(slices.Clone(l.Rules), func(r rule.Rule) bool { return r.Written == extra.Written })
		l.Managed = append(slices.Clone(l.Managed), extra)
		if managed := Decide(q); managed.Effect != after.Effect || managed.Sandbox != after.Sandbox {
			t.Fatalf("managed, %+v became %+v", after, managed)
		}
	})
}

// No definition, however written, gets past the first three filters. It may name what asks the user: that changes
// nothing.
func TestDefinitionsOpenNothing(t *testing.T) {
	t.Parallel()
	tools := []string{"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "SendMessage", "TaskOutput", "TaskStop",
		"TeamCreate", "Workflow", "Bash", "Preview", "mcp__a__b", "Agent"}
	rapid.Check(t, func(t *rapid.T) {
		parent := genLayer(t, 0)
		bare := Layer{Agent: "a/b", Mode: troupe.ModeBypass, UserDefined: rapid.Bool().Draw(t, "custom"),
			Background: rapid.Bool().Draw(t, "background"), MayHaveAgents: rapid.Bool().Draw(t, "leads")}
		written := bare
		written.Offered = rapid.SliceOf(rapid.SampledFrom(append([]string{"*", ""}, tools...))).Draw(t, "offered")
		written.Without = rapid.SliceOf(rapid.SampledFrom(append([]string{"*", ""}, tools...))).Draw(t, "without")
		written.Rules = genLayer(t, 1).Rules
		usable := func(l Layer) []string {
			return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
				return withheld([]Layer{parent, l},
					known().Facts(tool)) != ""
			})
		}
		before := usable(bare)
		for _, tool := range usable(written) {
			if !slices.Contains(before, tool) && !(tool == "AskUserQuestion" && !written.Background) {
				t.Fatalf("the definition %+v opens %s", written, tool)
			}
		}
		for _, tool := range tools {
			q := Query{Tool: tool, Access: troupe.Access{Class: troupe.ClassExec}, Chain: []Layer{parent, written}}
			if d := Decide(q); d.Effect != troupe.Deny && !slices.Contains(before, tool) &&
				tool != "AskUserQuestion" {
				t.Fatalf("%s: %+v", tool, d)
			}
		}
	})
}

// A grant, given to the root, allows exactly what was refused, and nothing else of the
// same tool.
func TestGrantIsEnoughAndExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := genQuery(t)
		d := Decide(q)
		if d.Grant == "" {
			return
		}
		r, err := ParseRule(troupe.Rule{Effect: troupe.Allow, Text: d.Grant})
		if err != nil {
			t.Fatalf("the grant %q: %v", d.Grant, err)
		}
		q.Chain[0].Rules = append(slices.Clone(q.Chain[0].Rules), r)
		after := Decide(q)
		if after.Effect != troupe.Allow || q.Access.Command != "" && openness(after) < openness(d) {
			t.Fatalf("%+v; with the grant still %+v", d, after)
		}
		if strings.HasSuffix(d.Grant, "(//)") {
			return // the call was about the whole file system
		}
		if strings.HasPrefix(q.Tool, "mcp__") {
			return // there is no rule about less than a tool of a server
		}
		other := query(q.Tool, q.Access, r)
		other.Access.Command += "x"
		if other.Access.URL != "" {
			other.Access.URL = "https://elsewhere.a.b/a.b"
		}
		for i := range other.Access.Reads {
			other.Access.Reads = slices.Clone(other.Access.Reads)
			other.Access.Reads[i] = "/elsewhere" + path.Clean(other.Access.Reads[i])
		}
		for i := range other.Access.Writes {
			other.Access.Writes = slices.Clone(other.Access.Writes)
			other.Access.Writes[i] = "/elsewhere" + path.Clean(other.Access.Writes[i])
		}
		if q.Tool != "Bash" {
			other.Access.Command = ""
		}
		if after := Decide(other); after.Step == StepAllowRule {
			t.Fatalf("the grant %q also allows %+v", d.Grant, other.Access)
		}
	})
}
