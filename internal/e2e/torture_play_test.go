package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// tortured is one tree of TestTorture: what its agents do, as a script. Each step of an agent has an effect with a name
// of its own, "AGENT STEP", and is never asked for twice; only the runtime could do it twice.
type tortured struct {
	key, dir string   // the name of its main agent in files, and its project
	agents   []string // their names in files, the main one first
	by       string   // how it begins: "api", "schedule" or "webhook"
	bare     bool     // without a sandbox, so that its commands write the ledger too
	own      bool     // its main agent has a worktree
	replies  []map[string]any
	rng      *rand.Rand
	ledger   string
}

// cast makes trees of different shapes that have so many agents in all.
func cast(rng *rand.Rand, agents int, dirs []string, ledger string) []*tortured {
	shapes := []func(*tortured, int){(*tortured).team, (*tortured).apart, (*tortured).alone, (*tortured).background,
		(*tortured).nested, (*tortured).alone, (*tortured).rooted}
	byThemselves := 0
	var all []*tortured
	for left := agents; left > 0; {
		i := len(all)
		p := &tortured{key: fmt.Sprintf("t%02d", i), dir: dirs[i%len(dirs)], rng: rng, ledger: ledger, by: "api",
			bare: i%2 == 0}
		p.agents = []string{p.key}
		switch shape := shapes[i%len(shapes)]; {
		case left < 6:
			p.team(left - 1)
		default:
			shape(p, 2+rng.IntN(3))
		}
		if len(p.agents) == 1 {
			p.by = []string{"schedule", "webhook", "api"}[byThemselves%3]
			byThemselves++
		}
		left -= len(p.agents)
		all = append(all, p)
	}
	return all
}

// begin is how the tree is asked for.
func (p *tortured) begin() wire.Begin {
	b := wire.Begin{Prompt: "go", Cwd: p.dir, Model: "script:" + p.script()}
	b.Once = "torture-" + p.key
	if b.Mode = troupe.ModeBypass; !p.bare {
		b.Mode, b.Allow = troupe.ModeAcceptEdits, []string{"Bash"}
	}
	b.Agents = `{"leader": {"description": "d", "prompt": "p", "tools": ["Agent", "Bash", "Edit",
		"MergeWorktree", "Read", "Write"]}}`
	if p.own {
		b.Worktree = &p.key
	}
	return b
}

func (p *tortured) script() string { return filepath.Join("plays", p.key+".yaml") }

// text is the script. JSON is YAML too.
func (p *tortured) text() string {
	out, err := json.MarshalIndent(map[string]any{"replies": p.replies, "price": map[string]any{"input": 3,
		"output": 15, "cache_read": 0.3, "cache_write": 3.75}}, "", " ")
	if err != nil {
		panic(err) // maps of texts and numbers
	}
	return string(out)
}

// reply adds one of the main agent or of one by its name. Without calls it is the last.
func (p *tortured) reply(agent string, turn int, text string, calls ...map[string]any) {
	r := map[string]any{"delay": p.moment(20, 400)}
	if agent == p.key {
		r["agent"] = "main"
	} else {
		r["name"] = agent
	}
	if len(calls) > 0 {
		r["turn"], r["calls"] = turn, calls
	} else {
		r["text"] = text
	}
	p.replies = append(p.replies, r)
}

func (p *tortured) moment(least, more int) string {
	return (time.Duration(least+p.rng.IntN(more)) * time.Millisecond).String()
}

func called(name string, input map[string]any) map[string]any {
	return map[string]any{"tool": name, "input": input}
}

// works has an agent do so many steps from a turn on, and then end; in a worktree some of them commit.
func (p *tortured) works(agent string, turn, steps int, commits bool) (next int) {
	for ; steps > 0; steps-- {
		p.reply(agent, turn, "", p.step(agent, turn, commits)...)
		turn++
	}
	return turn
}

