package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe/internal/tool"
)

const (
	keepHead = 10 << 10 // bytes of output shown from its beginning
	keepTail = 20 << 10 // and from its end
	maxFile  = 64 << 20 // bytes of output kept in a file
)

// capture keeps what a command prints: all of it while that is little, else its beginning
// and its end, and up to maxFile of it, just as it came, in a file.
type capture struct {
	env   tool.Env
	head  []byte
	tail  []byte // what follows head, or the last of it; at most twice keepTail
	total int64
	file  *kept
	lost  error // why the file does not have it all
}

func newCapture(env tool.Env) *capture { return &capture{env: env} }

// read hands on what comes until the last writer is gone. The deadline set for r ends only
// the waiting: what was written before it is read, however late we are on a busy machine.
// It reports whether somebody could still write.
func read(r *os.File, add func([]byte)) (held bool) {
	buf := make([]byte, 32<<10)
	var err error
	for err == nil {
		var n int
		n, err = r.Read(buf)
		add(buf[:n])
	}
	return errors.Is(err, os.ErrDeadlineExceeded) && drain(r, buf, add)
}

// drain hands on what is in the pipe without waiting for more, and reports whether somebody
// could still write to it.
func drain(r *os.File, buf []byte, add func([]byte)) (open bool) {
	raw, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil {
		return true
	}
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, err := syscall.Read(int(fd), buf)
			switch {
			case n > 0:
				add(buf[:n])
			case errors.Is(err, syscall.EINTR):
			default:
				open = err != nil // EAGAIN; no error is the end
				return true
			}
		}
	})
	return open || err != nil
}

func (c *capture) add(p []byte) {
	c.total += int64(len(p))
	if c.total > keepHead+keepTail {
		c.save(p)
	}
	if n := min(keepHead-len(c.head), len(p)); n > 0 {
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	p = p[max(0, len(p)-keepTail):]
	if len(c.tail)+len(p) > 2*keepTail {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keepTail:]...)
	}
	c.tail = append(c.tail, p...)
}

func (c *capture) close() {
	if c.file == nil {
		return
	}
	if err := c.file.close(); err != nil && c.lost == nil {
		c.lost = err
	}
}

// save writes p to the file, which the first time begins with what was kept before p.
func (c *capture) save(p []byte) {
	if c.lost != nil {
		return
	}
	if c.file == nil {
		if c.file, c.lost = c.create(); c.lost != nil {
			return
		}
		if c.lost = c.file.write(append(c.head[:len(c.head):len(c.head)], c.tail...)); c.lost != nil {
			return
		}
	}
	before := c.total - int64(len(p))
	if before >= maxFile {
		return
	}
	c.lost = c.file.write(p[:min(int64(len(p)), maxFile-before)])
}

func (c *capture) create() (*kept, error) {
	if c.env.OutputDir == "" {
		return nil, errors.New("there is no folder for it")
	}
	if err := os.MkdirAll(c.env.OutputDir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(c.env.OutputDir, filepath.Base(c.env.CallID)+".txt")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &kept{f: f, mask: c.env.Mask}, nil
}

// report implements printed.
func (c *capture) report(ended, also string) string {
	text := c.text()
	if text == "" && ended == "" {
		text = "(No output.)"
	}
	return lines(text, ended, also)
}

// text is what the model is shown of the output. Nothing may be added after it.
func (c *capture) text() string {
	if c.total <= keepHead+keepTail {
		return strings.TrimRight(clean(append(c.head[:len(c.head):len(c.head)], c.tail...)), "\n")
	}
	tail := c.tail[max(0, len(c.tail)-keepTail):]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < keepTail/4 {
		tail = tail[i+1:] // begin with a whole line
	}
	head := c.head
	if i := bytes.LastIndexByte(head, '\n'); i > len(head)-keepHead/4 {
		head = head[:i+1]
	}
	left := tool.FormatBytes(c.total - int64(len(head)) - int64(len(tail)))
	where := fmt.Sprintf("it could not be kept: %v", c.lost)
	if c.lost == nil {
		where = "all of it is in " + c.file.f.Name()
		if c.total > maxFile {
			where = fmt.Sprintf("the first %s are in %s", tool.FormatBytes(maxFile), c.file.f.Name())
		}
	}
	return fmt.Sprintf("%s\n… [%s left out; %s] …\n%s", strings.TrimRight(clean(head), "\n"), left, where,
		strings.TrimRight(clean(tail), "\n"))
}
