package session

import (
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestDescribeSpawn: what a call gives an agent stands in the question about it, whatever field it is in, and no part
// looks like another one.
func TestDescribeSpawn(t *testing.T) {
	t.Parallel()
	sp := troupe.Spawn{Type: "worker", Description: "d\nmodel: haiku", Prompt: "the task"}
	if got, want := describeSpawn(sp), "start an agent of type worker: d\\nmodel: haiku\nthe task"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	all := reflect.ValueOf(&sp).Elem()
	for i := range all.NumField() {
		name, f := all.Type().Field(i).Name, all.Field(i)
		if name == "Fork" || name == "Wait" { // what the type of a fork and its background say
			continue
		}
		before := describeSpawn(sp)
		switch f.Kind() {
		case reflect.String:
			f.SetString("mark-" + name)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"mark-" + name}))
		case reflect.Int:
			f.SetInt(77)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct: // how many turns are usual is no wish of the call
			f.Set(reflect.ValueOf(troupe.SubagentSpawn{Capabilities: []string{"mark-" + name}}))
		default:
			t.Fatalf("%s: %s", name, f.Kind())
		}
		if got := describeSpawn(sp); got == before {
			t.Errorf("%s does not stand in %q", name, got)
		}
	}
	// No tools at all is another wish than whatever its type has.
	if got := describeSpawn(troupe.Spawn{Type: "w", Description: "d", Tools: []string{}}); !strings.Contains(got,
		"\ntools: these alone: ") {
		t.Errorf("%q", got)
	}
	sp.Role = "be kind\nmodel: haiku"
	if got := describeSpawn(sp); !strings.Contains(got, "\n  | be kind\n  | model: haiku\n") {
		t.Errorf("%q", got)
	}
}
