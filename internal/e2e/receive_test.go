package e2e_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiver is a program that is told what happens. It keeps what came, whoever signed it.
type receiver struct {
	mu     sync.Mutex
	status int
	came   []told
	news   chan struct{} // closed when something comes
}

// told is what a receiver was told.
type told struct{ id, stamp, signature, body string }

type receiving struct{}

// cmdReceive starts a receiver that answers with a status, and sets $NAME to its host and port; of one that is there it
// changes the status.
func cmdReceive(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "receive NAME STATUS")
	all, _ := ts.Value(receiving{}).(map[string]*receiver)
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	if r := all[args[0]]; r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status = status
		return
	}
	r := &receiver{status: status, news: make(chan struct{})}
	s := httptest.NewServer(r)
	ts.Defer(s.Close)
	all[args[0]] = r
	ts.Setenv(args[0], strings.TrimPrefix(s.URL, "http://"))
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.came = append(r.came, told{req.Header.Get("Webhook-Id"), req.Header.Get("Webhook-Timestamp"),
		req.Header.Get("Webhook-Signature"), string(body)})
	close(r.news)
	r.news = make(chan struct{})
	w.WriteHeader(r.status)
}

// cmdReceived waits until COUNT different notices came that match, all signed with $SECRET, and leaves the last on
// standard output; once: none came twice. With ! none has come by now.
func cmdReceived(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: received NAME COUNT REGEXP [once]")
	}
	all, _ := ts.Value(receiving{}).(map[string]*receiver)
	r := all[args[0]]
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		r.mu.Lock()
		ids, last, news, times := map[string]bool{}, "", r.news, 0
		for _, t := range r.came {
			if re.MatchString(t.body) {
				ts.Check(t.verify(ts.Getenv("SECRET")))
				ids[t.id], last = true, t.body
				times++
			}
		}
		r.mu.Unlock()
		switch {
		case neg && len(ids) > 0:
			ts.Fatalf("it came: %s", last)
		case neg:
			return
		case len(ids) > want, len(args) > 3 && times > len(ids):
			ts.Fatalf("%d came, want %d, in %d times", len(ids), want, times)
		case len(ids) == want:
			_, err := io.WriteString(ts.Stdout(), last)
			ts.Check(err)
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			ts.Fatalf("%d came, want %d, of %v", len(ids), want, r.came)
		}
	}
}

// verify verifies what is signed as Standard Webhooks says.
func (t told) verify(secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(t.id + "." + t.stamp + "." + t.body))
	seconds, err := strconv.ParseInt(t.stamp, 10, 64)
	if want := "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil)); want != t.signature || err != nil || t.id == "" ||
		time.Since(time.Unix(seconds, 0)) > time.Minute {
		return fmt.Errorf("%+v is not signed: %s", t, want)
	}
	return nil
}
