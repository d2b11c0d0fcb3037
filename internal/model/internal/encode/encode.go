// Package encode holds what the encoders of several services share: pieces of requests
// that none of them may get wrong in a way of its own.
package encode

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// Nothing stands in for content that a service would refuse to be without.
const Nothing = "(nothing)"

// Room is about how many bytes the blocks of a message take, a few characters that must
// be escaped included. The bytes are kept for as long as the session lives.
func Room(blocks []troupe.Block) int {
	n := 64
	for _, bl := range blocks {
		n += 64 + len(bl.Text) + len(bl.Text)/16 + len(bl.Raw)
		if bl.Image != nil {
			n += 64 + base64.StdEncoding.EncodedLen(len(bl.Image.Data))
		}
		if bl.Call != nil {
			n += 64 + len(bl.Call.Name) + len(bl.Call.Input)
		}
		if bl.Result != nil {
			n += Room(bl.Result.Blocks)
		}
	}
	return n
}

// AppendInput appends a call's input as the JSON object that services demand: as the model
// wrote it if that is one, else an object that holds what it wrote.
func AppendInput(b []byte, input string) []byte {
	if isObject(input) {
		return append(b, input...)
	}
	return append(jscan.AppendQuoted(append(b, `{"unreadable_input":`...), input), '}')
}

func isObject(s string) bool {
	trimmed := strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(trimmed, "{") && utf8.ValidString(s) && json.Valid([]byte(s))
}

// ToolName makes a name of letters, digits, _ and -, not longer than most, of whatever a
// model has made up.
func ToolName(s string, most int) string {
	out := []byte(s[:min(len(s), most)])
	for i, c := range out {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "_"
	}
	return string(out)
}

// OwnID reports whether an id has the form of a service's own: the prefix and some twenty random letters and digits.
// Gateways and local servers give ids that repeat, such as call_0.
func OwnID(id, prefix string) bool {
	random, ok := strings.CutPrefix(id, prefix)
	if !ok || len(random) < 16 || len(random) > 64 {
		return false
	}
	for _, c := range []byte(random) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// AppendSchema appends a tool's schema without its white space, or none for one that has
// no schema.
func AppendSchema(b []byte, schema json.RawMessage, none string) ([]byte, error) {
	if len(schema) == 0 {
		return append(b, none...), nil
	}
	out := bytes.NewBuffer(b)
	if err := json.Compact(out, schema); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Body is one request, as the pieces it is made of. Nothing that the caller has cached is
// copied until it goes to the connection.
type Body [][]byte

// Size is the number of bytes.
func (b Body) Size() int64 {
	n := 0
	for _, piece := range b {
		n += len(piece)
	}
	return int64(n)
}

// Reader reads the pieces as one.
func (b Body) Reader() io.ReadCloser { return &bodyReader{rest: b} }

type bodyReader struct {
	rest Body
	off  int // into rest[0]
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.rest) > 0 {
		k := copy(p[n:], r.rest[0][r.off:])
		n += k
		if r.off += k; r.off == len(r.rest[0]) {
			r.rest, r.off = r.rest[1:], 0
		}
	}
	if len(r.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }
