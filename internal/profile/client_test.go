package profile

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestClientToolsNarrowed: agents have the tools that a client carries out as their definition leaves them, and a call
// that starts one narrows that.
func TestClientToolsNarrowed(t *testing.T) {
	t.Parallel()
	at := place()
	at.Offer = append(slices.Clone(at.Offer),
		troupe.ClientTool{Name: "weather", ReadOnly: true}.Facts(), troupe.ClientTool{Name: "ticket"}.Facts())
	for _, c := range []struct {
		d     Definition
		spawn troupe.Spawn
		want  string
	}{
		{Definition{All: true}, troupe.Spawn{}, "ticket weather "},
		{Definition{Tools: []string{"Read"}}, troupe.Spawn{}, ""},
		{Definition{Tools: []string{"Read"}, Missing: []string{"weather"}}, troupe.Spawn{}, "weather "},
		{Definition{Missing: []string{"Weather"}}, troupe.Spawn{}, "weather "},
		{Definition{All: true, Without: []string{"ticket"}}, troupe.Spawn{}, "weather "},
		{Definition{All: true, Without: []string{"TICKET"}}, troupe.Spawn{}, "weather "},
		{Definition{All: true, Reads: true}, troupe.Spawn{}, "weather "},
		{Definition{All: true}, troupe.Spawn{Tools: []string{"Read", "ticket"}}, "ticket "},
		{Definition{All: true}, troupe.Spawn{Without: []string{"ticket"}}, "weather "},
		{Definition{Tools: []string{"Read"}, Missing: []string{"weather"}}, troupe.Spawn{Tools: []string{"weather",
			"ticket"}}, "weather "},
	} {
		c.d.Name = "x"
		p, err := c.d.Resolve(at, c.spawn)
		got := ""
		for _, name := range p.Tools {
			if name == "weather" || name == "ticket" {
				got += name + " "
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%+v, %+v: %q, %v", c.d, c.spawn, got, err)
		}
	}
}

// TestClientToolsInDefinitions: definitions are read before it is known which tools a client brings, and what they say
// of one counts all the same.
func TestClientToolsInDefinitions(t *testing.T) {
	t.Parallel()
	at := place()
	at.Offer = append(slices.Clone(at.Offer), troupe.ClientTool{Name: "ticket"}.Facts())
	set, _ := Load(Sources{Tools: place().Offer, Flag: `{
		"names": {"description": "d", "prompt": "p", "tools": ["Read", "ticket"]},
		"not": {"description": "d", "prompt": "p", "disallowedTools": ["ticket"]},
		"all": {"description": "d", "prompt": "p"}}`})
	for name, want := range map[string]bool{"names": true, "not": false, "all": true} {
		d, err := set.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := d.Resolve(at, troupe.Spawn{}); err != nil || slices.Contains(p.Tools, "ticket") != want {
			t.Errorf("%s has %v, %v", name, p.Tools, err)
		}
	}
}
