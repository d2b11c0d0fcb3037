package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// runBill is the part of RunWire about what replies cost that do not come to their end: no
// token that a service has read or said is free because nobody was there to hear it counted.
func (w Wire) runBill(t *testing.T) {
	t.Run("BillAtEveryByte", w.billAtEveryByte)
	t.Run("BillHoweverItEnds", w.billHoweverItEnds)
	t.Run("BillOfWhatWasCounted", w.billOfWhatWasCounted)
	t.Run("BillNobodyTells", w.billNobodyTells)
}

// uncounted is a stream by a service that does not tell what it costs.
func uncounted(stream []byte) []byte {
	return regexp.MustCompile(`"usage":\{(?:[^{}]|\{[^{}]*\})*\}`).ReplaceAll(stream, []byte(`"usage":{}`))
}

// inTokens is what so many bytes are estimated at.
func inTokens(bytes int) int64 { return int64(bytes+3) / 4 }

// read is what a service has read, however it is priced.
func read(u troupe.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }

// heard is how many bytes have come of a reply.
func heard(blocks []troupe.Block) int {
	n := 0
	for _, b := range blocks {
		n += len(b.Text)
		if b.Call != nil {
			n += len(b.Call.Name)
			if b.Call.Input != "{}" { // which stands for none
				n += len(b.Call.Input)
			}
		}
	}
	return n
}

// billAtEveryByte: with every byte that comes a reply costs as much as before or more, at
// least what has come is worth, and never more than the whole of it.
func (w Wire) billAtEveryByte(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	for name, stream := range map[string][]byte{
		"recorded": w.Recorded, "ours": w.stream(full()), "recorded, not counted": uncounted(w.Recorded),
		"ours, not counted": uncounted(w.stream(full())),
	} {
		whole := d.whole(stream)
		all := inTokens(heard(whole.Blocks))
		var last troupe.Usage
		for i := range places(stream) {
			_, err := d.ask(canned{body: stream[:i], end: torn})
			if err == nil {
				break // it had come to its end
			}
			where := fmt.Sprintf("%s, cut after %d of %d bytes", name, i, len(stream))
			var me *model.Error
			if !errors.As(err, &me) {
				t.Fatalf("%s: %v", where, err)
			}
			said := heard(me.Partial)
			switch got := me.Usage; {
			case read(got) < read(last) || got.Output < last.Output:
				t.Fatalf("%s: cost %+v, and %+v a byte earlier", where, got, last)
			case read(got) > read(whole.Usage) || got.Output > whole.Usage.Output:
				t.Fatalf("%s: cost %+v, and the whole %+v", where, got, whole.Usage)
			case i == 0 && got != troupe.Usage{}:
				t.Fatalf("%s: cost %+v before there was an answer", where, got)
			case got.Output < inTokens(said) || said > 0 && read(got) == 0:
				t.Fatalf("%s: cost %+v, but %d bytes had come", where, got, said)
			case said > 4 && got.Output < whole.Usage.Output && !strings.Contains(me.Message, "estimated"):
				t.Fatalf("%s: cost %+v, and does not say that nobody counted it: %s", where, got, me.Message)
			}
			last = me.Usage
		}
		if last.Output < all {
			t.Errorf("%s: in the end it had cost %+v; what had come is worth %d", name, last, all)
		}
	}
}

// prose is a long text, and open the stream of a reply with it that has not ended.
func (w Wire) prose() (text string, open []byte, counts troupe.Usage) {
	counts = troupe.Usage{Input: 90, Output: 4100, CacheRead: 700, CacheWrite: 10}
	text = strings.Repeat("word ", 3200)
	all := events(w.stream(Reply{Text: text, Usage: counts, ErrorType: "overloaded_error", ErrorMessage: "Overloaded"}))
	return text, bytes.Join(all[:len(all)-1], nil), counts
}

