package home

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// asked is a call of an operation: what stands in its path, behind it, and in its body.
type asked struct {
	in     map[string]string
	query  string
	body   any // nil: none
	raw    []byte
	header http.Header
}

// fill makes what several cases are about.
func (w *world) fill() {
	w.ids["worktree"] = w.ended("WRITE", map[string]any{"name": "wt", "worktree": "wt", "mode": "acceptEdits"})
	w.ids["done"] = w.ended("WRITE", map[string]any{"name": "done", "mode": "acceptEdits"})
	w.ids["asker"], w.ids["request"] = w.asks()
	w.ids["parent"], w.ids["child"] = w.child()
	w.ids["pushed"] = w.ended("WRITE", map[string]any{"name": "pu", "worktree": "pu", "repo": w.ids["repo"],
		"mode": "acceptEdits"})
	w.ids["team"] = w.ended("BOARD", map[string]any{"name": "job", "team": map[string]any{"size": 2}})
	w.ids["planner"] = w.begins("PLAN", map[string]any{"mode": "plan", "ask_ms": 3_600_000})
	w.until(w.ids["planner"], "request.opened")
	w.ids["keeper"] = w.ended("REMEMBER", map[string]any{"mode": "acceptEdits", "trust": true})
	w.must("POST", "/v1/schedules", w.admin, w.schedule("nightly"))
	w.hook("triage")
	w.user("bob", troupe.RightViewer)
}

func (w *world) schedule(name string) map[string]any {
	return map[string]any{"name": name, "cron": "0 7 * * 1-5", "zone": "Europe/Berlin", "max_runs_per_day": 3,
		"begin": map[string]any{"cwd": w.dir, "prompt": "look"}}
}

// hook makes a webhook, whose secret is kept as the id of its name.
func (w *world) hook(name string) string {
	w.t.Helper()
	var made wire.WebhookChanged
	w.read(w.must("POST", "/v1/webhooks", w.admin, w.webhook(name)), &made)
	w.ids["secret of "+name] = made.Secret
	return name
}

func (w *world) scheduled() string {
	w.t.Helper()
	name := w.fresh("s")
	w.must("POST", "/v1/schedules", w.admin, w.schedule(name))
	return name
}

func (w *world) webhook(name string) map[string]any {
	return map[string]any{"name": name, "signed": "github", "zone": "Europe/Berlin", "max_runs_per_day": 1000,
		"only":  []any{map[string]any{"value": "action", "is": []string{"opened"}}},
		"begin": map[string]any{"cwd": w.dir, "prompt": "triage {{title}}"}}
}

// delivery is one as GitHub sends it.
func (w *world) delivery(name, id, body string) asked {
	mac := hmac.New(sha256.New, []byte(w.ids["secret of "+name]))
	mac.Write([]byte(body))
	return asked{in: map[string]string{"webhook": name}, raw: []byte(body), header: http.Header{
		"X-Github-Delivery":   {id},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}}
}

