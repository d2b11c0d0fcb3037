// Package result holds SyntheticOutput, with which an agent gives a result that has to follow a JSON schema. The schema
// is that of the tool's input: it is in the agent's profile, and so as it was when the agent was born.
package result

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/schema"
	"github.com/troupe-dev/troupe/internal/tool"
)

//go:embed result.md
var doc string

// Tools returns SyntheticOutput.
func Tools() []tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{
		Name: troupe.ReportTool, Class: troupe.ClassRead, Schedule: troupe.Alone, Holder: troupe.Reporters,
		Doing: "giving", Aliases: []string{"structuredoutput"},
	}, doc, nil)
	d.Runner = runner{}
	d.Of = func(p *troupe.Profile) tool.Descriptor {
		if len(p.Schema) == 0 { // a fork has the tools of an agent with a schema, and not the schema
			return d
		}
		own := d
		own.Schema, own.Runner = p.Schema, runner{p.Schema}
		return own
	}
	return []tool.Descriptor{d}
}

type runner struct{ schema json.RawMessage }

// Prepare implements tool.Runner. What is wrong with the input is found out when it runs: that counts.
func (r runner) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	return call{r, input}, nil
}

type call struct {
	runner

	input string
}

// Access implements tool.Prepared.
func (call) Access() troupe.Access { return troupe.Access{Class: troupe.ClassRead} }

// Run implements tool.Prepared.
func (c call) Run(context.Context, tool.Env) (tool.Output, error) {
	if c.schema == nil {
		return tool.Errorf("%s is not for you: you are a fork, and the schema is that of the agent that you are a "+
			"fork of. End your turn with words", troupe.ReportTool), nil
	}
	s, err := schema.Parse(c.schema)
	if err != nil {
		return tool.Output{}, fmt.Errorf("the schema of the result %w", err) // it was checked at the agent's birth
	}
	if err := s.Check([]byte(c.input)); err != nil {
		out := tool.Errorf("This does not follow the schema: %v. Call %s again with all of the object.", err,
			troupe.ReportTool)
		out.Reported = &troupe.Reported{Wrong: err.Error()}
		return out, nil
	}
	var object bytes.Buffer
	if err := json.Compact(&object, []byte(strings.ToValidUTF8(c.input, "\uFFFD"))); err != nil {
		return tool.Output{}, fmt.Errorf("write the object down: %w", err)
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text("This is the result.")},
		Reported: &troupe.Reported{Object: object.Bytes()}}, nil
}
