package home

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestEveryOperationForEveryone: each operation, by those without a token, with a wrong one and with one that is over,
// and by users of each right; about what is the server's, what is of its home and not the server's, and what is not
// there. What a right covers is what the operation's route says, and the last two are answered with the same words.
// Each operation that the description names answers with a 2xx, in the shape that it promises, where there is what it
// is about: a new one needs a case in reaching.
func TestEveryOperationForEveryone(t *testing.T) {
	t.Parallel()
	if testing.Short() { // the one by project reaches each under the race detector
		t.Skip("without -short it runs")
	}
	w := newWorld(t, ServeOptions{Proxies: []string{"127.0.0.1"}})
	w.late.Store(int64(-91 * 24 * time.Hour)) // tokens hold for 90 days
	over := w.user("old", troupe.RightAdmin)
	w.late.Store(0)
	w.fill()
	tokens := map[troupe.Right]string{}
	for _, right := range troupe.UserRights() {
		tokens[right] = w.user("user-"+string(right), right)
	}
	clean := strings.NewReplacer(w.ids["outside request"], "IT", absent+".1.0", "IT", w.ids["outside"], "IT", absent,
		"IT",
		"theirs", "IT", "nowhere", "IT")
	cases, c := w.reaching(), w.client()
	defer c.CloseIdleConnections()
	ask := func(o *operation, a asked, token string) (got, wire.Problem) {
		x := o.of(a, token)
		out, err := w.call(c, x)
		if err != nil {
			t.Fatalf("%s: %s %s: %v", o.ID, x.path, x.body, err)
		}
		if wrong := w.doc.answers(o, out); len(wrong) > 0 {
			t.Errorf("%s: %s: %d %.500s: %s", o.ID, x.path, out.status, out.body, strings.Join(wrong, "\n"))
		}
		var p wire.Problem
		if out.status >= 400 {
			w.read(out.body, &p)
		}
		return out, p
	}
	if len(cases) != len(w.doc.operations) {
		t.Errorf("there are cases of %d operations, and %d are described", len(cases), len(w.doc.operations))
	}
	for _, o := range w.doc.operations {
		route := wire.RouteOf(o.ID)
		reaches, ok := cases[o.ID]
		if !ok {
			t.Errorf("no case reaches %s", o.ID)
			continue
		}
		own, reached := reaches(), false
		for what, token := range map[string]string{"without a token": "", "a wrong token": "troupe_x_y",
			"an expired one": over} {
			out, p := ask(o, own, token)
			reached = reached || out.status/100 == 2
			switch {
			case route.Open && o.ID == wire.DeliverRoute && out.status/100 != 2, // which its signature lets in
				route.Open && o.ID == wire.SignInRoute && out.status/100 != 2 && out.status != http.StatusForbidden,
				!route.Open && (out.status != http.StatusUnauthorized || p.Detail == "" || p.Hint == ""):
				t.Errorf("%s, %s: %d %.300s", o.ID, what, out.status, out.body)
			}
		}
		if reached != route.Open {
			t.Errorf("%s is reached without a token: %t", o.ID, reached)
		}
		if route.Open {
			continue
		}
		script := strings.Contains(jsonOf(own.body), `"script:`)
		// which operators change where they made it
		planned := own.in["schedule"]+own.in["webhook"]+own.in["agent"] != ""
		for _, right := range troupe.UserRights() {
			told := map[string]string{}
			for what, a := range w.theirs(o, own) {
				out, p := ask(o, a, tokens[right])
				lacks := out.status == http.StatusForbidden && strings.Contains(p.Detail, "needs the right")
				switch {
				case !right.Covers(route.Needs):
					if !lacks || !strings.Contains(p.Detail, string(route.Needs)) {
						t.Errorf("%s, %s by %s: %d %.300s", o.ID, what, right, out.status, out.body)
					}
				case script && right != troupe.RightAdmin:
					if !lacks {
						t.Errorf("%s, %s by %s, who names a file: %d %.300s", o.ID, what, right, out.status, out.body)
					}
				case o.ID == "revoke" && right != troupe.RightAdmin: // it is another user's
					if !lacks {
						t.Errorf("%s of another user by %s: %d %.300s", o.ID, right, out.status, out.body)
					}
				case what == "own" && planned && right == troupe.RightOperator && o.method != http.MethodGet:
					if out.status != http.StatusForbidden || !strings.Contains(p.Detail, "has made the") &&
						!strings.Contains(p.Detail, "has stored the") {
						t.Errorf("%s of another user by %s: %d %.300s", o.ID, right, out.status, out.body)
					}
				case what == "own":
					if out.status/100 != 2 { // another has used up what it is about
						own = reaches()
						out, _ = ask(o, own, tokens[right])
					}
					if out.status/100 != 2 {
						t.Errorf("%s, own by %s: %d %.300s", o.ID, right, out.status, out.body)
					}
				case out.status != http.StatusNotFound || p.Kind != "not_found":
					t.Errorf("%s, %s by %s: %d %.300s", o.ID, what, right, out.status, out.body)
				}
				told[what] = clean.Replace(string(out.body))
			}
			for what := range told {
				if by, ok := strings.CutPrefix(what, "elsewhere"); ok && told[what] != told["nowhere"+by] {
					t.Errorf("%s by %s tells what is elsewhere from what is nowhere: %q", o.ID, right, told)
				}
			}
		}
	}
}

