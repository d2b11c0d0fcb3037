package modeltest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func postChat(t testing.TB, s *Server, messages string) (int, string) {
	t.Helper()
	body := messages
	if !strings.HasPrefix(body, `{"m`) { // not a whole body
		body = `{"model":"m","max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"A"}}],"messages":[` + messages + `]}`
	}
	res, err := client(t).Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const (
	chatSystem = `{"role":"system","content":"sys"}`
	chatUser   = `{"role":"user","content":"hello"}`
	chatCall   = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"A","arguments":"{}"}}]}`
	chatResult = `{"role":"tool","tool_call_id":"c1","content":"found"}`
)

func TestChatServer(t *testing.T) {
	t.Parallel()
	s := NewOpenAI(func(r *Request) Reply {
		if r.System() != "sys" || r.FirstText() != "hello" || r.Model != "m" || fmt.Sprint(r.Tools()) != "[A]" {
			return Fail(500, "api_error", fmt.Sprintf("%q %q %q", r.System(), r.FirstText(), r.Tools()))
		}
		return Text(fmt.Sprintf("turn %d after %q", r.Turn, r.LastText()))
	}, Options{})
	defer s.Close()
	if code, text := postChat(t, s, chatSystem+","+chatUser); code != 200 || !strings.Contains(text, "turn 1") ||
		!strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := postChat(t, s, chatSystem+","+chatUser+","+chatCall+","+chatResult+
		`,{"role":"user","content":[{"type":"text","text":"go on"}]}`); code != 200 ||
		!strings.Contains(text, "turn 2") {
		t.Errorf("%d %s", code, text)
	}
	if last := s.Requests()[1]; last.LastText() != "found\ngo on" || len(last.Messages) != 4 {
		t.Errorf("last %q of %d", last.LastText(), len(last.Messages))
	}
	if err := s.Err(); err != nil {
		t.Errorf("nothing was broken: %v", err)
	}
}

// TestChatRules: what strict servers refuse, or forget their cache over, is refused.
func TestChatRules(t *testing.T) {
	t.Parallel()
	twice := strings.Replace(chatCall, `"tool_calls":[`,
		`"tool_calls":[{"id":"c1","type":"function","function":{"name":"A","arguments":"{}"}},`, 1)
	for messages, want := range map[string]string{
		`{"messages":[` + chatUser + `]}`:                                          "provide a model",
		`{"model":"m","max_tokens":9,"stream":true,"messages":[` + chatUser + `]}`: "tells usage",
		chatUser + "," + chatCall:                                                  "have no result",
		chatUser + "," + chatCall + "," + chatUser: "must be followed by " +
			"tool messages",
		chatUser + "," + chatCall + "," + chatResult + "," + chatResult:                  "answers no call",
		chatUser + "," + chatResult:                                                      "answers no call",
		chatUser + "," + twice + "," + chatResult:                                        "used before",
		chatUser + "," + chatCall + "," + chatResult + "," + chatCall + "," + chatResult: "used before",
		chatUser + "," + strings.Replace(chatCall, `"{}"`, `"{"`, 1) + "," +
			chatResult: "invalid tool call arguments",
		chatUser + "," + strings.Replace(chatCall, `"{}"`, `"null"`, 1) + "," +
			chatResult: "invalid tool call arguments",
		chatUser + "," + strings.Replace(chatCall, `"A"`, `"A b"`, 1) + "," + chatResult:  "does not match",
		chatUser + "," + chatCall + "," + strings.Replace(chatResult, `"found"`, `""`, 1): "must not be empty",
		chatUser + "," + chatCall + "," + strings.Replace(chatResult, `"found"`, `[]`, 1): "must be text",
		chatUser + `,{"role":"assistant","content":null},` + chatUser:                     "must not be empty",
		chatUser + "," + chatSystem:                      "has no place",
		`{"role":"user","content":" "}`:                  "must not be empty",
		chatUser + `,{"role":"assistant","content":"x"}`: "by \"assistant\"",
		`{"role":"user","content":"a",}`:                 "could not parse",
	} {
		s := NewOpenAI(func(*Request) Reply { return Text("x") }, Options{Midway: true})
		code, text := postChat(t, s, messages)
		if code != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), want) ||
			s.Err() == nil {
			t.Errorf("%s\n%d %s, want %q", messages, code, text, want)
		}
		s.Close()
	}
	s := NewOpenAI(func(*Request) Reply { return Text("x") }, Options{})
	defer s.Close()
	if code, text := postChat(t, s, chatSystem+","+chatUser); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	code, text := postChat(t, s, chatSystem+`,{"role":"user","content":"hallo"},{"role":"assistant","content":"x"},`+
		chatUser)
	if code != http.StatusBadRequest || !strings.Contains(text, "prefix rule") {
		t.Errorf("another beginning: %d %s", code, text)
	}
}
