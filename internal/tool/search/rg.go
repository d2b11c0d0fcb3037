package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool/internal/safefile"
)

// ripgrep runs rg and reports what it finds. errUnable means that it refused the question
// before finding anything.
func ripgrep(ctx context.Context, bin string, q query, rep *report) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, bin, rgArgs(q)...)
	end, err := begin(cmd, q.place)
	if err != nil {
		return err
	}
	defer end()
	cmd.Env = []string{"LC_ALL=C"} // neither a configuration file nor anything else of the user's
	// There is no WaitDelay: rg starts no program that could hold its output, and on a busy machine what it wrote
	// may take seconds to come through.
	var problem bytes.Buffer
	cmd.Stderr = &limited{w: &problem, left: 4 << 10}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run ripgrep: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return errUnable
	}
	more, err := readHits(bufio.NewReaderSize(stdout, 64<<10), q, rep)
	if !more {
		stop() // enough was found
	}
	werr := cmd.Wait()
	var ee *exec.ExitError
	switch {
	case err != nil:
		return fmt.Errorf("read ripgrep's output: %w", err)
	case !more || werr == nil:
		return nil
	case !errors.As(werr, &ee) || ee.ExitCode() < 0:
		return fmt.Errorf("run ripgrep: %w", werr)
	case ee.ExitCode() == 1 || rep.shown > 0 || problem.Len() == 0:
		return nil // nothing found, or some files could not be read
	default:
		return errUnable
	}
}

func rgArgs(q query) []string {
	args := []string{
		"--no-config", "--no-messages", "--color=never", "--with-filename", "--sort=path", "--no-ignore-global",
		"--no-ignore-exclude", "--crlf",
	}
	if !inRepository(q.real) {
		args = append(args, "--no-require-git", "--no-ignore-parent")
	}
	switch q.mode {
	case modeFiles:
		args = append(args, "--null", "--files-with-matches")
	case modeCount:
		args = append(args, "--null", "--count")
	default:
		args = append(args, "--json") // no line of it is ever taken for a name, nor a name for a line
	}
	if q.multiline {
		args = append(args, "--multiline")
	}
	if q.before+q.after > 0 {
		args = append(args, "--before-context="+strconv.Itoa(q.before), "--after-context="+strconv.Itoa(q.after))
	}
	if q.filter != "" {
		args = append(args, "--glob="+q.filter)
	}
	if q.typ != "" {
		args = append(args, "--type="+q.typ)
	}
	where := "./"
	if q.file != "" {
		where = "-" // it is handed over open
	}
	return append(args, "--regexp="+q.regexp, "--", where)
}

// begin has rg begin at exactly the place that was judged, whatever its path leads to by the
// time it starts: in the folder that is held open, or with the file as its input.
func begin(cmd *exec.Cmd, p place) (end func(), err error) {
	if p.file != "" {
		f, _, err := safefile.Open(p.at)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", p.at, err)
		}
		cmd.Dir, cmd.Stdin = string(filepath.Separator), f
		return func() { _ = f.Close() }, nil // only read from
	}
	d, err := safefile.OpenFolder(p.real)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.real, err)
	}
	cmd.Dir = d.Handle()
	return func() { _ = d.Close() }, nil // only a handle
}

// readHits reads rg's output to the end, or until no more is wanted.
func readHits(r *bufio.Reader, q query, rep *report) (more bool, err error) {
	if q.mode == modeContent {
		return readEvents(r, q, rep)
	}
	for {
		file, err := r.ReadString(0)
		if err != nil {
			return true, unlessEOF(err)
		}
		matches := 1
		if q.mode == modeCount {
			line, err := r.ReadString('\n')
			if err != nil {
				return true, unlessEOF(err)
			}
			if matches, err = strconv.Atoi(strings.TrimRight(line, "\r\n")); err != nil {
				return true, fmt.Errorf("the matches of %q: %w", file, err)
			}
		}
		if name := rgName(file[:len(file)-1], q); !rep.hides(name) && !rep.addFile(name, matches) {
			return false, nil
		}
	}
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// rgName is a file's name without what rg was asked to begin with.
func rgName(name string, q query) string {
	if q.file != "" {
		return q.file // rg knows no name for its input
	}
	return strings.TrimPrefix(name, "./")
}

// rgEvent is a line of rg's JSON: a match is one line, or the lines that it touches.
type rgEvent struct {
	Type string
	Data struct {
		Path, Lines rgText
		Line        int `json:"line_number"`
	}
}

// rgText is text, or bytes that are none.
type rgText struct {
	Text  string
	Bytes []byte
}

func (t rgText) String() string {
	if t.Bytes != nil {
		return string(t.Bytes)
	}
	return t.Text
}

// maxEvent bounds one line of rg's JSON. In it a byte of a file takes up to six.
const maxEvent = 6 * maxWhole

// readEvents reads rg's JSON.
func readEvents(r *bufio.Reader, q query, rep *report) (more bool, err error) {
	var line []byte
	var name string
	for {
		whole := false
		if line, whole, err = readLine(r, line[:0]); err != nil {
			return true, unlessEOF(err)
		}
		if !whole {
			rep.addUnread(name, "it has a line of more than 64 MB")
			continue
		}
		var e rgEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return true, fmt.Errorf("an event of ripgrep's: %w", err)
		}
		switch e.Type {
		case "begin":
			name = rgName(e.Data.Path.String(), q)
		case "match", "context":
			if !rep.hides(name) && !addLines(rep, name, &e) {
				return false, nil
			}
		}
	}
}

func addLines(rep *report, name string, e *rgEvent) bool {
	n := e.Data.Line
	for text := range strings.Lines(e.Data.Lines.String()) {
		if !rep.add(name, n, e.Type == "match", shape([]byte(text[:min(len(text), keptOfLine)]))) {
			return false
		}
		n++
	}
	return true
}

// readLine reads a line into buf. One over maxEvent is read to its end, but not kept.
func readLine(r *bufio.Reader, buf []byte) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole = whole && len(buf)+len(part) <= maxEvent; whole {
			buf = append(buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, whole, err
		}
	}
}

// limited drops what is written beyond its limit.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
