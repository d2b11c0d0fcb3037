package session

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
)

// askAhead asks, before agents go to work in the background, for what they would have to
// ask for there: one decision about all of a reply, while somebody looks. What they want
// beyond that waits as requests of their own. It returns the births that may go on.
func (bs *births) askAhead(births []birth) ([]birth, error) {
	somebody := bs.a.tree.settings().AskFor > 0
	var out []birth
	var asking []int
	var rules, lines []string
	byCall := make(map[int][]string)
	for i := range births {
		b := &births[i]
		c := bs.a.st.Calls[b.call]
		asked := c.Answer != nil && c.Asked != nil && c.Asked.Kind.AboutBirths()
		switch {
		case asked && c.Answer.Effect != troupe.Allow:
			if err := bs.a.calls.finishDenied(b.call, troupe.Decision{Effect: troupe.Deny, Step: c.Asked.Decision.Step,
				Why: refusal(*c.Answer)}); err != nil {
				return nil, err
			}
			continue
		case asked || !b.background || !somebody:
			out = append(out, *b)
			continue
		}
		needs := bs.needs(b.asked, b.Profile)
		if len(needs) == 0 {
			out = append(out, *b)
			continue
		}
		asking = append(asking, b.call)
		byCall[b.call] = needs
		lines = append(lines, b.Profile.Kind()+": "+strings.Join(strings.Fields(b.Title), " "))
		if job := firstLine(b.asked); job != "" && job != b.Title {
			lines = append(lines, "  “"+job+"”")
		}
		for _, r := range needs {
			lines = append(lines, "  may "+allows(r))
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
	}
	if len(asking) == 0 {
		return out, nil
	}
	d := troupe.Decision{
		Effect: troupe.Ask, Step: stepBackground,
		Why: "in the background they would have to ask for this later; yes allows it to these agents and to those " +
			"that they start",
	}
	action := "start in the background, and allow each of them:\n" + strings.Join(lines, "\n")
	return out, bs.a.requests.openRequests(asking, troupe.RequestBody{Kind: troupe.RequestBackground, Decision: d,
		Action: action, Rules: rules, Needs: byCall})
}

// firstLine is the beginning of an agent's job, for whoever is asked about the agent.
func firstLine(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	short, more := tool.Cut(strings.TrimSpace(line), 120)
	if more > 0 {
		short += "…"
	}
	return short
}

// allows says in words what a rule of needs allows, with the rule: Edit(/**) by itself reads as the whole disk.
func allows(rule string) string {
	words := rule
	if rule == editsHere {
		words = "edit any file in this folder"
	} else if host, ok := strings.CutPrefix(rule, "WebFetch(domain:"); ok {
		words = "fetch from " + strings.TrimSuffix(host, ")")
	} else if name, ok := strings.CutPrefix(rule, "Edit("); ok {
		words = "edit " + strings.TrimSuffix(name, ")")
	}
	return words + ": " + rule
}

// editsHere is the rule about every file of the session's folder.
const editsHere = "Edit(/**)"

// needs lists the rules that would allow what an agent's tools and its job say it will do and
// would be asked about: changing the files that the job names, or any in the folder if it
// names none; fetching from the hosts that it names.
func (bs *births) needs(prompt string, p troupe.Profile) []string {
	chain := append(slices.Clip(bs.a.tree.chain.chain(bs.a.id)), bs.a.h.gate.LayerOf("its agent", p,
		troupe.Authority{Mode: p.Mode}, false, true))
	if n := len(chain); chain[n-1].Mode == "" && n > 1 {
		chain[n-1].Mode = chain[n-2].Mode
	}
	c := candidate{snapshot: bs.a.snapshot()}
	var out []string
	ask := func(tool string, access troupe.Access, rule string) {
		if !slices.Contains(p.Tools, tool) {
			return
		}
		q := c.query(tool, access)
		q.Chain = chain
		if d := bs.a.h.gate.Decide(q); d.Effect == troupe.Ask &&
			!(d.Auto && c.auto != "") && !slices.Contains(out, rule) {
			out = append(out, rule)
		}
	}
	cwd := bs.a.st.Session.Dir()
	named := c.tree.chain.named(c.self)
	paths, sites := tool.Mentions(prompt, cwd)
	for _, name := range paths {
		access := troupe.Access{Class: troupe.ClassEdit, Writes: []string{name}}
		ask("Edit", access, gate.PathRule("Edit", named(name)))
	}
	if len(paths) == 0 {
		ask("Edit", troupe.Access{Class: troupe.ClassEdit, Writes: []string{filepath.Join(cwd, "any file")}},
			editsHere)
	}
	for _, s := range sites {
		ask("WebFetch", troupe.Access{Class: troupe.ClassRead, URL: s.URL}, "WebFetch(domain:"+s.Host+")")
	}
	return out
}
