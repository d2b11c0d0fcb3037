package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/sse"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

const recordedThought = `{"id":"rs_0a1","type":"reasoning","encrypted_content":"gAAAbegun_and-whole==","summary":[{"type":"summary_text","text":"Let me \"see\"…"},{"type":"summary_text","text":"Then read."}]}`

func recordedItemsReply() troupe.Reply {
	call := func(index int, name, input, id, raw string) troupe.Block {
		return kept(callBlock(index, name, input, id), raw)
	}
	return troupe.Reply{
		Blocks: []troupe.Block{
			kept(troupe.Block{Type: troupe.ThinkingBlock, Text: "Let me \"see\"…\n\nThen read."}, recordedThought),
			kept(troupe.Text("Café 😀\ndone."), `{"id":"msg_0a2","status":"completed","phase":"commentary"}`),
			call(0, "Read", `{"file_path": "a.go"}`, "call_MpCHoJbcGCbxDXSV", `{"id":"fc_0a3","status":"completed"}`),
			call(1, "List", `{}`, "call_0", `{"id":"fc_0a4","status":"completed"}`),
		},
		Stop: troupe.StopToolUse, Model: "openai/gpt-x-2026-01-01",
		Usage: troupe.Usage{Input: 3, Output: 89, CacheRead: 2000, CacheWrite: 100},
	}
}

// feedItems runs a stream through the reader and the accumulator, as Stream does.
func feedItems(r io.Reader) (troupe.Reply, *itemAccumulator, error) {
	s := sse.Reader{Src: r, Buf: make([]byte, 64), Limit: 16 << 20}
	a := itemAccumulator{reply: 7, provider: "openai", model: "asked-for"}
	a.bill.Sent = func() int64 { return 1000 }
	for a.Progress() != upstream.Over {
		data, err := s.Next()
		if err != nil {
			return troupe.Reply{}, &a, err
		}
		if err := a.Event(data); err != nil {
			return troupe.Reply{}, &a, err
		}
	}
	return a.whole(), &a, nil
}

// TestItemsOnTheWire reads a whole reply over HTTP, cut into pieces in the middle of characters, and sends it back.
func TestItemsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 9, len(recordedItems) / 3} {
		p, _ := serveResponses(t, always(modeltest.Reply{Raw: []byte(recordedItems), Pieces: n}),
			modeltest.Options{Midway: true})
		var shown []string
		r := ask(t, p, "go")
		r.Agent.Reply = 7
		got, err := p.Stream(t.Context(), r, func(d model.Delta) { shown = append(shown, d.Text+d.Thinking+d.Tool) })
		want := recordedItemsReply()
		want.RequestID = "req_fake_1"
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
		}
		if s := strings.Join(shown, "|"); s != "Let me |\"see\"…|\n\nThen read.|Café 😀\n|done.|Read|List" {
			t.Errorf("shown: %q", s)
		}
		const back = `[` + recordedThought + `,` +
			`{"type":"message","id":"msg_0a2","status":"completed","phase":"commentary","role":"assistant","content":[{"type":"output_text","text":"Café 😀\ndone.","annotations":[]}]},` +
			`{"type":"function_call","id":"fc_0a3","status":"completed","call_id":"call_MpCHoJbcGCbxDXSV","name":"Read","arguments":"{\"file_path\": \"a.go\"}"},` +
			`{"type":"function_call","id":"fc_0a4","status":"completed","call_id":"call_7_1","name":"List","arguments":"{}"}]`
		if b, err := p.EncodeMessage(says(troupe.Assistant, got.Blocks...)); err != nil || string(b) != back {
			t.Errorf("sent back, %v\n got %s\nwant %s", err, b, back)
		}
	}
}

// happening is one event of the Responses API.
func happening(kind, fields string) string {
	return `data: {"type":"` + kind + `"` + strings.TrimRight(","+fields, ",") + "}\n\n"
}

