package shell

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/tool"
)

const logTail = 3 << 10 // bytes of a log that are told at the end

// journal is the log of a command in the background: a file that can be read while it grows.
// It has whole lines, masked, up to maxFile. Its last lines are kept for the end.
type journal struct {
	path  string
	file  *kept
	tail  []byte // the last of what was printed; enough that no secret is cut in two at logTail
	total int64
	lost  error // why the file does not have it all
	told  bool  // its lines are told one by one, and not again at the end
}

func newJournal(env tool.Env) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(env.Log), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(env.Log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{path: env.Log, file: &kept{f: f, mask: env.Mask}, told: env.Line != nil}, nil
}

func (j *journal) add(p []byte) {
	j.save(p)
	j.total += int64(len(p))
	const keep = logTail + maxSecret
	p = p[max(0, len(p)-keep):]
	if len(j.tail)+len(p) > 2*keep {
		j.tail = append(j.tail[:0], j.tail[max(0, len(j.tail)-keep):]...)
	}
	j.tail = append(j.tail, p...)
}

func (j *journal) save(p []byte) {
	room := maxFile - j.total
	if j.lost != nil || room < 0 || len(p) == 0 {
		return
	}
	if int64(len(p)) <= room {
		j.lost = j.file.write(p)
		return
	}
	if j.lost = j.file.write(p[:room]); j.lost == nil {
		j.lost = j.file.write(fmt.Appendf(nil, "\n[The log ends here: it has %s, and the rest is not kept.]\n",
			tool.FormatBytes(maxFile)))
	}
}

func (j *journal) close() {
	if err := j.file.close(); err != nil && j.lost == nil {
		j.lost = err
	}
}

// report implements printed. How it ended comes first: that is what a reader who is busy
// with something else wants to know.
func (j *journal) report(ended, also string) string {
	if ended == "" {
		ended = "(Exit code 0.)"
	}
	if j.total == 0 {
		return lines(ended, also, "(No output.)")
	}
	tail, all := j.last()
	where := fmt.Sprintf("Its output is in %s", j.path)
	switch {
	case j.lost != nil:
		where = fmt.Sprintf("Its output, %s, could not all be kept in %s (%v)", tool.FormatBytes(j.total), j.path,
			j.lost)
	case j.total > maxFile:
		where = fmt.Sprintf("Its output was %s; the first %s are in %s", tool.FormatBytes(j.total),
			tool.FormatBytes(maxFile), j.path)
	case !all:
		where = fmt.Sprintf("Its output, %s, is in %s", tool.FormatBytes(j.total), j.path)
	}
	if j.told {
		return lines(ended, also, where+".")
	}
	if all {
		return lines(ended, also, where+":\n"+tail)
	}
	return lines(ended, also, where+"; the last of it:\n"+tail)
}

// last is the end of the output, and whether that is all of it. It is masked before it is
// cut: half a secret would not be known as one.
func (j *journal) last() (text string, all bool) {
	b := j.tail
	if j.file.mask != nil {
		b = []byte(j.file.mask(string(b)))
	}
	if j.total <= int64(len(j.tail)) && len(b) <= logTail {
		return strings.TrimRight(clean(b), "\n"), true
	}
	b = b[max(0, len(b)-logTail):]
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < logTail/4 {
		b = b[i+1:] // begin with a whole line
	}
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return strings.TrimRight(clean(b), "\n"), false
}
