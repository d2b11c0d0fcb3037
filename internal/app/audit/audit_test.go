package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestLog: the newest first, page by page, by who and about what; with what came of it, and without where that was not
// noted. Old ones go.
func TestLog(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{}).Open()
	l := New(s, func() time.Time { return now })
	begin := func(l *Log, by, about string) func(error) {
		t.Helper()
		end, err := l.Begin(t.Context(), wire.Act{By: by, About: about, Verb: "stop"})
		if err != nil {
			t.Fatal(err)
		}
		return func(err error) { end(t.Context(), err) }
	}
	for n := range 5 {
		begin(l, []string{"ann", "bob"}[n%2], fmt.Sprint(n))(nil)
		now = now.Add(time.Second)
	}
	begin(l, "ann", "failed")(errors.New("no room"))
	now = now.Add(time.Second)
	begin(l, "ann", "killed")
	list := func(q wire.ActQuery) (out []string) {
		t.Helper()
		all, err := l.Acts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			out = append(out, a.About+":"+a.Outcome+":"+a.Problem)
		}
		return out
	}
	for _, x := range []struct {
		q    wire.ActQuery
		want string
	}{
		{wire.ActQuery{Limit: 3}, "[killed:: failed:failed:no room 4:done:]"},
		{wire.ActQuery{By: "bob"}, "[3:done: 1:done:]"},
		{wire.ActQuery{About: "2"}, "[2:done:]"},
		{wire.ActQuery{By: "ann", Limit: 1}, "[killed::]"},
	} {
		if got := fmt.Sprint(list(x.q)); got != x.want {
			t.Errorf("%+v: %s, want %s", x.q, got, x.want)
		}
	}
	first, err := l.Acts(t.Context(), wire.ActQuery{Limit: 4})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list(wire.ActQuery{After: first[3].ID})); got != "[2:done: 1:done: 0:done:]" {
		t.Errorf("the page behind %s: %s", first[3].About, got)
	}
	now = now.Add(keeps - 4*time.Second)
	begin(New(s, func() time.Time { return now }), "ann", "later")(nil)
	if got := fmt.Sprint(list(wire.ActQuery{})); got != "[later:done: killed:: failed:failed:no room 4:done: 3:done:]" {
		t.Errorf("400 days later: %s", got)
	}
}

// stale are records whose removal fails with an error.
type stale struct {
	*memstore.Store
	err error
}

func (s stale) DeleteRecord(context.Context, string, string, int64) error { return s.err }

// TestPages: all acts are listed, however many; what came of one is noted also where who asked has gone. Where old ones
// are removed by another process, that is no failure; where they cannot be, it is told.
func TestPages(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{}).Open()
	l := New(s, func() time.Time { now = now.Add(time.Second); return now })
	for n := range 2 * page {
		if _, err := l.Begin(t.Context(), wire.Act{Verb: "stop", About: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Acts(t.Context(), wire.ActQuery{})
	if err != nil || len(all) != 2*page || all[0].About != fmt.Sprint(2*page-1) || all[2*page-1].About != "0" {
		t.Errorf("listed are %d, %v", len(all), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	end, err := l.Begin(ctx, wire.Act{Verb: "stop"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	end(ctx, nil)
	if all, err := l.Acts(t.Context(), wire.ActQuery{Limit: 1}); err != nil || all[0].Outcome != wire.ActDone {
		t.Errorf("noted is %+v, %v", all, err)
	}
	now = now.Add(keeps)
	for failed, want := range map[error]bool{troupe.ErrChanged: true, troupe.ErrNotFound: true,
		errors.New("the disk is full"): false} {
		_, err := New(stale{s, failed}, l.now).Begin(t.Context(), wire.Act{Verb: "stop"})
		if (err == nil) != want {
			t.Errorf("where old ones are removed with %v: %v", failed, err)
		}
	}
}

// TestFlood: what is refused is listed once a minute for each token and verb, with how often it was tried; another
// verb, token or failure is listed by itself. No problem is kept whole.
func TestFlood(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := New(memstore.New(memstore.Options{}).Open(), func() time.Time { return now })
	try := func(verb, token, about string, err error) {
		t.Helper()
		end, berr := l.Begin(t.Context(), wire.Act{By: "eve", Token: token, About: about, Verb: verb})
		if berr != nil {
			t.Fatal(berr)
		}
		end(t.Context(), err)
		now = now.Add(time.Millisecond)
	}
	for i := range 300 {
		try("revoke", "t", fmt.Sprint(i), troupe.NotAllowed(troupe.RightAdmin))
	}
	try("revoke", "u", "another token", troupe.NotAllowed(troupe.RightAdmin))
	try("stop", "t", "not there", &troupe.UserError{Problem: "none", Err: troupe.ErrNotFound})
	for range 2 {
		try("stop", "t", "a failure", &troupe.UserError{Problem: strings.Repeat("x", 100_000)})
		try("stop", "t", "done", nil)
	}
	now = now.Add(countsFor)
	try("revoke", "t", "a minute later", troupe.NotAllowed(troupe.RightAdmin))
	all, err := l.Acts(t.Context(), wire.ActQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range all {
		if got = append(got, fmt.Sprint(a.About, " ", a.Times)); len(a.Problem) > 510 {
			t.Errorf("%s: a problem of %d bytes is kept", a.About, len(a.Problem))
		}
	}
	if want := "[a minute later 0 done 0 a failure 0 done 0 a failure 0 not there 0 another token 0 0 300]"; fmt.Sprint(
		got) != want {
		t.Errorf("listed is %v, want %s", got, want)
	}
}

// counting counts the records that are read.
type counting struct {
	*memstore.Store

	read int
}

func (c *counting) Records(ctx context.Context, kind, after string, limit int) ([]store.Record, error) {
	all, err := c.Store.Records(ctx, kind, after, limit)
	c.read += len(all)
	return all, err
}

// TestReadsAPage: a page reads little more than it lists.
func TestReadsAPage(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &counting{Store: memstore.New(memstore.Options{}).Open()}
	l := New(c, func() time.Time { return now })
	for i := range 700 {
		end, err := l.Begin(t.Context(), wire.Act{By: "ann", About: "main", Session: troupe.SessionID(fmt.Sprint(i))})
		if err != nil {
			t.Fatal(err)
		}
		end(t.Context(), nil)
		now = now.Add(time.Second)
	}
	for _, x := range []struct {
		q           wire.ActQuery
		most, finds int
	}{
		{wire.ActQuery{Limit: 1}, leastPage, 1},
		{wire.ActQuery{Limit: 200}, 200, 200},
		{wire.ActQuery{Limit: 1, About: "690"}, leastPage, 1},
		{wire.ActQuery{Limit: 1, About: "3"}, 700, 1},
		{wire.ActQuery{Limit: 1000, About: "main"}, 700, 700},
	} {
		c.read = 0
		if all, err := l.Acts(t.Context(), x.q); err != nil || len(all) != x.finds || c.read > x.most {
			t.Errorf("%+v: %d found, %d read, %v", x.q, len(all), c.read, err)
		}
	}
}

// TestNoSuchAct: what can be no id of an act is said to be none, and is no failure of the server.
func TestNoSuchAct(t *testing.T) {
	t.Parallel()
	log := New(memstore.New(memstore.Options{}).Open(), time.Now)
	for _, after := range []string{"\x00", "\xff", strings.Repeat("a", 1000)} {
		_, err := log.Acts(t.Context(), wire.ActQuery{After: after})
		if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitUsage {
			t.Errorf("behind %.20q: %v", after, err)
		}
	}
}
