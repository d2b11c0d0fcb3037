package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// maxLine bounds one line. A message with many pictures is large; a file that is no
// recording at all shall not fill the memory.
const maxLine = 256 << 20

// end is the last line.
type end struct {
	End *struct {
		Calls int `json:"calls"` // for people
	} `json:"end"`
}

// Write writes a recording. It ends with an end of line.
func (r *Recording) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	h := r.Header
	h.Format, h.Version = Format, Version
	if err := enc.Encode(h); err != nil {
		return fmt.Errorf("write the head of the recording: %w", err)
	}
	for _, l := range r.Lines {
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
	}
	if _, err := fmt.Fprintf(buf, "{\"end\":{\"calls\":%d}}\n", r.Calls()); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// Read reads a recording. Name is the file's, for messages; each error says its line and is
// a *troupe.UserError.
func Read(name string, from io.Reader) (Recording, error) {
	r := reader{name: name, in: bufio.NewReaderSize(from, 64<<10), seen: newSeen()}
	rec, err := r.read()
	if err != nil {
		return Recording{}, err
	}
	return rec, nil
}

type reader struct {
	name string
	in   *bufio.Reader
	n    int // the line in hand, from 1
	seen *seen
}

func (r *reader) read() (Recording, error) {
	var rec Recording
	if err := r.header(&rec.Header); err != nil {
		return rec, err
	}
	for {
		line, err := r.line()
		if errors.Is(err, io.EOF) {
			return rec, r.fail("the recording ends here without its last line; the file is not whole", nil)
		}
		if err != nil {
			return rec, err
		}
		var e end
		var l Line
		if err := r.decode(line, &e); err != nil {
			return rec, err
		}
		if e.End != nil {
			break
		}
		if err := r.decode(line, &l); err != nil {
			return rec, err
		}
		known, err := r.check(l)
		if err != nil {
			return rec, err
		}
		if known {
			rec.Lines = append(rec.Lines, l)
		}
	}
	if _, err := r.line(); err == nil {
		return rec, r.fail("there is more behind the end of the recording", nil)
	} else if !errors.Is(err, io.EOF) {
		return rec, err
	}
	if !r.seen.root(rec.Header.Root) {
		return rec, r.fail(fmt.Sprintf("no line brings the root, the agent of session %s", rec.Header.Root), nil)
	}
	return rec, nil
}

func (r *reader) header(h *Header) error {
	line, err := r.line()
	if errors.Is(err, io.EOF) {
		r.n = 1
		return r.fail("the file is empty", nil)
	}
	if err != nil {
		return err
	}
	// What it is comes first: of another version nothing else can be relied on.
	var is struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(line, &is); err != nil || is.Format != Format {
		return r.fail(fmt.Sprintf("this is not a recording of Troupe's: its first line does not say \"format\":%q",
			Format), err)
	}
	if is.Version != Version {
		e := fmt.Errorf("format version %d: %w", is.Version, troupe.ErrNewer)
		if is.Version < Version {
			e = fmt.Errorf("format version %d is not one", is.Version)
		}
		return r.fail(fmt.Sprintf("the recording has format version %d; this version of Troupe reads %d", is.Version,
			Version), e)
	}
	if err := r.decode(line, h); err != nil {
		return err
	}
	if _, ok := troupe.ParseSessionID(string(h.Root)); !ok {
		return r.fail(fmt.Sprintf("%q is not the id of a session", h.Root), nil)
	}
	return nil
}

// line returns the next line without its end, or io.EOF.
func (r *reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			r.n++
			return nil, r.fail(fmt.Sprintf("the line is longer than %d MB", maxLine>>20), nil)
		}
		switch {
		case err == nil && line == nil:
			line = part // valid until the next read, which nobody makes before it is decoded
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) {
			if len(line) == 0 {
				return nil, io.EOF
			}
			r.n++
			return nil, r.fail("the file ends in the middle of this line", nil)
		}
		r.n++
		if err != nil {
			return nil, r.fail("the file cannot be read: "+err.Error(), err)
		}
		break
	}
	switch {
	case bytes.IndexByte(line, 0) >= 0:
		return nil, r.fail("the line holds a NUL byte", nil)
	case !utf8.Valid(line):
		return nil, r.fail("the line is not valid UTF-8", nil)
	}
	return line[:len(line)-1], nil
}

