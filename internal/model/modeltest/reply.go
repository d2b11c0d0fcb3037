package modeltest

import (
	"strconv"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
)

// Reply is how a request is answered. What it holds is sent in this order: thinking, text, calls.
type Reply struct {
	Thinking string
	Text     string
	Calls    []Call
	Stop     string // "" is tool_use with calls, else end_turn
	Usage    troupe.Usage
	Raw      []byte // a stream to send instead of one made of the above

	// Delay comes on top of Options.FirstByte. Pieces cuts the stream, and Over is how
	// long they take together.
	Delay  time.Duration
	Pieces int
	Over   time.Duration

	// Status other than 0 and 200 refuses the request. ErrorType with status 200 sends
	// the content and then an error event instead of the reply's end.
	Status       int
	ErrorType    string
	ErrorMessage string
	RetryAfter   string // the header

	Cut   int  // tear the connection after so many bytes of the stream
	End   int  // end the stream cleanly after so many bytes
	Stall bool // send everything (or up to End), then nothing more
}

// Call is one tool call of a Reply. Input is sent as it is; it need not be JSON. ID is what
// the service calls it; "" is a name that it gives to the call in this place of any reply.
type Call struct{ Name, Input, ID string }

// Text is a reply of words.
func Text(s string) Reply { return Reply{Text: s, Usage: troupe.Usage{Input: 10, Output: 5}} }

// Calls is a reply that calls tools.
func Calls(calls ...Call) Reply {
	return Reply{Calls: calls, Usage: troupe.Usage{Input: 10, Output: 5}}
}

// Fail refuses a request.
func Fail(status int, errorType, message string) Reply {
	return Reply{Status: status, ErrorType: errorType, ErrorMessage: message}
}

// Stream is the reply as server-sent events; req says what it answers.
func (r Reply) Stream(req *Request) []byte {
	if r.Raw != nil {
		return r.Raw
	}
	switch req.api {
	case OpenAI:
		return r.chunks(req)
	case Responses:
		return r.responseEvents(req)
	case Anthropic:
	}
	b := make([]byte, 0, 1024+2*len(r.Text)+2*len(r.Thinking))
	b = append(b, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_"...)
	b = strconv.AppendInt(b, int64(req.Number), 10)
	b = append(b, `","type":"message","role":"assistant","model":`...)
	b = jscan.AppendQuoted(b, req.Model)
	b = append(b, `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`...)
	b = strconv.AppendInt(b, r.Usage.Input, 10)
	b = append(b, `,"cache_creation_input_tokens":`...)
	b = strconv.AppendInt(b, r.Usage.CacheWrite, 10)
	b = append(b, `,"cache_read_input_tokens":`...)
	b = strconv.AppendInt(b, r.Usage.CacheRead, 10)
	b = append(b, ",\"output_tokens\":1}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"...)
	index := 0
	if r.Thinking != "" {
		b = appendBlock(b, index, `{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking",
			r.Thinking)
		b = appendDelta(b, index, "signature_delta", "signature", "c2lnbmVk")
		b = appendStop(b, index)
		index++
	}
	if r.Text != "" {
		b = appendStop(appendBlock(b, index, `{"type":"text","text":""}`, "text_delta", "text", r.Text), index)
		index++
	}
	for i, c := range r.Calls {
		id := c.ID
		if id == "" {
			id = "toolu_" + strconv.Itoa(i)
		}
		start := jscan.AppendQuoted([]byte(`{"type":"tool_use","id":`), id)
		start = append(jscan.AppendQuoted(append(start, `,"name":`...), c.Name), `,"input":{}}`...)
		b = appendStop(appendBlock(b, index, string(start), "input_json_delta", "partial_json", c.Input), index)
		index++
	}
	if r.ErrorType != "" {
		b = append(b, "event: error\ndata: "...)
		return append(r.errorJSON(Anthropic, b), "\n\n"...)
	}
	stop := r.Stop
	if stop == "" {
		stop = "end_turn"
		if len(r.Calls) > 0 {
			stop = "tool_use"
		}
	}
	b = append(b, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"...)
	b = jscan.AppendQuoted(b, stop)
	b = append(b, `,"stop_sequence":null},"usage":{"output_tokens":`...)
	b = strconv.AppendInt(b, r.Usage.Output, 10)
	return append(b, "}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

func appendBlock(b []byte, index int, start, kind, field, text string) []byte {
	b = append(b, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(append(append(b, `,"content_block":`...), start...), "}\n\n"...)
	pieces(text, func(piece string) { b = appendDelta(b, index, kind, field, piece) })
	return b
}

func appendDelta(b []byte, index int, kind, field, text string) []byte {
	b = append(b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(append(append(b, `,"delta":{"type":"`...), kind...), `","`...)
	b = jscan.AppendQuoted(append(append(b, field...), '"', ':'), text)
	return append(b, "}}\n\n"...)
}

func appendStop(b []byte, index int) []byte {
	b = append(b, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	return append(strconv.AppendInt(b, int64(index), 10), "}\n\n"...)
}

// pieces cuts text as a service streams it: a few words at a time, and not within a character.
func pieces(text string, fn func(piece string)) {
	const size = 24
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && text[n]&0xc0 == 0x80 {
			n++
		}
		fn(text[:n])
		text = text[n:]
	}
}

func (r Reply) errorJSON(api API, b []byte) []byte {
	if api != Anthropic {
		return r.openAIError(b)
	}
	b = jscan.AppendQuoted(append(b, `{"type":"error","error":{"type":`...), r.ErrorType)
	return append(jscan.AppendQuoted(append(b, `,"message":`...), r.ErrorMessage), `},"request_id":"req_fake"}`...)
}
