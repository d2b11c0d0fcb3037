package gate

import (
	"cmp"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// LayerOf is a session's part in the line of authority: what it was born with, and what it
// was granted since.
func (t *Tools) LayerOf(agent string, p troupe.Profile, granted troupe.Authority,
	mayHaveAgents, background bool) Layer {
	l := Layer{
		Agent: agent, Mode: granted.Mode, Offered: p.Tools, Sandbox: p.Sandbox, Starts: p.Starts,
		UserDefined: p.Source != troupe.BuiltIn, MayHaveAgents: mayHaveAgents, Background: background,
		Member: p.Team != "", Vocabulary: p.Vocabulary,
	}
	l.Memory = p.Memory
	if granted.Planning != nil {
		l.Plan = granted.Planning.File
	}
	if len(p.Deferred) > 0 {
		l.Offered = slices.Concat(p.Tools, p.Deferred)
	}
	for _, r := range granted.Rules {
		// What is wrong with a rule was said when it was given; what remains of it is safe.
		parsed, _ := t.ParseRule(r) // a malformed rule comes back as its safe reading
		if r.Managed {
			l.Managed = append(l.Managed, parsed)
		} else {
			l.Rules = append(l.Rules, parsed)
		}
	}
	return l
}

// Placed is a session's part in the line with what follows from where it works and what it may change there. Whatever
// its mode, its commands write nothing but that.
func (t *Tools) Placed(l Layer, p *troupe.Profile, s troupe.Session) Layer {
	if p.Writes != nil {
		l.Writes, _ = t.Writes(p.Writes, s.Dir()) // what is wrong with them was said before its birth
		if l.Writes == nil {
			l.Writes = []rule.Rule{}
		}
	}
	if s.Workspace.Kind != "" || p.Writes != nil {
		l.Sandbox = troupe.LevelWorkspace.Meet(cmp.Or(l.Sandbox, troupe.LevelWorkspace))
	}
	return l
}

// PathRule is the rule that covers one path, and all below it if it is a folder.
func PathRule(tool, name string) string { return tool + "(" + rule.LiteralPattern(name) + ")" }

// Environ is what a command must have in its environment that was allowed because reading it
// showed that it only reads.
//
// The go command does not fetch and run another toolchain that a go.mod names, and cd looks for
// folders nowhere else.
func Environ() []string { return append(command.GitEnviron(), "GOTOOLCHAIN=local", "CDPATH=") }
