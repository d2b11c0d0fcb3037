package profile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// ofSubagents are the tools of the other vocabulary, and agents those of the usual one.
func ofSubagents() []string { return []string{"get_subagents", "message_subagent", "spawn_subagent"} }

func ofAgents() []string {
	return []string{"Agent", "SendMessage", "TaskOutput", "TaskStop", "TeamCreate", "TeamDelete"}
}

// TestVocabulary: agents have one vocabulary and never words of both, whatever their tools line names, as members of a
// team too; that of subagents is what lets them start some.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	at := place()
	at.Offer = all.Known().Callable()
	among := func(p troupe.Profile, words []string) (out []string) {
		for _, w := range words {
			if slices.Contains(p.Tools, w) {
				out = append(out, w)
			}
		}
		return out
	}
	for lines, want := range map[string][2][]string{
		"":                                   {nil, {"SendMessage", "TaskOutput", "TaskStop"}},
		"vocabulary: agents":                 {nil, {"SendMessage", "TaskOutput", "TaskStop"}},
		"vocabulary: subagents":              {ofSubagents(), nil},
		"vocabulary: Subagents\ntools: '*'":  {ofSubagents(), nil},
		"vocabulary: subagents\ntools: Read": {nil, nil},
		"vocabulary: esperanto":              {nil, nil},
		"tools: Agent, spawn_subagent":       {nil, {"Agent"}},
		"vocabulary: subagents\ntools: Agent, Read, spawn_subagent": {{"spawn_subagent"}, nil},
		"vocabulary: subagents\ndisallowedTools: message_subagent, Bash": {{"get_subagents", "spawn_subagent"},
			nil},
		"vocabulary: subagents\ntools: spawn_subagent(Explore, runner), Read": {{"spawn_subagent"}, nil},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, ".agents/subagents/deep/x.md"), "---\nname: x\ndescription: d\n"+lines+
			"\n---\nYou are X.\n")
		set, _ := Load(Sources{Folders: inProject(dir), Tools: at.Offer})
		d, err := set.Lookup("x")
		if err != nil {
			t.Fatal(err)
		}
		for _, team := range []string{"", "t"} {
			p, err := d.Resolve(at, troupe.Spawn{Team: team})
			if err != nil {
				t.Fatal(lines, err)
			}
			got := [2][]string{among(p, ofSubagents()), among(p, ofAgents())}
			if team != "" && (len(got[0]) == 0 || len(got[1]) == 0) {
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q, team %q:\n%s", lines, team, diff)
			}
			if told := strings.Contains(p.Prompt, "message_subagent"); told != slices.Contains(p.Tools,
				"spawn_subagent") {
				t.Errorf("%q: told of subagents: %v", lines, told)
			}
		}
		if strings.Contains(lines, "(") && !slices.Equal(d.Starts, []string{"Explore", "runner"}) {
			t.Errorf("%q: it may start %v", lines, d.Starts)
		}
	}
}

// TestCapabilities: a call of spawn_subagent takes away what is beyond the classes and servers that it names.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	at := place()
	at.Offer = append(at.Offer, troupe.ToolFacts{Name: "mcp__git__log", Class: troupe.ClassExec},
		troupe.ToolFacts{Name: "mcp__gitlab__log", Class: troupe.ClassExec})
	read, mcp := []string{"Glob", "Grep", "Read"}, []string{"mcp__git__log", "mcp__gitlab__log"}
	edit := []string{"Edit", "Glob", "Grep", "Read", "Write"}
	every := []string{"Bash", "Edit", "Glob", "Grep", "Read", "Write"}
	for words, want := range map[string][]string{
		"": append(slices.Clone(every), mcp...), "read": read, "read_only": read, "edit": edit, "read,edit": edit,
		"exec": append(slices.Clone(every), mcp...), "full": append(slices.Clone(every), mcp...),
		"git":           {"mcp__git__log"},
		"mcp__git,Read": append(slices.Clone(read), "mcp__git__log"),
	} {
		var list []string
		if words != "" {
			list = strings.Split(words, ",")
		}
		p, err := Definition{Name: "x", All: true, Prompt: "x"}.Resolve(at,
			troupe.Spawn{Subagent: troupe.SubagentSpawn{Capabilities: list}})
		if err != nil {
			t.Fatal(words, err)
		}
		if diff := cmp.Diff(want, p.Tools); diff != "" {
			t.Errorf("%q:\n%s", words, diff)
		}
	}
	// No capability gives what the type does not have, and both lists count.
	p, err := Definition{Name: "x", Tools: []string{"Bash", "Read"}, Prompt: "x"}.Resolve(at, troupe.Spawn{
		Tools: []string{"Read", "Bash"}, Subagent: troupe.SubagentSpawn{Capabilities: []string{"edit"}}})
	if err != nil || !slices.Equal(p.Tools, []string{"Read"}) {
		t.Errorf("%v %v", p.Tools, err)
	}
	for _, word := range []string{"sudo", "", "mcp__", "hub"} {
		_, err := Definition{Name: "x", All: true, Prompt: "x"}.Resolve(at,
			troupe.Spawn{Subagent: troupe.SubagentSpawn{Capabilities: []string{word}}})
		if err == nil || !strings.Contains(err.Error(), "there is no capability") {
			t.Errorf("%q: %v", word, err)
		}
	}
}

// TestUsualTurns: twenty, unless the call or the type says otherwise, and never beyond what all are bound to.
func TestUsualTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, asked, most, want int }{
		{0, 0, 0, 20}, {40, 0, 0, 40}, {5, 0, 0, 5}, {0, 30, 0, 30}, {40, 30, 0, 30}, {5, 30, 0, 5}, {0, 0, 9, 9},
	} {
		at := place()
		at.MostTurns = c.most
		p, err := Definition{Name: "x", MaxTurns: c.own, Prompt: "x"}.Resolve(at, troupe.Spawn{MaxTurns: c.asked,
			Subagent: troupe.SubagentSpawn{UsualTurns: 20}})
		if err != nil || p.Limits.MaxTurns != c.want {
			t.Errorf("%+v: %d %v", c, p.Limits.MaxTurns, err)
		}
	}
}
