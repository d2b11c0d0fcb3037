package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// pages is a web server on this machine that remembers what it was asked for.
type pages struct {
	port string
	mu   sync.Mutex
	seen []string
}

func servePages(t *testing.T, begin func(http.Handler) *httptest.Server) *pages {
	t.Helper()
	p := &pages{}
	s := begin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.URL.Path)
		p.mu.Unlock()
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/page", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html><head><title>News</title><script>evil()</script></head><body><h1>News of "+
			"%s</h1><p>Version <b>4.2</b> is out.</p></body></html>", r.URL.Path[1:])
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.port = port
	return p
}

func (p *pages) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// TestHostThroughTheProxy: where rules name hosts, a command reaches them through the proxy that it
// is told of, encrypted or not, and nobody else: neither through the proxy nor past it.
func TestHostThroughTheProxy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	plain, secret := servePages(t, httptest.NewServer), servePages(t, httptest.NewTLSServer)
	other, otherSecret := servePages(t, httptest.NewServer), servePages(t, httptest.NewTLSServer)
	p.write("../home/settings.json", `{"sandbox":{"allowed_hosts":["localhost:`+plain.port+`","localhost:`+secret.port+
		`"]}}`)
	p.write("ask.sh", `
		where=${http_proxy#http://} word=$(printf %s "${where%@*}" | base64 | tr -d '\n') where=${where##*@}
		exec 3<>"/dev/tcp/${where%:*}/${where##*:}" || exit
		printf 'GET %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\nConnection: close\r\n\r\n' "$1" "$word" >&3
		cat <&3
	`)
	ask := func(port, path string) string { return bash("bash ask.sh http://localhost:" + port + path) }
	curl := func(port, path string) string {
		return bash("curl -skS --max-time 20 https://localhost:" + port + path)
	}
	calls := []string{
		ask(plain.port, "/plain"), ask(other.port, "/x"), ask("1", "/x"),
		bash("exec 3<>/dev/tcp/127.0.0.1/" + plain.port + " && printf 'GET /direct HTTP/1.0\\r\\n\\r\\n' >&3"),
	}
	_, err := exec.LookPath("curl")
	if err == nil {
		calls = append(calls, curl(secret.port, "/tunnel"), curl(otherSecret.port, "/x"))
	}
	p.calls("main", calls...)
	p.run(0, "-p", "--model", "script:../s.yaml", "--allowed-tools", "Bash", "go")
	log := p.results("main")
	if got := plain.asked(); !slices.Equal(got, []string{"/plain"}) || !strings.Contains(log, "News of plain") {
		t.Errorf("the host that is named was asked for %v\n%s", got, log)
	}
	if got := append(other.asked(), otherSecret.asked()...); len(got) > 0 {
		t.Errorf("a host that is not named was asked for %v\n%s", got, log)
	}
	if n := strings.Count(log, "403 Forbidden"); n != 2 {
		t.Errorf("%d of 2 were refused by the proxy\n%s", n, log)
	}
	if err != nil {
		t.Skip("no curl: nothing encrypted was tried")
	}
	if got := secret.asked(); !slices.Equal(got, []string{"/tunnel"}) || !strings.Contains(log, "News of tunnel") {
		t.Errorf("the host that is named was asked in secret for %v\n%s", got, log)
	}
}

