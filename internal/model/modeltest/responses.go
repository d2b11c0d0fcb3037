package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// responseEvents is the reply as the events of the Responses API. It tells with the first event what has been read,
// which the service itself does not, so that the cost of a reply that is cut is known.
func (r Reply) responseEvents(req *Request) []byte {
	w := responseWriter{number: req.Number, model: req.Model}
	w.event("response.created", `"response":`+w.response("in_progress", r.responseUsage(0), "null"))
	w.event("response.in_progress", `"response":`+w.response("in_progress", []byte("null"), "null"))
	w.b = append(w.b, ": keep-alive\n\n"...)
	if r.Thinking != "" {
		w.thought(r.Thinking)
	}
	if r.Text != "" {
		w.message(r.Text)
	}
	for i, c := range r.Calls {
		id := c.ID
		if id == "" {
			id = "call_" + strconv.Itoa(i)
		}
		w.call(id, c)
	}
	if r.ErrorType != "" {
		_, failure, _ := strings.Cut(string(r.openAIError(nil)), `"error":`)
		w.event("error", `"error":`+strings.TrimSuffix(failure, "}"))
		return w.b
	}
	status, why := "completed", "null"
	switch r.Stop {
	case "", "end_turn", "tool_use":
	case "max_tokens":
		status, why = "incomplete", `{"reason":"max_output_tokens"}`
	case "refusal":
		status, why = "incomplete", `{"reason":"content_filter"}`
	default:
		status, why = "incomplete", `{"reason":`+strconv.Quote(r.Stop)+`}`
	}
	w.event("response."+status, `"response":`+w.response(status, r.responseUsage(r.Usage.Output), why))
	return w.b
}

func (r Reply) responseUsage(output int64) []byte {
	u := r.Usage
	input := u.Input + u.CacheRead + u.CacheWrite
	return fmt.Appendf(nil, `{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`,
		input, u.CacheRead, u.CacheWrite, output, input+output)
}

// responseWriter writes the events of one reply.
type responseWriter struct {
	b      []byte
	number int
	model  string
	events int
	items  []string // that are whole
}

func (w *responseWriter) event(kind, fields string) {
	w.b = append(w.b, "event: "+kind+"\ndata: {\"type\":\""+kind+"\",\"sequence_number\":"...)
	w.b = strconv.AppendInt(w.b, int64(w.events), 10)
	w.events++
	w.b = append(append(append(w.b, ','), fields...), "}\n\n"...)
}

func (w *responseWriter) response(status string, usage []byte, why string) string {
	return `{"id":"resp_` + strconv.Itoa(w.number) + `","object":"response","created_at":1,"status":"` + status +
		`","error":null,"incomplete_details":` + why + `,"model":` + string(jscan.AppendQuoted(nil, w.model)) +
		`,"output":[` + strings.Join(w.items, ",") + `],"store":false,"usage":` + string(usage) + `}`
}

// item tells an item: as it begins, in between, and whole.
func (w *responseWriter) item(prefix, begun, whole string, between func(at string)) {
	id := prefix + "_" + strconv.Itoa(w.number) + "_" + strconv.Itoa(len(w.items))
	index := `"output_index":` + strconv.Itoa(len(w.items))
	w.event("response.output_item.added", index+`,"item":{"id":"`+id+`",`+begun+`}`)
	between(`"item_id":"` + id + `",` + index)
	whole = `{"id":"` + id + `",` + whole + `}`
	w.items = append(w.items, whole)
	w.event("response.output_item.done", index+`,"item":`+whole)
}

// say tells a text in pieces, and whole.
func (w *responseWriter) say(kind, at, field, text string) {
	pieces(text, func(piece string) {
		w.event("response."+kind+".delta", at+`,"delta":`+string(jscan.AppendQuoted(nil, piece)))
	})
	w.event("response."+kind+".done", at+`,"`+field+`":`+string(jscan.AppendQuoted(nil, text)))
}

func (w *responseWriter) thought(text string) {
	part := `{"type":"summary_text","text":` + string(jscan.AppendQuoted(nil, text)) + `}`
	w.item("rs", `"type":"reasoning","encrypted_content":"gAAA","summary":[]`,
		`"type":"reasoning","encrypted_content":"gAAAsealed==","summary":[`+part+`]`, func(at string) {
			at += `,"summary_index":0`
			w.event("response.reasoning_summary_part.added", at+`,"part":{"type":"summary_text","text":""}`)
			w.say("reasoning_summary_text", at, "text", text)
			w.event("response.reasoning_summary_part.done", at+`,"part":`+part)
		})
}