// reaching are calls that are answered with a 2xx, by the operation. Each makes first what it is about, where the call
// uses that up.
func (w *world) reaching() map[string]func() asked {
	of := func(session string) map[string]string { return map[string]string{"id": w.ids[session]} }
	at := func(more ...any) asked {
		b := map[string]any{"cwd": w.dir}
		for i := 0; i+1 < len(more); i += 2 {
			b[fmt.Sprint(more[i])] = more[i+1]
		}
		return asked{body: b}
	}
	plain := func() asked { return asked{} }
	here := func() asked { return at() }
	folder := func() asked { return asked{query: "cwd=" + w.dir} }
	done := func() asked { return asked{in: of("done")} }
	fresh := func(prompt string) asked {
		return asked{in: map[string]string{"id": w.ended(prompt, map[string]any{"mode": "acceptEdits"})}}
	}
	with := func(a asked, body any) func() asked {
		return func() asked { a.body = body; return a }
	}
	named := func(kind, name string) asked { return asked{in: map[string]string{kind: name}} }
	return map[string]func() asked{
		"acts": plain, "hosted": plain, "list-requests": plain, "list-sessions": plain, "me": plain, "plans": plain,
		"schedules": plain, "tasks": plain, "tokens": plain, "users": plain, "webhooks": plain,
		"agents": here, "hooks": here, "memories": here, "plugins": here, "rules": here, "servers": here,
		"skills":      here,
		"status-line": here, "workflows": here, "worktrees": here,
		"default-model": folder, "doctor": folder, "models": folder, "untrusted": folder,
		"context": done, "cost": done, "events": done, "find-session": done, "plan-undo": done, "report": done,
		"session-tasks": done, "tree": done, "turns": done, "wait": done,
		"team":  func() asked { return asked{in: of("team")} },
		"agent": func() asked { return at("name", "Explore") },
		"explain": func() asked {
			return asked{body: map[string]any{"place": map[string]any{"cwd": w.dir},
				"calls": []any{map[string]any{"tool": "Bash", "input": map[string]any{"command": "ls"}}}}}
		},
		"drain": func() asked {
			var all wire.Hosted
			w.read(w.must("GET", "/v1/hosting", w.admin, nil), &all)
			return asked{body: map[string]any{"worker": all.Workers[0].ID, "cancel": true}}
		},
		"pause": func() asked { return asked{body: map[string]any{"folder": filepath.Join(w.dir, "paused")}} },
		"set-memory": func() asked {
			return at("agent", "keeper", "scope", "project", "file", "MEMORY.md", "text", "Spaces.\n")
		},
		"set-plugin": func() asked { return at("action", "add", "name", filepath.Join(w.dir, "kit")) },
		"set-server": func() asked {
			return at("name", "tester", "entry", map[string]any{"url": "http://127.0.0.1:9/mcp", "type": "http"})
		},
		"login": func() asked {
			w.must("POST", "/v1/servers/change", w.admin, w.server())
			return at("name", "far", "action", "out")
		},
		"request": func() asked { return named("request", w.ids["request"]) },
		"answer": func() asked {
			return asked{in: map[string]string{"request": w.called()}, body: map[string]any{"allow": true,
				"result": map[string]any{"text": "-3 degrees"}, "idempotency_key": "k"}}
		},
		"schedule":       func() asked { return named("schedule", "nightly") },
		"set-schedule":   func() asked { return asked{body: w.schedule(w.fresh("s"))} },
		"pause-schedule": func() asked { a := named("schedule", "nightly"); a.body = map[string]any{}; return a },
		"run-schedule": func() asked {
			return named("schedule", w.scheduled())
		},
		"remove-schedule": func() asked {
			return named("schedule", w.scheduled())
		},
		"webhook":     func() asked { return named("webhook", "triage") },
		"set-webhook": func() asked { return asked{body: w.webhook(w.fresh("h"))} },
		"pause-webhook": func() asked {
			a := named("webhook",
				w.hook(w.fresh("h")))
			a.body = map[string]any{}
			return a
		},
		"remove-webhook": func() asked { return named("webhook", w.hook(w.fresh("h"))) },
		"deliver": func() asked {
			return w.delivery("triage", "d1",
				`{"action": "opened", "title": "It fails"}`)
		},
		"begin": func() asked { return at("prompt", "look", "tools", []any{w.weather()}) },
		"send":  func() asked { a := fresh("look"); a.body = map[string]any{"text": "more"}; return a },
		"stop": func() asked {
			r, _ := w.child()
			return asked{in: map[string]string{"id": r}, body: map[string]any{"now": true}}
		},
		"background": func() asked { _, c := w.child(); return asked{in: map[string]string{"id": c}} },
		"compact":    func() asked { a := fresh("look"); a.body = map[string]any{}; return a },
		"mode":       with(asked{in: of("done")}, map[string]any{"mode": "plan"}),
		"model": with(asked{in: of("done")}, map[string]any{"model": "script:" +
			filepath.Join(filepath.Dir(w.dir), "play.yaml")}),
		"sleep": func() asked { a := fresh("look"); a.body = map[string]any{}; return a },
		"leave": func() asked { return fresh("look") },
		"change-session": func() asked {
			a := fresh("look")
			a.body = map[string]any{"name": w.fresh("n"), "archive": true}
			return a
		},
		"remove": func() asked {
			a := fresh("look")
			w.must("POST", "/v1/sessions/"+a.in["id"]+"/leave", w.admin, nil)
			return a
		},
		"undo": func() asked {
			if err := os.RemoveAll(filepath.Join(w.dir, "written.txt")); err != nil {
				w.t.Fatal(err)
			}
			a := fresh("WRITE")
			var u wire.Undo
			w.read(w.must("GET", "/v1/sessions/"+a.in["id"]+"/undo", w.admin, nil), &u)
			a.body = map[string]any{"plan": u.Plan}
			return a
		},
		"trust": func() asked {
			w.write(filepath.Join(w.dir, ".claude/settings.json"),
				`{"permissions": {"allow": ["Bash(`+w.fresh("make")+`)"]}}`)
			var all []wire.Untrusted
			w.read(w.must("GET", "/v1/trust?cwd="+w.dir, w.admin, nil), &all)
			return at("folder", all[0].Folder, "hash", all[0].Hash)
		},
		"diff-worktree":   func() asked { return at("name", "wt") },
		"merge-worktree":  func() asked { return at("name", "wt", "dry_run", true) },
		"push-worktree":   func() asked { return at("name", "pu", "all", true) },
		"prune-worktrees": func() asked { return at("dry_run", true) },
		"set-user": func() asked {
			return asked{body: map[string]any{"name": "carl", "right": "viewer",
				"invite": true}}
		},
		"revoke": func() asked {
			w.user("dora", troupe.RightViewer)
			var all []wire.Token
			w.read(w.must("GET", "/v1/tokens", w.admin, nil), &all)
			for _, x := range all {
				if x.User == "dora" {
					return asked{body: map[string]any{"id": x.ID}}
				}
			}
			return asked{}
		},
		"stored-agents":       plain,
		"set-stored-agent":    func() asked { return asked{body: w.definition(w.fresh("a"))} },
		"stored-agent":        func() asked { return named("agent", w.stored()) },
		"remove-stored-agent": func() asked { return named("agent", w.stored()) },
		"targets":             plain,
		"set-target":          func() asked { return asked{body: w.target(w.fresh("t"))} },
		"target":              func() asked { return named("target", w.told()) },
		"test-target":         func() asked { return named("target", w.told()) },
		"remove-target":       func() asked { return named("target", w.told()) },
		"replay-target":       func() asked { a := named("target", w.told()); a.body = map[string]any{}; return a },
		"sign-in": func() asked {
			var u wire.UserChanged
			w.read(w.must("POST", "/v1/users/change", w.admin, map[string]any{"name": "emil", "right": "viewer",
				"invite": true}), &u)
			return asked{body: map[string]any{"code": u.Code, "label": "laptop"}}
		},
	}
}

