package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// TestTenAtOnce: 200 agents, and a service that serves ten requests at once and turns the
// others away. All agents finish; the service is not stormed.
func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	const agents, limit = 200, 10
	var busy, refused, served atomic.Int64
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if busy.Add(1) > limit {
			busy.Add(-1)
			refused.Add(1)
			return modeltest.Fail(429, "rate_limit_error", "too many at once")
		}
		defer busy.Add(-1)
		<-time.After(10 * time.Millisecond) // being served takes a while
		served.Add(1)
		switch {
		case isMain(r) && r.Turn == 1:
			var calls []modeltest.Call
			for i := range agents {
				calls = append(calls, agentCall("prompt", fmt.Sprintf("Look at part %d", i)))
			}
			return modeltest.Calls(calls...)
		case isMain(r):
			return modeltest.Text("All seen.")
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`})
		}
		return modeltest.Text("Seen.")
	})
	p.write("a.txt", "content\n")
	p.write("../home/settings.json", `{"agents": {"max_active": 200, "max_total": 300}}`)
	run := p.run(0, "-p", "look around")
	if run.Result != "All seen." || len(run.Agents) != agents+1 {
		t.Fatalf("status %s, %d agents: %s", run.Status, len(run.Agents), run.Error)
	}
	for _, a := range run.Agents {
		if a.Status != "completed" {
			t.Errorf("%s ended as %s: %s", a.Path, a.Status, a.Error)
		}
	}
	t.Logf("%d requests: %d served, %d turned away", s.Count(), served.Load(), refused.Load())
	if n := refused.Load(); n > agents+served.Load()/2 {
		t.Errorf("the service had to turn %d requests away for %d that it served", n, served.Load())
	}
	p.audit("main")
}

// TestKeyExpires: a key that stops working in the middle of a run keeps the tree waiting,
// visibly, and nothing is lost; when it works again the run goes on.
func TestKeyExpires(t *testing.T) {
	t.Parallel()
	var expired atomic.Bool
	asked := make(chan struct{}, 1)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if r.Turn == 1 {
			expired.Store(true)
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`})
		}
		if expired.Load() {
			select {
			case asked <- struct{}{}:
			default:
			}
			return modeltest.Fail(401, "authentication_error", "invalid x-api-key")
		}
		return modeltest.Text("Back again.")
	})
	p.write("a.txt", "content\n")
	running, err := startProcess(p.command("-p", "--output-format", "json", "go"))
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	says := func(command []string, words ...string) {
		t.Helper()
		limit := time.Now().Add(patience)
		for {
			out := p.troupe(command...).out
			missing := slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(out, w) })
			if !missing {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("troupe %s does not say %q:\n%s", strings.Join(command, " "), words, out)
			}
		}
	}
	says([]string{"doctor"}, "waits for anthropic/", "invalid x-api-key", "until ")
	says([]string{"show", "main"}, "waits for model", "until ")
	// It asks again in half a minute; a person who stops it and goes on need not wait for that.
	_ = running.cmd.Process.Signal(os.Interrupt) // it may have ended
	if r, err := running.wait(); err != nil || r.code != 130 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	expired.Store(false)
	if run := p.run(0, "-p", "--resume", "main"); run.Result != "Back again." {
		t.Errorf("after the key was mended: %+v", run)
	}
}

