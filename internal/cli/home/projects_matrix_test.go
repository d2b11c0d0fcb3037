package home

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newProjects makes a world of two projects: its own, which has one of everything, and another one.
func newProjects(t *testing.T) (w *world, other string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other = filepath.Join(root, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	checkouttest.Git(t, other, "init", "--quiet", "--initial-branch=main")
	checkouttest.Git(t, other, "commit", "--quiet", "--allow-empty", "--message", "first")
	w = newWorld(t, ServeOptions{Proxies: []string{"127.0.0.1"}, Folders: []string{other}})
	w.fill()
	return w, other
}

// member adds a user with rights in projects alone, and gives a token of theirs.
func (w *world) member(name string, in ...troupe.Project) string {
	w.t.Helper()
	var u wire.UserChanged
	w.read(w.must("POST", "/v1/users/change", w.admin, map[string]any{"name": name, "right": "none", "projects": in,
		"invite": true}), &u)
	return w.signIn(u.Code)
}

// leaks is what an answer tells of a project that its reader has not, and has not named.
func (w *world) leaks(secrets []string, x sent, body []byte) (out []string) {
	for _, secret := range secrets {
		if strings.Contains(string(body), secret) && !strings.Contains(x.path+string(x.body), secret) {
			out = append(out, secret)
		}
	}
	return out
}

// TestEveryOperationByProject: each operation, by users with rights in one project alone. In theirs they may what their
// right covers, but for what is the whole server's. What is another project's is answered with the same words as what
// is elsewhere, or nowhere, and no answer tells of it: a new operation is for those with a right at the server until
// its route says otherwise.
func TestEveryOperationByProject(t *testing.T) {
	t.Parallel()
	w, other := newProjects(t)
	c := w.client()
	defer c.CloseIdleConnections()
	// The other project's own, which its admin made.
	webber := w.member("webber", troupe.Project{Folder: other, Right: troupe.RightAdmin})
	in := func(token, prompt string, more map[string]any) string {
		b := map[string]any{"cwd": other, "prompt": prompt, "mode": "acceptEdits"}
		for k, v := range more {
			b[k] = v
		}
		var begun wire.Begun
		w.read(w.must("POST", "/v1/sessions", token, b), &begun)
		w.must("POST", "/v1/sessions/"+string(begun.Root)+"/wait", token, nil)
		return string(begun.Root)
	}
	theirs := map[string]string{"id": in(webber, "WRITE", map[string]any{"name": "theirjob"}),
		"tree": in(webber, "WRITE", map[string]any{"name": "theirtree", "worktree": "theirtree"})}
	w.must("POST", "/v1/schedules", webber, map[string]any{"name": "theirplan", "cron": "0 7 * * 1-5",
		"begin": map[string]any{"cwd": other, "prompt": "their words"}})
	w.must("POST", "/v1/webhooks", webber, map[string]any{"name": "theirhook", "signed": "github",
		"only":  []any{map[string]any{"value": "action", "is": []string{"opened"}}},
		"begin": map[string]any{"cwd": other, "prompt": "their words"}})
	named := []string{"theirjob", "theirtree", "theirplan", "theirhook", "their words", theirs["id"], theirs["tree"],
		other}
	ours := []string{w.dir, w.ids["done"], w.ids["asker"], w.ids["request"], w.ids["parent"], w.ids["child"],
		w.ids["team"], w.ids["planner"], w.ids["keeper"], w.ids["worktree"], w.ids["pushed"], `"name":"nightly"`, `"name":"triage"`}

	clean := strings.NewReplacer(w.ids["outside request"], "IT", absent+".1.0", "IT", theirs["id"]+".1.0", "IT",
		w.ids["outside"], "IT", absent, "IT", theirs["id"], "IT", "theirtree", "IT", "theirplan", "IT", "theirhook",
		"IT", "theirs", "IT", "nowhere", "IT")
	tokens := map[troupe.Right]string{}
	for _, right := range troupe.UserRights() {
		tokens[right] = w.member("by-project-"+string(right), troupe.Project{Folder: w.dir, Right: right})
	}
	ask := func(o *operation, a asked, token string, secrets []string) (got, wire.Problem) {
		x := o.of(a, token)
		out, err := w.call(c, x)
		if err != nil {
			t.Fatalf("%s: %s %s: %v", o.ID, x.path, x.body, err)
		}
		if wrong := w.doc.answers(o, out); len(wrong) > 0 {
			t.Errorf("%s: %s: %d %.500s: %s", o.ID, x.path, out.status, out.body, strings.Join(wrong, "\n"))
		}
		if tells := w.leaks(secrets, x, out.body); len(tells) > 0 {
			t.Errorf("%s: %s %s tells of %q: %d %.2000s", o.ID, x.path, x.body, tells, out.status, out.body)
		}
		var p wire.Problem
		if out.status >= 400 {
			w.read(out.body, &p)
		}
		return out, p
	}
	cases := w.reaching()
	for _, o := range w.doc.operations {
		route := wire.RouteOf(o.ID)
		reaches, ok := cases[o.ID]
		if !ok || route.Open {
			continue // the other matrix says so
		}
		own := reaches()
		script := strings.Contains(jsonOf(own.body), `"script:`)
		others := slices.Contains([]string{"remove-schedule", "run-schedule", "pause-schedule", "remove-webhook",
			"pause-webhook"}, o.ID)
		for _, right := range troupe.UserRights() {
			may := route.InProject && right.Covers(route.Needs)
			told := map[string]string{}
			for what, a := range w.another(o, own, theirs) {
				out, p := ask(o, a, tokens[right], named)
				lacks := out.status == http.StatusForbidden && strings.Contains(p.Detail, "needs the right")
				switch {
				case !may, script, o.ID == "revoke":
					if !lacks {
						t.Errorf("%s, %s by %s in the project: %d %.300s", o.ID, what, right, out.status, out.body)
					}
				case what == "own" && others && right == troupe.RightOperator:
					if out.status != http.StatusForbidden || !strings.Contains(p.Detail, "has made the") {
						t.Errorf("%s of another user by %s: %d %.300s", o.ID, right, out.status, out.body)
					}
				case what == "own" && o.ID == "push-worktree": // it is in a checkout, which is in no project
					if out.status != http.StatusNotFound {
						t.Errorf("%s by %s in the project: %d %.300s", o.ID, right, out.status, out.body)
					}
				case what == "own":
					if out.status/100 != 2 { // another has used up what it is about
						own = reaches()
						out, _ = ask(o, own, tokens[right], named)
					}
					if out.status/100 != 2 {
						t.Errorf("%s, own by %s in the project: %d %.300s", o.ID, right, out.status, out.body)
					}
				case out.status != http.StatusNotFound || p.Kind != "not_found":
					t.Errorf("%s, %s by %s in the project: %d %.300s", o.ID, what, right, out.status, out.body)
				}
				told[what] = clean.Replace(string(out.body))
			}
			for what := range told {
				by, elsewhere := strings.CutPrefix(what, "elsewhere")
				if !elsewhere {
					by, elsewhere = strings.CutPrefix(what, "another's")
				}
				if elsewhere && told[what] != told["nowhere"+by] {
					t.Errorf("%s by %s in the project tells what is %s from what is nowhere: %q", o.ID, right, what,
						told)
				}
			}
		}
		// Who administers the other project is told nothing of this one, whatever they ask.
		if own = reaches(); o.ID == "revoke" {
			continue
		}
		out, p := ask(o, own, webber, ours)
		lacks := out.status == http.StatusForbidden && strings.Contains(p.Detail, "needs the right")
		none := out.status == http.StatusNotFound && p.Kind == "not_found"
		if len(own.in) > 0 && route.InProject && !none && !script || (!route.InProject || script) && !lacks {
			t.Errorf("%s by an admin of another project: %d %.300s", o.ID, out.status, out.body)
		}
	}
}

// another are calls like theirs, with those about what is another project's.
func (w *world) another(o *operation, own asked, theirs map[string]string) map[string]asked {
	out := w.theirs(o, own)
	for what, a := range out {
		by, ok := strings.CutPrefix(what, "elsewhere")
		if !ok {
			continue
		}
		with := func(text string) string {
			return strings.NewReplacer(w.ids["outside request"], theirs["id"]+".1.0", w.ids["outside"], theirs["id"],
				"theirs", "theirtree").Replace(text)
		}
		b := a
		b.query, b.in = with(a.query), map[string]string{}
		for k, v := range a.in {
			b.in[k] = with(v)
		}
		if m, ok := a.body.(map[string]any); ok {
			changed := map[string]any{}
			for k, v := range m {
				if text, ok := v.(string); ok && text != w.dir {
					v = with(text)
				}
				changed[k] = v
			}
			b.body = changed
		}
		out["another's"+by] = b
	}
	for name, kind := range map[string]string{"schedule": "theirplan", "webhook": "theirhook"} {
		if own.in[name] != "" {
			b := own
			b.in = map[string]string{name: kind}
			out["another's"] = b
		}
	}
	return out
}

// TestProjectOfOthers: what names a folder of another project is refused with the words for one that is not there; in
// one's own project an admin of it may not what leaves it; and a right that is taken away is gone with the next call.
func TestProjectOfOthers(t *testing.T) {
	t.Parallel()
	w, other := newProjects(t)
	c := w.client()
	defer c.CloseIdleConnections()
	second := filepath.Join(w.dir, "second")
	w.write(filepath.Join(second, "a.txt"), "x\n")
	ann := w.member("ann", troupe.Project{Folder: w.dir, Right: troupe.RightAdmin},
		troupe.Project{Folder: second, Right: troupe.RightViewer})
	call := func(token, method, path string, body any) (int, string) {
		t.Helper()
		a, err := w.call(c, sent{method: method, path: path, token: token, body: []byte(jsonOf(body))})
		if err != nil {
			t.Fatal(err)
		}
		return a.status, string(a.body)
	}
	begin := func(more map[string]any) map[string]any {
		b := map[string]any{"cwd": w.dir, "prompt": "look"}
		for k, v := range more {
			b[k] = v
		}
		return b
	}
	status, body := call(ann, "POST", "/v1/sessions", begin(nil))
	if status != http.StatusOK {
		t.Fatalf("in the project: %d %s", status, body)
	}
	var begun wire.Begun
	w.read([]byte(body), &begun)
	for token, want := range map[string]int{ann: http.StatusNotFound, w.admin: http.StatusNotFound} {
		path := fmt.Sprintf("/v1/requests/%s.9.9/answer", begun.Root)
		if status, body := call(token, "POST", path, map[string]any{"allow": true}); status != want {
			t.Errorf("a request that is not there is answered: %d %s", status, body)
		}
	}
	for what, more := range map[string]map[string]any{
		"bypass": {"mode": "bypassPermissions"}, "a file": {"model": "script:/etc/passwd"}, "agents": {"agents": "{}"},
		"trust": {"trust": true}, "a rule": {"allow": []string{"Edit(/etc/**)"}},
		"a repository": {"repo": w.ids["repo"]},
		"less below":   {"cwd": second, "exact_folder": true},
	} {
		if status, body := call(ann, "POST", "/v1/sessions", begin(more)); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	if status, body := call(ann, "GET", "/v1/sessions?cwd="+second, nil); status != http.StatusOK {
		t.Errorf("what is below: %d %s", status, body)
	}
	w.must("POST", "/v1/sessions", w.admin, map[string]any{"cwd": other, "prompt": "look"})
	for _, path := range []string{"/v1/models?cwd=", "/v1/sessions/main?cwd="} {
		_, there := call(ann, "GET", path+other, nil)
		_, none := call(ann, "GET", path+"/no/such", nil)
		if strings.ReplaceAll(there, other, "IT") != strings.ReplaceAll(none, "/no/such", "IT") {
			t.Errorf("%s: of another project %s\nof none %s", path, there, none)
		}
	}
	var me wire.Me
	w.read(w.must("GET", "/v1/me", ann, nil), &me)
	if me.Right != troupe.RightNone || len(me.Projects) != 2 || !slices.Equal(me.Folders, []string{w.dir, second}) {
		t.Errorf("ann is %+v", me)
	}
	for _, folder := range []string{w.elsewhere, "/no/such", filepath.Join(w.dir, "..")} {
		status, body := call(w.admin, "POST", "/v1/users/change", map[string]any{"name": "eve", "new": true,
			"projects": []any{map[string]any{"folder": folder, "right": "viewer"}}})
		if status < 400 || status >= 500 {
			t.Errorf("a project in %s: %d %s", folder, status, body)
		}
	}
	// What agents keep for all projects is the server's; what those of the project keep, its admin changes.
	w.write(filepath.Join(filepath.Dir(w.dir), "user/.claude/agent-memory/everywhere/MEMORY.md"), "For all.\n")
	for _, x := range []struct {
		path string
		more map[string]any
		want int
	}{
		{"/v1/memories", map[string]any{}, http.StatusOK},
		{"/v1/memories", map[string]any{"agent": "everywhere"}, http.StatusNotFound},
		{"/v1/memories", map[string]any{"agent": "everywhere", "file": "MEMORY.md"}, http.StatusNotFound},
		{"/v1/memories/change", map[string]any{"agent": "everywhere", "file": "MEMORY.md", "text": "x"},
			http.StatusNotFound},
		{"/v1/memories/change", map[string]any{"agent": "new", "scope": "user", "file": "MEMORY.md", "text": "x"},
			http.StatusNotFound},
		{"/v1/memories/change", map[string]any{"agent": "keeper", "scope": "project", "file": "MEMORY.md", "text": "x"},
			http.StatusOK},
	} {
		x.more["cwd"] = w.dir
		status, body := call(ann, "POST", x.path, x.more)
		if status != x.want || strings.Contains(body, "For all") || status == http.StatusOK &&
			strings.Contains(body, "everywhere") {
			t.Errorf("%s %v: %d %s", x.path, x.more, status, body)
		}
	}
	if _, body := call(w.admin, "POST", "/v1/memories", map[string]any{"cwd": w.dir}); !strings.Contains(body,
		"everywhere") {
		t.Errorf("to the server's admin there is %s", body)
	}
	w.must("POST", "/v1/users/change", w.admin, map[string]any{"name": "ann",
		"projects": []any{map[string]any{"folder": w.dir, "right": "none"}}})
	if status, body := call(ann, "POST", "/v1/sessions", begin(nil)); status != http.StatusForbidden {
		t.Errorf("after the right was taken away: %d %s", status, body)
	}
}
