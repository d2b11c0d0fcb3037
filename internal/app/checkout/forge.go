package checkout

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/proxy"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// Bounds of a call to a forge.
const (
	callMost  = 30 * time.Second
	mostReply = 4 << 20
)

// Pull is a pull request to be opened: for a branch that was pushed.
type Pull struct {
	Branch string
	Commit string // that was pushed
	Base   string // into which it is to be merged; "": the one that the checkout is of, or the remote's usual one
	Title  string
	Body   string // as Markdown; the first lines of what the commits say come behind it
}

// forge is how one kind of host is asked for pull requests.
type forge struct {
	// api is where a host has its API, as host and path.
	api func(host string) string
	// open pull requests of a branch are asked for here, and a new one is posted with these fields.
	find func(repo string, p Pull) (path string)
	post func(repo string, p Pull) (path string, fields map[string]string)
}

// forgeOf has the forge of a name. Both are as their makers document them: docs.github.com/rest/pulls/pulls,
// docs.gitlab.com/api/merge_requests.
func forgeOf(name string) (forge, bool) {
	switch name {
	case "github":
		return forge{
			api: func(host string) string {
				if host == "github.com" {
					return "api.github.com"
				}
				return host + "/api/v3"
			},
			find: func(repo string, p Pull) string {
				owner, _, _ := strings.Cut(repo, "/")
				return "/repos/" + repo + "/pulls?" + url.Values{"state": {"open"}, "head": {owner + ":" + p.Branch}}.
					Encode()
			},
			post: func(repo string, p Pull) (string, map[string]string) {
				return "/repos/" + repo + "/pulls",
					map[string]string{"head": p.Branch, "base": p.Base, "title": p.Title, "body": p.Body}
			},
		}, true
	case "gitlab":
		project := func(repo string) string { return "/projects/" + url.PathEscape(repo) + "/merge_requests" }
		return forge{
			api: func(host string) string { return host + "/api/v4" },
			find: func(repo string, p Pull) string {
				return project(repo) + "?" + url.Values{"state": {"opened"}, "source_branch": {p.Branch}}.Encode()
			},
			post: func(repo string, p Pull) (string, map[string]string) {
				return project(repo), map[string]string{"source_branch": p.Branch, "target_branch": p.Base,
					"title": p.Title, "description": p.Body}
			},
		}, true
	}
	return forge{}, false
}

// host is one that is listed.
type host struct{ name, forge string }

// hostOf reads one of a list: HOST, or HOST=FORGE where the name alone does not say which forge it has.
func hostOf(listed string) host {
	name, kind, _ := strings.Cut(listed, "=")
	if kind == "" && (name == "github.com" || name == "gitlab.com") {
		kind = strings.TrimSuffix(name, ".com")
	}
	return host{name, kind}
}

// IsHost reports whether repositories can be taken from what is named. All hosts at once are none.
func IsHost(listed string) bool {
	h := hostOf(listed)
	_, is := forgeOf(h.forge)
	return (is || h.forge == "" && !strings.Contains(listed, "=")) && h.name != "*" &&
		!strings.HasPrefix(h.name, "*:") && proxy.Knows(h.name)
}

// names are the hosts that are listed.
func (c *Checkouts) names() []string {
	out := make([]string, len(c.o.Hosts))
	for i, listed := range c.o.Hosts {
		out[i] = hostOf(listed).name
	}
	return out
}

// forgeFor has the forge of the host that a source is at.
func (c *Checkouts) forgeFor(s Source) (forge, error) {
	for _, listed := range c.o.Hosts {
		h := hostOf(listed)
		if f, is := forgeOf(h.forge); is && (proxy.Options{Allow: []string{h.name}}).Admits(s.hostPort()) {
			return f, nil
		}
	}
	return forge{}, &troupe.UserError{Problem: "this server does not know how pull requests are opened at " +
		s.hostPort(), Hint: "Its admin says with --git-host HOST=github or HOST=gitlab what the host is.",
		Code: troupe.ExitUsage}
}

