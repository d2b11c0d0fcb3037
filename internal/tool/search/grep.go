package search

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

//go:embed grep.md
var grepDoc string

// The output modes.
const (
	modeContent = "content"
	modeFiles   = "files_with_matches"
	modeCount   = "count"
)

type grepInput struct {
	pattern, path, glob, typ, mode string
	ignoreCase, numbers, multiline bool
	after, before, around, limit   int
}

func (in *grepInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "pattern", String: &in.pattern, Required: true, MaxBytes: 64 << 10},
		{Name: "path", String: &in.path, MaxBytes: maxPath},
		{Name: "glob", String: &in.glob, MaxBytes: maxPath},
		{Name: "type", String: &in.typ, Doc: "go, py, ts, rust, …", MaxBytes: 64},
		{Name: "output_mode", String: &in.mode, Enum: []string{modeContent, modeFiles, modeCount}},
		{Name: "-i", Bool: &in.ignoreCase},
		{Name: "-n", Bool: &in.numbers, Doc: "line numbers; default true"},
		{Name: "-A", Int: &in.after, Max: maxContext},
		{Name: "-B", Int: &in.before, Max: maxContext},
		{Name: "-C", Int: &in.around, Max: maxContext},
		{Name: "multiline", Bool: &in.multiline, Doc: "match across lines; . matches a newline"},
		{Name: "head_limit", Int: &in.limit, Doc: "most lines or files shown; default 250"},
	}
}

const (
	defaultLimit = 250
	maxContext   = 1000
)

type grepTool struct {
	lookPath func(string) (string, error)
}

func (t *grepTool) describe() tool.Descriptor {
	return tool.Describe(troupe.ToolFacts{
		Name: "Grep", Class: troupe.ClassRead, Schedule: troupe.Parallel, Argument: troupe.PathArgument, Like: "Read",
		Doing:   "searching in",
		Aliases: []string{"grep_search"}, Misspellings: []string{"search", "searchfiles", "searchfilecontent",
			"ripgrep",
			"rg"},
	}, grepDoc, new(grepInput).fields()).With(t)
}

// query is a Grep call as both engines understand it.
type query struct {
	place
	regexp        string // in a form that Go's and ripgrep's regular expressions share
	multiline     bool
	filter        string // glob
	typ           string
	mode          string
	before, after int
}

// Prepare implements tool.Runner.
func (t *grepTool) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	in := grepInput{mode: modeFiles, numbers: true, limit: defaultLimit}
	if err := tool.Decode("Grep", input, in.fields()); err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) (tool.Prepared, error) {
		return nil, &tool.InputError{Tool: "Grep", Problem: fmt.Sprintf(format, args...)}
	}
	if in.pattern == "" {
		return fail("`pattern` must not be empty")
	}
	expr, problem := normalise(in.pattern, in.ignoreCase, in.multiline)
	if problem != "" {
		return fail("`pattern` %s", problem)
	}
	switch in.glob {
	case "*", "**", "**/*":
		in.glob = "" // as a filter it would name what is hidden and ignored, which nobody means
	}
	if _, ok := parseRule(in.glob); in.glob != "" && (!ok || !valid(in.glob)) {
		return fail("`glob` is not a valid pattern: check its brackets and braces")
	}
	if strings.ContainsFunc(in.typ, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') &&
			r != '-'
	}) {
		return fail("`type` is a name such as go or py; for patterns use glob")
	}
	q := query{
		regexp: expr, multiline: in.multiline, filter: in.glob, typ: in.typ, mode: in.mode,
		before: max(in.before, in.around), after: max(in.after, in.around),
	}
	if in.mode != modeContent {
		q.before, q.after = 0, 0
	}
	path := env.Abs(in.path)
	return &grepCall{tool: t, in: in, q: q, path: path, touched: tool.Touched(path)}, nil
}