// billHoweverItEnds: a reply that does not come to its end costs the same whoever ended it.
func (w Wire) billHoweverItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := w.desk(t)
		text, open, want := w.prose()
		want.Output = inTokens(len(text))
		broken := append(bytes.Clone(open), "data: "+string(Fail(0, "overloaded_error", "Overloaded").errorJSON(w.API,
			nil))+"\n\n"...)
		senseless := append(bytes.Clone(open), w.nonsense()...)
		for name, c := range map[string]canned{
			"ended": {body: open}, "torn": {body: open, end: torn}, "stalled": {body: open, end: stalled},
			"broken off": {body: broken}, "nonsense": {body: senseless}, "stopped": {body: open, end: stalled},
		} {
			ctx, stop := context.WithCancel(t.Context())
			shown, fault := 0, troupe.FaultRetry
			d.next = c
			_, err := d.provider.Stream(ctx, d.request, func(piece model.Delta) {
				if shown += len(piece.Text); name == "stopped" && shown == len(text) {
					stop()
				}
			})
			stop()
			if name == "stopped" {
				fault = troupe.FaultInterrupted
			}
			var me *model.Error
			if !errors.As(err, &me) || me.Fault != fault || me.Usage != want ||
				!strings.Contains(me.Message, "estimated") {
				t.Errorf("%s: %+v, want a cost of %+v", name, err, want)
			}
			if me != nil && troupe.JoinText(me.Partial) != text {
				t.Errorf("%s: %d of %d bytes were kept", name, len(troupe.JoinText(me.Partial)), len(text))
			}
		}
	})
}

// nonsense is an event that cannot be understood.
func (w Wire) nonsense() string {
	switch w.API {
	case OpenAI:
		return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":{}}}]}\n\n"
	case Responses:
		return "data: {\"type\":\"response.output_text.delta\",\"delta\":{}}\n\n"
	case Anthropic:
	}
	return "data: {\"type\":\"content_block_start\"}\n\n"
}

// billOfWhatWasCounted: a count of everything that has come stands, also where an estimate
// would be higher, and although the reply is lost.
func (w Wire) billOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	counts := troupe.Usage{Input: 90, Output: 51, CacheRead: 700, CacheWrite: 10}
	all := events(w.stream(Reply{Text: strings.Repeat("word ", 50), Usage: counts}))
	failure := "data: " + string(Fail(0, "overloaded_error", "Overloaded").errorJSON(w.API, nil)) + "\n\n"
	if w.API == Responses { // the count comes with the end, and nothing can come between
		failure = `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error",` +
			`"message":"Overloaded"},"usage":` + string(Reply{Usage: counts}.responseUsage(counts.Output)) + "}}\n\n"
	}
	_, err := d.ask(canned{body: insert(all, len(all)-1, failure)})
	var me *model.Error
	if !errors.As(err, &me) || me.Usage != counts || strings.Contains(me.Message, "estimated") {
		t.Errorf("%+v, want a cost of %+v, counted", err, counts)
	}
}

// billNobodyTells: of a service that never counts, everything is estimated, also if the
// reply ends well; an image counts as one and not as its bytes.
func (w Wire) billNobodyTells(t *testing.T) {
	t.Parallel()
	d := w.desk(t)
	words := strings.Repeat("please ", 1000)
	picture := troupe.Block{Type: troupe.ImageBlock, Image: &troupe.Image{MediaType: "image/png",
		Data: bytes.Repeat([]byte("png"), 10_000)}}
	r := full()
	for name, tt := range map[string]struct {
		blocks []troupe.Block
		atMost int64
	}{
		"words":  {[]troupe.Block{troupe.Text(words)}, 2000},
		"images": {[]troupe.Block{troupe.Text(words), picture, picture}, 5500},
	} {
		d.request = request(t, d.provider, 1, troupe.Message{Role: troupe.User, Blocks: tt.blocks})
		least := inTokens(len(d.request.Head) + len(words))
		if len(tt.blocks) > 1 {
			least += 200
		}
		stream := uncounted(w.stream(r))
		whole := d.whole(stream)
		_, err := d.ask(canned{body: stream[:len(stream)*2/3], end: torn})
		var me *model.Error
		if !errors.As(err, &me) {
			t.Fatalf("%s: %v", name, err)
		}
		for where, got := range map[string]troupe.Usage{"whole": whole.Usage, "cut": me.Usage} {
			if got.Input < least || got.Input > tt.atMost || got.CacheRead+got.CacheWrite != 0 {
				t.Errorf("%s, %s: %+v, want an input of %d to %d", name, where, got, least, tt.atMost)
			}
		}
		if want := inTokens(heard(whole.Blocks)); whole.Usage.Output != want {
			t.Errorf("%s: %+v, want an output of %d", name, whole.Usage, want)
		}
	}
}