// TestOpenAIServer: the same program against a server that speaks the other API, without a
// key, as people run models at home.
func TestOpenAIServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	s := modeltest.NewOpenAI(func(r *modeltest.Request) modeltest.Reply {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
		switch {
		case isMain(r) && r.Turn == 1:
			return modeltest.Calls(agentCall("prompt", "one"), agentCall("prompt", "two"))
		case isMain(r):
			return modeltest.Text("Both are back.")
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`, ID: "call_0"},
				modeltest.Call{Name: "Glob", Input: `{"pattern":"*"}`, ID: "call_0"})
		}
		return modeltest.Text("Seen.")
	}, modeltest.Options{Keep: 100})
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("requests broke a rule: %v", err)
		}
	})
	p := newPlace(t, "OPENAI_BASE_URL="+s.URL())
	p.write("a.txt", "content\n")
	if r := p.troupe("-p", "go"); r.code != 2 || !strings.Contains(r.errOut, "Which model?") {
		t.Errorf("without a model: %d %s", r.code, r.errOut)
	}
	run := p.run(0, "-p", "--model", "openai/local", "go")
	if run.Result != "Both are back." || len(run.Agents) != 3 {
		t.Fatalf("got %+v", run)
	}
	for _, a := range run.Agents {
		if a.Model != "openai/local" {
			t.Errorf("%s ran on %s", a.Path, a.Model)
		}
	}
	for _, h := range seen {
		if h != "" {
			t.Errorf("a server without a key was sent %q", h)
		}
	}
	p.audit("main")

	// As a provider of its own name, beside others.
	p.write("../home/settings.json", fmt.Sprintf(`{"providers": {"home": {"base_url": %q, "window": 32000}}}`, s.URL()))
	if run := p.run(0, "-p", "--model", "home/local", "go"); run.Agents[0].Model != "home/local" ||
		run.Status != "completed" {
		t.Errorf("got %+v", run)
	}
}

// TestResponsesServer: the same program against a server that speaks OpenAI's Responses API, because the settings say
// so. Thoughts go back to it as they came. Without the setting the session goes on in Chat Completions.
func TestResponsesServer(t *testing.T) {
	t.Parallel()
	handler := func(r *modeltest.Request) modeltest.Reply {
		switch {
		case strings.Contains(r.LastText(), "once more"):
			return modeltest.Text("Once more.")
		case isMain(r) && r.Turn == 1:
			reply := modeltest.Calls(agentCall("prompt", "one"), agentCall("prompt", "two"))
			reply.Thinking = "Two will do."
			return reply
		case isMain(r):
			return modeltest.Reply{Thinking: "Done.", Text: "Both are back.",
				Usage: troupe.Usage{Input: 100, Output: 20,
					CacheRead: 900, CacheWrite: 7}}
		case r.Turn == 1:
			return modeltest.Calls(modeltest.Call{Name: "Read", Input: `{"file_path":"a.txt"}`, ID: "call_0"},
				modeltest.Call{Name: "Glob", Input: `{"pattern":"*"}`, ID: "call_MpCHoJbcGCbxDXSV"})
		}
		return modeltest.Text("Seen.")
	}
	s, chat := modeltest.NewResponses(handler, modeltest.Options{Keep: 100}),
		modeltest.NewOpenAI(handler, modeltest.Options{Midway: true})
	t.Cleanup(func() {
		s.Close()
		chat.Close()
		if err := errors.Join(s.Err(), chat.Err()); err != nil {
			t.Errorf("requests broke a rule: %v", err)
		}
	})
	p := newPlace(t)
	p.write("a.txt", "content\n")
	settings := func(url, more string) {
		p.write("../home/settings.json", fmt.Sprintf(`{"providers": {"home": {"base_url": %q%s}}}`, url, more))
	}
	settings(s.URL(), `, "api": "responses"`)
	run := p.run(0, "-p", "--model", "home/gpt-6-sol", "go")
	if run.Result != "Both are back." || len(run.Agents) != 3 {
		t.Fatalf("got %+v", run)
	}
	if again := p.run(0, "-p", "--resume", "main", "once more"); again.Result != "Once more." {
		t.Errorf("got %+v", again)
	}
	all := s.Requests()
	last := string(all[len(all)-1].Body)
	if n := strings.Count(last, `"encrypted_content":"gAAAsealed=="`); n != 2 || !strings.Contains(last, `"rs_`) {
		t.Errorf("%d of 2 thoughts were sent back in %s", n, last)
	}
	p.audit("main")
	settings(chat.URL(), "")
	if again := p.run(0, "-p", "--resume", "main", "and once more"); again.Result != "Once more." {
		t.Errorf("in Chat Completions: %+v", again)
	}
	if n := len(chat.Requests()); n != 1 || strings.Contains(string(chat.Requests()[0].Body), "gAAAsealed") {
		t.Errorf("%d requests: %s", n, chat.Requests()[0].Body)
	}
}

// TestFallback: when the chosen model is not to be had, the run goes on with the other one.
func TestFallback(t *testing.T) {
	t.Parallel()
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if strings.Contains(string(r.Body), `"model":"claude-sonnet`) {
			return modeltest.Fail(404, "not_found_error", "no such model")
		}
		return modeltest.Text("From the other one.")
	})
	run := p.run(0, "-p", "--model", "sonnet", "--fallback-model", "haiku", "go")
	if run.Result != "From the other one." || !strings.Contains(run.Agents[0].Model, "haiku") {
		t.Errorf("got %+v", run)
	}
}
