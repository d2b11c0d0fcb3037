package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// Verdict is what a test of a window came to.
type Verdict string

// Verdicts.
const (
	// WindowHolds: all that was sent was read.
	WindowHolds Verdict = "holds"
	// WindowTruncates: the server dropped part of what was sent, and did not say so. A
	// model behind it forgets, and nobody can tell.
	WindowTruncates Verdict = "truncates"
	// WindowRefuses: the window is smaller than claimed, and the server says so.
	WindowRefuses Verdict = "refuses"
	// WindowUnknown: the server answered, but does not tell how much it read.
	WindowUnknown Verdict = "unknown"
)

// WindowReport is what Window found. All numbers are tokens.
type WindowReport struct {
	Verdict Verdict
	Claimed int
	Sent    int // at least so many were sent
	Read    int // so many the server counted; 0 if it did not tell
	// Real is what is known of the real window: an upper bound if Verdict is
	// WindowTruncates or WindowRefuses, else 0.
	Real   int
	Advice string // a sentence for people: what was found, and what to do about it
}

const (
	smallestClaim = 1024
	// probeShare is how much of the claimed window is sent, in percent. What is left is for
	// the server's own words around it, and for a tokenizer that needs a little more.
	probeShare = 85
	sampleSize = 400 // words of a sample
	// probeWord is one token in the tokenizers of our day, with the space before it.
	probeWord = " word"
)

// Window tests whether a model's window is as large as claimed, without believing what the
// server says about it. It sends one prompt of a known length, asks for one token, and
// reads how many tokens the server counted.
//
// The prompt is the same short word, many times, with spaces between. A tokenizer may cut a
// word into several tokens, but it does not join words, and least of all a word with
// itself; so N words are at least N tokens, whatever the model. A server that counts fewer
// has dropped some. A prompt begins with a marker that no other had: else a server that
// leaves out what it had cached would look as if it had dropped it.
//
// Only a model whose words are longer than a token can be wronged, by a refusal that is
// just: then two samples tell how many tokens a word has, and the test is made once more
// with fewer words.
//
// The test costs about as many tokens as the window has. It is meant for servers of one's
// own, where they are free, and not for a service that has a price. A slow machine may
// read for minutes before it answers: ctx is the only deadline.
func (p *Provider) Window(ctx context.Context, modelID string, claimed int) (WindowReport, error) {
	if err := p.ready(); err != nil {
		return WindowReport{}, err
	}
	if modelID == "" || claimed < smallestClaim {
		return WindowReport{}, &model.Error{Fault: troupe.FaultBad,
			Message: fmt.Sprintf("cannot test a window of %d tokens of model %q; name a model, and at least %d",
				claimed, modelID, smallestClaim)}
	}
	words := claimed * probeShare / 100
	read, no := p.probe(ctx, modelID, words)
	if no == nil {
		return judge(claimed, words, read), nil
	}
	if !no.maybeLength() {
		return WindowReport{}, no.err
	}
	// Too long, or something else: if the same works when it is short, length it was.
	one, other := p.probe(ctx, modelID, sampleSize)
	if other != nil {
		return WindowReport{}, no.err
	}
	two, other := p.probe(ctx, modelID, 2*sampleSize)
	if other != nil {
		return WindowReport{}, no.err
	}
	if fewer := words * sampleSize / max(two-one, sampleSize); fewer < words*4/5 {
		words = fewer
		if read, no = p.probe(ctx, modelID, words); no == nil {
			return judge(claimed, words, read), nil
		}
		if !no.maybeLength() {
			return WindowReport{}, no.err
		}
	}
	r := WindowReport{Verdict: WindowRefuses, Claimed: claimed, Sent: words, Real: claimed * probeShare / 100}
	if no.window > 0 {
		r.Real = no.window
	}
	r.Advice = fmt.Sprintf("the server refuses %d tokens, so its window is smaller than the %d claimed (at most %d); "+
		"give it a larger one", words, claimed, r.Real)
	return r, nil
}

func judge(claimed, words, read int) WindowReport {
	r := WindowReport{Claimed: claimed, Sent: words, Read: read}
	switch {
	case read == 0:
		r.Verdict = WindowUnknown
		r.Advice = "the server does not tell how many tokens it read, so it cannot be checked whether it drops any"
	case read < words:
		r.Verdict = WindowTruncates
		// Ollama keeps half of its window when a prompt does not fit, others all of it.
		r.Real = min(words, 2*read)
		r.Advice = fmt.Sprintf("the server was sent at least %d tokens and read %d: it drops the rest without a "+
			"word; give it the %d that are claimed (OLLAMA_CONTEXT_LENGTH for Ollama, --ctx-size for llama.cpp, "+
			"--max-model-len for vLLM)", words, read, claimed)
	default:
		r.Verdict = WindowHolds
		r.Advice = fmt.Sprintf("%d tokens were sent and read", read)
	}
	return r
}

// refused is a probe that failed: err, and what else the answer told, if there was one.
type refused struct {
	status int
	window int
	err    error
}

func (r *refused) Error() string { return r.err.Error() }

// maybeLength reports whether it may be about the length of what was sent. Servers that cut
// a prompt first and then miss what they have cut call it an error of their own.
func (r *refused) maybeLength() bool {
	var me *model.Error
	if errors.As(r.err, &me) && me.Fault == troupe.FaultTooLong {
		return true
	}
	switch r.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
		http.StatusInternalServerError:
		return !errors.As(r.err, &me) || me.Fault != troupe.FaultNoModel
	default:
		return false
	}
}

// probe sends so many words, and returns how many tokens the server counted.
func (p *Provider) probe(ctx context.Context, modelID string, words int) (int, *refused) {
	b := jscan.AppendQuoted([]byte(`{"model":`), modelID)
	if p.o.API == Responses {
		b = append(b, `,"max_output_tokens":16,"stream":false,"store":false,"input":`...) // it refuses less
	} else {
		b = append(p.appendLimit(b, 1), `,"stream":false,"messages":`...)
	}
	b = append(b, `[{"role":"user","content":"Window test `...)
	b = strconv.AppendInt(b, p.client.Now().UnixNano(), 10)
	b = append(b, '.')
	b = append(b, strings.Repeat(probeWord, words)...)
	b = append(b, `"}]}`...)
	answer, err := p.client.Fetch(ctx, http.MethodPost, upstream.Post{URL: p.endpoint,
		Header: p.headers("application/json"), Body: encode.Body{b}})
	if err != nil {
		return 0, &refused{status: answer.Status, window: windowIn(answer.Body), err: err}
	}
	var said struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Input  int `json:"input_tokens"` // in the Responses API
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer.Body, &said); err != nil {
		return 0, &refused{err: p.nonsense("its answer", err)}
	}
	return max(said.Usage.Prompt, said.Usage.Input), nil
}

// windowIn is the window that a refusal tells in a field of its own, as llama.cpp does.
func windowIn(body []byte) int {
	var e struct {
		Error struct {
			Window int `json:"n_ctx"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &e) // 0 is "does not say"
	return max(e.Error.Window, 0)
}
