package shell

import (
	"bytes"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool"
)

// maxToldLine is how many bytes of a line are told.
const maxToldLine = 500

// liner tells what a command prints line by line.
type liner struct {
	tell func(string)
	mask func(string) string
	rest []byte // the beginning of a line whose end has not come yet
}

// newLiner is nil if nobody is to be told; a nil liner tells nothing.
func newLiner(env tool.Env) *liner {
	if env.Line == nil {
		return nil
	}
	return &liner{tell: env.Line, mask: env.Mask}
}

func (l *liner) add(p []byte) {
	for l != nil && len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return
		}
		l.keep(p[:i])
		l.end()
		p = p[i+1:]
	}
}

// keep takes a part of a line: what is more than can be masked as a whole is not told.
func (l *liner) keep(p []byte) {
	l.rest = append(l.rest, p[:min(len(p), maxLine-len(l.rest))]...)
}

// end tells the line that has come, unless there is nothing to see in it. A secret is masked before anything is cut
// off.
func (l *liner) end() {
	if l == nil {
		return
	}
	line := string(l.rest)
	if l.rest = l.rest[:0]; l.mask != nil {
		line = l.mask(line)
	}
	for part := range strings.Lines(clean([]byte(line))) { // a progress bar is written over itself
		if part = strings.TrimRight(part, " \t\n"); part == "" {
			continue
		}
		if len(part) > maxToldLine {
			part = strings.ToValidUTF8(part[:maxToldLine], "") + "…"
		}
		l.tell(part)
	}
}
