package worktree

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

const merge = "MergeWorktree"

//go:embed merge.md
var mergeDoc string

// Merger merges what was done in folders of agents.
type Merger interface {
	// Merge works out what bringing a worktree, by its name or the beginning of it, into the folder of a session would
	// write. It writes nothing. An error is meant for the model.
	// take is the side that is taken of files that both have changed: "mine", "theirs", or "" for neither.
	Merge(env tool.Env, name, take string) (Merging, error)
	// HandBack puts what conflicts into the agent's worktree and says what the agent finds there. Where other files
	// conflict by now than were judged, nothing is put there. An error is meant for the model.
	HandBack(ctx context.Context, env tool.Env, name string, judged []string) (string, error)
}

// Merging is one merge that was worked out.
type Merging struct {
	Name string
	// Writes are the files that it writes or removes, absolute and resolved. None: nothing is to be done, or it
	// conflicts.
	Writes []string
	// Text is what a person is asked about, and Conflicts what a model is told instead of a merge.
	Text, Conflicts string
	// Ask is why a person has to say yes to it, whatever is allowed; "": nobody has to.
	Ask string
	// Conflicting are the files that conflict.
	Conflicting []string
	// Left names what is not brought over, with the reasons.
	Left []string
	// Apply writes all of it, or nothing, as far as that can be told before the first file is written; if one cannot be
	// written then, it says those that were.
	Apply func(ctx context.Context, keep func(content []byte) (hash string, err error)) ([]troupe.FileTouch, error)
}

func mergeFields(name, take *string, back *bool) []tool.Field {
	return []tool.Field{
		{Name: "worktree", String: name, Doc: "its name", Required: true, NotEmpty: true, MaxBytes: 2 * maxName},
		{Name: "hand_back", Bool: back},
		{Name: "take", String: take, Doc: "mine or theirs, of whole files", MaxBytes: maxName},
	}
}

func mergeTool(m Merger) tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{Name: merge, Class: troupe.ClassEdit, Holder: troupe.Parents,
		Doing: "merging"}, mergeDoc, mergeFields(new(string), new(string), new(bool)))
	d.Runner = mergeRunner{m}
	return d
}

type mergeRunner struct{ Merger }

// Prepare implements tool.Runner.
func (r mergeRunner) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	c := merging{merger: r.Merger}
	if err := tool.Decode(merge, input, mergeFields(&c.name, &c.take, &c.back)); err != nil {
		return nil, err
	}
	switch c.take = strings.ToLower(strings.TrimSpace(c.take)); {
	case c.take != "" && c.take != "mine" && c.take != "theirs":
		return nil, &tool.InputError{Tool: merge,
			Problem: "`take` must be mine (what your folder has) or theirs (what " +
				"the agent did)"}
	case c.take != "" &&
		c.back:
		return nil, &tool.InputError{Tool: merge, Problem: "`take` decides the conflicts and `hand_back` has the " +
			"agent " +
			"do it; give one of them"}
	}
	if r.Merger == nil {
		return nil, errors.New("there are no worktrees here")
	}
	c.name = strings.TrimSpace(c.name)
	var err error
	c.Merging, err = r.Merge(env, c.name, c.take)
	return &c, err
}

// merging is one call.
type merging struct {
	Merging

	merger Merger
	name   string
	take   string
	back   bool
}

// Access implements tool.Prepared. What is handed back is written into the agent's own folder; it is judged as an edit
// of the files that it is about, so that who may not change those has nothing done to them there.
func (c *merging) Access() troupe.Access {
	writes := c.Writes
	if c.back {
		writes = c.Conflicting
	}
	if len(writes) == 0 {
		return troupe.Access{Class: troupe.ClassRead}
	}
	return troupe.Access{Class: troupe.ClassEdit, Writes: writes, Ask: c.Ask}
}

// Preview implements tool.Previewer.
func (c *merging) Preview(tool.Env) (text string, futile bool) {
	switch {
	case c.back:
		return "hand the conflicts back to the agent of " + c.Name + "\n" + c.Conflicts, len(c.Conflicting) == 0
	case c.Conflicts != "":
		return c.Conflicts, true
	case len(c.Writes) == 0:
		return "nothing is left to be merged", true
	}
	return c.Text, false
}

// Run implements tool.Prepared.
func (c *merging) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	switch {
	case c.back:
		text, err := c.merger.HandBack(ctx, env, c.name, c.Conflicting)
		if err != nil {
			return tool.Errorf("Nothing was handed back: %v", err), nil
		}
		return tool.Output{Blocks: []troupe.Block{troupe.Text(text)}}, nil
	case c.Conflicts != "":
		return tool.Errorf("Nothing was merged. %s", c.Conflicts), nil
	case len(c.Writes) == 0:
		if c.Apply != nil { // one side was taken, and that is remembered
			if _, err := c.Apply(ctx, env.Keep); err != nil {
				return tool.Errorf("Which side was taken could not be noted: %v", err), nil
			}
		}
		return tool.Output{Blocks: []troupe.Block{troupe.Text("Nothing is left to be merged from " + c.Name + "." +
			c.left())}}, nil
	}
	touched, err := c.Apply(ctx, env.Keep)
	if err != nil && len(touched) == 0 {
		return tool.Errorf("Nothing was merged: %v", err), nil
	}
	if err != nil { // undo has to know of those
		out := tool.Errorf("The merge stopped half way: %v", err)
		out.Evidence.Files = touched
		return out, nil
	}
	added, removed := 0, 0
	for _, t := range touched {
		added, removed = added+t.Added, removed+t.Removed
	}
	files := "files"
	if len(touched) == 1 {
		files = "file"
	}
	text := fmt.Sprintf("Merged %s: %d %s (+%d -%d lines), uncommitted.%s", c.Name, len(touched), files, added, removed,
		c.left())
	return tool.Output{Blocks: []troupe.Block{troupe.Text(text)}, Evidence: troupe.Evidence{Files: touched}}, nil
}

func (c *merging) left() string {
	if len(c.Left) == 0 {
		return ""
	}
	return "\nNot brought over: " + troupe.Escape(troupe.VisibleLine(strings.Join(c.Left, "; ")))
}
