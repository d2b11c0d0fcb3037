package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// call is one tool call on its way.
type call struct {
	at    int // its place among the calls of the reply
	index int // the server's; -1 if it gave none
	id    string
	name  []byte
	args  []byte
}

// fragment is a piece of a call, as a chunk has it.
type fragment struct {
	index    int
	id, name string
	args     []byte // still quoted
}

func readFragment(c []byte) fragment {
	f := fragment{index: -1}
	jscan.Object(c, func(k, v []byte) bool {
		switch string(k) {
		case "index":
			if n, err := strconv.Atoi(string(v)); err == nil {
				f.index = n
			}
		case "id":
			f.id = unquote(v)
		case "function":
			jscan.Object(v, func(k, v []byte) bool {
				switch string(k) {
				case "name":
					f.name = unquote(v)
				case "arguments":
					if present(v) && string(v) != `""` {
						f.args = v
					}
				}
				return true
			})
		}
		return true
	})
	return f
}

// call takes in a piece of a tool call.
func (a *accumulator) call(piece []byte) error {
	a.pieces++
	f := readFragment(piece)
	c, err := a.callOf(f)
	if err != nil {
		return err
	}
	if c.id == "" && f.id != "" {
		c.id = f.id
		a.latest.note(c.index, f.id, c.at)
	}
	if f.name != "" && string(c.name) != f.name && len(c.args) == 0 {
		unnamed := len(c.name) == 0
		c.name = append(c.name, f.name...) // a name may come in pieces, too
		if unnamed && a.sink != nil {
			a.sink(model.Delta{Tool: f.name})
		}
	}
	if len(f.args) == 0 {
		return nil
	}
	if f.args[0] == '{' { // arguments that are not even quoted
		c.args = append(c.args, f.args...)
		return nil
	}
	var ok bool
	if c.args, ok = jscan.AppendUnquoted(c.args, f.args); !ok {
		return fmt.Errorf("the arguments of a call: %s is not a string", upstream.Clip(f.args))
	}
	return nil
}

// callOf finds the call that a piece belongs to, or begins another. By the API, index says
// it. But there are servers that leave index out, or count every call 0, or call every
// first call call_0; some repeat id and name with each piece, and some send a whole call
// in one. What they have in common: whoever begins a call names its tool.
func (a *accumulator) callOf(f fragment) (*call, error) {
	c := a.find(f)
	if c == nil || (f.name != "" && begins(c, f)) {
		if err := a.begin(block{kind: troupe.CallBlock, call: len(a.calls)}); err != nil {
			return nil, err
		}
		a.calls = append(a.calls, call{at: len(a.calls), index: f.index})
		c = &a.calls[len(a.calls)-1]
		a.latest.note(c.index, "", c.at)
	}
	return c, nil
}

// latest is where the latest call of each index and of each id stands: looking for it among ten thousand, ten
// thousand times, would take seconds.
type latest struct {
	index map[int]int
	id    map[string]int
}

func (l *latest) note(index int, id string, at int) {
	if l.index == nil {
		l.index, l.id = make(map[int]int), make(map[string]int)
	}
	if index >= 0 {
		l.index[index] = max(at, l.index[index])
	}
	if id != "" {
		l.id[id] = max(at, l.id[id])
	}
}

// find is the latest call with the piece's index, else its id, else the latest of all.
func (a *accumulator) find(f fragment) *call {
	at, ok := a.latest.index[f.index]
	if f.index < 0 {
		at, ok = a.latest.id[f.id]
	}
	if ok {
		return &a.calls[at]
	}
	if n := len(a.calls); n > 0 && f.index < 0 && (f.id == "" || f.name == "") {
		return &a.calls[n-1]
	}
	return nil
}

// begins reports whether a piece that names a tool is the beginning of another call than c.
func begins(c *call, f fragment) bool {
	whole := len(c.args) > 0 && json.Valid(c.args)
	otherID := f.id != "" && c.id != "" && f.id != c.id
	otherName := len(c.name) > 0 && string(c.name) != f.name
	switch {
	case whole && len(f.args) > 0: // nothing goes on behind a whole value
		return true
	case otherID:
		return whole || otherName
	case otherName:
		return f.index < 0 || len(c.args) > 0
	default:
		return false
	}
}

// named gives our own index to each call that came to be one: a piece without a name and
// without arguments, which some servers send, did not.
func (a *accumulator) named() map[int]int {
	if len(a.calls) == 0 {
		return nil
	}
	out := make(map[int]int, len(a.calls))
	for i := range a.calls {
		if c := &a.calls[i]; len(c.name) > 0 || len(c.args) > 0 {
			out[i] = len(out)
		}
	}
	return out
}

// input is the arguments as the model wrote them; a call without any has an empty object.
func (c *call) input() string {
	if len(bytes.TrimSpace(c.args)) == 0 {
		return "{}"
	}
	return string(c.args)
}
