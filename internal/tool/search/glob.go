package search

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

//go:embed glob.md
var globDoc string

const (
	maxGlob = 100  // files listed
	maxHeld = 4096 // files held before all but the newest are let go
)

type globInput struct{ pattern, path string }

func (in *globInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "pattern", String: &in.pattern, Required: true, NotEmpty: true, MaxBytes: maxPath},
		{Name: "path", String: &in.path, Doc: "folder to search; default: the working folder", MaxBytes: maxPath},
	}
}

type globTool struct{}

func (t globTool) describe() tool.Descriptor {
	return tool.Describe(troupe.ToolFacts{
		Name: "Glob", Class: troupe.ClassRead, Schedule: troupe.Parallel, Argument: troupe.PathArgument, Like: "Read",
		Doing:   "listing",
		Aliases: []string{"list_files", "ls"}, Misspellings: []string{"list", "listdir", "listdirectory", "find",
			"findfiles",
			"filesearch"},
	}, globDoc, new(globInput).fields()).With(t)
}

// Prepare implements tool.Runner.
func (globTool) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	var in globInput
	if err := tool.Decode("Glob", input, in.fields()); err != nil {
		return nil, err
	}
	return parseGlob(env, "Glob", in.pattern, in.path)
}

// parseGlob reads a pattern of a call of the tool name, for files below a folder.
func parseGlob(env tool.Env, name, given, folder string) (*globCall, error) {
	if !valid(given) {
		return nil, &tool.InputError{Tool: name, Problem: "`pattern` is not a valid pattern: check its brackets " +
			"and braces"}
	}
	// What comes before the first wildcard is a folder, and may lead anywhere.
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(given))
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return nil, &tool.InputError{Tool: name, Problem: "`pattern` may not have .. after a wildcard; use path"}
	}
	if !filepath.IsAbs(base) && !strings.HasPrefix(base, "~/") && base != "~" {
		base = filepath.Join(env.Abs(folder), base)
	}
	base = env.Abs(base)
	return &globCall{base: base, pattern: pattern, touched: tool.Touched(base)}, nil
}

type globCall struct {
	base, pattern string
	touched       []string
}

// Access implements tool.Prepared.
func (c *globCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: c.touched}
}

type found struct {
	rel string
	at  time.Time
}

// Run implements tool.Prepared.
func (c *globCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	real := c.touched[len(c.touched)-1]
	if tool.Resolve(c.base) != real {
		return moved(env, c.base), nil
	}
	where, err := locate(env, c.base, real)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	if where.file != "" {
		return tool.Errorf("%s is a file, not a folder.", env.Rel(c.base)), nil
	}
	files, n, err := c.find(ctx, env, real)
	switch {
	case ctx.Err() != nil:
		return tool.Output{}, ctx.Err()
	case errors.Is(err, safefile.ErrMoved):
		return moved(env, c.base), nil
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf("%s: permission denied.", env.Rel(c.base)), nil
	case err != nil:
		return tool.Errorf("%s: %v.", env.Rel(c.base), err), nil
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text(c.list(env, files, n))}}, nil
}

func moved(env tool.Env, path string) tool.Output {
	return tool.Errorf("%s leads to another place now than when the call was checked. Try again.", env.Rel(path))
}

// selection is what of a folder the pattern means.
func (c *globCall) selection(env tool.Env, real string) selection {
	m := newMatcher(c.pattern)
	s := selection{hidden: true, depth: -1, hides: hides(env, c.base, real),
		wants: func(prefix, name string, _ fs.DirEntry) bool { return m.matches(prefix, name) }}
	if !strings.Contains(c.pattern, "**") && !strings.Contains(c.pattern, "{") {
		s.depth = strings.Count(c.pattern, "/") // it cannot match anything deeper
	}
	return s
}

// shown are the files of a batch that may be shown, by their paths from where the walk began.
func shown(env tool.Env, b batch) iter.Seq2[string, fs.FileInfo] {
	return func(yield func(string, fs.FileInfo) bool) {
		for _, d := range b.files {
			if d.Type()&fs.ModeSymlink != 0 && isHidden(env, tool.Resolve(filepath.Join(b.path, d.Name()))) {
				continue
			}
			// one that cannot be looked at was removed meanwhile
			if info, err := d.Info(); err == nil && !yield(b.rel+d.Name(), info) {
				return
			}
		}
	}
}

// find returns the newest files, and how many there are.
func (c *globCall) find(ctx context.Context, env tool.Env, real string) ([]found, int, error) {
	look := func(_ context.Context, b batch) []found {
		var out []found
		for rel, info := range shown(env, b) {
			out = append(out, found{rel, info.ModTime()})
		}
		return out
	}
	n := 0
	var files []found
	err := walk(ctx, real, c.selection(env, real), func() func(context.Context, batch) []found { return look },
		func(more []found) error {
			n += len(more)
			if files = append(files, more...); len(files) > maxHeld {
				files = newest(files)
			}
			return nil
		})
	return newest(files), n, err
}

// newest are the files to be listed, in their order.
func newest(files []found) []found {
	slices.SortFunc(files, func(a, b found) int {
		return cmp.Or(b.at.Compare(a.at), strings.Compare(a.rel, b.rel))
	})
	return files[:min(len(files), maxGlob)]
}

// matcher is a pattern for files. Most files are told by their names that they do not match.
type matcher struct {
	pattern string
	name    rule // for the last part of the path
	byName  bool // name has a meaning
	all     bool // the name decides
}

func newMatcher(pattern string) matcher {
	m := matcher{pattern: pattern}
	dir, last := path.Split(pattern)
	if strings.ContainsAny(dir, `{[\`) || last == "" || strings.Contains(last, "**") {
		return m // what looks like the last part may not be one
	}
	m.name, m.byName = parseRule(escapeRule(last))
	m.byName = m.byName && !m.name.anchored && !m.name.dirOnly
	m.all = m.byName && dir == "**/"
	return m
}

// escapeRule keeps a part of a pattern from being taken for more by the rules of ignore files.
func escapeRule(part string) string {
	if strings.ContainsAny(part[:1], "!#") || strings.HasSuffix(part, " ") || strings.HasSuffix(part, "\r") {
		return "" // no rule
	}
	return part
}

func (m *matcher) matches(prefix, name string) bool {
	if m.byName && !m.name.matches("", name, false) {
		return false
	}
	return m.all || doublestar.MatchUnvalidated(m.pattern, prefix+name)
}

func (c *globCall) list(env tool.Env, files []found, n int) string {
	if len(files) == 0 {
		if !strings.Contains(c.pattern, "/") && !strings.Contains(c.pattern, "**") {
			return fmt.Sprintf("No files. (%s looks only into %s itself; **/%s looks below it too.)", c.pattern,
				env.Rel(c.base), c.pattern)
		}
		return "No files."
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintln(&b, env.Rel(filepath.Join(c.base, filepath.FromSlash(f.rel))))
	}
	if n > maxGlob {
		fmt.Fprintf(&b, "(The newest %d of %d files. Narrow the pattern for the others.)", maxGlob, n)
	}
	return b.String()
}
