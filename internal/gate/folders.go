package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// folders are those that a command may be in.
type folders struct {
	known    []string // absolute and clean
	anywhere bool
}

// vars are what the command and the session say about variables.
func (c *call) vars() *command.Variables {
	m := c.parsed()
	if m.variables == nil {
		m.variables = m.read.Variables(c.at.Home)
		if path.IsAbs(c.at.Project) {
			m.variables.Folders = []string{path.Clean(c.at.Project)}
		}
	}
	return m.variables
}

// where follows what changes the folder.
func (c *call) where() *folders {
	m := c.parsed()
	if m.in != nil {
		return m.in
	}
	v := c.vars()
	if folder := c.begins(m.text); folder != "" {
		v.Folders = []string{folder}
		m.in = &folders{known: v.Folders}
		return m.in
	}
	m.in = &folders{known: slices.Clone(v.Folders)}
	for i := range m.parts {
		for _, to := range c.moveOf(&m.parts[i]) {
			m.in.move(to)
			v.Folders = m.in.known
		}
	}
	m.in.anywhere = m.in.anywhere || m.moves() && v.Sets("CDPATH", "HOME", "PWD", "OLDPWD")
	return m.in
}

// begins is the folder that all of a command runs in, if its first word is a plain cd into the project
// and nothing comes after it unless that went well; "" if it is not so simple.
func (c *call) begins(text string) string {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "cd ")
	to, rest, and := strings.Cut(text, "&&")
	to = strings.TrimSpace(to)
	rest = strings.ReplaceAll(rest, "&&", "")
	if !ok || !and || to == "" || to[0] == '-' || to[0] == '/' || strings.Trim(to,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") != "" ||
		strings.ContainsAny(rest, ";&\n`$") || strings.Contains(rest, "||") || strings.Contains(rest, "cd") ||
		strings.Contains(rest, "pushd") || strings.Contains(rest, " -C") || strings.Contains(rest, "dir") ||
		slices.Contains(strings.Split(to, "/"), "..") || !path.IsAbs(c.at.Project) || c.resolve == nil {
		return ""
	}
	folder := path.Join(c.at.Project, to)
	if c.resolve(folder) != folder {
		return "" // a link leads elsewhere
	}
	return folder
}

// moves: something in the command runs in another folder than it begins in.
func (m *shell) moves() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.Moved })
}

// moveOf are the folders that a part goes to, or has what it runs go to.
func (c *call) moveOf(p *part) []command.Text {
	if len(p.Words) == 0 {
		return nil
	}
	v := c.vars()
	unknown := []command.Text{{Cut: true}}
	args := p.Words[1:]
	var out []command.Text
	switch name := path.Base(p.Words[0].Text); name {
	case "cd", "chdir", "pushd", "popd":
		for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
			args = args[1:]
		}
		switch {
		case name == "pushd" || name == "popd":
			out = unknown
		case len(args) == 0 || args[0].Text == "":
			return []command.Text{{Text: v.Home}}
		case args[0].Text == "-":
			return unknown
		}
		for _, a := range args {
			out = append(out, v.Expand(a)...)
		}
	case "find", "gfind":
		if slices.ContainsFunc(args, func(w command.Word) bool { return w.Text == "-execdir" || w.Text == "-okdir" }) {
			return unknown
		}
	default: // options that have a program work in another folder
		for i, a := range args {
			name, value, glued := strings.Cut(a.Text, "=")
			switch {
			case name != "-C" && name != "--directory" && name != "--chdir" && name != "--cwd" && name != "--prefix":
				if strings.HasPrefix(a.Text, "-C") && strings.Contains(a.Text, "/") {
					out = append(out, command.Text{Text: a.Text[2:], Cut: !a.Known})
				}
			case glued:
				out = append(out, command.Text{Text: value, Cut: !a.Known})
			case i+1 < len(args):
				out = append(out, v.Expand(args[i+1])...)
			}
		}
	}
	return out
}

// move notes that the command goes to another folder, from any that it may be in.
func (f *folders) move(to command.Text) {
	const most = 1024
	if to.Cut || to.Glob || len(f.known) > most {
		f.anywhere = true
		return
	}
	from := []string{"/"}
	if !path.IsAbs(to.Text) {
		from = slices.Clone(f.known)
	}
	for _, dir := range from {
		if dir = path.Join(dir, to.Text); to.Text != "" && !slices.Contains(f.known, dir) {
			f.known = append(f.known, dir)
		}
	}
}

// paths are a text as patterns from the root, read from any of the folders.
func (f *folders) paths(t command.Text) []string {
	text := t.Text
	if !t.Glob {
		text = rule.EscapeGlob(text)
	}
	if path.IsAbs(text) {
		return []string{path.Clean(text)}
	}
	var out []string
	for _, dir := range f.known {
		out = append(out, path.Join(rule.EscapeGlob(dir), text))
	}
	return out
}
