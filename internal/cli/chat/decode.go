package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// order is one line of stream-json input.
type order struct {
	Type    string         `json:"type"` // user, answer, stop, compact, end
	Text    string         `json:"text"`
	Images  []troupe.Image `json:"images"`
	Cancel  bool           `json:"cancel"` // user: stop after the step it is in
	Request string         `json:"request"`
	Allow   *bool          `json:"allow"`
	Session bool           `json:"session"` // answer: from now on, for the whole tree
	Wider   bool           `json:"wider"`   // answer: for the whole folder
	Always  bool           `json:"always"`  // answer: and written down for this folder
	Note    string         `json:"note"`
	Now     bool           `json:"now"`
	Hint    string         `json:"hint"`
	Message *foreign       `json:"message"` // user: as Claude Code's programs write it
}

// foreign is a message in the form of Anthropic's API.
type foreign struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or blocks
}

// foreignBlock is a block of a foreign message.
type foreignBlock struct {
	Type         string          `json:"type"` // text, image
	Text         string          `json:"text"`
	Source       *foreignSource  `json:"source"`
	CacheControl json.RawMessage `json:"cache_control"` // no matter here
}

type foreignSource struct {
	Type      string `json:"type"` // base64
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// fields are what a line of each type may have besides its type.
func fields(kind string, foreign bool) ([]string, bool) {
	switch kind {
	case orderUser:
		if foreign {
			return []string{"message", "cancel", "session_id", "parent_tool_use_id", "uuid"}, true
		}
		return []string{"text", "images", "cancel", "message"}, true
	case orderAnswer:
		return []string{"request", "allow", "session", "wider", "always", "note"}, true
	case orderStop:
		return []string{"now"}, true
	case orderCompact:
		return []string{"hint"}, true
	case orderEnd:
		return nil, true
	}
	return nil, false
}

// Kinds of order.
const (
	orderUser    = "user"
	orderAnswer  = "answer"
	orderStop    = "stop"
	orderCompact = "compact"
	orderEnd     = "end"
)

// maxOrder bounds a line of stream-json input.
const maxOrder = 16 << 20

// orders reads lines of stream-json, one after the other.
type orders struct {
	r    *bufio.Reader
	line int
}

func newOrders(r io.Reader) *orders { return &orders{r: bufio.NewReaderSize(r, 64<<10)} }

// badLine is a line that is no order. Those behind it are read as ever.
type badLine struct {
	line    int
	problem string
}

func (e *badLine) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.problem) }

