package search

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
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
	maxGlob  = 100     // files listed
	maxFound = 200_000 // files held while sorting
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
		Aliases: []string{"list_files"}, Misspellings: []string{"ls", "list", "listdir", "listdirectory", "find",
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
	if !doublestar.ValidatePattern(in.pattern) {
		return nil, &tool.InputError{Tool: "Glob", Problem: "`pattern` is not a valid pattern: check its brackets " +
			"and braces"}
	}
	// What comes before the first wildcard is a folder, and may lead anywhere.
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(in.pattern))
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return nil, &tool.InputError{Tool: "Glob", Problem: "`pattern` may not have .. after a wildcard; use path"}
	}
	if !filepath.IsAbs(base) && !strings.HasPrefix(base, "~/") && base != "~" {
		base = filepath.Join(env.Abs(in.path), base)
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
	files, err := c.find(ctx, env, real)
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
	return tool.Output{Blocks: []troupe.Block{troupe.Text(c.list(env, files))}}, nil
}

func moved(env tool.Env, path string) tool.Output {
	return tool.Errorf("%s leads to another place now than when the call was checked. Try again.", env.Rel(path))
}

func (c *globCall) find(ctx context.Context, env tool.Env, real string) ([]found, error) {
	s := selection{hidden: true, depth: -1}
	if env.Hidden != nil {
		s.hides = func(rel string) bool { return hidden(env, c.base, real, rel) }
	}
	if !strings.Contains(c.pattern, "**") && !strings.Contains(c.pattern, "{") {
		s.depth = strings.Count(c.pattern, "/") // it cannot match anything deeper
	}
	var files []found
	err := walk(ctx, real, s, func(rel string, d fs.DirEntry) error {
		if !doublestar.MatchUnvalidated(c.pattern, rel) {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 && isHidden(env, tool.Resolve(filepath.Join(real, filepath.FromSlash(rel)))) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed while we looked
		}
		if files = append(files, found{rel, info.ModTime()}); len(files) == maxFound {
			return errStop
		}
		return nil
	})
	slices.SortFunc(files, func(a, b found) int {
		return cmp.Or(b.at.Compare(a.at), strings.Compare(a.rel, b.rel))
	})
	return files, err
}

func (c *globCall) list(env tool.Env, files []found) string {
	if len(files) == 0 {
		if !strings.Contains(c.pattern, "/") && !strings.Contains(c.pattern, "**") {
			return fmt.Sprintf("No files. (%s looks only into %s itself; **/%s looks below it too.)", c.pattern,
				env.Rel(c.base), c.pattern)
		}
		return "No files."
	}
	var b strings.Builder
	for _, f := range files[:min(len(files), maxGlob)] {
		fmt.Fprintln(&b, env.Rel(filepath.Join(c.base, filepath.FromSlash(f.rel))))
	}
	if len(files) > maxGlob {
		fmt.Fprintf(&b, "(The newest %d of %d files. Narrow the pattern for the others.)", maxGlob, len(files))
	}
	return b.String()
}
