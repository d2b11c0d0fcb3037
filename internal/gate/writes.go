package gate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Writes reads the patterns of the only files that a session may change. They begin in its folder, and mean what they
// mean in rules about Edit: a folder stands for all below it.
func (t *Tools) Writes(globs []string, folder string) ([]rule.Rule, error) {
	out := make([]rule.Rule, 0, len(globs))
	for _, text := range globs {
		written := troupe.Rule{Effect: troupe.Allow, Text: rule.ToolEdit + "(" + text + ")", Folder: folder}
		if text != "" && strings.Trim(text, "*") == "" { // in a rule that would mean the tool
			written.Text = rule.ToolEdit + "(/**/**)"
		}
		r, err := t.ParseRule(written)
		var wrong *rule.Error
		switch {
		case errors.As(err, &wrong):
			return nil, fmt.Errorf("`writes` %q %s", text, wrong.Problem)
		case err != nil:
			return nil, fmt.Errorf("`writes` %q: %w", text, err)
		case r.Kind != rule.KindPath:
			return nil, fmt.Errorf("`writes` %q is no pattern of files", text)
		case slices.ContainsFunc(r.Paths, func(p rule.Pattern) bool { return !p.InProject() }):
			return nil, fmt.Errorf("`writes` %q leads out of the agent's folder; patterns begin there, as in src/**",
				text)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, errors.New("`writes` names no file; leave it out, or give `filesystem` shared_ro to an agent " +
			"that changes " +
			"nothing")
	}
	return out, nil
}

// KeptTo returns a test for files that a session down a line of authority leaves as they are, because it or one above
// it was started to change others only; it says why. It is nil if none was. The scratchpad, "" if there is none, is
// everybody's.
func KeptTo(chain []Layer, scratchpad string) func(file string) (why string) {
	bound := slices.DeleteFunc(slices.Clone(chain), func(l Layer) bool { return l.Writes == nil })
	if len(bound) == 0 {
		return nil
	}
	return func(file string) string {
		file = path.Clean(file)
		if scratchpad != "" && file != scratchpad && troupe.Within(file, scratchpad) {
			return ""
		}
		for i := range bound {
			if l := &bound[i]; !slices.ContainsFunc(l.Writes, func(r rule.Rule) bool {
				return r.Matches(rule.Places{}, file, false, false)
			}) {
				return nameOf(l.Agent) + " was started to change " + Patterns(l.Writes) + " only"
			}
		}
		return ""
	}
}

// WholeOf are the folders and files of which all may be changed by a session down a line that KeptTo binds, as far as
// they can be named: what a kernel can be told that nobody listens to.
func WholeOf(chain []Layer) []string {
	keeps := KeptTo(chain, "")
	var out []string
	for i := range chain {
		for _, r := range chain[i].Writes {
			for j := range r.Paths {
				if name, ok := r.Paths[j].Literal(rule.Places{}); ok && keeps(name) == "" &&
					!slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// Patterns are the words of the patterns that Writes has read.
func Patterns(list []rule.Rule) string {
	var out []string
	for _, r := range list {
		text := strings.TrimSuffix(strings.TrimPrefix(r.Written.Text, rule.ToolEdit+"("), ")")
		if text = rule.Visible(text); !slices.Contains(out, text) { // those of a mirrored folder are the same words
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// MayMeet reports whether two sessions that Writes has bound may change one file. In doubt they may.
func MayMeet(a, b []rule.Rule) bool {
	return slices.ContainsFunc(a, func(x rule.Rule) bool {
		return slices.ContainsFunc(b, func(y rule.Rule) bool { return x.MayMeet(&y) })
	})
}

// WrittenBy says which files the last session of a line may change, as those above it and itself were started to; "" if
// none was bound.
func WrittenBy(line []Layer) string {
	var out []string
	for i := range line {
		if line[i].Writes != nil {
			if text := Patterns(line[i].Writes); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	if out == nil {
		return ""
	}
	return "you were started to change only " + strings.Join(out, ", and of these only ") +
		". A change of any other is " +
		"refused, by commands as well; say in your result what else needs one."
}