const (
	itemsBegun = "data: {\"type\":\"response.created\",\"response\":{\"model\":\"m\",\"usage\":null}}\n\n"
	itemsEnded = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n"
	msgItem    = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello there."}]}`
	callOfItem = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"Read","arguments":"{\"a\":1}"}`
)

// TestItemDialects: what servers leave out, give twice or send in another order.
func TestItemDialects(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return "text " + s }
	for name, tt := range map[string]struct {
		stream string
		want   string
	}{
		"only whole items": {happening("response.output_item.done", `"item":`+msgItem) +
			happening("response.output_item.done", `"item":`+callOfItem), text("Hello there.") + `; call Read {"a":1}`},
		"only the end": {happening("response.completed", `"response":{"status":"completed","output":[`+msgItem+`,`+
			callOfItem+`]}`), text("Hello there.") + `; call Read {"a":1}`},
		"no places, only ids": {happening("response.output_item.added", `"item":{"type":"message","id":"a"}`) +
			happening("response.output_item.added", `"item":{"type":"message","id":"b"}`) +
			happening("response.output_text.delta", `"item_id":"a","delta":"one"`) +
			happening("response.output_text.delta", `"item_id":"b","delta":"two"`), text("one") + "; " + text("two")},
		"another id in every event": {happening("response.output_item.added",
			`"output_index":0,"item":{"type":"message","id":"x1"}`) +
			happening("response.output_text.delta", `"output_index":0,"item_id":"x2","delta":"Hello "`) +
			happening("response.output_text.delta", `"output_index":0,"item_id":"x3","delta":"there."`) +
			happening("response.output_item.done", `"output_index":0,"item":`+msgItem), text("Hello there.")},
		"neither ids nor places": {happening("response.output_text.delta", `"delta":"Hello "`) +
			happening("response.output_text.delta", `"delta":"there."`), text("Hello there.")},
		"the whole is more than the pieces": {happening("response.output_text.delta",
			`"output_index":0,"delta":"Hel"`) +
			happening("response.output_text.done", `"output_index":0,"text":"Hello"`) +
			happening("response.output_item.done", `"output_index":0,"item":`+msgItem), text("Hello there.")},
		"the whole is other than the pieces": {happening("response.output_text.delta",
			`"output_index":0,"delta":"Hullo"`) + happening("response.output_item.done",
			`"output_index":0,"item":`+msgItem),
			text("Hello there.")},
		"arguments that are not quoted": {happening("response.output_item.done",
			`"item":{"type":"function_call","call_id":"c","name":"Read","arguments":{"a":2}}`), `call Read {"a":2}`},
		"arguments that are null": {happening("response.output_item.added",
			`"item":{"type":"function_call","id":"f","call_id":"c","name":"Read","arguments":""}`) +
			happening("response.function_call_arguments.delta", `"item_id":"f","delta":"{}"`) +
			happening("response.function_call_arguments.done", `"item_id":"f","arguments":null`), `call Read {}`},
		"open thoughts": {happening("response.reasoning_text.delta", `"output_index":0,"delta":"Hm"`) +
			happening("response.output_item.done", `"output_index":0,"item":{"type":"reasoning","id":"r","summary":[],`+
				`"content":[{"type":"reasoning_text","text":"Hm."}]}`), "thought Hm. kept"},
		"a thought with an id alone": {happening("response.output_item.done",
			`"item":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":null}`),
			"thought Hm"},
		"a thought of nothing": {happening("response.output_item.done",
			`"item":{"type":"reasoning","id":"r","summary":[]}`) +
			happening("response.output_text.delta", `"delta":"x"`),
			text("x")},
		"an item from the future": {happening("response.output_item.done",
			`"item":{"type":"from_the_future","id":"z","x":[1]}`),
			`opaque {"type":"from_the_future","id":"z","x":[1]}`},
		"two parts": {happening("response.output_text.delta", `"output_index":0,"content_index":0,"delta":"a"`) +
			happening("response.output_text.delta", `"output_index":0,"content_index":1,"delta":"b"`),
			text("a") + "; " + text("b")},
	} {
		stream := itemsBegun + tt.stream
		if !strings.Contains(stream, "response.completed") {
			stream += itemsEnded
		}
		got, _, err := feedItems(strings.NewReader(stream))
		var parts []string
		for _, b := range got.Blocks {
			switch b.Type {
			case troupe.CallBlock:
				parts = append(parts, "call "+b.Call.Name+" "+b.Call.Input)
			case troupe.ThinkingBlock:
				parts = append(parts, "thought "+b.Text+map[bool]string{true: " kept"}[b.Raw != ""])
			case troupe.OpaqueBlock:
				parts = append(parts, "opaque "+b.Raw)
			default:
				parts = append(parts, text(b.Text))
			}
		}
		if s := strings.Join(parts, "; "); err != nil || s != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, s, err, tt.want)
		}
	}
}

