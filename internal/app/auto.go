package app

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

//go:embed auto.md
var autoPrompt string

const (
	// autoType is how calls of the model of mode auto are named to a script, which may have replies for them.
	autoType = "auto"
	// maxVerdict bounds an answer in tokens, maxReason what is kept of its reason in bytes.
	maxVerdict = 1000
	maxReason  = 300
	// autoWithin is how long it may take. A person is asked then.
	autoWithin = time.Minute
	// mostRules and what follows bound what it is told, in bytes.
	mostRules  = 3000
	mostAction = 16_000
	mostWords  = 2000
)

// autoModel asks the model of mode auto.
type autoModel struct{ opinions }

// Judge implements session.Auto.
func (a autoModel) Judge(ctx context.Context, q session.AutoAsking) troupe.Verdict {
	tooLong := ""
	if len(q.Input) > mostAction || len(q.Action) > mostAction || len(strings.Join(q.Wants, "\n")) > mostAction {
		tooLong = "the call is too long to be judged by a part of it"
	}
	return a.of(ctx, question{Model: q.Model, Type: autoType, ID: q.ID, Path: q.Path, System: autoPrompt,
		Text: toldAuto(q), Within: autoWithin, TooLong: tooLong, Read: verdict})
}

// opinions are had of models that look at what another one does.
type opinions struct {
	engine *engine
	models *models
	now    func() time.Time
}

// question is one that a model is asked for a verdict.
type question struct {
	Model    string
	Type     string // how it is named to a script
	ID, Path string // of it, and of the agent that it is about
	System   string
	Text     string
	Within   time.Duration // how long the answer may take
	TooLong  string        // why it is not asked at all; "": it is
	// Read is what an answer says. An error is no verdict.
	Read func(answer string) (effect troupe.Effect, why string, err error)
}

// of is what a model says to a question; where there is no verdict, why.
func (o opinions) of(ctx context.Context, q question) (out troupe.Verdict) {
	began := o.now()
	ctx, cancel := context.WithTimeout(ctx, q.Within)
	defer cancel()
	out.Model = q.Model
	text, err := "", error(nil)
	if q.TooLong != "" {
		err = errors.New(q.TooLong)
	} else {
		text, err = q.ask(ctx, o.engine, o.models, &out)
	}
	out.DurationMS = max(0, o.now().Sub(began).Milliseconds())
	switch {
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		err = fmt.Errorf("it had not answered after %s", q.Within)
	case err == nil:
		out.Effect, out.Why, err = q.Read(text)
	}
	if err != nil {
		out.Effect, out.Failed, out.Why = troupe.Ask, true, oneLine(err.Error())
	}
	return out
}

// ask makes the call, once. What it used is in out, whatever came of it.
func (q question) ask(ctx context.Context, e *engine, models *models, out *troupe.Verdict) (string, error) {
	p, id, err := models.Provider(q.Model)
	if err != nil {
		return "", err
	}
	head, err := p.EncodeHead(model.Head{Model: id, System: q.System,
		MaxTokens: min(maxVerdict, models.MaxOutput(q.Model))})
	if err != nil {
		return "", err
	}
	msg, err := p.EncodeMessage(troupe.Message{Role: troupe.User, Blocks: []troupe.Block{troupe.Text(q.Text)}})
	if err != nil {
		return "", err
	}
	if err := e.enter(ctx, p.Name()); err != nil {
		return "", err
	}
	reply, err := p.Stream(ctx, model.Request{
		Agent: model.Agent{Session: troupe.SessionID(q.ID), Type: q.Type, Name: q.Type,
			Path:  q.Path + "/" + q.Type,
			Reply: 1, Attempt: 1},
		Model: id, Generation: 1, Head: head, Messages: [][]byte{msg}, Fresh: 1, FreshBlocks: 1,
	}, nil)
	e.governor.Leave(p.Name(), err)
	out.Usage = reply.Usage
	if failed, ok := errors.AsType[*model.Error](err); ok {
		out.Usage = failed.Usage
	}
	cost, priced := models.Cost(q.Model, out.Usage)
	out.Cost, out.Unpriced = cost, !priced
	switch {
	case err != nil:
		return "", err
	case reply.Stop != troupe.StopEndTurn:
		return "", fmt.Errorf("its answer did not end by itself (%s)", reply.Stop)
	}
	return troupe.JoinText(reply.Blocks), nil
}

// toldAuto is the message: parts between tags that no part can close.
func toldAuto(q session.AutoAsking) string {
	call := "agent " + q.Path + " calls " + q.Tool + " with " + q.Input
	parts := []string{
		troupe.Quote("auto-person", cutTo(q.Person, mostWords)),
		troupe.Quote("auto-given", cutTo(q.Given, mostWords)),
		troupe.Quote("auto-task", cutTo(q.Task, mostWords)),
		troupe.Quote("auto-agent", cutTo(q.Said, mostWords)),
		troupe.Quote("auto-rules", cutTo(strings.Join(q.Rules, "\n"), mostRules)),
		troupe.Quote("auto-why-asked", cutTo(q.Why, mostWords)),
		troupe.Quote("auto-call", call),
		troupe.Quote("auto-action", q.Action),
		troupe.Quote("auto-wants", strings.Join(q.Wants, "\n")),
		"May this call run? One line: \"allow: REASON\" or \"ask: REASON\".",
	}
	return strings.Join(parts, "\n")
}

// cutTo is text as far as the model is told it.
func cutTo(text string, most int) string {
	short, more := tool.Cut(strings.ToValidUTF8(text, "�"), most)
	if more > 0 {
		short += fmt.Sprintf("\n[%d more bytes]", more)
	}
	return short
}

// verdict reads an answer. What is not exactly one of the two is none.
func verdict(text string) (effect troupe.Effect, why string, err error) {
	line := strings.TrimSpace(text)
	word, reason, ok := strings.Cut(line, ":")
	reason = strings.TrimSpace(reason)
	switch effect = troupe.Effect(strings.ToLower(strings.TrimSpace(word))); {
	case !ok || strings.Contains(line, "\n") || reason == "" || effect != troupe.Allow && effect != troupe.Ask:
		return troupe.Ask, "", fmt.Errorf("its answer is neither \"allow: REASON\" nor \"ask: REASON\": %q",
			oneLine(line))
	}
	return effect, oneLine(reason), nil
}

// oneLine is a reason as it is kept.
func oneLine(text string) string {
	short, more := tool.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " "), maxReason)
	if more > 0 {
		short += "…"
	}
	return short
}

// judgeOf is the model that judges in mode auto where these settings hold: the one that the user named and no other,
// but that a script which the session uses speaks for all models.
func judgeOf(a *App, p *policy, used, cwd string) (full string, err error) {
	name, parent := p.settings.Permissions.AutoModel, ""
	if name == "" {
		return "", &troupe.UserError{Problem: "mode auto needs a model that judges, and none is chosen",
			Hint: `Choose one in ` + a.dirs.Settings() + `: {"permissions": {"auto_model": "haiku"}}.`,
			Code: troupe.ExitUsage}
	}
	if strings.HasPrefix(used, "script/") {
		parent = used
	}
	if full, err = a.models.Resolve(name, parent, cwd); err == nil {
		_, _, err = a.models.Provider(full)
	}
	if err != nil {
		return "", &troupe.UserError{Problem: fmt.Sprintf("the model of mode auto, %s, is not to be had: %v", name,
			err),
			Hint: `Choose another one for "permissions.auto_model" in ` + a.dirs.Settings() + ".",
			Code: troupe.ExitUsage, Err: err}
	}
	return full, nil
}
