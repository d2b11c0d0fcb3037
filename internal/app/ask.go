package app

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// smallModel answers questions about what tools found: that needs no more.
const smallModel = "haiku"

// maxAnswer bounds its answers, in tokens.
const maxAnswer = 2000

//go:embed ask.md
var askPrompt string

// askSmall has a small model of the session's provider answer a question about a text, which may
// come from anywhere. The governor counts it as any other call, and it is tried once: who
// asked has the text itself if there is no answer.
func (e *engine) askSmall(ctx context.Context, m *models, s troupe.Session, asker, question,
	text string) (answer string, used troupe.Usage, cost troupe.Money, err error) {
	full, err := m.Resolve(smallModel, s.Model, s.Cwd)
	if err != nil {
		return "", used, 0, err
	}
	p, id, err := m.Provider(full)
	if err != nil {
		return "", used, 0, err
	}
	head, err := p.EncodeHead(model.Head{Model: id, System: askPrompt, MaxTokens: min(maxAnswer, m.MaxOutput(full))})
	if err != nil {
		return "", used, 0, err
	}
	msg, err := p.EncodeMessage(troupe.Message{Role: troupe.User,
		Blocks: []troupe.Block{troupe.Text(text), troupe.Text(question)}})
	if err != nil {
		return "", used, 0, err
	}
	if err := e.enter(ctx, p.Name()); err != nil {
		return "", used, 0, err
	}
	reply, err := p.Stream(ctx, model.Request{
		Agent: model.Agent{Session: s.ID, Type: asker, Name: asker, Path: s.Name + "/" + asker, Reply: 1,
			Attempt: 1},
		Model: id, Generation: 1, Head: head, Messages: [][]byte{msg}, Fresh: 1, FreshBlocks: 2,
	}, nil)
	e.governor.Leave(p.Name(), err)
	used = reply.Usage
	if failed, ok := errors.AsType[*model.Error](err); ok {
		used = failed.Usage
	}
	cost, _ = m.Cost(full, used)
	if err != nil {
		return "", used, cost, fmt.Errorf("ask %s about it: %w", full, err)
	}
	return troupe.JoinText(reply.Blocks), used, cost, nil
}

// How such calls are named to a script, which may have replies for them.
const (
	askerFetch = "WebFetch"
	askerHook  = "Hook"
)

// enter waits for the governor's leave.
func (e *engine) enter(ctx context.Context, provider string) error {
	ready := make(chan struct{})
	now, cancel := e.governor.Enter(provider, func() { close(ready) })
	if now {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		cancel()
		select {
		case <-ready: // it came all the same, and goes back
			e.governor.Leave(provider, nil)
		default:
		}
		return ctx.Err()
	}
}