// normalise checks a pattern and writes it so that both engines take it for the same: in
// particular a { that counts nothing, as in "interface{}", is escaped.
func normalise(pattern string, ignoreCase, multiline bool) (expr, problem string) {
	flags := syntax.Perl &^ syntax.OneLine
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	if multiline {
		flags |= syntax.DotNL
	}
	re, err := syntax.Parse(pattern, flags)
	if err != nil {
		var se *syntax.Error
		if errors.As(err, &se) {
			short, _ := tool.Cut(se.Expr, 60)
			return "", fmt.Sprintf("is not a valid regular expression: %s: %s", se.Code, short)
		}
		return "", "is not a valid regular expression"
	}
	if !multiline && hasNewline(re) {
		return "", "has a line break in it; set multiline"
	}
	return re.String(), ""
}

func hasNewline(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, hasNewline)
}

type grepCall struct {
	tool    *grepTool
	in      grepInput
	q       query
	path    string
	touched []string
}

// Access implements tool.Prepared.
func (c *grepCall) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassRead, Reads: c.touched}
}

// Run implements tool.Prepared.
func (c *grepCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	real := c.touched[len(c.touched)-1]
	if tool.Resolve(c.path) != real {
		return moved(env, c.path), nil
	}
	var err error
	if c.q.place, err = locate(env, c.path, real); err != nil {
		return tool.Errorf("%v", err), nil
	}
	if c.q.file != "" && isBinary(real) {
		return tool.Errorf("%s is a binary file.", env.Rel(c.path)), nil
	}
	rep := &report{env: env, in: c.in, dir: c.q.dir, real: c.q.real, context: c.q.before+c.q.after > 0}
	if bin, lerr := c.tool.lookPath("rg"); lerr == nil {
		err = ripgrep(ctx, bin, c.q, rep)
	} else {
		err = errUnable
	}
	if errors.Is(err, errUnable) {
		err = builtin(ctx, c.q, rep)
	}
	var unknown errType
	switch {
	case ctx.Err() != nil:
		return tool.Output{}, ctx.Err()
	case errors.Is(err, safefile.ErrMoved):
		return moved(env, c.path), nil
	case errors.As(err, &unknown):
		return tool.Errorf("%v", unknown), nil
	case err != nil:
		return tool.Output{}, fmt.Errorf("search %s: %w", c.path, err)
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text(rep.result())}}, nil
}

// errUnable: ripgrep would not take the question; the own search may.
var errUnable = errors.New("ripgrep cannot do this search")

// errType is a type of file that nobody knows.
type errType string

func (e errType) Error() string {
	hint := "use glob"
	if near := tool.Nearest(string(e), typeNames()); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("There is no type of file %q; %s", string(e), hint)
}

// headBytes is how far into a file a NUL byte is looked for.
const headBytes = 64 << 10

func isBinary(path string) bool {
	f, _, err := safefile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only read from
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	return err == nil && binary(head)
}

// report turns hits, in order, into what the model sees. It is the only writer of that
// format, whichever engine found them.
type report struct {
	env     tool.Env
	in      grepInput
	dir     string
	real    string // where dir leads
	context bool

	out      strings.Builder
	shown    int // lines or files in out
	left     int // left out
	matches  int // in files that were counted
	files    int
	lastFile string
	lastLine int
	name     string   // lastFile, as it is shown
	unread   []string // files that were not searched to their end, with why
	asked    string   // the file that hides was last asked about
	answer   bool
}

const (
	maxShownLine = 500       // bytes shown of one line
	maxShown     = 50 << 10  // bytes of one result
	maxLeft      = 1_000_000 // hits after which nobody counts on
	maxUnread    = 5         // unread files that are named
	keptOfLine   = 4 * maxShownLine
)

// hides reports whether rules keep a file from being read. Only ripgrep has to be asked after:
// the own search does not open what is hidden.
func (r *report) hides(file string) bool {
	if r.asked != file {
		r.asked, r.answer = file, hidden(r.env, r.dir, r.real, file)
	}
	return r.answer
}