// next reads an order. The error is a *badLine, io.EOF, or what the reader said.
func (o *orders) next() (order, error) {
	for {
		line, long, err := o.read()
		if len(line) == 0 && !long && err != nil {
			return order{}, err
		}
		o.line++
		switch {
		case long:
			return order{}, &badLine{o.line, fmt.Sprintf("the line is longer than %d MB", maxOrder>>20)}
		case err != nil && !errors.Is(err, io.EOF):
			return order{}, err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		ord, problem := decodeOrder(line)
		if problem != "" {
			return order{}, &badLine{o.line, problem}
		}
		return ord, nil
	}
}

// read reads a line, and passes over the rest of one that is too long.
func (o *orders) read() (line []byte, long bool, err error) {
	for {
		part, err := o.r.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(part) > maxOrder:
			line, long = nil, true
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// decodeOrder reads one line strictly: a field that is misspelt, or belongs to another order,
// must not be taken for one that was left out.
func decodeOrder(line []byte) (order, string) {
	var ord order
	if !utf8.Valid(line) {
		return ord, "the line is not UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(line))
	var has map[string]json.RawMessage
	if err := d.Decode(&has); err != nil {
		return order{}, "not an order: " + strings.TrimPrefix(err.Error(), "json: ")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return order{}, "there is more than one value on the line"
	}
	if problem := checkFields(has); problem != "" {
		return order{}, problem
	}
	for _, theirs := range [...]string{"session_id", "parent_tool_use_id", "uuid"} {
		delete(has, theirs)
	}
	// Names were compared letter by letter; what is decoded is what was compared.
	known, err := json.Marshal(has)
	if err == nil {
		err = json.Unmarshal(known, &ord)
	}
	if err != nil {
		return order{}, "not an order: " + strings.TrimPrefix(err.Error(), "json: ")
	}
	if ord.Message != nil {
		if problem := ord.translate(); problem != "" {
			return order{}, problem
		}
	}
	if problem := ord.check(); problem != "" {
		return order{}, problem
	}
	return ord, ""
}

// checkFields refuses what the type of a line does not have. A type that is unknown is for
// check to tell.
func checkFields(has map[string]json.RawMessage) string {
	var kind string
	if err := json.Unmarshal(has["type"], &kind); err != nil {
		return "" // decoding says it
	}
	_, foreign := has["message"]
	may, ok := fields(kind, foreign)
	if !ok {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if name == "type" || slices.Contains(may, name) {
			continue
		}
		article := "a"
		if kind[0] == 'a' || kind[0] == 'e' {
			article = "an"
		}
		form := ""
		if foreign {
			form = ` with "message"`
		}
		list := "nothing else"
		if len(may) > 0 {
			list = strings.Join(may, ", ")
		}
		return fmt.Sprintf("%s %q line%s has no field %q; besides type it has %s", article, kind, form, name, list)
	}
	if p := has["parent_tool_use_id"]; len(p) > 0 && string(p) != "null" {
		return "parent_tool_use_id is for the words of sub-agents, and these are a person's; leave it out"
	}
	return ""
}

// translate takes the words and pictures out of a foreign message.
func (o *order) translate() string {
	m := o.Message
	if m.Role != orderUser {
		return fmt.Sprintf("the message has the role %q; there is user", m.Role)
	}
	if err := json.Unmarshal(m.Content, &o.Text); err == nil {
		return ""
	}
	var blocks []foreignBlock
	d := json.NewDecoder(bytes.NewReader(m.Content))
	d.DisallowUnknownFields()
	if err := d.Decode(&blocks); err != nil {
		return "the content of a message is a text or a list of text and image blocks: " +
			strings.TrimPrefix(err.Error(), "json: ")
	}
	var texts []string
	for i, b := range blocks {
		switch {
		case b.Type == "text" && b.Source == nil:
			texts = append(texts, b.Text)
		case b.Type == "image" && b.Source != nil && b.Source.Type == "base64" && b.Text == "":
			o.Images = append(o.Images, troupe.Image{MediaType: b.Source.MediaType, Data: b.Source.Data})
		default:
			return fmt.Sprintf("block %d has the type %q; there are text, and image with a base64 source", i, b.Type)
		}
	}
	o.Text = strings.Join(texts, "\n\n")
	return ""
}

// Said reads what a person says in a conversation over a pipe, without orders and commands.
// Lines that are no orders are passed over: the conversation passes over them too.
func Said(in io.Reader, stream bool) ([]string, error) {
	var out []string
	if !stream {
		r := bufio.NewScanner(in)
		r.Buffer(nil, maxOrder)
		for r.Scan() {
			line := strings.TrimRight(r.Text(), "\r")
			if _, _, command := parseCommand(line); !command && strings.TrimSpace(line) != "" {
				out = append(out, unescape(line))
			}
		}
		return out, r.Err()
	}
	for r := newOrders(in); ; {
		o, err := r.next()
		var bad *badLine
		switch {
		case errors.As(err, &bad):
		case errors.Is(err, io.EOF) || err == nil && o.Type == orderEnd:
			return out, nil
		case err != nil:
			return out, err
		case o.Type == orderUser:
			out = append(out, o.Text)
		}
	}
}

// IsAnswer reports whether a line would answer a request if one were open.
func IsAnswer(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	switch word {
	case "y", "yes", "s", "session", "a", "always", "n", "no", "v":
		return true
	}
	return hasWord(word, "n") || hasWord(word, "no")
}

func (o order) check() string {
	switch o.Type {
	case orderUser:
		if strings.TrimSpace(o.Text) == "" && len(o.Images) == 0 {
			return `a "user" line needs "text" or "images"`
		}
		if strings.ContainsRune(o.Text, 0) {
			return "the text holds a NUL character"
		}
		for i, img := range o.Images {
			switch img.MediaType {
			case "image/png", "image/jpeg", "image/gif", "image/webp":
			default:
				return fmt.Sprintf("image %d has the media type %q; "+
					"there are image/png, image/jpeg, image/gif and image/webp", i, img.MediaType)
			}
			if len(img.Data) == 0 {
				return fmt.Sprintf("image %d is empty", i)
			}
		}
	case orderAnswer:
		if o.Request == "" || o.Allow == nil {
			return `an "answer" line needs "request" and "allow"`
		}
	case orderStop, orderCompact, orderEnd:
	case "":
		return `there is no "type"; there are user, answer, stop, compact and end`
	default:
		return fmt.Sprintf("there is no type %q; there are user, answer, stop, compact and end", o.Type)
	}
	return ""
}
