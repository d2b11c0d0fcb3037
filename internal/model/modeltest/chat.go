package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// chunks is the reply as the events of Chat Completions. As some servers do, it tells with
// the first chunk what has been read, so that the cost of a reply that is cut is known.
func (r Reply) chunks(req *Request) []byte {
	b := make([]byte, 0, 1024+8*len(r.Text)+8*len(r.Thinking))
	chunk := func(delta, finish string, used []byte) {
		b = append(b, `data: {"id":"chatcmpl-`...)
		b = strconv.AppendInt(b, int64(req.Number), 10)
		b = append(b, `","object":"chat.completion.chunk","created":1,"model":`...)
		b = jscan.AppendQuoted(b, req.Model)
		b = append(b, `,"choices":[`...)
		if delta != "" {
			b = append(append(b, `{"index":0,"delta":`...), delta...)
			b = append(append(append(b, `,"logprobs":null,"finish_reason":`...), finish...), '}')
		}
		b = append(append(append(b, `],"usage":`...), used...), "}\n\n"...)
	}
	const goesOn = "null"
	chunk(`{"role":"assistant","content":"","refusal":null}`, goesOn, r.usage(0))
	b = append(b, ": keep-alive\n\n"...)
	say := func(field, text string) {
		pieces(text, func(piece string) {
			chunk(`{"`+field+`":`+string(jscan.AppendQuoted(nil, piece))+`}`, goesOn, []byte(goesOn))
		})
	}
	say("reasoning_content", r.Thinking)
	say("content", r.Text)
	for i, c := range r.Calls {
		id := c.ID
		if id == "" {
			id = "call_" + strconv.Itoa(i)
		}
		at := `{"tool_calls":[{"index":` + strconv.Itoa(i)
		chunk(at+`,"id":`+string(jscan.AppendQuoted(nil, id))+`,"type":"function","function":{"name":`+
			string(jscan.AppendQuoted(nil, c.Name))+`,"arguments":""}}]}`, goesOn, []byte(goesOn))
		pieces(c.Input, func(piece string) {
			chunk(at+`,"function":{"arguments":`+string(jscan.AppendQuoted(nil, piece))+`}}]}`, goesOn, []byte(goesOn))
		})
	}
	if r.ErrorType != "" {
		return append(r.openAIError(append(b, "data: "...)), "\n\n"...)
	}
	chunk(`{}`, strconv.Quote(r.finish()), []byte(goesOn))
	chunk("", "", r.usage(r.Usage.Output))
	return append(b, "data: [DONE]\n\n"...)
}

// finish is why the reply ends, in the words of Chat Completions.
func (r Reply) finish() string {
	switch r.Stop {
	case "":
		if len(r.Calls) > 0 {
			return "tool_calls"
		}
		return "stop"
	case "end_turn":
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "max_tokens":
		return "length"
	case "refusal":
		return "content_filter"
	default:
		return r.Stop
	}
}

func (r Reply) usage(output int64) []byte {
	u := r.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return fmt.Appendf(nil,
		`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}}`,
		prompt, output, prompt+output, u.CacheRead, u.CacheWrite)
}

// openAIError is the reply's failure as OpenAI words it. Handlers name failures as
// Anthropic does; a name that it does not have is taken for OpenAI's own type, with the
// code behind a slash: "invalid_request_error/context_length_exceeded".
func (r Reply) openAIError(b []byte) []byte {
	kind, code, _ := strings.Cut(r.ErrorType, "/")
	switch kind {
	case "overloaded_error", "api_error", "timeout_error":
		kind = "server_error"
	case "rate_limit_error":
		kind, code = "requests", "rate_limit_exceeded"
	case "authentication_error", "permission_error":
		kind, code = "invalid_request_error", "invalid_api_key"
	case "not_found_error":
		kind, code = "invalid_request_error", "model_not_found"
	case "invalid_request_error":
		if strings.HasPrefix(r.ErrorMessage, "prompt is too long") {
			code = "context_length_exceeded"
		}
	}
	b = jscan.AppendQuoted(append(b, `{"error":{"message":`...), r.ErrorMessage)
	b = jscan.AppendQuoted(append(b, `,"type":`...), kind)
	b = append(b, `,"param":null,"code":`...)
	if code == "" {
		b = append(b, `null`...)
	} else {
		b = jscan.AppendQuoted(b, code)
	}
	return append(b, `}}`...)
}

