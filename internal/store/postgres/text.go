package postgres

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// encoded marks a text that PostgreSQL cannot hold as it is.
const encoded = "\x01"

// storable is a text as it stands in the database.
func storable(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 && !strings.HasPrefix(text, encoded) {
		return text
	}
	return encoded + base64.StdEncoding.EncodeToString([]byte(text))
}

// restored is the text that storable made a text of.
func restored(text string) string {
	rest, ok := strings.CutPrefix(text, encoded)
	if !ok {
		return text
	}
	out, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return text // not ours: it stays readable
	}
	return string(out)
}