func (r *reader) decode(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return r.fail("the line cannot be understood: "+err.Error(), err)
	}
	return nil
}

// fail says what is wrong with the line in hand.
func (r *reader) fail(problem string, err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("%s:%d: %s", r.name, max(r.n, 1), problem),
		Hint:    "Make it anew with `troupe record`; `troupe docs recording` describes the form.",
		Code:    troupe.ExitUsage,
		Err:     err,
	}
}

// seen is what earlier lines have said.
type seen struct {
	agents map[string]troupe.SessionID
	tools  map[toolKey]bool
	forks  map[string]bool // that have made no call yet
}

func newSeen() *seen {
	return &seen{agents: make(map[string]troupe.SessionID), tools: make(map[toolKey]bool),
		forks: make(map[string]bool)}
}

// check holds a line to what the player relies on. A line of an unknown kind is left out.
func (r *reader) check(l Line) (known bool, err error) {
	n := 0
	for _, set := range [...]bool{l.Agent != nil, l.Call != nil, l.Tool != nil, l.Mail != nil, l.Folder != nil} {
		if set {
			n++
		}
	}
	var problem string
	switch {
	case n == 0:
		return false, nil
	case n > 1:
		problem = "the line is more than one of agent, call, tool, mail and folder"
	case l.Agent != nil:
		problem = r.seen.agent(l.Agent)
	case l.Call != nil:
		problem = r.seen.call(l.Call)
	case l.Tool != nil:
		problem = r.seen.tool(l.Tool)
	case l.Folder != nil:
		problem = r.seen.known(l.Folder.Agent)
	default:
		problem = r.seen.known(l.Mail.Agent)
	}
	if problem != "" {
		return false, r.fail(problem, nil)
	}
	return true, nil
}

func (s *seen) root(id troupe.SessionID) bool {
	for _, have := range s.agents {
		if have == id {
			return true
		}
	}
	return false
}

func (s *seen) known(path string) string {
	if _, ok := s.agents[path]; !ok {
		return fmt.Sprintf("no line before this one brings an agent %q", path)
	}
	return ""
}

func (s *seen) agent(a *Agent) string {
	if a.Path == "" || a.Session == "" {
		return "the agent has no path or no session"
	}
	if _, ok := s.agents[a.Path]; ok {
		return fmt.Sprintf("the agent %q is born a second time", a.Path)
	}
	s.agents[a.Path] = a.Session
	if a.Fork {
		s.forks[a.Path] = true
	}
	return ""
}

func (s *seen) call(c *Call) string {
	switch {
	case c.Reply < 1:
		return fmt.Sprintf("the call asks for reply %d; they begin at 1", c.Reply)
	case (c.Said == nil) == (c.Failed == nil):
		return "the call has both said and failed, or neither"
	}
	of := s.forks[c.Agent]
	delete(s.forks, c.Agent) // from the second call on it sends its own
	for _, m := range c.Messages {
		for _, b := range m.Blocks {
			if !of && b.Result != nil && !s.tools[toolKey{c.Agent, b.Result.Reply, b.Result.Call}] {
				return fmt.Sprintf("%q sends the result of call %d of reply %d, and no line before this one has that "+
					"result",
					c.Agent, b.Result.Call, b.Result.Reply)
			}
		}
	}
	return s.known(c.Agent)
}

func (s *seen) tool(t *Tool) string {
	key := toolKey{t.Agent, t.Reply, t.Call}
	if s.tools[key] {
		return fmt.Sprintf("call %d of reply %d of %q has a second result", t.Call, t.Reply, t.Agent)
	}
	s.tools[key] = true
	return s.known(t.Agent)
}