// checkChat holds a request to the rules of Chat Completions, and to those of the
// strictest servers that speak it.
func (r *Request) checkChat() error {
	var options []byte
	jscan.Object(r.Body, func(k, v []byte) bool {
		if string(k) == "stream_options" {
			options = v
		}
		return true
	})
	usage, _ := jscan.Get(options, "include_usage")
	switch {
	case r.Model == "":
		return errors.New("you must provide a model parameter")
	case !r.stream || string(usage) != "true":
		return errors.New("stream: this server only streams, and tells usage")
	case len(r.maxTokens) == 0 || string(r.maxTokens) == "0":
		return errors.New("max_tokens: must be positive")
	case len(r.Messages) == 0:
		return errors.New("messages: at least one message is required")
	case !json.Valid(r.Body):
		return errors.New("could not parse the JSON body of your request")
	}
	seen := map[string]bool{}
	open := map[string]bool{} // calls that wait for their results
	for i, m := range r.Messages {
		if err := checkChatMessage(m, seen, open); err != nil {
			return fmt.Errorf("messages.[%d]: %w", i, err)
		}
	}
	if who := role(r.Messages[len(r.Messages)-1]); len(open) > 0 || who == "assistant" {
		return fmt.Errorf("messages: the last one is by %q, and %d calls have no result", who, len(open))
	}
	return nil
}

func checkChatMessage(m []byte, seen, open map[string]bool) error {
	content, _ := jscan.Get(m, "content")
	who := role(m)
	if who != "tool" && len(open) > 0 {
		return fmt.Errorf("an assistant message with 'tool_calls' must be followed by tool messages responding to "+
			"each; %d are missing", len(open))
	}
	switch who {
	case "user":
		return checkContent(content)
	case "tool":
		id, _ := jscan.Get(m, "tool_call_id")
		if !open[unquote(id)] {
			return fmt.Errorf("tool_call_id %s answers no call of the message before, or answers it again", id)
		}
		delete(open, unquote(id))
		if len(content) == 0 || content[0] != '"' {
			return errors.New("the content of a tool message must be text")
		}
		return checkContent(content)
	case "assistant":
		calls, _ := jscan.Get(m, "tool_calls")
		if len(calls) == 0 {
			return checkContent(content)
		}
		if string(content) != "null" {
			if err := checkContent(content); err != nil {
				return err
			}
		}
		return checkCalls(calls, seen, open)
	default:
		return fmt.Errorf("role %q has no place here", who)
	}
}

func checkContent(content []byte) error {
	if len(content) > 0 && content[0] == '"' && strings.TrimSpace(unquote(content)) == "" || string(content) == "[]" ||
		string(content) == "null" || len(content) == 0 {
		return errors.New("content must not be empty")
	}
	return nil
}

func checkCalls(calls []byte, seen, open map[string]bool) error {
	var err error
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	ok := jscan.Array(calls, func(c []byte) bool {
		id, _ := jscan.Get(c, "id")
		f, _ := jscan.Get(c, "function")
		tool, _ := jscan.Get(f, "name")
		args, _ := jscan.Get(f, "arguments")
		var object map[string]any
		switch {
		case unquote(id) == "" || seen[unquote(id)]:
			err = fmt.Errorf("tool call id %s is missing or used before", id)
		case !name.MatchString(unquote(tool)):
			err = fmt.Errorf("function name %s does not match the pattern", tool)
		case json.Unmarshal([]byte(unquote(args)), &object) != nil || object == nil:
			err = fmt.Errorf("invalid tool call arguments: %s", args)
		}
		seen[unquote(id)], open[unquote(id)] = true, true
		return err == nil
	})
	if err == nil && (!ok || len(open) == 0) {
		err = errors.New("tool_calls must be a list that is not empty")
	}
	return err
}
