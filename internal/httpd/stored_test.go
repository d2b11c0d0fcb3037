package httpd

import (
	"net/http"
	"strings"
	"testing"
)

// TestStoredETags: the version of a stored agent is its ETag, and If-Match says of which one a change is. One that
// names another version than the call, or none that there can be, is refused.
func TestStoredETags(t *testing.T) {
	t.Parallel()
	world, s := listenFor(t, Address{Folders: []string{t.TempDir()}})
	const one, all = "/v1/stored-agents/reviewer", "/v1/stored-agents"
	text := func(version string) string { return `{"name": "reviewer", "text": "x"` + version + `}` }
	for _, x := range []struct {
		method, path, match, body string
		status                    int
		did                       string
	}{
		{http.MethodPost, all, `"3"`, text(""), 200, "Version:3"},
		{http.MethodPost, all, `"3"`, text(`, "version": 3`), 200, "Version:3"},
		{http.MethodPost, all, "", text(`, "version": 4`), 200, "Version:4"},
		{http.MethodPost, all, "", text(""), 200, "Version:0"},
		{http.MethodPost, all, "*", text(""), 200, "Version:3"},
		{http.MethodPost, all, `"3"`, text(`, "version": 4`), 412, ""},
		{http.MethodPost, all, `W/"3"`, text(""), 412, ""},
		{http.MethodPost, all, `"03"`, text(""), 412, ""},
		{http.MethodPost, all, `3`, text(""), 412, ""},
		{http.MethodPost, all, `"0"`, text(""), 412, ""},
		{http.MethodDelete, one, `"3"`, "", 204, "remove stored 3"},
		{http.MethodDelete, one + "?version=2", "", "", 204, "remove stored 2"},
		{http.MethodDelete, one, "", "", 204, "remove stored 0"},
		{http.MethodDelete, one, `"x"`, "", 412, ""},
		{http.MethodDelete, one, "none", "", 412, ""},
		{http.MethodPost, all, "none", text(""), 200, "Version:0"},
		{http.MethodPost, all, "none", text(`, "version": 4`), 412, ""},
		{http.MethodPost, all, "none", `{"name": "there", "text": "x"}`, 412, ""},
		{http.MethodPost, all, "", `{"name": "there", "text": "x"}`, 409, ""},
	} {
		before := len(world.Calls())
		header := []string{}
		if x.match == "none" {
			header = append(header, "If-None-Match", "*")
		} else if x.match != "" {
			header = append(header, "If-Match", x.match)
		}
		status, body := callAt(t, s, "operator", x.method, x.path, x.body, header...)
		did := strings.Join(world.Calls()[before:], "; ")
		if status != x.status || !strings.Contains(did, x.did) || x.did == "" && did != "" {
			t.Errorf("%s with If-Match %s and %s: %d, did %q\n%s", x.method, x.match, x.body, status, did, body)
		}
		if status == http.StatusPreconditionFailed && !strings.Contains(body, `"kind":"changed"`) {
			t.Errorf("the problem has no kind: %s", body)
		}
	}
}