// shape makes the text of a line what is shown of it.
func shape(text []byte) string {
	text = text[:min(len(text), keptOfLine)]
	s := strings.ToValidUTF8(strings.TrimRight(string(text), "\r\n"), "\uFFFD")
	s, cut := tool.Cut(strings.ReplaceAll(s, "\x00", "\uFFFD"), maxShownLine)
	if cut > 0 {
		s += "… [line cut]"
	}
	return s
}

// take takes what the own search found in some files; false means that no more is wanted.
func (r *report) take(found *haul) bool {
	for i := range found.records {
		more := true
		switch x := &found.records[i]; {
		case x.unread != "":
			r.addUnread(x.file, x.unread)
		case x.left > 0:
			r.left = min(r.left+x.left, maxLeft)
			r.files += x.left
			r.matches += x.matches
			more = r.left < maxLeft
		case x.line > 0:
			more = r.add(x.file, x.line, x.isMatch, x.text)
		default:
			more = r.addFile(x.file, x.matches)
		}
		if !more {
			return false
		}
	}
	return true
}

func (r *report) addUnread(file, why string) {
	r.unread = append(r.unread, r.env.Rel(filepath.Join(r.dir, filepath.FromSlash(file)))+" ("+why+")")
}

// add takes a line, in its shape; false means that no more are wanted.
func (r *report) add(file string, line int, isMatch bool, text string) bool {
	gap := r.lastFile != file || r.lastLine+1 != line
	r.setFile(file)
	r.lastLine = line
	if r.isFull() {
		r.left++
		return r.left < maxLeft
	}
	if gap && r.context && r.out.Len() > 0 {
		r.out.WriteString("--\n")
	}
	sep := byte(':')
	if !isMatch {
		sep = '-'
	}
	r.out.WriteString(r.name)
	r.out.WriteByte(sep)
	if r.in.numbers {
		fmt.Fprintf(&r.out, "%d%c", line, sep)
	}
	r.out.WriteString(text)
	r.out.WriteByte('\n')
	r.shown++
	return true
}

// addFile takes a file with its number of matches; false means that no more are wanted.
func (r *report) addFile(file string, matches int) bool {
	r.files++
	r.matches += matches
	if r.isFull() {
		r.left++
		return r.left < maxLeft
	}
	r.setFile(file)
	r.out.WriteString(r.name)
	if r.in.mode == modeCount {
		fmt.Fprintf(&r.out, ":%d", matches)
	}
	r.out.WriteByte('\n')
	r.shown++
	return true
}

func (r *report) setFile(file string) {
	if file != r.lastFile {
		r.lastFile = file
		r.name = r.env.Rel(filepath.Join(r.dir, filepath.FromSlash(file)))
	}
}

func (r *report) isFull() bool {
	return r.in.limit > 0 && r.shown >= r.in.limit || r.out.Len() >= maxShown
}

func (r *report) result() string {
	if r.shown == 0 {
		r.out.WriteString("No matches.")
	} else if r.in.mode == modeCount {
		fmt.Fprintf(&r.out, "(%d in %d files.)", r.matches, r.files)
	}
	if r.left > 0 {
		unit := "files"
		if r.in.mode == modeContent {
			unit = "lines"
		}
		more := ""
		if r.left >= maxLeft {
			more = "or more "
		}
		fmt.Fprintf(&r.out, "(%d %s%s left out. Narrow the search, or raise head_limit.)", r.left, more, unit)
	}
	if n := len(r.unread); n > 0 {
		names, more := r.unread, ""
		if n > maxUnread {
			names, more = names[:maxUnread], fmt.Sprintf(", and %d more", n-maxUnread)
		}
		fmt.Fprintf(&r.out, "\n(Not searched to the end: %s%s.)", strings.Join(names, ", "), more)
	}
	return r.out.String()
}