// CanOpen says why no pull request can be opened for what comes of a checkout; nil if one can.
func (c *Checkouts) CanOpen(s Source) error {
	s, err := c.check(s)
	if err == nil {
		_, err = c.forgeFor(s)
	}
	return err
}

// Open has a pull request for a branch that was pushed: the open one that there is, or a new one. Which key it takes
// is what git has for the repository.
func (c *Checkouts) Open(ctx context.Context, folder string, p Pull) (address string, err error) {
	s, err := c.Of(ctx, folder)
	if err != nil {
		return "", err
	}
	if err := c.CanOpen(s); err != nil {
		return "", err
	}
	f, err := c.forgeFor(s)
	if err != nil {
		return "", err
	}
	out, err := c.reach(ctx, mostSaid)
	if err != nil {
		return "", err
	}
	defer out.close()
	if p.Base = cmp.Or(p.Base, strings.TrimPrefix(s.Ref, "refs/heads/")); p.Base == "" || strings.HasPrefix(p.Base,
		"refs/") {
		at, err := out.resolve(ctx, Source{URL: s.URL})
		if err != nil {
			return "", err
		}
		if p.Base = strings.TrimPrefix(at.ref, "refs/heads/"); p.Base == "" {
			return "", &troupe.UserError{Problem: s.URL + " does not say which its usual branch is",
				Hint: "Name the branch to merge into with --base.", Code: troupe.ExitUsage}
		}
	}
	key, err := out.key(ctx, s)
	if err != nil {
		return "", err
	}
	if p.Body, err = withCommits(ctx, out.in(folder), p); err != nil {
		return "", err
	}
	call, done, err := c.calling(ctx, f, s, key)
	if err != nil {
		return "", err
	}
	defer done()
	if address, err = call.open(ctx, f, s.repo(), p); err != nil {
		err = &troupe.UserError{Problem: fmt.Sprintf("no pull request could be opened for %s at %s: %v", p.Branch,
			s.URL,
			err), Err: err, Hint: "The branch is pushed. See that git at the server has a key that may open them."}
	}
	return address, err
}

// mostSubjects are those of commits that a pull request lists.
const mostSubjects = 50

// withCommits is the text of a pull request. What commits say stands in it as it is: no name in it calls people.
func withCommits(ctx context.Context, r git.Runner, p Pull) (string, error) {
	said, err := line(ctx, r, "log", "--format=%s", "--max-count="+strconv.Itoa(mostSubjects), "HEAD.."+p.Commit, "--")
	if err != nil || said == "" {
		return p.Body, err
	}
	var b strings.Builder
	b.WriteString(p.Body + "\n\n")
	for l := range strings.Lines(said) {
		b.WriteString("    " + troupe.VisibleLine(strings.TrimSuffix(l, "\n")) + "\n")
	}
	return b.String(), nil
}

// repo is the name of a source at its host.
func (s Source) repo() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
}

// key asks git for the password of a source.
func (r *remote) key(ctx context.Context, s Source) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askMost)
	defer cancel()
	u, err := url.Parse(s.URL)
	if err != nil {
		return "", err
	}
	asking := r.in("/")
	asking.In = strings.NewReader(fmt.Sprintf("protocol=https\nhost=%s\npath=%s\n\n", u.Host,
		strings.TrimPrefix(u.Path, "/")))
	var out git.Capped
	if err := asking.Stream(ctx, &out, "credential", "fill"); err == nil {
		for l := range strings.Lines(out.String()) {
			if key, is := strings.CutPrefix(l, "password="); is {
				return strings.TrimRight(key, "\r\n"), nil
			}
		}
	}
	return "", &troupe.UserError{Problem: "git at the server has no key for " + u.Host + ", and pull requests take one",
		Hint: "Its admin gives git a credential helper with a token that may open pull requests."}
}