// definition is that of an agent which is to be stored.
func (w *world) definition(name string) map[string]any {
	return map[string]any{"name": name, "text": "---\nname: " + name + "\ndescription: d\n---\nYou review.\n"}
}

func (w *world) stored() string {
	w.t.Helper()
	name := w.fresh("a")
	w.must("POST", "/v1/stored-agents", w.admin, w.definition(name))
	return name
}

// target is one that is told nothing: its events do not come, and nothing listens there.
func (w *world) target(name string) map[string]any {
	return map[string]any{"name": name, "url": "https://127.0.0.1:9/notices", "events": []string{"schedule.failed"}}
}

func (w *world) told() string {
	w.t.Helper()
	name := w.fresh("t")
	w.must("POST", "/v1/targets", w.admin, w.target(name))
	return name
}

// fresh is a name that nothing has yet.
func (w *world) fresh(what string) string { return what + itoa(w.calls.Add(1)) }

func (w *world) server() map[string]any {
	return map[string]any{"cwd": w.dir, "name": "far", "entry": map[string]any{"type": "http",
		"url": "http://127.0.0.1:9/mcp"}}
}

// of is a call of an operation, with a token.
func (o *operation) of(a asked, token string) sent {
	x := sent{method: o.method, path: filled(o.path, a.in), token: token, body: a.raw, header: a.header}
	if a.query != "" {
		x.path += "?" + a.query
	}
	if a.body != nil {
		x.body = []byte(jsonOf(a.body))
	}
	return x
}