// TestDenyRulesBindCommands: what a deny rule keeps from WebFetch and Read it keeps from curl and cat too, though Bash
// is allowed.
func TestDenyRulesBindCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	site := servePages(t, httptest.NewServer)
	at := "localhost:" + site.port
	for name, tt := range map[string]struct{ host, denied, want string }{
		"nothing":     {host: at, want: "News of page"},
		"the host":    {host: at, denied: "WebFetch(domain:localhost)"},
		"its port":    {host: at, denied: "WebFetch(domain:" + at + ")"},
		"everybody":   {host: at, denied: "WebFetch(domain:*)"},
		"another":     {host: at, denied: "WebFetch(domain:*.example.com)", want: "News of page"},
		"no settings": {denied: "WebFetch(domain:localhost)"},
		"no host":     {host: at, denied: "WebFetch(domain:*.localhost)", want: "News of page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if tt.host != "" {
				p.write("../home/settings.json", `{"sandbox":{"allowed_hosts":["`+tt.host+`"]}}`)
			}
			p.write("kept.txt", "HUNTER2")
			before := len(site.asked())
			p.calls("main", bash("curl -sS --max-time 20 http://"+at+"/page"), bash("f=kept; cat $f.txt *.t?t"),
				bash(`python3 -c 'print(open("ke" + "pt.txt").read())'`))
			args := []string{"-p", "--model", "script:../s.yaml", "--allowed-tools", "Bash", "--disallowed-tools",
				"Read(kept.txt)"}
			if tt.denied != "" {
				args = append(args, "--disallowed-tools", tt.denied)
			}
			p.troupe(append(args, "go")...)
			log := p.results("main")
			if !strings.Contains(log, tt.want) || tt.want == "" && strings.Contains(log, "News of") {
				t.Errorf("the page, %d times before:\n%s", before, log)
			}
			if strings.Contains(log, "HUNTER2") || !strings.Contains(log, "ermission") {
				t.Errorf("the file:\n%s", log)
			}
		})
	}
}

// TestWebFetchReadsAPage: the page is fetched, turned into Markdown, given to the small model with
// the question, and the model gets the answer; a host nearby only where the user's settings name it.
func TestWebFetchReadsAPage(t *testing.T) {
	t.Parallel()
	site := servePages(t, httptest.NewServer)
	fetch := func(path string) modeltest.Call {
		return modeltest.Call{Name: "WebFetch", Input: `{"url":"http://localhost:` + site.port + path +
			`","prompt":"Which version is out?"}`}
	}
	type small struct{ text, model string }
	questions, told := make(chan small, 10), make(chan string, 10)
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		switch {
		case !isMain(r):
			questions <- small{r.LastText(), r.Model}
			return modeltest.Text("Version 4.2.")
		case r.Turn == 1:
			return modeltest.Calls(fetch("/page"), fetch("/moved"))
		}
		told <- r.LastText()
		return modeltest.Text("done")
	})
	args := []string{"-p", "--allowed-tools", "WebFetch(domain:localhost)", "go"}
	p.run(0, args...)
	if text := <-told; strings.Count(text, "may not be reached") != 2 || len(site.asked()) > 0 {
		t.Errorf("a host that nobody named was asked for %v:\n%s", site.asked(), text)
	}

	p.write(".troupe/settings.json", `{"fetch":{"local_hosts":["localhost:`+site.port+`"]}}`)
	p.run(0, append([]string{"--trust"}, args...)...)
	if text := <-told; strings.Count(text, "may not be reached") != 2 || len(site.asked()) > 0 {
		t.Errorf("a project named a host, and it was asked for %v:\n%s", site.asked(), text)
	}

	p.write("../home/settings.json", `{"fetch":{"local_hosts":["localhost:`+site.port+`"]}}`)
	run := p.run(0, args...)
	text := <-told
	if strings.Count(text, "Version 4.2.") != 2 || !strings.Contains(text, "localhost:"+site.port+"/page") {
		t.Errorf("the model was told\n%s", text)
	}
	for range 2 {
		q := <-questions
		if !strings.Contains(q.text, "# News of page") || !strings.Contains(q.text, "Version **4.2** is out.") ||
			!strings.Contains(q.text, "Which version is out?") || strings.Contains(q.text, "evil") {
			t.Errorf("the small model was asked\n%s", q.text)
		}
		if !strings.Contains(q.model, "haiku") {
			t.Errorf("%s was asked about the page", q.model)
		}
	}
	if got := site.asked(); !slices.Contains(got, "/page") || !slices.Contains(got, "/moved") {
		t.Errorf("the server was asked for %v", got)
	}
	if len(run.Denials) > 0 {
		t.Errorf("%+v", run.Denials)
	}
}
