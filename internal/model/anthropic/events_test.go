package anthropic

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestCountsOnlyGrow: both events tell totals so far. One that leaves a number out, or tells less
// than was told, does not take back what was counted.
func TestCountsOnlyGrow(t *testing.T) {
	t.Parallel()
	want := troupe.Usage{Input: 30, Output: 80, CacheRead: 2000, CacheWrite: 100}
	for name, last := range map[string]string{
		"no usage":  `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		"null":      `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":null}`,
		"no output": `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":30}}`,
		"less of each": `{"type":"message_delta","delta":{},"usage":{"input_tokens":1,"output_tokens":2,` +
			`"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`,
	} {
		a := &accumulator{}
		for _, e := range []string{
			`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"cache_creation_input_tokens":100,` +
				`"cache_read_input_tokens":2000,"output_tokens":1}}}`,
			`{"type":"message_delta","delta":{},"usage":{"input_tokens":30,"output_tokens":80}}`,
			last, `{"type":"message_stop"}`,
		} {
			if err := a.Event([]byte(e)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := a.whole().Usage; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestStopReasons: what the API says ended a reply, the ones that it added later included.
func TestStopReasons(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]troupe.StopReason{
		"end_turn": troupe.StopEndTurn, "stop_sequence": troupe.StopEndTurn, "tool_use": troupe.StopToolUse,
		"max_tokens": troupe.StopMaxTokens, "model_context_window_exceeded": troupe.StopMaxTokens,
		"refusal": troupe.StopRefusal, "pause_turn": troupe.StopOther, "": troupe.StopOther,
	} {
		if got := stopReason(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}
