package httpd

import (
	"net/http"
	"strings"
	"testing"
)

// TestPreconditions: where two may write, a change is of what its headers say, or its body, and not of two things at
// once. What was only to be made if there was none is 412 where there is.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	world, s := listenFor(t, Address{Folders: []string{dir}})
	const memory, server, user = "/v1/memories/change", "/v1/servers/change", "/v1/users/change"
	body := map[string]string{
		memory: `{"cwd": "` + dir + `", "agent": "a", "text": "x"@}`, server: `{"cwd": "` + dir + `", "name": "s"@}`,
		user: `{"name": "bob"@}`,
	}
	for path, text := range body {
		for _, x := range []struct {
			match, none, more string
			status            int
			did               string
		}{
			{"", "", "", 200, "{IfMatch: IfNew:false}"},
			{`"a"`, "", "", 200, `{IfMatch:"a" IfNew:false}`},
			{`"a", "b"`, "", "", 200, `{IfMatch:"a", "b" IfNew:false}`},
			{"*", "", "", 200, "{IfMatch:* IfNew:false}"},
			{"", "*", "", 200, "{IfMatch: IfNew:true}"},
			{"", "", `, "if_match": "\"c\""`, 200, `{IfMatch:"c" IfNew:false}`},
			{`"c"`, "", `, "if_match": "\"c\""`, 200, `{IfMatch:"c" IfNew:false}`},
			{`"a"`, "", `, "if_match": "\"c\""`, 412, ""},
			{`"a"`, "", `, "if_new": true`, 412, ""},
			{"", "*", `, "if_match": "\"c\""`, 400, ""},
			{`"a"`, "*", "", 400, ""},
			{"", `"a"`, "", 400, ""},
		} {
			before := len(world.Calls())
			var header []string
			if x.match != "" {
				header = append(header, "If-Match", x.match)
			}
			if x.none != "" {
				header = append(header, "If-None-Match", x.none)
			}
			status, answer := callAt(t, s, "admin", http.MethodPost, path, strings.Replace(text, "@", x.more, 1),
				header...)
			did := strings.Join(world.Calls()[before:], "; ")
			if status != x.status || !strings.Contains(did, x.did) || x.did == "" && did != "" {
				t.Errorf("%s with %q, %q, %s: %d, did %q\n%s", path, x.match, x.none, x.more, status, did, answer)
			}
		}
	}
	for none, want := range map[string]int{"": 409, "*": 412} {
		header, more := []string{}, `, "if_new": true`
		if none != "" {
			header, more = []string{"If-None-Match", none}, ""
		}
		status, answer := callAt(t, s, "admin", http.MethodPost, user, `{"name": "there"`+more+`}`, header...)
		if status != want {
			t.Errorf("one that is there, with %q: %d\n%s", none, status, answer)
		}
	}
}
