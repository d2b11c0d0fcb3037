package httpd

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestElsewhere: to the users of a server there are no sessions but those that work in its folders, by whatever verb,
// admins included, and one that there is gets the same answer as one that there is not.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	w, s := listenFor(t, Address{Folders: []string{dir}})
	const one = "/v1/sessions/7k3f00000000"
	calls := []struct{ method, path, body string }{
		{"GET", one, ""}, {"GET", "/v1/sessions/7k3f", ""}, {"GET", "/v1/sessions/main", ""},
		{"GET", one + "/tree", ""},
		{"GET", one + "/events", ""}, {"GET", one + "/cost", ""}, {"GET", one + "/undo", ""},
		{"GET", one + "/turns", ""},
		{"POST", one + "/messages", `{"text":"x"}`}, {"POST", one + "/stop", "{}"}, {"DELETE", one, ""},
		{"POST", one + "/undo", "{}"}, {"POST", one + "/mode", `{"mode":"plan"}`}, {"GET", "/v1/requests/9m2", ""},
		{"GET", "/v1/requests/-", ""}, {"POST", "/v1/requests/9m2/answer", `{"allow":true}`},
		{"POST", "/v1/sessions", `{"resume":"7k3f00000000","prompt":"x","cwd":""}`},
		{"GET", "/v1/sessions?parent=7k3f00000000", ""}, {"GET", "/v1/requests?root=7k3f00000000", ""},
		{"GET", one + "/tasks", ""},
	}
	for _, cwd := range []string{filepath.Dir(dir), dir + "else"} {
		w.Settle(cwd)
		before := len(w.Calls())
		for _, x := range calls {
			if status, body := callAt(t, s, "admin", x.method, x.path, x.body); status != http.StatusNotFound {
				t.Errorf("in %s: %s %s: %d %.200s", cwd, x.method, x.path, status, body)
			}
		}
		for _, path := range []string{"/v1/sessions", "/v1/requests", "/v1/tasks"} {
			if status, body := callAt(t, s, "admin", "GET", path, ""); status != http.StatusOK ||
				strings.Contains(body, "7k3f") {
				t.Errorf("in %s: %s: %d %s", cwd, path, status, body)
			}
		}
		if did := w.Calls(); len(did) != before {
			t.Errorf("in %s: done was %v", cwd, did[before:])
		}
	}
	w.Settle(filepath.Dir(dir))
	for _, there := range []string{"7k3f00000000", "7k3f", "7k3f00000000/none"} {
		_, have := callAt(t, s, "viewer", "GET", "/v1/sessions/"+strings.ReplaceAll(there, "/", "%2F"), "")
		_, none := callAt(t, s, "viewer", "GET", "/v1/sessions/nowhere", "")
		if have = strings.Replace(have, there, "nowhere", 1); have != none {
			t.Errorf("who asks for %s is told %s\nand for none %s", there, have, none)
		}
	}
	if status, body := callAt(t, s, "viewer", "GET", "/v1/model?name=script:/etc/passwd",
		""); status != http.StatusForbidden {
		t.Errorf("a viewer has a file read: %d %s", status, body)
	}
	w.Settle(filepath.Join(dir, "below"))
	if status, body := callAt(t, s, "viewer", "GET", one, ""); status != http.StatusOK {
		t.Errorf("in one of the server's: %d %s", status, body)
	}
	if status, body := callAt(t, s, "viewer", "GET", "/v1/requests", ""); status != http.StatusOK ||
		!strings.Contains(body, "7k3f") {
		t.Errorf("the requests there: %d %s", status, body)
	}
}

// TestSwappedFolder: a session whose folder has become a link out of the server's folders is seen as before, and
// stopped.
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	w, s := listenFor(t, Address{Folders: []string{dir}})
	link := filepath.Join(dir, "sub")
	if err := os.Symlink(realDir(t), link); err != nil {
		t.Fatal(err)
	}
	w.Settle(link)
	const one = "/v1/sessions/7k3f00000000"
	for path, token := range map[string]string{"": "viewer", "/tree": "viewer", "/stop": "operator"} {
		method := "GET"
		if token != "viewer" {
			method = "POST"
		}
		if status, body := callAt(t, s, token, method, one+path, "{}"); status >= http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if _, body := callAt(t, s, "admin", "GET", "/v1/sessions", ""); !strings.Contains(body, "7k3f") {
		t.Errorf("listed are %s", body)
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestExactFolder: a folder that was named is that one or none, also where the server has just one.
func TestExactFolder(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	w, s := listenFor(t, Address{Folders: []string{dir}})
	for more, want := range map[string]int{"": http.StatusOK, `,"exact_folder":true`: http.StatusForbidden} {
		before := len(w.Calls())
		status, body := callAt(t, s, "admin", "POST", "/v1/sessions", `{"prompt":"x","cwd":"/etc"`+more+`}`)
		if status != want || (len(w.Calls()) > before) != (want == http.StatusOK) {
			t.Errorf("with %q: %d %s", more, status, body)
		}
	}
}