func (w *responseWriter) message(text string) {
	const fields = `,"role":"assistant","phase":"commentary","content":[`
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":` + string(jscan.AppendQuoted(nil, text)) + `}`
	w.item("msg", `"type":"message","status":"in_progress"`+fields+`]`,
		`"type":"message","status":"completed"`+fields+part+`]`, func(at string) {
			at += `,"content_index":0`
			w.event("response.content_part.added", at+`,"part":{"type":"output_text","annotations":[],"text":""}`)
			w.say("output_text", at, "text", text)
			w.event("response.content_part.done", at+`,"part":`+part)
		})
}

func (w *responseWriter) call(id string, c Call) {
	fields := func(status, args string) string {
		return `"type":"function_call","status":"` + status + `","arguments":` + string(jscan.AppendQuoted(nil, args)) +
			`,"call_id":` + string(jscan.AppendQuoted(nil, id)) + `,"name":` + string(jscan.AppendQuoted(nil, c.Name))
	}
	w.item("fc", fields("in_progress", ""), fields("completed", c.Input), func(at string) {
		w.say("function_call_arguments", at, "arguments", c.Input)
	})
}

// checkResponses holds a request to the shapes of the API reference and to what the service says of conversations
// that it does not store.
func (r *Request) checkResponses() error {
	if !json.Valid(r.Body) {
		return errors.New("could not parse the JSON body of your request")
	}
	if err := onlyFields(r.Body, "model", "max_output_tokens", "stream", "store", "include", "instructions", "tools",
		"input", "prompt_cache_key"); err != nil {
		return err
	}
	store, _ := jscan.Get(r.Body, "store")
	key, hasKey := jscan.Get(r.Body, "prompt_cache_key")
	switch {
	case r.Model == "":
		return errors.New("missing required parameter: 'model'")
	case !r.stream || string(store) != "false":
		return errors.New("stream, store: this server only streams, and stores nothing")
	case len(r.maxTokens) == 0 || string(r.maxTokens) == "0":
		return errors.New("max_output_tokens: must be positive")
	case len(r.Messages) == 0:
		return errors.New("input: at least one item is required")
	case hasKey && (len(unquote(key)) == 0 || len(unquote(key)) > 64):
		return errors.New("prompt_cache_key: a string of up to 64 characters")
	}
	var err error
	jscan.Array(r.tools, func(t []byte) bool {
		strict, _ := jscan.Get(t, "strict")
		if err = onlyFields(t, "type", "name", "description", "parameters", "strict"); err == nil &&
			(kindOf(t) != "function" || string(strict) != "false") {
			err = fmt.Errorf("tools: a function that is not strict is expected, not %s", t)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	c := inputCheck{open: map[string]bool{}, calls: map[string]bool{}, ids: map[string]bool{}}
	for i, m := range r.Messages {
		if err := c.item(m); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if last := r.Messages[len(r.Messages)-1]; len(c.open) > 0 || r.byModel(last) {
		return fmt.Errorf("no tool output found for %d function calls; the last item is a %s", len(c.open),
			kindOf(last))
	}
	return nil
}

// onlyFields refuses a field that the API does not document.
func onlyFields(v []byte, known ...string) (err error) {
	jscan.Object(v, func(k, _ []byte) bool {
		if !slices.Contains(known, string(k)) {
			err = fmt.Errorf("unknown parameter: '%s'", k)
		}
		return err == nil
	})
	return err
}

// inputCheck goes through a conversation.
type inputCheck struct {
	open    map[string]bool // calls without their outputs
	calls   map[string]bool // all calls
	ids     map[string]bool // of all items
	thought string          // the id of a thought that nothing has followed yet
}

func (c *inputCheck) item(m []byte) error {
	kind := kindOf(m)
	if id, ok := jscan.Get(m, "id"); ok {
		if unquote(id) == "" || c.ids[unquote(id)] {
			return fmt.Errorf("duplicate or empty item id %s", id)
		}
		c.ids[unquote(id)] = true
	}
	model := role(m) == "assistant" || kind == "reasoning" || kind == "function_call"
	if c.thought != "" && (!model || kind == "reasoning") {
		return fmt.Errorf("item '%s' of type 'reasoning' was provided without its required following item", c.thought)
	}
	if len(c.open) > 0 && kind != "function_call_output" && kind != "function_call" && kind != "reasoning" &&
		role(m) != "assistant" {
		return fmt.Errorf("no tool output found for %d function calls", len(c.open))
	}
	c.thought = ""
	switch kind {
	case "message":
		return checkInputMessage(m)
	case "reasoning":
		encrypted, _ := jscan.Get(m, "encrypted_content")
		id, _ := jscan.Get(m, "id")
		if _, ok := jscan.Get(m, "summary"); !ok || len(unquote(encrypted)) == 0 {
			return fmt.Errorf("item with id %s not found: items are not persisted when `store` is set to false", id)
		}
		c.thought = unquote(id)
		return onlyFields(m, "type", "id", "summary", "content", "encrypted_content", "status")
	case "function_call":
		return c.call(m)
	case "function_call_output":
		id, _ := jscan.Get(m, "call_id")
		if !c.open[unquote(id)] {
			return fmt.Errorf("no tool call found for function call output with call_id %s", id)
		}
		delete(c.open, unquote(id))
		output, _ := jscan.Get(m, "output")
		if err := checkParts(output, "input_text", "input_image"); err != nil {
			return err
		}
		return onlyFields(m, "type", "call_id", "output")
	default:
		return fmt.Errorf("invalid value: '%s'", kind)
	}
}

func (c *inputCheck) call(m []byte) error {
	id, _ := jscan.Get(m, "call_id")
	name, _ := jscan.Get(m, "name")
	args, _ := jscan.Get(m, "arguments")
	var object map[string]any
	switch {
	case unquote(id) == "" || len(unquote(id)) > 64 || c.calls[unquote(id)]:
		return fmt.Errorf("call_id %s is missing, too long or used before", id)
	case !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(unquote(name)):
		return fmt.Errorf("function name %s does not match the pattern", name)
	case json.Unmarshal([]byte(unquote(args)), &object) != nil || object == nil:
		return fmt.Errorf("invalid function call arguments: %s", args)
	}
	c.calls[unquote(id)], c.open[unquote(id)] = true, true
	return onlyFields(m, "type", "id", "status", "call_id", "name", "arguments")
}

func checkInputMessage(m []byte) error {
	content, _ := jscan.Get(m, "content")
	switch role(m) {
	case "user":
		if err := checkParts(content, "input_text", "input_image"); err != nil {
			return err
		}
		return onlyFields(m, "type", "role", "content")
	case "assistant":
		if err := checkParts(content, "output_text", "refusal"); err != nil {
			return err
		}
		return onlyFields(m, "type", "id", "status", "role", "phase", "content")
	default:
		return fmt.Errorf("role %q has no place here", role(m))
	}
}

// checkParts holds content to the kinds of part that it may have. It is never empty.
func checkParts(content []byte, kinds ...string) error {
	if len(content) > 0 && content[0] == '"' {
		if strings.TrimSpace(unquote(content)) == "" {
			return errors.New("content must not be empty")
		}
		return nil
	}
	n := 0
	var err error
	ok := jscan.Array(content, func(p []byte) bool {
		n++
		url, _ := jscan.Get(p, "image_url")
		text, _ := jscan.Get(p, "text")
		refusal, _ := jscan.Get(p, "refusal")
		switch kind := kindOf(p); {
		case !slices.Contains(kinds, kind):
			err = fmt.Errorf("invalid value: '%s'; supported values are %s", kind, strings.Join(kinds, " and "))
		case kind == "input_image" && !strings.HasPrefix(unquote(url), "data:image/"):
			err = fmt.Errorf("image_url %s is no data URL", url)
		case kind != "input_image" && strings.TrimSpace(unquote(text)+unquote(refusal)) == "":
			err = errors.New("a part must not be empty")
		default:
			err = onlyFields(p, "type", "text", "annotations", "refusal", "image_url")
		}
		return err == nil
	})
	if err == nil && (!ok || n == 0) {
		err = errors.New("content must be a text or a list that is not empty")
	}
	return err
}