// TestItemEnds: why a reply ended, and what it means.
func TestItemEnds(t *testing.T) {
	t.Parallel()
	hello := happening("response.output_text.delta", `"delta":"Hello"`)
	call := happening("response.output_item.done", `"item":`+callOfItem)
	refusal := happening("response.refusal.delta", `"delta":"I will "`) + happening("response.refusal.done",
		`"refusal":"I will not."`)
	incomplete := func(why string) string {
		return happening("response.incomplete", `"response":{"status":"incomplete","incomplete_details":`+why+`}`)
	}
	for stream, want := range map[string]troupe.StopReason{
		hello + itemsEnded: troupe.StopEndTurn, call + itemsEnded: troupe.StopToolUse,
		refusal + itemsEnded: troupe.StopRefusal, call + refusal + itemsEnded: troupe.StopRefusal,
		hello + incomplete(`{"reason":"max_output_tokens"}`): troupe.StopMaxTokens,
		call + incomplete(`{"reason":"max_output_tokens"}`):  troupe.StopMaxTokens,
		hello + incomplete(`{"reason":"content_filter"}`):    troupe.StopRefusal,
		hello + incomplete(`{"reason":"from_the_future"}`):   troupe.StopOther,
		hello + incomplete(`null`):                           troupe.StopOther,
		hello + happening("response.completed", `"response":{"status":"incomplete","incomplete_details":`+
			`{"reason":"max_output_tokens"}}`): troupe.StopMaxTokens,
		hello + happening("response.completed", ``): troupe.StopEndTurn,
	} {
		got, _, err := feedItems(strings.NewReader(itemsBegun + stream))
		if err != nil || got.Stop != want || len(got.Blocks) == 0 {
			t.Errorf("%s\n%+v, %v, want %s", stream, got, err, want)
		}
	}
	got, _, err := feedItems(strings.NewReader(refusal + itemsEnded))
	if err != nil || !reflect.DeepEqual(got.Blocks, []troupe.Block{kept(troupe.Text("I will not."),
		`{"refusal":true}`)}) {
		t.Errorf("a refusal: %+v, %v", got.Blocks, err)
	}
}

// TestItemFaults: errors in the middle of a stream, in the forms that they have there; what had come is kept.
func TestItemFaults(t *testing.T) {
	t.Parallel()
	failing := func(err string) string {
		return happening("response.failed", `"response":{"status":"failed","error":`+err+`}`)
	}
	for stream, want := range map[string]struct {
		fault troupe.ModelFault
		said  string
	}{
		failing(`{"code":"server_error","message":"oops"}`):                 {"", "server_error: oops"},
		failing(`{"code":"rate_limit_exceeded","message":"slow"}`):          {"", "rate_limit_exceeded: slow"},
		failing(`{"code":"insufficient_quota","message":"pay"}`):            {troupe.FaultAuth, "pay"},
		failing(`{"code":"context_length_exceeded","message":"long"}`):      {troupe.FaultTooLong, "long"},
		failing(`{"code":"invalid_prompt","message":"no"}`):                 {troupe.FaultBad, "no"},
		failing(`{"code":"image_content_policy_violation","message":"no"}`): {troupe.FaultBad, "no"},
		failing(`{"code":"failed_to_download_image","message":"later"}`):    {"", "later"},
		failing(`null`): {"", "did not say why"},
		happening("error",
			`"code":"rate_limit_exceeded","message":"slow","param":null`): {"", "slow"},
		happening("error",
			`"code":null,"message":"oops","param":null`): {"", "oops"},
		happening("error",
			`"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"pay"}`): {troupe.FaultAuth,
			"pay"},
		happening("error",
			`"error":{"type":"invalid_request_error","code":null,"message":"no"}`): {troupe.FaultBad, "no"},
		`data: {"error":{"message":"gateway","code":502}}` +
			"\n\n": {troupe.FaultRetry, "gateway"},
		happening("response.completed",
			`"response":{"status":"failed","error":{"code":"server_error","message":"oops"}}`): {"", "oops"},
		happening("response.completed",
			`"response":{"status":"cancelled"}`): {"", "cancelled"},
	} {
		_, a, err := feedItems(strings.NewReader(itemsBegun +
			happening("response.output_text.delta", `"delta":"So far"`) +
			stream))
		var b *upstream.Broken
		if !errors.As(err, &b) || b.Fault != want.fault || !strings.Contains(b.Error(), want.said) ||
			strings.HasPrefix(b.Error(), "error:") {
			t.Errorf("%s\n%#v, want %q %q", stream, err, want.fault, want.said)
		}
		if blocks, cost, estimated := a.SoFar(); troupe.JoinText(blocks) != "So far" || cost.Output != 2 || !estimated {
			t.Errorf("%s\nso far %+v at %+v", stream, blocks, cost)
		}
	}
	for _, stream := range []string{
		happening("response.output_text.delta", `"delta":{}`), happening("response.output_text.delta", ``),
		happening("response.output_item.done", `"item":{"type":"reasoning","x":tru}`),
		happening("response.completed", `"response":{"usage":{"input_tokens":"many"}}`),
	} {
		if got, _, err := feedItems(strings.NewReader(itemsBegun + stream + itemsEnded)); err == nil {
			t.Errorf("%s passes for %+v", stream, got)
		}
	}
	p := answering(t, 400, nil,
		`{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`)
	_, err := p.Stream(t.Context(), ask(t, p, "go"), nil)
	if me := failed(t, err); me.Fault != troupe.FaultBad || !strings.Contains(me.Message, "providers.local.api") {
		t.Errorf("thoughts that are refused: %+v", me)
	}
}

