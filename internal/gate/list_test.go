package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

func TestInForce(t *testing.T) {
	t.Parallel()
	rules := func(texts ...string) []rule.Rule {
		var out []rule.Rule
		for _, text := range texts {
			effect, rule, _ := strings.Cut(text, " ")
			r, _ := ParseRule(troupe.Rule{Effect: troupe.Effect(effect), Text: rule, Source: "s"})
			out = append(out, r)
		}
		return out
	}
	chain := []Layer{
		{
			Agent: "main", Managed: rules("deny Bash(curl:*)", "allow Read(//srv/**)"),
			Rules: rules("allow Bash(npm run:*)", "allow Bash(npm run test)", "allow Bash(curl x)", "deny Read(.env)",
				"ask Edit", "allow Edit(src/**)", "allow Edit(*", "deny Bash(x"),
		},
		{Agent: "main/x", Rules: rules("allow Bash(npm run lint)", "deny Bash(curl -s:*)",
			"deny WebFetch(domain:a.b.c)", "deny WebFetch(domain:*.c)", "deny mcp__s__t", "deny mcp__s",
			"allow Agent(Plan)", "allow Bash(npm*)")},
	}
	inForce := func(chain []Layer) []Listed {
		t.Helper()
		all, whole, err := Compared(t.Context(), chain)
		if err != nil || !whole {
			t.Fatal(whole, err)
		}
		return all
	}
	var got []string
	for _, s := range inForce(chain) {
		line := fmt.Sprintf("%s %s: %s", s.Rule.Effect, s.Rule.Text, s.Means)
		if s.ShadowedBy != "" {
			line += " < " + s.ShadowedBy
		}
		if len(s.Shadows) > 0 {
			line += " > " + strings.Join(s.Shadows, ", ")
		}
		if s.Problem != "" {
			line += " !"
		}
		got = append(got, line)
	}
	want := `deny Bash(curl:*): denies commands that begin with the words curl, also within others > deny Bash(curl -s:*), allow Bash(curl x)
deny Read(.env): denies reading .env anywhere in the project
deny Bash(x: denies every command > allow Bash(npm run:*), allow Bash(npm run test), allow Bash(npm run lint), allow Bash(npm*) !
deny Bash(curl -s:*): denies commands that begin with the words curl -s, also within others < deny Bash(curl:*)
deny WebFetch(domain:a.b.c): denies fetching from a.b.c < deny WebFetch(domain:*.c)
deny WebFetch(domain:*.c): denies fetching from every host below c > deny WebFetch(domain:a.b.c)
deny mcp__s__t: denies every use of mcp__s__t < deny mcp__s
deny mcp__s: denies every tool of the MCP server s > deny mcp__s__t
ask Edit: asks before changing any file > allow Edit(src/**)
allow Read(//srv/**): allows reading srv in the whole disk
allow Bash(npm run:*): allows commands that begin with the words npm run < deny Bash(x
allow Bash(npm run test): allows exactly the command npm run test < deny Bash(x
allow Bash(curl x): allows exactly the command curl x < deny Bash(curl:*)
allow Edit(src/**): allows changing src in the project < ask Edit
allow Edit(*: allows nothing !
allow Bash(npm run lint): allows exactly the command npm run lint < deny Bash(x
allow Agent(Plan): allows starting agents of type Plan
allow Bash(npm*): allows commands that begin with npm < deny Bash(x`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got:\n%s\nwant:\n%s", s, want)
	}
	// What is denied for a child is not denied for its parent.
	above := []Layer{{Rules: rules("allow Bash(lint)")}, {Rules: rules("deny Bash(lint)", "allow Bash(lint)")}}
	for i, want := range []string{"", "", "deny Bash(lint)"} {
		if s := inForce(above)[i]; s.ShadowedBy != want {
			t.Errorf("%+v", s)
		}
	}
	// Without the broken rule, the wider of two rules shadows the narrower one.
	chain[0].Rules = chain[0].Rules[:2]
	for _, s := range inForce(chain) {
		if s.Rule.Text == "Bash(npm run test)" && s.ShadowedBy != "allow Bash(npm run:*)" {
			t.Errorf("%+v", s)
		}
	}
}

// TestManyRules: what is compared is bounded, and ends with who asked.
func TestManyRules(t *testing.T) {
	t.Parallel()
	chain := []Layer{{Agent: "main"}}
	for i := range mostCompared + 1 {
		r, _ := ParseRule(troupe.Rule{Effect: troupe.Deny, Text: fmt.Sprintf("Read(x%d)", i), Source: "s"})
		chain[0].Rules = append(chain[0].Rules, r)
	}
	all, whole, err := Compared(t.Context(), chain)
	if len(all) != mostCompared+1 || whole || err != nil {
		t.Errorf("%d are listed, whole %v, %v", len(all), whole, err)
	}
	chain[0].Rules = chain[0].Rules[1:]
	if all, whole, err := Compared(t.Context(), chain); len(all) != mostCompared || !whole || err != nil {
		t.Errorf("%d are listed, whole %v, %v", len(all), whole, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Compared(ctx, chain); !errors.Is(err, context.Canceled) {
		t.Errorf("who asked has gone: %v", err)
	}
}

// What covers another rule decides wherever that would have.
func TestCovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"Bash", "Bash(x)", true},
		{"Bash(x)", "Bash", false},
		{"*", "Read(x)", true},
		{"mcp__a__*", "mcp__a__b", true},
		{"Bash(git *)", "Bash(git push:*)", true},
		{"Bash(git push:*)", "Bash(git *)", false},
		{"Bash(git*)", "Bash(git *)", true},
		{"Bash(git *)", "Bash(git*)", false},
		{"Bash(a * c)", "Bash(a b c)", true},
		{"Read", "Grep(x)", true},
		{"Read(src)", "Read(src/a)", false}, // src is found at any depth, src/a is not
		{"Read(/src)", "Read(/src/a)", true},
		{"Read(/src/**)", "Read(/src/a/b)", true},
		{"Read(/src/a)", "Read(/src/**)", false},
		{"Read(*.go)", "Read(a.go)", true},
		{"Edit(/src)", "Write(/src/x)", true},
		{"Write(/src)", "Edit(/src)", false},
		{"Read(~/a)", "Read(/a)", false},
		{"WebFetch(domain:*.c)", "WebFetch(domain:*.b.c)", true},
		{"WebFetch(domain:*.c)", "WebFetch(domain:c)", false},
		{"Agent(plan)", "Task(Plan)", true},
	} {
		a, b := parse(t, troupe.Deny, test.a), parse(t, troupe.Deny, test.b)
		if got := a.Includes(&b); got != test.want {
			t.Errorf("%s covers %s: %v", test.a, test.b, got)
		}
	}
}
