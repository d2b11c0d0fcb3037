// Package skill knows what people wrote for agents to use when it is needed: skills, which are folders with a
// SKILL.md, and commands, which are Markdown files. A skill is offered by its name and description; its text comes
// when it is used, by a model or by a person as /name.
//
// No file gives a permission. What one says of tools takes tools away; what it runs is a command of the session like
// any other, and one of a project's runs only where the project is trusted. Where a file is unclear about tools,
// there are fewer. One that cannot be used still hides one of the same name from a weaker source, so that nobody
// gets another text than they wrote.
package skill

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// Skill is one skill or command.
type Skill struct {
	Name        string
	Description string
	Origin
	// Command: it is a file of commands, and has no folder of its own.
	Command bool
	// Described: its author says what it is for. Of a command that is not, models are not told.
	Described bool
	// Hint is what its arguments are, for people; Arguments are their names, in order.
	Hint      string
	Arguments []string
	// Folder holds its file and what lies beside it, with no link in it.
	Folder string
	Real   string // its file, with no link in the name of a project's
	// Own: Folder holds nothing but the skill, so that all of it may be read with the skill.
	Own bool
	// Uses is what a session is left while it follows the skill; nil: all it has.
	Uses *Uses
	// ModelOff: models are neither told of it nor may use it. UserOff: it is no command of people.
	ModelOff, UserOff bool
	// Paths are patterns, with slashes, of the files for which models are told of it, in the project or in the folder
	// of it that has the skill; nil: they are told of it from the beginning. With none they never are.
	Paths []string
	Wishes
	// Fork: an agent of its own is to do it, of the type Agent if that is named.
	Fork  bool
	Agent string
	// Runs: commands in it may be run. Mute is what keeps them from it all the same; "" if nothing does.
	Runs bool
	Mute string
	Body string
}

// Wishes are what a skill wants besides that its text is read.
type Wishes struct {
	// Model is an alias or a full name, for the replies in which it is followed; "" is the session's. So is Effort.
	Model  string
	Effort troupe.Effort
	// Hooks are what runs at the moments of an agent that has used it, and of all below that, as settings write them.
	// What cannot be read is a text that says so, which nothing takes for hooks.
	Hooks json.RawMessage
}

// Uses is what a skill leaves of a session's tools.
type Uses struct {
	// Tools are rules of what may be used, such as Read and Bash(git log *); nil: all. With none, nothing may be.
	Tools []string
	// Without are names of tools that may not be, even so.
	Without []string
}

// Origin is where a skill comes from.
type Origin struct {
	Source string // the file
	Scope  front.Scope
	// Shadows are the files of weaker ones of this name, the strongest first.
	Shadows []string
}

// Set is the skills and commands of one place. It does not change.
type Set struct {
	skills map[string]Skill         // by folded name
	broken map[string]front.Finding // names whose file cannot be used
}

// List returns all, by name.
func (s Set) List() []Skill {
	names := make(map[string]string, len(s.skills))
	for key, k := range s.skills {
		names[key] = strings.ToLower(k.Name)
	}
	keys := slices.Collect(maps.Keys(names))
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(names[a], names[b]) })
	out := make([]Skill, len(keys))
	for i, key := range keys {
		out[i] = s.skills[key]
	}
	return out
}

// Lookup finds a skill or command by its name, without regard to case. The error is troupe.ErrNotFound.
func (s Set) Lookup(name string) (Skill, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	key := front.Fold(name)
	if p, ok := s.broken[key]; ok {
		return Skill{}, &unknownError{fmt.Sprintf("the skill %q is there but cannot be used (%s)", name, p)}
	}
	k, ok := s.skills[key]
	if !ok {
		return Skill{}, &unknownError{fmt.Sprintf("there is no skill %q", name)}
	}
	return k, nil
}

// ForModel finds a skill that a model asks for. The error is meant for the model: it names those that there are.
func (s Set) ForModel(name string) (Skill, error) {
	k, err := s.Lookup(name)
	switch {
	case err == nil && k.ModelOff:
		return Skill{}, &unknownError{fmt.Sprintf("the skill %q is for people alone (disable-model-invocation); if it "+
			"is needed, say so in your answer", k.Name)}
	case err == nil:
		return k, nil
	}
	if _, broken := s.broken[front.Fold(name)]; broken {
		return Skill{}, err
	}
	list := s.entries(nil)
	if len(list) == 0 {
		return Skill{}, &unknownError{err.Error() + "; there are none here"}
	}
	return Skill{}, &unknownError{err.Error() + "; " + front.Find(name, list, "skills")}
}

// unknownError says that there is no such skill; it is troupe.ErrNotFound.
type unknownError struct{ text string }

func (e *unknownError) Error() string { return e.text }
func (e *unknownError) Unwrap() error { return troupe.ErrNotFound }

// entries are the skills that models are told of.
func (s Set) entries(allowed func(name, file string) bool) []front.Entry {
	var out []front.Entry
	for _, k := range s.List() {
		if k.Offered() && k.Paths == nil && (allowed == nil || allowed(k.Name, k.Source)) {
			out = append(out, front.Entry{Name: k.Name, Text: k.Description})
		}
	}
	return out
}

// Offered reports whether models are told of it at all.
func (k Skill) Offered() bool { return !k.ModelOff && (!k.Command || k.Described) }

// For reports whether its patterns name a file. project is the root of the project.
func (k Skill) For(file, project string) bool {
	if k.Scope == front.ScopeProject {
		for _, p := range ProjectPlaces() {
			if dir, _, below := strings.Cut(filepath.ToSlash(k.Source), "/"+p.Dir+"/"); below {
				project = filepath.FromSlash(dir)
			}
		}
	}
	name, err := filepath.Rel(project, file)
	if err != nil || project == "" || !troupe.Within(file, project) {
		return false
	}
	name = filepath.ToSlash(name)
	return slices.ContainsFunc(k.Paths, func(p string) bool { return doublestar.MatchUnvalidated(p, name) })
}

// Describe tells a model which skills it can use, in room bytes. allowed, if not nil, leaves out what rules forbid,
// by its name or by its file.
func (s Set) Describe(allowed func(name, file string) bool, room int) string {
	return front.Listing("Skills you can use with Skill, when a task is what one is for:\n", s.entries(allowed), room,
		"Call Skill with words for what you need: none is used, and you are told which of them fit.")
}