// TestItemsAreBounded: a reply that never ends is cut off, and is not asked for again.
func TestItemsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	t.Parallel()
	for parts, name := range map[int]string{1: "items", 500: "parts"} {
		b := strings.Builder{}
		fmt.Fprint(&b, itemsBegun)
		for i := range upstream.MaxBlocks + 1 {
			fmt.Fprint(&b, happening("response.output_text.delta",
				fmt.Sprintf(`"output_index":%d,"content_index":%d,"delta":"x"`, i/parts, i%parts)))
		}
		if _, _, err := feedItems(strings.NewReader(b.String())); fmt.Sprint(err) != upstream.TooManyBlocks().Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// reread takes a message apart that was encoded, as the service does.
func reread(t *rapid.T, b []byte) []troupe.Block {
	var out []troupe.Block
	if b[0] != '[' {
		b = append(append([]byte{'['}, b...), ']')
	}
	n := 0
	jscan.Array(b, func(v []byte) bool {
		var it struct {
			Type, ID, Status, Phase, Name, Arguments string
			Content                                  []struct{ Type, Text, Refusal string }
		}
		if err := json.Unmarshal(v, &it); err != nil {
			t.Fatal(err)
		}
		meta := itemMeta{ID: it.ID, Status: it.Status, Phase: it.Phase}
		switch it.Type {
		case messageItem:
			for _, c := range it.Content {
				meta.Refusal = c.Type == "refusal"
				out = append(out, meta.keep(troupe.Text(c.Text+c.Refusal), "openai"))
			}
		case callItem:
			out = append(out, meta.keep(troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{Reply: 7, Index: n,
				Name: it.Name, Input: it.Arguments}}, "openai"))
			n++
		case reasoningItem:
			out = append(out, troupe.Block{Type: troupe.ThinkingBlock, Provider: "openai", Raw: string(v)})
		}
		return true
	})
	return out
}

