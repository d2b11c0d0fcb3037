package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// JSON prints one value as a line of JSON.
func (c *Console) JSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = Verbatim(c.Out).Write(escaped(b.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// escaped is JSON that means the same, in which nothing stands that a terminal obeys or does not show: JSON is looked
// at there too, and the words in it may be anybody's.
func escaped(data []byte) []byte {
	if !slices.ContainsFunc(data, func(b byte) bool { return b >= utf8.RuneSelf || b == 0x7f }) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r >= 0x10000 && troupe.Unseen(r):
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		case r >= 0x7f && troupe.Unseen(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, data[i:i+n]...)
		}
		i += n
	}
	return out
}

// Events prints events as lines of JSON, as they stand in the log but for how characters are written.
func (c *Console) Events(events []troupe.Event) error {
	for _, e := range events {
		w, err := wire.NewEvent(e)
		if err == nil {
			err = c.JSON(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
