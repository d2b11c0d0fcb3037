package entry

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Places are what variables of other programs stand for.
type Places struct {
	Cwd  string // the session's folder
	Home string
	// Lookup finds variables of the environment.
	Lookup func(name string) (string, bool)
}

// Expand puts in the variables: ${NAME}, and ${NAME:-text} for where it is not set. The error names what is missing.
func (e Entry) Expand(at Places) (Entry, error) {
	x := expander{at: at}
	e.Command, e.Cwd, e.URL = x.text(e.Command), x.text(e.Cwd), x.text(e.URL)
	e.Args = slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = x.text(e.Args[i])
	}
	e.Env, e.Headers = x.all(e.Env), x.all(e.Headers)
	if e.OAuth != nil {
		o := *e.OAuth
		o.ID, o.Secret, o.Issuer = x.text(o.ID), x.text(o.Secret), x.text(o.Issuer)
		e.OAuth = &o
	}
	if len(x.missing) > 0 {
		slices.Sort(x.missing)
		return e, fmt.Errorf("%s not set: set it in the environment that Troupe is started with, or write "+
			"${NAME:-default}", strings.Join(slices.Compact(x.missing), ", "))
	}
	switch {
	case e.Cwd == "":
		e.Cwd = at.Cwd
	case e.Cwd == "~" || strings.HasPrefix(e.Cwd, "~/"):
		e.Cwd = filepath.Join(at.Home, strings.TrimPrefix(e.Cwd, "~"))
	case !filepath.IsAbs(e.Cwd):
		e.Cwd = filepath.Join(at.Cwd, e.Cwd)
	}
	if strings.HasPrefix(e.Command, "~/") {
		e.Command = filepath.Join(at.Home, e.Command[2:])
	}
	if e.Type != Stdio {
		u, err := url.Parse(e.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return e, fmt.Errorf("its url is no address of http or https")
		}
	}
	return e, nil
}

// Variables are the names of the variables that the entry would take from the environment, sorted.
func (e Entry) Variables() []string {
	x := expander{at: Places{Lookup: func(string) (string, bool) { return "", false }}}
	for _, s := range append([]string{e.Command, e.Cwd, e.URL}, e.Args...) {
		x.text(s)
	}
	x.all(e.Env)
	x.all(e.Headers)
	if o := e.OAuth; o != nil {
		x.text(o.ID + o.Secret + o.Issuer)
	}
	slices.Sort(x.asked)
	return slices.Compact(x.asked)
}

type expander struct {
	at             Places
	missing, asked []string
}

func (x *expander) all(m map[string]string) map[string]string {
	out := maps.Clone(m)
	for name, value := range out {
		out[name] = x.text(value)
	}
	return out
}

// text puts the variables into one text. What a variable holds is not looked through again.
func (x *expander) text(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		inside, rest, ok := strings.Cut(after, "}")
		if !ok {
			b.WriteString("${" + after)
			return b.String()
		}
		name, otherwise, has := strings.Cut(inside, ":-")
		b.WriteString(x.variable(name, otherwise, has))
		s = rest
	}
}

func (x *expander) variable(name, otherwise string, has bool) string {
	switch name {
	case "workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR", "PWD", "cwd":
		return x.at.Cwd
	case "userHome", "HOME":
		return x.at.Home
	case "pathSeparator", "/":
		return "/"
	}
	name = strings.TrimPrefix(name, "env:")
	x.asked = append(x.asked, name)
	if v, ok := x.at.Lookup(name); ok && (v != "" || !has) {
		return v
	}
	if !has {
		x.missing = append(x.missing, name)
	}
	return otherwise
}