// TestMemoryElsewhere: what agents of sessions have kept that are not the server's is listed, read, changed and
// forgotten
// by nobody there, and words about it are those about what is nowhere.
func TestMemoryElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ServeOptions{Proxies: []string{"127.0.0.1"}})
	c := w.client()
	defer c.CloseIdleConnections()
	clean := strings.NewReplacer(w.ids["outside"], "IT", absent, "IT")
	for _, path := range []string{"/v1/memories", "/v1/memories/change"} {
		for _, more := range []map[string]any{{}, {"agent": "mine"}, {"agent": "mine", "file": "MEMORY.md"},
			{"scope": "local"}, {"file": "MEMORY.md"}, {"agent": "mine", "scope": "local", "file": "MEMORY.md"}} {
			var told []string
			for _, session := range []string{w.ids["outside"], absent, ""} {
				b := map[string]any{"cwd": w.dir, "session": session}
				for k, v := range more {
					b[k] = v
				}
				if path != "/v1/memories" {
					b["text"] = nil
				}
				a, err := w.call(c, sent{method: "POST", path: path, token: w.admin, body: []byte(jsonOf(b))})
				if err != nil {
					t.Fatalf("%s %v: %v", path, b, err)
				}
				told = append(told, clean.Replace(string(a.body)))
				if strings.Contains(string(a.body), "elsewhere") {
					t.Errorf("%s %v: %s", path, b, a.body)
				}
			}
			if told[0] != told[1] || strings.Contains(told[2], "IT") {
				t.Errorf("%s %v: it is told %q", path, more, told)
			}
		}
	}
	if b, err := os.ReadFile(filepath.Join(w.home, "memory", w.ids["outside"], "mine", "MEMORY.md")); err != nil {
		t.Errorf("it holds %q, %v", b, err)
	}
}

// absent is no session, and no beginning of one.
const absent = "zzzzzzzzzzzz"

// theirs are calls like one that is about what is the server's: about what is elsewhere, and about what is nowhere.
func (w *world) theirs(o *operation, own asked) map[string]asked {
	out := map[string]asked{"own": own}
	put := func(what, name, value string) {
		a := own
		a.in = map[string]string{name: value}
		out[what] = a
	}
	body := func(what, field, value string) {
		b, ok := own.body.(map[string]any)
		if !ok {
			return
		}
		a, with := own, map[string]any{}
		for k, v := range b {
			with[k] = v
		}
		with[field] = value
		a.body = with
		out[what] = a
	}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path" && p.Name == "id":
			put("elsewhere", "id", w.ids["outside"])
			put("nowhere", "id", absent)
		case p.In == "path" && p.Name == "request":
			put("elsewhere", "request", w.ids["outside request"])
			put("nowhere", "request", absent+".1.0")
		case p.In == "path":
			put("nowhere", p.Name, absent)
		}
	}
	worktree := strings.HasPrefix(o.path, "/v1/worktrees") && o.ID != "prune-worktrees"
	if s := w.doc.resolve(o.sends()); s != nil && o.ID != "login" {
		for name := range s.Properties {
			switch {
			case name == "resume" || name == "root":
				body("elsewhere", name, w.ids["outside"])
				body("nowhere", name, absent)
			case name == "name" && worktree:
				body("elsewhere", name, "theirs")
				body("nowhere", name, "nowhere")
			}
		}
	}
	if o.ID == "list-requests" || o.ID == "list-sessions" {
		name := map[string]string{"list-requests": "root=", "list-sessions": "parent="}[o.ID]
		out["elsewhere"], out["nowhere"] = asked{query: name + w.ids["outside"]}, asked{query: name + absent}
	}
	if o.ID == "list-sessions" {
		out["elsewhere, behind it"], out["nowhere, behind it"] = asked{query: "after=" + w.ids["outside"]},
			asked{query: "after=" + absent}
	}
	return out
}
