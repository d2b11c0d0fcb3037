package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// Request is one request as the server received it. It is cut into pieces; what is in the
// pieces is decoded by its methods, when asked for.
type Request struct {
	Number    int // 1 for the first the server received
	Header    http.Header
	Body      []byte
	Model     string
	Messages  []json.RawMessage // without the system prompt
	Turn      int               // replies the conversation already has, plus 1
	api       API
	system    []byte
	tools     []byte
	maxTokens []byte
	stream    bool
}

func parse(api API, body []byte) (*Request, error) {
	r := &Request{Body: body, Turn: 1, api: api}
	ok := jscan.Object(body, func(k, v []byte) bool {
		switch string(k) {
		case "model":
			r.Model = unquote(v)
		case "system", "instructions":
			r.system = v
		case "tools":
			r.tools = v
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			r.maxTokens = v
		case "stream":
			r.stream = string(v) == "true"
		case "messages", "input":
			jscan.Array(v, func(m []byte) bool {
				if role(m) == "system" && api == OpenAI && len(r.Messages) == 0 && len(r.system) == 0 {
					r.system, _ = jscan.Get(m, "content")
					return true
				}
				// A reply is one message, or several items.
				goesOn := api == Responses && len(r.Messages) > 0 && r.byModel(r.Messages[len(r.Messages)-1])
				r.Messages = append(r.Messages, m)
				if r.byModel(m) && !goesOn {
					r.Turn++
				}
				return true
			})
		}
		return true
	})
	if !ok {
		return nil, errors.New("the body is not a JSON object")
	}
	return r, nil
}

// byModel reports whether a message is the model's, or part of a reply.
func (r *Request) byModel(m []byte) bool {
	if r.api != Responses {
		return role(m) == "assistant"
	}
	return role(m) == "assistant" || kindOf(m) != "message" && kindOf(m) != "function_call_output"
}

// check holds the request to rules that the real service has and that a harness breaks
// when its history is damaged. Of the conversation it looks at the end only: the rest was
// the end of an earlier request.
func (r *Request) check() error {
	switch r.api {
	case OpenAI:
		return r.checkChat()
	case Responses:
		return r.checkResponses()
	case Anthropic:
	}
	switch {
	case r.Model == "":
		return errors.New("model: field required")
	case !r.stream:
		return errors.New("stream: this server only streams")
	case len(r.maxTokens) == 0 || string(r.maxTokens) == "0":
		return errors.New("max_tokens: must be positive")
	case len(r.Messages) == 0:
		return errors.New("messages: at least one message is required")
	case role(r.Messages[len(r.Messages)-1]) != "user":
		return errors.New("messages: the last one must be the user's")
	}
	if n := r.CacheMarks(); n > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided; found %d", n)
	}
	var asked []string
	for i := max(0, len(r.Messages)-4); i < len(r.Messages); i++ {
		if !json.Valid(r.Messages[i]) {
			return fmt.Errorf("messages.%d: not valid JSON", i)
		}
		var err error
		if asked, err = checkMessage(r.Messages[i], asked, i == max(0, len(r.Messages)-4)); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	return nil
}

// checkMessage checks one message against the calls that the one before it made, and
// returns the calls that it makes itself.
func checkMessage(m []byte, asked []string, first bool) (calls []string, err error) {
	answered := map[string]int{}
	n := 0
	blocks(m, func(kind string, b []byte) {
		n++
		switch kind {
		case "text":
			if t, _ := jscan.Get(b, "text"); strings.TrimSpace(unquote(t)) == "" && err == nil {
				err = errors.New("text content blocks must be non-empty")
			}
		case "tool_use":
			id, _ := jscan.Get(b, "id")
			if slices.Contains(calls, unquote(id)) && err == nil {
				err = fmt.Errorf("tool_use ids must be unique; %s is there twice", id)
			}
			calls = append(calls, unquote(id))
			if in, _ := jscan.Get(b, "input"); (len(in) == 0 || in[0] != '{') && err == nil {
				err = errors.New("tool_use.input: must be an object")
			}
		case "tool_result":
			id, _ := jscan.Get(b, "tool_use_id")
			answered[unquote(id)]++
		}
	})
	if n == 0 && err == nil {
		err = errors.New("content must not be empty")
	}
	if first && len(asked) == 0 {
		return calls, err // what it answers is out of sight
	}
	for _, id := range asked {
		if answered[id] != 1 && err == nil {
			err = fmt.Errorf("tool_use %q has %d tool_result blocks in the message after it; it must have one", id,
				answered[id])
		}
		delete(answered, id)
	}
	for id := range answered {
		if err == nil {
			err = fmt.Errorf("unexpected tool_use_id %q: no call of that name in the message before", id)
		}
	}
	return calls, err
}

