package turn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Each part of what a model is sent is counted once, by where it comes from; what a summary covers is not.
func TestContents(t *testing.T) {
	t.Parallel()
	brief := &troupe.Brief{
		Place: "here", Holds: "- mode\n", Skills: "s", Agents: "ag", Tools: "names",
		Instructions: "Words before.\n<runtime-instructions file=\"/a/CLAUDE.md\" of=\"project\">\none\n" +
			"</runtime-instructions>\n<runtime-instructions file=\"/a/\\\"b\\\".md\" of=\"user\">\ntwo\n" +
			"</runtime-instructions>\n",
	}
	mail := func(kind troupe.MailKind, id, text string, b *troupe.Brief) troupe.MailDelivered {
		return troupe.MailDelivered{Mail: []troupe.Mail{{ID: troupe.MailID(id), Kind: kind, Brief: b,
			Blocks: []troupe.Block{troupe.Text(text)}}}}
	}
	call := troupe.Call{Name: "Read", Input: `{"a":1}`}
	log := []troupe.Body{
		mail(troupe.MailPrompt, "p", "do it", brief),
		troupe.Replied{Blocks: []troupe.Block{troupe.Text("I will"), {Type: troupe.CallBlock, Call: &call}}},
		troupe.ToolFinished{Name: "Read", Result: troupe.Result{Blocks: []troupe.Block{troupe.Text("four")}}},
		mail(troupe.MailNotice, "n", "note", nil),
		mail(troupe.MailPrompt, "refused", "a refused one", nil),
		troupe.HookRan{Event: troupe.HookPrompt, Effect: troupe.HookDenied, Mail: "refused"},
		mail(troupe.MailStop, "stop", "not sent", nil),
	}
	var events []troupe.Event
	for i, b := range log {
		events = append(events, troupe.Event{Seq: int64(i + 1), Body: b})
	}
	got := turn.Contents(events)
	want := []troupe.ContextPart{
		{Kind: troupe.ContextPlace, Count: 1, Bytes: 4},
		{Kind: troupe.ContextInstructions, Name: "/a/CLAUDE.md", Count: 1, Bytes: 98},
		{Kind: troupe.ContextInstructions, Name: `/a/"b".md`, Count: 1, Bytes: 80},
		{Kind: troupe.ContextHolds, Count: 1, Bytes: 7},
		{Kind: troupe.ContextSkills, Count: 1, Bytes: 1},
		{Kind: troupe.ContextAgents, Count: 1, Bytes: 2},
		{Kind: troupe.ContextNames, Count: 1, Bytes: 5},
		{Kind: troupe.ContextPrompt, Count: 1, Bytes: 5},
		{Kind: troupe.ContextReply, Count: 1, Bytes: 6},
		{Kind: troupe.ContextCall, Name: "Read", Count: 1, Bytes: 11},
		{Kind: troupe.ContextResult, Name: "Read", Count: 1, Bytes: 4},
		{Kind: troupe.ContextNotice, Count: 1, Bytes: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got[1].Bytes+got[2].Bytes != int64(len(brief.Instructions)) {
		t.Errorf("%d bytes of instructions are counted as %d and %d", len(brief.Instructions), got[1].Bytes,
			got[2].Bytes)
	}
	events = append(events, troupe.Event{Seq: 8, Body: troupe.Compacted{Covers: 3,
		Blocks: []troupe.Block{troupe.Text("in short")}, Brief: &troupe.Brief{Place: "there now"}}})
	want = []troupe.ContextPart{
		{Kind: troupe.ContextPlace, Count: 1, Bytes: 9},
		{Kind: troupe.ContextSummary, Count: 1, Bytes: 8},
		{Kind: troupe.ContextNotice, Count: 1, Bytes: 4},
	}
	if diff := cmp.Diff(want, turn.Contents(events)); diff != "" {
		t.Error(diff)
	}
}
