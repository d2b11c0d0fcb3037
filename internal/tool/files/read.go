package files

import (
	"bytes"
	"context"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

//go:embed read.md
var readDoc string

const (
	defaultLines = 2000
	maxLine      = 2000      // characters shown of one line
	maxText      = 100 << 10 // bytes shown of one file
	maxScan      = 1 << 30   // bytes of a file that are read to find a line
	maxPath      = 4096
	waitLimit    = 10 * time.Second
)

type readInput struct {
	path, pages   string
	offset, limit int
}

func (in *readInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "file_path", Also: "path", String: &in.path, Required: true, NotEmpty: true, MaxBytes: maxPath},
		{Name: "offset", Int: &in.offset, Doc: "first line (of a notebook: cell), from 1"},
		{Name: "limit", Int: &in.limit, Doc: "how many", Min: 1},
		{Name: "pages", String: &in.pages, Doc: `of a PDF: "3" or "1-20"`, MaxBytes: 32},
	}
}

type readTool struct {
	lookPath func(string) (string, error)
}

func (t *readTool) describe() tool.Descriptor {
	return tool.Describe(troupe.ToolFacts{
		Name: "Read", Class: troupe.ClassRead, Schedule: troupe.Parallel, Argument: troupe.PathArgument,
		Doing:   "reading",
		Aliases: []string{"fileread", "read_file"},
		Misspellings: []string{"readfiles", "readmanyfiles", "view", "viewfile", "cat", "open", "openfile",
			"notebookread"},
	}, readDoc, new(readInput).fields()).With(t)
}

// Prepare implements tool.Runner.
func (t *readTool) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	in := readInput{limit: defaultLines}
	if err := tool.Decode("Read", input, in.fields()); err != nil {
		return nil, err
	}
	in.offset = max(in.offset, 1) // 0 is meant as the start
	c := &readCall{tool: t, in: in, target: change.NewTarget(env.Abs(in.path))}
	var ok bool
	if c.firstPage, c.lastPage, ok = parsePages(in.pages); !ok {
		return nil, &tool.InputError{Tool: "Read", Problem: "`pages` must be like \"3\" or \"1-20\""}
	}
	return c, nil
}

type readCall struct {
	tool                *readTool
	in                  readInput
	target              change.Target
	firstPage, lastPage int // 0 if not asked for
}

// Access implements tool.Prepared.
func (c *readCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: c.target.Touched}
}

// Run implements tool.Prepared.
func (c *readCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	// Wherever a link on the way leads by now: what is read is what was judged, or nothing.
	f, info, err := safefile.Open(c.target.Real())
	if err != nil {
		return change.Explain(env, c.target, err), nil
	}
	defer f.Close() //nolint:errcheck // only read from
	if info.Size() > maxScan {
		return tooLarge(env, c.target.Path), nil
	}
	// What is not on a disk may have nothing to tell for ever.
	_ = f.SetReadDeadline(time.Now().Add(waitLimit)) // a file on a disk does not support it, nor need it
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()

	buf := make([]byte, min(max(info.Size(), 0)+512, 64<<10))
	n, err := io.ReadFull(f, buf)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF { //nolint:errorlint // ReadFull returns them bare
		return change.Explain(env, c.target, err), nil
	}
	head := buf[:n]
	switch {
	case imageType(head) != "":
		return c.image(env, io.MultiReader(bytes.NewReader(head), f))
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return c.pdf(ctx, env, f)
	case bytes.IndexByte(head, 0) >= 0:
		return tool.Errorf("%s is a binary file (%s), which Read cannot show.", env.Rel(c.target.Path),
			tool.FormatBytes(info.Size())), nil
	case strings.EqualFold(filepath.Ext(c.target.Real()), ".ipynb") && info.Size() <= safefile.MaxWhole:
		return c.notebook(ctx, env, io.MultiReader(bytes.NewReader(head), f))
	}
	return c.text(ctx, env, f, buf, n)
}

func tooLarge(env tool.Env, path string) tool.Output {
	return tool.Errorf("%s is larger than %s. Use Grep, or Bash with tools for large files.", env.Rel(path),
		tool.FormatBytes(maxScan))
}

// done is the result of a read that reached the end of the file.
func (c *readCall) done(hash string, blocks ...troupe.Block) tool.Output {
	touch := troupe.FileTouch{Path: c.target.Real(), Hash: hash}
	return tool.Output{Blocks: blocks, Evidence: troupe.Evidence{Files: []troupe.FileTouch{touch}}}
}

// text shows lines. The whole file is read, however little of it is shown: the hash that a
// later edit is checked against is of all of it. buf holds the file's first n bytes.
func (c *readCall) text(ctx context.Context, env tool.Env, f *os.File, buf []byte, n int) (tool.Output, error) {
	hash := tool.NewHasher()
	lines := numbered{first: c.in.offset, last: c.in.offset + c.in.limit - 1}
	lines.out = make([]byte, 0, min(n+n/4+512, maxText))
	for total := int64(0); ; {
		if n > 0 {
			_, _ = hash.Write(buf[:n]) // never fails
			lines.add(buf[:n])
		}
		if total += int64(n); total > maxScan {
			return tooLarge(env, c.target.Path), nil
		}
		if err := ctx.Err(); err != nil {
			return tool.Output{}, err
		}
		var err error
		if n, err = f.Read(buf); err == io.EOF {
			break
		} else if err != nil {
			return change.Explain(env, c.target, err), nil
		}
	}
	lines.end()
	return c.done(hash.Sum(), troupe.Text(lines.result(c.in))), nil
}
