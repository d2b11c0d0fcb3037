// Package team holds TeamCreate and TeamDelete, with which the main agent has agents that stay. Both are intents.
package team

import (
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// The tools' names.
const (
	create  = "TeamCreate"
	discard = "TeamDelete"
)

var (
	//go:embed create.md
	createDoc string
	//go:embed delete.md
	deleteDoc string
)

// Bounds in bytes.
const (
	maxName        = 100
	maxDescription = 1000
)

// Tools returns TeamCreate and TeamDelete.
func Tools() []tool.Descriptor {
	describe := func(name, doc string, fields []tool.Field, decode func(string) (troupe.Intent,
		error)) tool.Descriptor {
		d := tool.Describe(troupe.ToolFacts{Name: name, Holder: troupe.MainAgent,
			Vocabulary: troupe.VocabularyAgents}, doc, fields)
		d.Intent = decode
		return d
	}
	return []tool.Descriptor{
		describe(create, createDoc, createFields(new(troupe.Team)), decodeCreate),
		describe(discard, deleteDoc, nil, decodeDelete),
	}
}

func createFields(in *troupe.Team) []tool.Field {
	return []tool.Field{
		{Name: "team_name", Also: "name", String: &in.Name, Required: true, NotEmpty: true, MaxBytes: maxName},
		{Name: "description", String: &in.Description, Doc: "what it is for", MaxBytes: maxDescription},
	}
}

func decodeCreate(input string) (troupe.Intent, error) {
	var in troupe.Team
	if err := tool.Decode(create, input, createFields(&in)); err != nil {
		return nil, err
	}
	in.Name = strings.Join(strings.Fields(in.Name), " ") // it stands on one line
	if strings.ContainsFunc(in.Name, troupe.Unseen) || in.Name == "" {
		return nil, &tool.InputError{Tool: create, Problem: "`team_name` must hold what a person can read"}
	}
	return troupe.TeamCreate{Team: in}, nil
}

// decodeDelete takes the name that some models give, for there is one team at a time.
func decodeDelete(input string) (troupe.Intent, error) {
	var name string
	if err := tool.Decode(discard, input, []tool.Field{{Name: "team_name", String: &name}}); err != nil {
		return nil, err
	}
	return troupe.TeamDelete{}, nil
}
