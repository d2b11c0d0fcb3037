package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
	"github.com/troupe-dev/troupe/internal/model/internal/jscan"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// maxShown is how many models Ollama is asked about one by one.
const maxShown = 64

// Model is a model that a server has.
type Model struct {
	ID string
	// Window is how many tokens a conversation may have here, and Trained how many the
	// model was made for, which a server often does not give it; 0: the server does not
	// say. Both are its words: see Window.
	Window  int
	Trained int
}

// listed is an entry of the list in any of the forms that servers have for it.
type listed struct {
	ID            string `json:"id"`
	OwnedBy       string `json:"owned_by"`
	MaxModelLen   int    `json:"max_model_len"`      // vLLM
	ContextWindow int    `json:"context_window"`     // Groq
	ContextLength int    `json:"context_length"`     // OpenRouter, Together
	MaxContext    int    `json:"max_context_length"` // Mistral, LM Studio
	Meta          struct {
		Window  int `json:"n_ctx"`
		Trained int `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
}

// Models lists the models that the server has, sorted by id, and what it says about their
// windows. The error is always a *model.Error.
func (p *Provider) Models(ctx context.Context) ([]Model, error) {
	if err := p.ready(); err != nil {
		return nil, err
	}
	answer, err := p.client.Fetch(ctx, http.MethodGet, upstream.Post{URL: p.base.JoinPath("models").String(),
		Header: p.headers("application/json")})
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []listed `json:"data"`
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		if json.Unmarshal(answer.Body, &list.Data) != nil { // some send the bare list
			return nil, p.nonsense("its list of models", err)
		}
	}
	var out []Model
	ollama := false
	for _, m := range list.Data {
		if m.ID == "" {
			continue
		}
		out = append(out, Model{
			ID:      m.ID,
			Window:  max(m.Meta.Window, m.MaxModelLen, m.ContextWindow, m.ContextLength, m.MaxContext),
			Trained: m.Meta.Trained,
		})
		ollama = ollama || m.OwnedBy == "library"
	}
	if ollama {
		p.askOllama(ctx, out)
	}
	slices.SortFunc(out, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

func (p *Provider) nonsense(what string, err error) error {
	return &model.Error{
		Fault:   troupe.FaultBad,
		Message: p.client.Clean("cannot read " + what + " from " + p.base.Host + ": " + err.Error()),
	}
}

// askOllama adds what Ollama tells in its own API: the window of a model that is loaded,
// else the one that its definition sets. If neither is there, Ollama chooses by the memory
// it finds, and nobody can tell before it is loaded. What it does not answer stays unknown.
func (p *Provider) askOllama(ctx context.Context, models []Model) {
	root := *p.base
	root.Path = strings.TrimSuffix(root.Path, "/v1")
	loaded := p.loadedByOllama(ctx, &root)
	for i := range models[:min(len(models), maxShown)] {
		m := &models[i]
		m.Window = max(m.Window, loaded[m.ID])
		body := append(jscan.AppendQuoted([]byte(`{"model":`), m.ID), '}')
		answer, err := p.client.Fetch(ctx, http.MethodPost, upstream.Post{URL: root.JoinPath("api/show").String(),
			Header: p.headers("application/json"), Body: encode.Body{body}})
		if err != nil {
			continue
		}
		var show struct {
			Parameters string                     `json:"parameters"`
			Info       map[string]json.RawMessage `json:"model_info"`
		}
		if json.Unmarshal(answer.Body, &show) != nil {
			continue
		}
		for name, v := range show.Info {
			if strings.HasSuffix(name, ".context_length") {
				m.Trained = number(string(v))
			}
		}
		for line := range strings.Lines(show.Parameters) {
			if f := strings.Fields(line); m.Window == 0 && len(f) == 2 && f[0] == "num_ctx" {
				m.Window = number(f[1])
			}
		}
	}
}

func (p *Provider) loadedByOllama(ctx context.Context, root *url.URL) map[string]int {
	answer, err := p.client.Fetch(ctx, http.MethodGet, upstream.Post{URL: root.JoinPath("api/ps").String(),
		Header: p.headers("application/json")})
	if err != nil {
		return nil
	}
	var ps struct {
		Models []struct {
			Name   string `json:"name"`
			Window int    `json:"context_length"`
		} `json:"models"`
	}
	if json.Unmarshal(answer.Body, &ps) != nil {
		return nil
	}
	out := map[string]int{}
	for _, m := range ps.Models {
		out[m.Name] = m.Window
	}
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // 0 is "does not say"
	return max(n, 0)
}
