// Package worktree holds the tools for worktrees: EnterWorktree and ExitWorktree, which are intents of the main agent,
// and MergeWorktree, with which an agent brings over what another did.
package worktree

import (
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

const (
	enter = "EnterWorktree"
	exit  = "ExitWorktree"
)

//go:embed enter.md
var enterDoc string

//go:embed exit.md
var exitDoc string

// maxName is how many bytes the name of a worktree may have.
const maxName = 64

// Tools returns EnterWorktree, ExitWorktree and MergeWorktree. Without a Merger nothing can be merged.
func Tools(m Merger) []tool.Descriptor {
	in := tool.Describe(troupe.ToolFacts{Name: enter, Class: troupe.ClassRead, Holder: troupe.MainAgent}, enterDoc,
		enterFields(new(troupe.EnterWorktree)))
	in.Intent = func(input string) (troupe.Intent, error) {
		var e troupe.EnterWorktree
		if err := tool.Decode(enter, input, enterFields(&e)); err != nil {
			return nil, err
		}
		e.Name = strings.TrimSpace(e.Name)
		return e, nil
	}
	out := tool.Describe(troupe.ToolFacts{Name: exit, Class: troupe.ClassRead, Holder: troupe.MainAgent}, exitDoc, nil)
	out.Intent = func(input string) (troupe.Intent, error) {
		if err := tool.Decode(exit, input, nil); err != nil {
			return nil, err
		}
		return troupe.ExitWorktree{}, nil
	}
	return []tool.Descriptor{in, out, mergeTool(m)}
}

func enterFields(in *troupe.EnterWorktree) []tool.Field {
	return []tool.Field{{Name: "name", String: &in.Name, Doc: "letters, digits, . _ - and /", MaxBytes: maxName}}
}