// step is one with an effect.
func (p *tortured) step(agent string, n int, commits bool) []map[string]any {
	effect := fmt.Sprintf("%s %d", agent, n)
	bash := func(before, behind string, more map[string]any) []map[string]any {
		command := before + "echo " + effect + " >> " + agent + ".txt" + behind
		if p.bare && !commits { // commands in worktrees write nothing else
			command = "echo " + effect + " >> " + p.ledger + "; " + command
		}
		in := map[string]any{"command": command, "description": "A step"}
		for k, v := range more {
			in[k] = v
		}
		return []map[string]any{called("Bash", in)}
	}
	slow := fmt.Sprintf("sleep 0.%d; ", 1+p.rng.IntN(6))
	switch kind := p.rng.IntN(7); {
	case kind == 0:
		return []map[string]any{called("Write", map[string]any{"file_path": fmt.Sprintf("%s.%d.w", agent, n),
			"content": effect + "\n"})}
	case kind == 1:
		return []map[string]any{called("Read", map[string]any{"file_path": agent + ".md"}),
			called("Edit", map[string]any{"file_path": agent + ".md", "old_string": "END",
				"new_string": effect + "\nEND"})}
	case kind == 2 && commits:
		return bash("", fmt.Sprintf("; git add -A && git commit -qm '%s'", effect), nil)
	case kind == 2:
		return bash(slow, "", map[string]any{"run_in_background": true})
	case kind == 3:
		return bash("", "", nil)
	}
	return bash(slow, "", nil)
}

// child adds an agent, and is the call that begins it.
func (p *tortured) child(of string, more map[string]any) (name string, call map[string]any) {
	name = fmt.Sprintf("%s%c", of, 'a'+len(p.agents)-1)
	p.agents = append(p.agents, name)
	in := map[string]any{"name": name, "description": "A part", "prompt": "go", "subagent_type": "general-purpose"}
	for k, v := range more {
		in[k] = v
	}
	return name, called("Agent", in)
}

// hires has an agent begin n others in one reply, each of which works.
func (p *tortured) hires(of string, turn, n int, more map[string]any) {
	var calls []map[string]any
	for range n {
		name, call := p.child(of, more)
		p.works(name, 1, 2+p.rng.IntN(3), more["isolation"] != nil || p.own)
		p.reply(name, 0, "done")
		calls = append(calls, call)
	}
	p.reply(of, turn, "", calls...)
}

// alone is a main agent that works by itself.
func (p *tortured) alone(int) {
	p.works(p.key, 1, 4, false)
	p.reply(p.key, 0, "all done")
}

// team is one that waits for others in its own folder.
func (p *tortured) team(n int) {
	next := p.works(p.key, 1, 1, false)
	if n > 0 {
		p.hires(p.key, next, n, nil)
		next++
	}
	p.works(p.key, next, 1, false)
	p.reply(p.key, 0, "all done")
}

// background is one that goes on beside them, and is told as each ends.
func (p *tortured) background(n int) {
	p.hires(p.key, 1, n, map[string]any{"run_in_background": true})
	p.works(p.key, 2, 2, false)
	p.reply(p.key, 0, "all done")
}

// apart is one whose agents have worktrees; the work of the last stays where it is, that of the others is merged.
func (p *tortured) apart(n int) {
	p.hires(p.key, 1, n-1, map[string]any{"isolation": "worktree", "merge": "auto"})
	p.hires(p.key, 2, 1, map[string]any{"isolation": "worktree", "merge": "keep"})
	p.works(p.key, 3, 1, false)
	p.reply(p.key, 0, "all done")
}

// nested is one whose agent, in a worktree, has agents in worktrees of that.
func (p *tortured) nested(n int) {
	name, call := p.child(p.key, map[string]any{"isolation": "worktree", "merge": "auto", "subagent_type": "leader"})
	p.reply(p.key, 1, "", call)
	p.works(name, 1, 1, true)
	p.hires(name, 2, max(1, n-1), map[string]any{"isolation": "worktree", "merge": "auto"})
	p.works(name, 3, 1, true)
	p.reply(name, 0, "done")
	p.works(p.key, 2, 1, false)
	p.reply(p.key, 0, "all done")
}

// rooted is one that works in a worktree itself, with an agent that shares it.
func (p *tortured) rooted(int) {
	p.own = true
	p.works(p.key, 1, 2, true)
	p.hires(p.key, 3, 1, nil)
	p.works(p.key, 4, 1, true)
	p.reply(p.key, 0, "all done")
}