// caller calls one API.
type caller struct {
	client *http.Client
	base   string // of all addresses
	host   string // where what it names has to be
	key    string
}

// calling opens a way to the API of a source's host, and to nothing else.
func (c *Checkouts) calling(ctx context.Context, f forge, s Source, key string) (call *caller, done func(), err error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, err
	}
	base, err := url.Parse("https://" + f.api(at.Host))
	if err != nil {
		return nil, nil, err
	}
	reached := net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "443"))
	way, err := proxy.Start(ctx, proxy.Options{Allow: []string{reached}})
	if err != nil {
		return nil, nil, err
	}
	through, err := url.Parse(way.Address())
	if err != nil {
		return nil, nil, errors.Join(err, way.Close())
	}
	transport := &http.Transport{Proxy: http.ProxyURL(through), TLSHandshakeTimeout: callMost,
		TLSClientConfig: &tls.Config{RootCAs: c.o.Roots, MinVersion: tls.VersionTLS12}}
	client := &http.Client{Transport: transport, Timeout: callMost,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &caller{client, base.String(), at.Host, key}, func() {
		transport.CloseIdleConnections()
		_ = way.Close() // nothing is under way through it any more
	}, nil
}

// open finds the pull request of a branch, or opens it. What another process has opened meanwhile counts.
func (c *caller) open(ctx context.Context, f forge, repo string, p Pull) (string, error) {
	find := func() (string, error) {
		var there []opened
		if err := c.do(ctx, http.MethodGet, f.find(repo, p), nil, &there); err != nil || len(there) == 0 {
			return "", err
		}
		return c.address(there[0])
	}
	if address, err := find(); address != "" || err != nil {
		return address, err
	}
	path, fields := f.post(repo, p)
	var made opened
	err := c.do(ctx, http.MethodPost, path, fields, &made)
	if err == nil {
		return c.address(made)
	}
	if said, ok := errors.AsType[*refusal](err); ok && (said.status == http.StatusConflict ||
		said.status == http.StatusUnprocessableEntity) {
		if address, ferr := find(); ferr == nil && address != "" {
			return address, nil
		}
	}
	return "", err
}

// opened is a pull request as GitHub and GitLab tell it.
type opened struct {
	HTML string `json:"html_url"`
	Web  string `json:"web_url"`
}

// address is where people see one, if that is at the host.
func (c *caller) address(o opened) (string, error) {
	text := cmp.Or(o.HTML, o.Web)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host != c.host || u.User != nil || len(text) > 2000 ||
		troupe.VisibleLine(text) != text {
		return "", errors.New("the host opened one, and did not say at which address")
	}
	return text, nil
}

// refusal is an answer that is none.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// do calls the API once.
func (c *caller) do(ctx context.Context, method, path string, body, out any) error {
	var send io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("User-Agent", "troupe")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostReply+1))
	switch {
	case err != nil:
		return err
	case len(data) > mostReply:
		return fmt.Errorf("the host answered more than %d MB", mostReply>>20)
	case resp.StatusCode/100 != 2:
		return &refusal{resp.StatusCode, fmt.Sprintf("the host answered %d%s", resp.StatusCode, reasonIn(data))}
	}
	if err := json.Unmarshal(data, out); err != nil {
		return errors.New("the host's answer cannot be read")
	}
	return nil
}

// reasonIn is why a host refused, as GitHub and GitLab word that; "" if it says nothing.
func reasonIn(data []byte) string {
	var answer struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return ""
	}
	var all []string
	var one string
	if json.Unmarshal(answer.Message, &one) == nil {
		all = append(all, one)
	} else {
		all = append(all, string(answer.Message))
	}
	for _, e := range answer.Errors {
		all = append(all, e.Message)
	}
	text := troupe.VisibleLine(strings.Trim(strings.Join(append(all, answer.Error), " "), " "))
	if text == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(text[:min(len(text), 300)], "")
}
