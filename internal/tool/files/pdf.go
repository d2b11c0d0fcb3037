package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/internal/change"
)

const (
	defaultPages = 20
	pdfTimeout   = time.Minute
)

// parsePages reads "3", "1-20" or "5-"; "" is 0, 0.
func parsePages(s string) (first, last int, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, 0, true
	}
	a, b, ranged := strings.Cut(s, "-")
	first, err := strconv.Atoi(strings.TrimSpace(a))
	if err != nil || first < 1 {
		return 0, 0, false
	}
	switch b = strings.TrimSpace(b); {
	case !ranged:
		last = first
	case b == "":
		last = first + defaultPages - 1
	default:
		if last, err = strconv.Atoi(b); err != nil || last < first {
			return 0, 0, false
		}
	}
	return first, last, true
}

// pdf shows the text of some pages, as pdftotext finds it. It is given the open file, not its
// name: what that leads to may have changed.
func (c *readCall) pdf(ctx context.Context, env tool.Env, f *os.File) (tool.Output, error) {
	bin, err := c.tool.lookPath("pdftotext")
	if err != nil {
		return tool.Errorf("%s is a PDF. Reading one needs the program pdftotext (package poppler-utils), which is "+
			"not installed.", env.Rel(c.target.Path)), nil
	}
	hash := tool.NewHasher()
	_, err = f.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(hash, io.LimitReader(f, maxScan))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return change.Explain(env, c.target, err), nil
	}
	first, last := c.firstPage, c.lastPage
	if first == 0 {
		first, last = 1, defaultPages
	}
	ctx, cancel := context.WithTimeout(ctx, pdfTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-q", "-layout", "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l",
		strconv.Itoa(last), "-", "-")
	cmd.Stdin = f
	cmd.Dir, cmd.Env = env.Cwd, append([]string{}, env.Environ...)
	out, problem := capped{max: maxText}, capped{max: 300}
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return tool.Output{}, fmt.Errorf("read %s: %w", c.target.Real(), ctx.Err())
		}
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			return tool.Errorf("%s: pdftotext could not be run: %v.", env.Rel(c.target.Path), err), nil
		}
		return tool.Errorf("%s: pdftotext failed: %s", env.Rel(c.target.Path), cleanText(bytes.TrimSpace(problem.b))),
			nil
	}
	return c.done(hash.Sum(), troupe.Text(pdfText(cleanText(out.b), first, last, out.cut))), nil
}

// pdfText marks where pages begin and says what else there may be.
func pdfText(s string, first, last int, cut bool) string {
	pages := strings.Split(strings.TrimSuffix(s, "\f"), "\f")
	var b strings.Builder
	for i, page := range pages {
		fmt.Fprintf(&b, "[page %d]\n%s\n", first+i, strings.Trim(page, "\n"))
	}
	end := first + len(pages) - 1
	switch {
	case cut:
		fmt.Fprintf(&b, "(Cut: one result holds %s. Ask for fewer pages from page %d.)", tool.FormatBytes(maxText), end)
	case end == last:
		fmt.Fprintf(&b, "(Pages %d-%d. Later ones, if there are any, with pages \"%d-%d\".)", first, end, end+1,
			end+defaultPages)
	}
	return b.String()
}

// capped keeps the beginning of what is written to it.
type capped struct {
	b   []byte
	max int
	cut bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := max(c.max-len(c.b), 0)
	if len(p) > room {
		c.cut = true
	}
	c.b = append(c.b, p[:min(room, len(p))]...)
	return len(p), nil
}