// TestNothingIsLost: whatever a model says in whatever order, the service is sent all of it again, the thoughts to
// the byte.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	p := responsesLocal()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringN(1, 12, -1).Filter(func(s string) bool {
			return strings.TrimSpace(s) != "" && !strings.ContainsRune(s, 0) && !strings.ContainsRune(s, '\ufffd')
		})
		stream := itemsBegun
		n := rapid.IntRange(1, 8).Draw(t, "items")
		quote := func(s string) string { return string(jscan.AppendQuoted(nil, s)) }
		for i := range n {
			kind := rapid.SampledFrom([]string{reasoningItem, messageItem, callItem}).Draw(t, "kind")
			if i == n-1 {
				kind = messageItem // a thought at the end is not sent
			}
			it := fmt.Sprintf(`"type":%q,"id":"i_%d"`, kind, i)
			switch kind {
			case reasoningItem:
				it += `,"summary":[{"type":"summary_text","text":` + quote(word.Draw(t, "thought")) +
					`}],"encrypted_content":` + quote(word.Draw(t, "sealed")) + `, "more":[1, 2.0]`
			case messageItem:
				it += `,"role":"assistant","status":"completed","content":[`
				for j := range rapid.IntRange(1, 3).Draw(t, "parts") {
					part := `{"type":"output_text","text":` + quote(word.Draw(t, "text")) + `}`
					if rapid.Bool().Draw(t, "refuses") {
						part = `{"type":"refusal","refusal":` + quote(word.Draw(t, "refusal")) + `}`
					}
					it += map[bool]string{true: ","}[j > 0] + part
				}
				it += `]`
				if rapid.Bool().Draw(t, "phase") {
					it += `,"phase":"commentary"`
				}
			case callItem:
				input, _ := json.Marshal(map[string]string{word.Draw(t, "key"): word.Draw(t, "value")})
				it += `,"status":"completed","call_id":"call_0","name":"Read","arguments":` + quote(string(input))
			}
			stream += happening("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":{%s}`, i, it))
		}
		reply, _, err := feedItems(strings.NewReader(stream + itemsEnded))
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.EncodeMessage(says(troupe.Assistant, reply.Blocks...))
		if err != nil {
			t.Fatal(err)
		}
		want := reply.Blocks
		for i := range want {
			if want[i].Type == troupe.ThinkingBlock {
				want[i].Text = ""
			}
			if want[i].Call != nil {
				want[i].Call.ProviderID = ""
			}
		}
		if got := reread(t, b); !reflect.DeepEqual(got, want) {
			t.Fatalf("sent back as %s\n got %+v\nwant %+v", b, got, want)
		}
	})
}

// TestResponsesConversation lets the fake server watch several turns of thoughts, calls, results and images. It
// refuses a broken prefix (bytes of an earlier turn that are not the same), a call without an output, a thought that
// nothing follows, and every field that the API does not document.
func TestResponsesConversation(t *testing.T) {
	t.Parallel()
	p, s := serveResponses(t, func(r *modeltest.Request) modeltest.Reply {
		rep := modeltest.Reply{Thinking: "Hm <" + fmt.Sprint(r.Turn) + ">", Text: "Working."}
		for i := range r.Turn * 3 {
			rep.Calls = append(rep.Calls, modeltest.Call{Name: "Read", Input: fmt.Sprintf(`{"n":%d}`, i)})
		}
		return rep
	}, modeltest.Options{})
	msgs := []troupe.Message{says(troupe.User, troupe.Text("go"))}
	for turn := 1; turn <= 6; turn++ {
		got, err := p.Stream(t.Context(), conversation(t, p, turn, msgs...), nil)
		if err != nil {
			t.Fatal(err)
		}
		var results []troupe.Block
		for _, b := range got.Blocks {
			if b.Type == troupe.CallBlock {
				results = append(results, troupe.Block{Type: troupe.ResultBlock,
					Result: &troupe.Result{Reply: b.Call.Reply, Call: b.Call.Index, ProviderID: b.Call.ProviderID,
						Blocks: []troupe.Block{troupe.Text("ok"), picture("abc")}}})
			}
		}
		if turn%2 == 0 {
			results = append(results, troupe.Text("By the way."))
		}
		msgs = append(msgs, says(troupe.Assistant, got.Blocks...), says(troupe.User, results...))
	}
	all := s.Requests()
	last := all[5]
	if last.Turn != 6 || last.System() != "Be brief." || last.FirstText() != "go" ||
		fmt.Sprint(last.Tools()) != "[Read]" || !strings.HasPrefix(last.LastText(), "ok\nok\n") {
		t.Errorf("turn %d, system %q, first %q, tools %q, last %q", last.Turn, last.System(), last.FirstText(),
			last.Tools(), last.LastText())
	}
	for i := range all[:5] { // encoded once: what was sent is sent again, to the byte
		before, _, _ := bytes.Cut(all[i].Body, []byte(`],"prompt_cache_key"`))
		if !bytes.HasPrefix(all[i+1].Body, before) {
			t.Errorf("request %d does not begin with the one before", i+2)
		}
	}
	if n := bytes.Count(last.Body, []byte(`"encrypted_content":"gAAAsealed=="`)); n != 5 {
		t.Errorf("%d of 5 thoughts were sent back", n)
	}
}

func FuzzItems(f *testing.F) {
	f.Add([]byte(recordedItems), uint8(5))
	f.Add([]byte(strings.ReplaceAll(recordedItems, "\n", "\r")), uint8(1))
	f.Add([]byte(itemsBegun+happening("response.output_item.done", `"item":`+msgItem)+itemsEnded), uint8(3))
	f.Add([]byte(happening("error", `"code":"x","message":"y"`)), uint8(9))
	p := New(Options{API: Responses})
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		whole, a, err := feedItems(bytes.NewReader(in))
		cut, _, err2 := feedItems(&pieces{in, int(size)%64 + 1})
		if fmt.Sprint(err) != fmt.Sprint(err2) && !errors.Is(err, sse.ErrTooLarge) || !reflect.DeepEqual(whole, cut) {
			t.Errorf("at once: %+v, %v; in pieces: %+v, %v", whole, err, cut, err2)
		}
		if b, err := p.EncodeMessage(says(troupe.Assistant, a.content()...)); err != nil || !json.Valid(b) {
			t.Errorf("cannot be sent back: %v: %s", err, b)
		}
	})
}
