package profile

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/schema"
)

// outputSchema reads what the results of these agents have to follow. What cannot be used is kept: agents that were
// meant to give objects do not start to give words.
func (b *builder) outputSchema(f front.Field) {
	switch f.Value.Kind {
	case front.Nothing:
		b.def.Schema = nil
		return
	case front.Tree:
		b.def.Schema = f.Value.JSON
	default:
		b.def.Schema = json.RawMessage("null")
	}
	if _, err := schema.Parse(b.def.Schema); err != nil {
		b.problem(b.at.problem(f.Line, "%s %v, so these agents cannot be started", f.Key, err))
	}
}

// reports is the schema that the results of an agent have to follow; nil: they are words. Members of a team speak in
// messages, and with a main agent a person speaks.
func (d Definition) reports(at Place, s troupe.Spawn) (json.RawMessage, error) {
	switch {
	case s.Schema != "" && s.Team != "":
		return nil, errors.New("`schema` cannot be given with team_name: members of a team answer in messages")
	case s.Schema != "":
		if _, err := schema.Parse([]byte(s.Schema)); err != nil {
			return nil, fmt.Errorf("the schema of its result %w", err)
		}
		return json.RawMessage(s.Schema), nil
	case d.Schema == nil || s.Team != "" || !at.Child:
		return nil, nil
	}
	if _, err := schema.Parse(d.Schema); err != nil {
		return nil, fmt.Errorf("%s: output_schema %w", d.Source, err)
	}
	return d.Schema, nil
}
