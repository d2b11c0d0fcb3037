package cmd

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// planted holds what nobody sees, goes on on a line that passes for one of ours, sets a terminal's title and clears the
// screen.
const planted = "x" + unseen + "\x1b\nFORGED]0;PWN\x07\x1b[2J\u009b31m\u202e\u200e\u061c\ufeff\u00ad\U000e0041\u3164"

// unseen is short, for lists cut texts.
const unseen = "\u200b"

// plant puts it into every text below a value, but not into ids and words of our own, which have types.
func plant(v reflect.Value, depth int) {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(planted)
		}
	case reflect.Pointer:
		if v.IsNil() && depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			plant(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Field(i).Type() != reflect.TypeFor[time.Time]() {
				plant(v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && depth > 0 && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			plant(v.Index(i), depth-1)
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]string]() {
			v.Set(reflect.ValueOf(map[string]string{planted: planted}))
		}
	}
}

func full[T any]() T {
	var out T
	plant(reflect.ValueOf(&out).Elem(), 5)
	return out
}

// plantedEvents are one of each kind, each text of which is planted.
func plantedEvents() []troupe.Event {
	finished := full[troupe.ToolFinished]()
	finished.Outcome, finished.Denied, finished.Task = nil, nil, nil
	failed := finished
	failed.Result.IsError = true
	denied := finished
	denied.Denied = full[troupe.ToolFinished]().Denied
	replied := full[troupe.Replied]()
	for _, kind := range []troupe.BlockType{troupe.TextBlock, troupe.ThinkingBlock, troupe.CallBlock} {
		b := replied.Blocks[0]
		b.Type = kind
		replied.Blocks = append(replied.Blocks, b)
	}
	first := full[troupe.Created]()
	first.Depth = 1
	again := full[troupe.ModelFailed]()
	again.RetryAt = time.Now()
	mails := full[troupe.MailDelivered]()
	for _, change := range []func(*troupe.Mail){
		func(m *troupe.Mail) { m.Ended = nil }, func(m *troupe.Mail) { m.Ended, m.Stop = nil, nil },
		func(m *troupe.Mail) { m.Ended, m.Stop, m.Kind = nil, nil, troupe.MailNotice },
	} {
		m := mails.Mail[0]
		change(&m)
		mails.Mail = append(mails.Mail, m)
	}
	var out []troupe.Event
	for i, b := range []troupe.Body{
		first, troupe.Started{Run: 2}, mails, full[troupe.CallSealed](), full[troupe.ModelFailed](), again, replied,
		full[troupe.ModelChanged](), full[troupe.AuthorityChanged](), full[troupe.ToolJudged](), full[troupe.HookRan](),
		full[troupe.ToolStarted](), finished, failed, denied, full[troupe.ToolFinished](), full[troupe.RequestOpened](),
		full[troupe.RequestAnswered](), full[troupe.Compacted](), full[troupe.BudgetWarned](),
		full[troupe.SettingsChanged](), full[troupe.AutoAsked](), full[troupe.AutoJudged](), full[troupe.Ended](),
	} {
		out = append(out, troupe.Event{Session: "7k3f00000000", Root: "7k3f00000000", Seq: int64(i + 1), Body: b})
	}
	return out
}

// TestNothingPrintedActsOnTheTerminal: whatever stands in a field, from a model, a file, a folder's name, it
// reaches the terminal as something to be read.
func TestNothingPrintedActsOnTheTerminal(t *testing.T) {
	t.Parallel()
	s, report := full[wire.Session](), full[wire.Report]()
	request := full[wire.Request]()
	request.ID = "9m20"
	tree := wire.Tree{Running: true, Owner: full[wire.Tree]().Owner}
	for name, show := range map[string]func(*console.Console) error{
		"show": func(c *console.Console) error {
			writeSession(c, tree, report, s, "")
			left := s
			left.Status = troupe.Running
			writeSession(c, tree, report, left, "")
			return nil
		},
		"sessions": func(c *console.Console) error { return writeSessions(c, []wire.Session{s}) },
		"requests": func(c *console.Console) error { writeRequest(c, request, time.Now()); return nil },
		"answer": func(c *console.Console) error {
			return tellAnswer(c, tree, request, answered{Allow: true, Always: true})
		},
		"cost":    func(c *console.Console) error { return writeCost(c, full[wire.Cost]()) },
		"context": func(c *console.Console) error { return c.Context(full[wire.Context]()) },
		"models":  func(c *console.Console) error { return writeModels(c, full[wire.ModelList]()) },
		"none": func(c *console.Console) error {
			return writeModels(c,
				wire.ModelList{Providers: []string{planted}})
		},
		"doctor": func(c *console.Console) error { writeCheck(c, full[wire.Diagnosis]()); return nil },
		"rules":  func(c *console.Console) error { return writeRuleList(c, full[wire.RuleList]()) },
		"plan":   func(c *console.Console) error { return writePlan(c, s, full[wire.Undo](), true) },
		"turns":  func(c *console.Console) error { return writeTurns(c, s, []wire.Turn{full[wire.Turn]()}) },
		"tasks": func(c *console.Console) error {
			return writeTasks(c, []wire.Task{full[wire.Task]()})
		},
		"log": func(c *console.Console) error {
			return printEvents(c, plantedEvents(), map[troupe.SessionID]string{}, s, logFlags{tree: true})
		},
		"live": func(c *console.Console) error {
			live.New(c.Out, false, 80, "/").Show(plantedEvents())
			live.NewNotices(c.Warn).Show(plantedEvents())
			return nil
		},
		"chat": func(c *console.Console) error {
			for _, root := range []troupe.SessionID{"7k3f00000000", "9m2000000000"} {
				v := render.New(root, render.Options{Width: 80})
				for _, e := range plantedEvents() {
					v.Event(e)
				}
				lines, tail := v.Take()
				c.Out.Write([]byte(lines + tail + "\n")) //nolint:errcheck // a buffer
			}
			return nil
		},
		"report": func(c *console.Console) error {
			c.OutTTY = true
			_ = run.Finish(c, report, run.Output{Live: true})
			return nil
		},
	} {
		var out bytes.Buffer
		c := &console.Console{Out: &out, Err: &out, Now: time.Now,
			Lookup: func(string) (string, bool) { return "", false }}
		if err := show(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), "FORGED") {
			t.Errorf("%s shows nothing of what was planted:\n%s", name, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if strings.ContainsAny(line, "\x1b\a\u009b\u202e\u2028\u200e\u061c\ufeff\u00ad\U000e0041\u3164"+unseen) {
				t.Errorf("%s: %q", name, line)
			}
			// Replies, results and problems may have lines.
			free := slices.Contains([]string{"chat", "models", "report", "show"}, name)
			if strings.HasPrefix(line, "FORGED") && !free {
				t.Errorf("%s: a line of its own: %q", name, line)
			}
		}
	}
}
