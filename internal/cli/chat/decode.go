package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	Always  bool           `json:"always"`  // answer: and written down for this folder
	Note    string         `json:"note"`
	Now     bool           `json:"now"`
	Hint    string         `json:"hint"`
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

// decodeOrder reads one line strictly: a field that is misspelt must not be taken for one
// that was left out.
func decodeOrder(line []byte) (order, string) {
	var ord order
	if !utf8.Valid(line) {
		return ord, "the line is not UTF-8"
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&ord); err != nil {
		return order{}, "not an order: " + strings.TrimPrefix(err.Error(), "json: ")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return order{}, "there is more than one value on the line"
	}
	if problem := ord.check(); problem != "" {
		return order{}, problem
	}
	return ord, ""
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
				return fmt.Sprintf("image %d has the media type %q; there are image/png, image/jpeg, image/gif and image/webp", i, img.MediaType)
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
