// Package monitor is the Monitor tool: a command or a watch of files that goes on in the background and tells its
// session what happens. It decodes a call, and hands it to the family of tools that the work belongs to: what a command
// may do is what Bash may, and what is watched is what Read may read. How often the session is told is its driver's
// business.
package monitor

import (
	_ "embed"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

const name = "Monitor"

//go:embed monitor.md
var doc string

const (
	usualTime = 30 * 60_000 // milliseconds
	mostTime  = 24 * 60 * 60_000
	maxText   = 100 << 10
	maxPath   = 4096
)

// Options are what does the work.
type Options struct {
	// Command runs a command in the background.
	Command func(command, description string, lasts time.Duration) tool.Prepared
	// Watch watches the files that a pattern names below a folder. Its errors name the tool.
	Watch func(env tool.Env, name, pattern, path string, lasts time.Duration) (tool.Prepared, error)
}

type monitor struct{ Options }

type input struct {
	command, description, pattern, path string
	timeout                             int
	persistent                          bool
}

// fields are what a model is told of.
func (in *input) fields() []tool.Field {
	return []tool.Field{
		{Name: "command", String: &in.command, NotEmpty: true, MaxBytes: maxText},
		{Name: "pattern", String: &in.pattern, Doc: "of files", NotEmpty: true, MaxBytes: maxPath},
		{Name: "timeout", Also: "timeout_ms", Int: &in.timeout, Doc: "ms", Min: 1,
			Max: mostTime},
	}
}

// also are what models know of from other programs.
func (in *input) also() []tool.Field {
	return []tool.Field{
		{Name: "description", String: &in.description},
		{Name: "path", String: &in.path, MaxBytes: maxPath},
		{Name: "persistent", Bool: &in.persistent},
	}
}

// Tools returns Monitor. What its calls are judged as is the tool that their Access names.
func Tools(o Options) []tool.Descriptor {
	return []tool.Descriptor{tool.Describe(troupe.ToolFacts{
		Name: name, Class: troupe.ClassExec, Background: true, Holder: troupe.MainAgent,
	}, doc, new(input).fields()).With(monitor{o})}
}

// Prepare implements tool.Runner.
func (m monitor) Prepare(env tool.Env, text string) (tool.Prepared, error) {
	in := input{timeout: usualTime}
	if err := tool.Decode(name, text, append(in.fields(), in.also()...)); err != nil {
		return nil, err
	}
	if in.persistent {
		in.timeout = mostTime
	}
	lasts := time.Duration(in.timeout) * time.Millisecond
	switch {
	case (in.command == "") == (in.pattern == ""):
		return nil, &tool.InputError{Tool: name, Problem: "give either `command` or `pattern`"}
	case in.command != "" && in.path != "":
		return nil, &tool.InputError{Tool: name, Problem: "`path` goes with `pattern`; a command runs in the working " +
			"folder"}
	case in.command != "":
		return m.Command(in.command, in.description, lasts), nil
	}
	return m.Watch(env, name, in.pattern, in.path, lasts)
}
