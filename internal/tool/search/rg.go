package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	cmd.WaitDelay = time.Second
	var problem bytes.Buffer
	cmd.Stderr = &limited{w: &problem, left: 4 << 10}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run ripgrep: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return errUnable
	}
	more, err := readHits(stdout, q, rep)
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
		"--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null",
		"--line-number", "--sort=path", "--no-ignore-global", "--no-ignore-exclude", "--crlf",
		"--no-context-separator",
	}
	if !inRepository(q.real) {
		args = append(args, "--no-require-git", "--no-ignore-parent")
	}
	switch q.mode {
	case modeFiles:
		args = append(args, "--files-with-matches")
	case modeCount:
		args = append(args, "--count")
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
func readHits(r io.Reader, q query, rep *report) (more bool, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		file, err := br.ReadString(0)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return true, err
		}
		// A remark of rg's, such as that it gave a file up as binary, is a line before a name.
		name := strings.TrimPrefix(file[strings.LastIndexByte(file, '\n')+1:len(file)-1], "./")
		if q.file != "" {
			name = q.file // rg knows no name for its input
		}
		if q.mode == modeFiles {
			if !rep.addFile(name, 1) {
				return false, nil
			}
			continue
		}
		line, err := readLine(br)
		if err != nil {
			return true, err
		}
		if !addHit(q, rep, name, line) {
			return false, nil
		}
	}
}

// addHit takes what follows a name: "12:text", "12-text", or a count.
func addHit(q query, rep *report, name string, line []byte) bool {
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(string(line[:digits]))
	switch {
	case err != nil:
		return true // a remark
	case q.mode == modeCount:
		return rep.addFile(name, n)
	case digits == len(line):
		return true
	default:
		return rep.add(name, n, line[digits] == ':', line[digits+1:])
	}
}

// readLine reads a line and keeps its beginning.
func readLine(br *bufio.Reader) ([]byte, error) {
	const keep = 4 * maxShownLine
	var out []byte
	for {
		part, err := br.ReadSlice('\n')
		out = append(out, part[:min(len(part), keep-len(out))]...)
		switch {
		case err == nil || errors.Is(err, io.EOF):
			return bytes.TrimSuffix(out, []byte{'\n'}), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
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
