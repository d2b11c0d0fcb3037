package modeltest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func post(t testing.TB, s *Server, body string) (int, string) {
	t.Helper()
	res, err := client(t).Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		text = append(text, " <"+err.Error()+">"...)
	}
	return res.StatusCode, string(text)
}

func client(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

const begin = `{"model":"m","max_tokens":9,"stream":true,"system":"sys","messages":[`

func TestServer(t *testing.T) {
	t.Parallel()
	s := NewAnthropic(func(r *Request) Reply {
		if r.System() != "sys" || r.FirstText() != "hello" || r.Model != "m" {
			return Fail(500, "api_error", fmt.Sprintf("%q %q", r.System(), r.FirstText()))
		}
		return Text(fmt.Sprintf("turn %d after %q", r.Turn, r.LastText()))
	}, Options{Keep: 1})
	defer s.Close()
	first := `{"role":"user","content":"hello"}`
	if code, text := post(t, s, begin+first+`]}`); code != 200 || !strings.Contains(text, `turn 1 after`) ||
		!strings.Contains(text, "message_stop") {
		t.Errorf("%d %s", code, text)
	}
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"r1c0","name":"A","input":{}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1c0","content":[{"type":"text","text":"found"}]},{"type":"text","text":"go on"}]}`
	if code, text := post(t, s, begin+first+","+call+","+result+`]}`); code != 200 ||
		!strings.Contains(text, "turn 2") {
		t.Errorf("%d %s", code, text)
	}
	if n := len(s.Requests()); n != 1 || s.Count() != 2 || s.Requests()[0].LastText() != "found\ngo on" {
		t.Errorf("%d kept of %d", n, s.Count())
	}
	if err := s.Err(); err != nil {
		t.Errorf("nothing was broken: %v", err)
	}
}

// TestRules: what the real service refuses, or forgets its cache over, is refused.
func TestRules(t *testing.T) {
	t.Parallel()
	user, call := `{"role":"user","content":"hello"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"r1c0","name":"A","input":{}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1c0","content":[]}]}`
	for body, want := range map[string]string{
		"":                               "not a JSON object",
		`{"messages":[` + user + `]}`:    "model: field required",
		`{"model":"m","messages":[]}`:    "no messages",
		begin + call + `]}`:              "the prefix rule is broken",
		begin + user + "," + call + `]}`: "the prefix rule is broken",
		`{"model":"m","max_tokens":9,"messages":[` + user +
			`]}`: "only streams",
		begin +
			`{"role":"user","content":[]}]}`: "must not be empty",
		begin +
			`{"role":"user","content":[{"type":"text","text":" "}]}]}`: "non-empty",
		begin +
			`{"role":"user","content":[{"type":"text","text":"a",}]}]}`: "not valid JSON",
		begin + strings.Repeat(`{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]},`, 5) + user +
			`]}`: "maximum of 4",
	} {
		s := NewAnthropic(func(*Request) Reply { return Text("x") }, Options{})
		code, text := post(t, s, body)
		if code != 400 || !strings.Contains(text, want) || s.Err() == nil {
			t.Errorf("%s\n%d %s, want %q", body, code, text, want)
		}
		s.Close()
	}
	for _, tt := range []struct{ last, want string }{
		{user, "has 0 tool_result blocks"},
		{strings.Replace(result, "r1c0", "r1c1", 1), "has 0 tool_result blocks"},
		{strings.Replace(result, `[{`, `[{"type":"tool_result","tool_use_id":"r9c9"},{`, 1), "unexpected tool_use_id"},
		{strings.Replace(result, `[{`, `[{"type":"tool_result","tool_use_id":"r1c0"},{`, 1),
			"has 2 tool_result blocks"},
		{result, ""},
	} {
		s := NewAnthropic(func(*Request) Reply { return Text("x") }, Options{})
		post(t, s, begin+user+`]}`)
		code, text := post(t, s, begin+user+","+call+","+tt.last+`]}`)
		if (code == 200) != (tt.want == "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want %q", tt.last, code, text, tt.want)
		}
		s.Close()
	}
}

// TestDamage: streams can be cut, ended early and stalled, and Close ends what is stalled.
func TestDamage(t *testing.T) {
	t.Parallel()
	body := begin + `{"role":"user","content":"hello"}]}`
	for _, tt := range []struct {
		reply Reply
		torn  bool
	}{
		{Reply{Text: "x", Cut: 50}, true}, {Reply{Text: "x", End: 50}, false},
		{Reply{Raw: []byte("data: 1\n\n"), Pieces: 3}, false},
	} {
		s := NewAnthropic(func(*Request) Reply { return tt.reply }, Options{})
		_, text := post(t, s, body)
		if torn := strings.Contains(text, "<"); torn != tt.torn || !tt.torn && len(text) > 60 {
			t.Errorf("%+v: %q", tt.reply, text)
		}
		s.Close()
	}
	s := NewAnthropic(func(*Request) Reply { return Reply{Text: "x", Stall: true} }, Options{})
	res, err := client(t).Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	s.Close()
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("a stalled stream ended as if it were whole")
	}
}

// BenchmarkServer is requests of an agent with 30 KB of history, checked, over real HTTP.
// The CPU time includes this bare client's.
func BenchmarkServer(b *testing.B) {
	s := NewAnthropic(func(*Request) Reply {
		return Reply{Text: "ok", Calls: []Call{{Name: "Read", Input: `{"a":1}`}}, Usage: troupe.Usage{Input: 1}}
	}, Options{Keep: -1, Midway: true})
	defer s.Close()
	var msgs []string
	for i := range 15 {
		msgs = append(msgs, `{"role":"user","content":"`+strings.Repeat("word ", 200)+`"}`,
			fmt.Sprintf(`{"role":"assistant","content":"%d %s"}`, i, strings.Repeat("said ", 200)))
	}
	body := []byte(begin + strings.Join(msgs, ",") + `,{"role":"user","content":"last"}]}`)
	c := client(b)
	before := used(b)
	b.SetBytes(int64(len(body)))
	b.ResetTimer()
	const clients = 8
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			for i := k; i < b.N; i += clients {
				res, err := c.Post(s.URL()+"/v1/messages", "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64((used(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	if err := s.Err(); err != nil {
		b.Error(err)
	}
}

func used(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
