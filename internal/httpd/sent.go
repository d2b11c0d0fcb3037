package httpd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// format is JSON, of which what is sent has each field once: of one that stands there twice, also in other capitals,
// the one would be looked at, and the other taken.
func (o *operations) format() huma.Format {
	f := huma.DefaultJSONFormat
	read := f.Unmarshal
	f.Unmarshal = func(data []byte, v any) error {
		err := read(data, v)
		if _, whole := v.(*any); err != nil || !whole { // it is read as the type that it has, too
			return err
		}
		return o.once(json.NewDecoder(bytes.NewReader(data)))
	}
	return f
}

// free notes the fields of schemas that may hold anything.
func (o *operations) free(schemas map[string]*huma.Schema) {
	o.any = make(map[string]bool)
	for _, s := range schemas {
		for name, p := range s.Properties {
			if _, named := p.AdditionalProperties.(*huma.Schema); named || p.Type == "" && p.Ref == "" {
				o.any[name] = true
			}
		}
	}
}

// once reads a value of which no object has a field twice.
func (o *operations) once(d *json.Decoder) error {
	begin, err := d.Token()
	if end, opens := begin.(json.Delim); err != nil || !opens || end != '{' && end != '[' {
		return err
	}
	seen := make(map[string]bool)
	for err == nil && d.More() {
		var key json.Token
		if begin == json.Delim('{') {
			key, err = d.Token()
		}
		name, _ := key.(string)
		folded := strings.ToLower(strings.ToUpper(name)) // ſ and K, which JSON's reader takes for s and k, too
		twice := seen[folded] && key != nil
		seen[folded] = true
		switch {
		case err != nil:
		case twice:
			err = fmt.Errorf("the field %.100q stands there twice", name)
		case o.any[name]:
			err = d.Decode(new(json.RawMessage))
		default:
			err = o.once(d)
		}
	}
	if err == nil {
		_, err = d.Token()
	}
	return err
}

// reading is the body of a request. What cannot be read of it is the sender's doing, which called is told.
type reading struct {
	io.ReadCloser

	called *called
}

func (r *reading) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.called.unread = true
	}
	return n, err
}

// understandable refuses bodies that are packed, which nothing here unpacks.
func understandable(w http.ResponseWriter, r *http.Request) bool {
	packed := r.Header.Get("Content-Encoding")
	if packed == "" || strings.EqualFold(packed, "identity") {
		return true
	}
	writeProblem(w, problem(http.StatusUnsupportedMediaType, fmt.Sprintf("the body is %.50q, and nothing unpacks it",
		packed), "Send it as it is."))
	return false
}
