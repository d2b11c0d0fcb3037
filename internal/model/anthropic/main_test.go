package anthropic

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "a-gateways-own-key/0123456789"

// serve starts a fake service and a provider that talks to it.
func serve(t testing.TB, h modeltest.Handler, o modeltest.Options, mine ...func(*Options)) (*Provider,
	*modeltest.Server) {
	t.Helper()
	s := modeltest.NewAnthropic(h, o)
	opts := Options{APIKey: testKey, BaseURL: s.URL()}
	for _, f := range mine {
		f(&opts)
	}
	p := New(opts)
	t.Cleanup(func() {
		p.Close()
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("the service was sent what it refuses: %v", err)
		}
	})
	return p, s
}

func always(r modeltest.Reply) modeltest.Handler {
	return func(*modeltest.Request) modeltest.Reply { return r }
}

// ask is a request with one message.
func ask(t testing.TB, p *Provider, text string) model.Request {
	t.Helper()
	return conversation(t, p, 1, troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text(text)}})
}

func conversation(t testing.TB, p *Provider, reply int, msgs ...troupe.Message) model.Request {
	t.Helper()
	head, err := p.EncodeHead(model.Head{Model: "claude-x", System: "Be brief.", MaxTokens: 100,
		Tools: []troupe.Tool{{Name: "Read", Description: "reads"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := model.Request{Agent: model.Agent{Session: "s", Type: "main", Reply: reply}, Model: "claude-x", Head: head,
		Fresh: 1, FreshBlocks: 1}
	for _, m := range msgs {
		b, err := p.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, b)
	}
	return r
}

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Harness{New: func(t *testing.T, replies ...modeltest.Reply) model.Provider {
		p, _ := serve(t, func(r *modeltest.Request) modeltest.Reply { return replies[r.Turn-1] },
			modeltest.Options{Midway: true})
		return p
	}})
}

func TestWire(t *testing.T) {
	t.Parallel()
	modeltest.RunWire(t, modeltest.Wire{API: modeltest.Anthropic, Recorded: []byte(recorded),
		New: func(t *testing.T, base string, rt http.RoundTripper) model.Provider {
			p := New(Options{APIKey: testKey, BaseURL: base, Transport: rt, IdleTimeout: modeltest.Idle})
			t.Cleanup(p.Close)
			return p
		}})
}
