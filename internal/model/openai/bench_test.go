package openai

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// canned is a transport that answers at once, so that only the client's own work is seen.
type canned struct{ stream []byte }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c.stream)), Request: r}, err
}

// recording is the stream of a reply as the fake server sends it.
func recording(b *testing.B, reply modeltest.Reply) []byte {
	b.Helper()
	s := modeltest.NewOpenAI(always(reply), modeltest.Options{})
	defer s.Close()
	p := New(Options{BaseURL: s.URL()})
	r := ask(b, p, "go")
	tr := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: tr}).Post(s.URL()+"/v1/chat/completions", "application/json", body(r).Reader())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	stream, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return stream
}

// BenchmarkCall is one small streamed call without a network: encoding, reading, decoding.
func BenchmarkCall(b *testing.B) {
	stream := recording(b, modeltest.Reply{
		Text: "I will look at the three files that matter first.",
		Calls: []modeltest.Call{{Name: "Read", Input: `{"file_path":"a.go"}`},
			{Name: "Read", Input: `{"file_path":"b.go"}`}, {Name: "Read", Input: `{"file_path":"c.go"}`}},
		Usage: troupe.Usage{Input: 10, Output: 90, CacheRead: 5000},
	})
	p := New(Options{APIKey: testKey, Transport: canned{stream}})
	r := ask(b, p, "go")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeltas is a long reply: 1,000 deltas, shown as they come.
func BenchmarkDeltas(b *testing.B) {
	stream := recording(b, modeltest.Text(strings.Repeat("some words to be shown.\n", 1000)))
	p := New(Options{APIKey: testKey, Transport: canned{stream}})
	r := ask(b, p, "go")
	shown := 0
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if _, err := p.Stream(b.Context(), r, func(d model.Delta) { shown += len(d.Text) }); err != nil {
			b.Fatal(err)
		}
	}
}
