package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// all reads every event of a stream.
func all(src io.Reader, limit int) ([]string, error) {
	r := Reader{Src: src, Buf: make([]byte, 8), Limit: limit}
	var out []string
	for {
		data, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                      "",
		"data: a\n\ndata:b\n\n":                 "a|b",
		"data: a\r\n\r\ndata: b\r\rdata: c\n\n": "a|b|c",
		"data: a\ndata: b\ndata\n\n":            "a\nb\n",
		"event: x\nid: 1\ndata: a\n\n: c\n\nretry: 1\n\n": "a",
		"\ufeffdata: a\n\n":                             "a",
		"data:  two spaces\n\ndatum: no\n\n":            " two spaces",
		"data: a\n\ndata: cut":                          "a",
		"data: a\n\ndata: cut\n":                        "a",
		"data: " + strings.Repeat("long ", 99) + "\n\n": strings.Repeat("long ", 99),
	} {
		for name, src := range map[string]io.Reader{
			"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in)),
			"EOF at once": iotest.DataErrReader(strings.NewReader(in)),
		} {
			if got, err := all(src, 1<<10); strings.Join(got, "|") != want || !errors.Is(err, io.EOF) {
				t.Errorf("%q, %s: %q, %v, want %q", in, name, got, err, want)
			}
		}
	}
	if _, err := all(strings.NewReader(strings.Repeat("x", 100)), 99); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// FuzzReader: how a stream is cut into reads makes no difference.
func FuzzReader(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\n\n"))
	f.Add([]byte("\ufeffdata\n\n\rdata: \xff\r\r: c\n\ndata: cut"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := all(bytes.NewReader(in), 1<<20)
		pieces, err2 := all(iotest.OneByteReader(bytes.NewReader(in)), 1<<20)
		if strings.Join(whole, "|") != strings.Join(pieces, "|") || !errors.Is(err, io.EOF) ||
			!errors.Is(err2, io.EOF) {
			t.Errorf("at once: %q, %v; by bytes: %q, %v", whole, err, pieces, err2)
		}
	})
}
