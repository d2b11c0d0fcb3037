// Package skill holds the Skill tool, with which a model uses what people wrote for a kind of task. Finding and
// reading that is for others: the tool decodes a call, and returns the text.
package skill

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

const name = "Skill"

//go:embed skill.md
var description string

const maxName = 200 // bytes

// Options are what the tool needs of the program around it.
type Options struct {
	// Use finds a skill for the session that calls. An error is meant for the model. Nil: there are no skills.
	Use func(ctx context.Context, env tool.Env, name, args string) (string, *troupe.SkillUse, error)
}

// Tools returns Skill.
func Tools(o Options) []tool.Descriptor {
	// Calls that stand behind it are judged by what it leaves, so they wait for it.
	d := tool.Describe(troupe.ToolFacts{Name: name, Class: troupe.ClassRead, Schedule: troupe.Alone,
		Argument: troupe.SkillArgument, Doing: "using", Aliases: []string{"slashcommand"}}, description,
		new(call).fields())
	d.Runner = runner{o}
	return []tool.Descriptor{d}
}

type runner struct{ Options }

// Prepare implements tool.Runner.
func (r runner) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	c := call{runner: r}
	if err := tool.Decode(name, input, c.fields()); err != nil {
		return nil, err
	}
	c.skill = strings.TrimPrefix(strings.TrimSpace(c.skill), "/")
	return &c, nil
}

type call struct {
	runner

	skill, args string
}

func (c *call) fields() []tool.Field {
	return []tool.Field{
		{Name: "skill", String: &c.skill, Doc: "its name", Required: true, NotEmpty: true, MaxBytes: maxName},
		{Name: "args", String: &c.args},
	}
}

// Access implements tool.Prepared.
func (c *call) Access() troupe.Access { return troupe.Access{Class: troupe.ClassRead, Agent: c.skill} }

var errNone = errors.New("there are no skills here")

// Run implements tool.Prepared.
func (c *call) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if c.Use == nil {
		return tool.Errorf("%v", errNone), nil
	}
	text, use, err := c.Use(ctx, env, c.skill, c.args)
	if err != nil {
		return tool.Errorf("%v", err), nil //nolint:nilerr // it is the model's to read
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text(text)}, Skill: use}, nil
}