// CacheMarks counts the request's cache marks.
func (r *Request) CacheMarks() int {
	n := 0
	count := func(v []byte) bool {
		if _, ok := jscan.Get(v, "cache_control"); ok {
			n++
		}
		return true
	}
	count(r.Body)
	jscan.Array(r.tools, count)
	jscan.Array(r.system, count)
	for _, m := range r.Messages {
		if !bytes.Contains(m, []byte(`"cache_control"`)) {
			continue
		}
		blocks(m, func(_ string, b []byte) { count(b) })
	}
	return n
}

// System is the text of the system prompt.
func (r *Request) System() string {
	if len(r.system) > 0 && r.system[0] == '"' {
		return unquote(r.system)
	}
	return texts(r.system)
}

// Tools are the names of the tools offered.
func (r *Request) Tools() []string {
	var out []string
	jscan.Array(r.tools, func(t []byte) bool {
		if f, ok := jscan.Get(t, "function"); ok && r.api == OpenAI {
			t = f
		}
		v, _ := jscan.Get(t, "name")
		out = append(out, unquote(v))
		return true
	})
	return out
}

// FirstText is the text of the first message, LastText of the last: of its text blocks and
// of the results in it.
func (r *Request) FirstText() string { return r.text(0) }

// LastText is the text of the last message. Where results are messages of their own, it is
// the text of all that came since the model last spoke.
func (r *Request) LastText() string {
	if r.api == Anthropic {
		return r.text(len(r.Messages) - 1)
	}
	from := len(r.Messages)
	for from > 0 && !r.byModel(r.Messages[from-1]) {
		from--
	}
	var out []string
	for ; from < len(r.Messages); from++ {
		out = append(out, r.text(from))
	}
	return strings.Join(out, "\n")
}

func (r *Request) text(i int) string {
	if i < 0 || i >= len(r.Messages) {
		return ""
	}
	content, _ := jscan.Get(r.Messages[i], "content")
	if output, ok := jscan.Get(r.Messages[i], "output"); ok && r.api == Responses {
		content = output
	}
	if len(content) > 0 && content[0] == '"' {
		return unquote(content)
	}
	return texts(content)
}

func texts(list []byte) string {
	var out []string
	jscan.Array(list, func(b []byte) bool {
		if t, ok := jscan.Get(b, "text"); ok {
			out = append(out, unquote(t))
		}
		if c, ok := jscan.Get(b, "content"); ok {
			out = append(out, texts(c))
		}
		return true
	})
	return strings.Join(out, "\n")
}

func blocks(m []byte, fn func(kind string, b []byte)) {
	content, _ := jscan.Get(m, "content")
	if len(content) > 0 && content[0] == '"' {
		fn("text", append(append([]byte(`{"text":`), content...), '}'))
		return
	}
	jscan.Array(content, func(b []byte) bool {
		k, _ := jscan.Get(b, "type")
		fn(unquote(k), b)
		return true
	})
}

func kindOf(m []byte) string {
	v, _ := jscan.Get(m, "type")
	return unquote(v)
}

func role(m []byte) string {
	v, _ := jscan.Get(m, "role")
	return unquote(v)
}

func unquote(v []byte) string {
	s, _ := jscan.AppendUnquoted(nil, v)
	return string(s)
}
