package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// waiting leaves a tree in the home whose main agent waits for an answer.
func waiting(tb testing.TB, a *App, root troupe.SessionID) troupe.RequestID {
	tb.Helper()
	return waitingFor(tb, a, root, troupe.RequestBody{
		Kind: troupe.RequestPermission, Tool: "Bash", Action: "make",
		Decision: troupe.Decision{Effect: troupe.Ask, Step: "ask", Grant: "Bash(make)"},
	})
}

// waitingFor is waiting with a request of the caller's own.
func waitingFor(tb testing.TB, a *App, root troupe.SessionID, b troupe.RequestBody) troupe.RequestID {
	tb.Helper()
	var id troupe.RequestID
	now := a.env.Now()
	b.Reason, b.Until = troupe.WaitApproval, now.Add(time.Hour)
	err := a.trees.store.Update(tb.Context(), root, func(tx store.Tx) error {
		born, err := fleet.Spawn(tx, "owner", now, []fleet.Birth{{
			Root: root, ID: root, Cwd: "/ws", Profile: troupe.Profile{Type: "main", Model: "m"},
			Prompt: []troupe.Block{troupe.Text("go")},
		}})
		if err != nil {
			return err
		}
		st, before := born[0].State, born[0].State.Session
		id = troupe.NewRequestID(root, troupe.Coord{Reply: 1}, 1)
		call := troupe.Call{Reply: 1, Name: "Bash", Input: `{"command":"make"}`}
		var events []troupe.Event
		for _, b := range []troupe.Body{
			troupe.CallSealed{Reply: 1, Generation: 1, Refs: st.Refs()},
			troupe.Replied{Reply: 1, Blocks: []troupe.Block{{Type: troupe.CallBlock, Call: &call}}},
			troupe.RequestOpened{ID: id, Reply: 1, RequestBody: b},
		} {
			e := troupe.Event{Root: root, Session: root, Seq: st.Session.Seq + 1, At: now, Body: b}
			if err := st.Apply(e); err != nil {
				return err
			}
			events = append(events, e)
		}
		delta := troupe.TreeDelta{Tally: st.Session.Tally.Minus(before.Tally)}
		return errors.Join(tx.Append(born[0].Lease, st.Session, events), tx.PutRequest(*st.Changed()),
			tx.AddTree(root, delta))
	})
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func requestHome(tb testing.TB) *App {
	tb.Helper()
	a := openHome(tb, tb.TempDir())
	tb.Cleanup(func() {
		if err := a.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a
}

func rootNo(n int) troupe.SessionID { return troupe.ChildID("tree", troupe.Coord{Reply: n}) }

// TestAnswerByID: a request is answered once, by its id or what it begins with, and who comes late
// is told who was first.
func TestAnswerByID(t *testing.T) {
	t.Parallel()
	a := requestHome(t)
	id, other := string(waiting(t, a, rootNo(1))), string(waiting(t, a, rootNo(2)))
	as := func(name string) api.API { return a.As(troupe.Caller{Name: name, Right: troupe.RightOwner}) }
	by := "ada"
	answer := func(id string, ans wire.Answer, words ...string) {
		t.Helper()
		err := as(by).Answer(t.Context(), id, ans)
		if (err == nil) != (len(words) == 0) {
			t.Fatalf("answering %q: %v", id, err)
		}
		var u *troupe.UserError
		for _, w := range words {
			if !errors.As(err, &u) || !strings.Contains(u.Problem, w) || u.Hint == "" || u.Code != 2 {
				t.Errorf("answering %q: %v, want %q", id, err, w)
			}
		}
	}
	list := func(want ...string) {
		t.Helper()
		open, err := as(by).Requests(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range open {
			got = append(got, r.ID)
			if r.Kind != troupe.RequestPermission || r.Action != "make" || r.Folder != "/ws" || r.Path != "main" ||
				r.File == "" || r.Calls != 1 || r.Running {
				t.Errorf("it is shown as %+v", r)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("open are %v, want %v", got, want)
		}
	}
	list(id, other)
	answer("", wire.Answer{}, "2 requests are open", id, other)
	answer("nobody", wire.Answer{}, `no open request begins with "nobody"`, "it may have been answered")
	answer(id[:8], wire.Answer{Allow: true})
	list(other)
	answer(id, wire.Answer{}, "no open request", "allowed by ada", "when the session goes on")
	answer(id[:8], wire.Answer{}, "allowed by ada")
	by = "bob"
	answer("", wire.Answer{})
	answer("", wire.Answer{}, "no request is open")
	// Once they are in the log.
	settle := func(id string, ans *troupe.Answer) {
		t.Helper()
		root := troupe.SessionID(id[:strings.Index(id, ".")])
		err := a.trees.store.Update(t.Context(), root, func(tx store.Tx) error {
			rows, err := tx.Requests(store.RequestFilter{Root: root})
			if err != nil {
				return err
			}
			rows[0].Settled, rows[0].Answer = a.env.Now(), ans
			return tx.PutRequest(rows[0])
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	settle(id, &troupe.Answer{By: "nobody", Effect: troupe.Deny})
	settle(other, nil)
	answer(id, wire.Answer{}, "denied by nobody")
	answer(other, wire.Answer{}, "was stopped")
}

// unread is the mail that a session has not read.
func unread(t *testing.T, a *App, id troupe.SessionID) (mail []troupe.Mail) {
	t.Helper()
	err := a.trees.store.View(t.Context(), func(r store.Reader) (err error) { mail, err = r.Unread(id); return err })
	if err != nil {
		t.Fatal(err)
	}
	return mail
}

// TestAnswerComesSecond: of two answers at once the second one finds nothing open, and nothing of it
// stays: no mail, no rule, and nothing written for the folder.
func TestAnswerComesSecond(t *testing.T) {
	t.Parallel()
	for name, ans := range map[string]wire.Answer{
		"once": {Allow: true}, "session": {Allow: true, Session: true}, "always": {Allow: true, Always: true},
	} {
		a := requestHome(t)
		root := rootNo(1)
		id := string(waiting(t, a, root))
		shown, err := you(a).Request(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		racing := &beforeUpdate{Store: a.trees.store}
		a.trees.store = racing
		racing.arm(0, func() {
			if err := you(a).Answer(t.Context(), id, wire.Answer{}); err != nil {
				t.Errorf("%s: the first answer: %v", name, err)
			}
		})
		if err := you(a).Answer(t.Context(), id, ans); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("%s: the second answer: %v", name, err)
		}
		mail := unread(t, a, root)
		if len(mail) != 1 || mail[0].Answer == nil || mail[0].Answer.Effect != troupe.Deny {
			t.Errorf("%s: its session is sent %+v", name, mail)
		}
		if _, err := os.Stat(shown.File); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a rule is written down: %v", name, err)
		}
	}
}

// beforeUpdate is a store in which something else happens before a change.
type beforeUpdate struct {
	store.Store
	mu   sync.Mutex
	skip int // changes that come first
	then func()
}

// arm has something happen before the next change but so many.
func (s *beforeUpdate) arm(skip int, then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skip, s.then = skip, then
}

func (s *beforeUpdate) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	s.mu.Lock()
	then := s.then
	if s.skip > 0 {
		s.skip, then = s.skip-1, nil
	}
	if then != nil {
		s.then = nil
	}
	s.mu.Unlock()
	if then != nil {
		then()
	}
	return s.Store.Update(ctx, root, fn)
}

// TestAnswerGrants: leave for agents in the background grants the rules that they need; a no grants
// nothing, whatever comes with it.
func TestAnswerGrants(t *testing.T) {
	t.Parallel()
	rules := []string{"Edit(/**)", "Bash(make)"}
	for name, tt := range map[string]struct {
		ans  wire.Answer
		want []string
	}{
		"yes":                {wire.Answer{Allow: true}, rules},
		"no":                 {wire.Answer{}, nil},
		"no, with --session": {wire.Answer{Session: true}, nil},
		"no, with --always":  {wire.Answer{Always: true}, nil},
	} {
		a := requestHome(t)
		root := rootNo(1)
		id := waitingFor(t, a, root, troupe.RequestBody{
			Kind: troupe.RequestBackground, Tool: "Agent", Action: "start", Rules: rules,
			Decision: troupe.Decision{Effect: troupe.Ask, Step: "background", Grant: "Agent"},
		})
		if err := you(a).Answer(t.Context(), string(id), tt.ans); err != nil {
			t.Fatal(err)
		}
		var granted []string
		answers := 0
		for _, m := range unread(t, a, root) {
			if m.Kind == troupe.MailGrant {
				granted = append(granted, m.Rule.Text)
			}
			if m.Answer != nil {
				answers++
			}
		}
		if !slices.Equal(granted, tt.want) || answers != 1 {
			t.Errorf("%s: it is granted %q and answered %d times, want %q", name, granted, answers, tt.want)
		}
	}
}

// TestRequestsOfOneReply: a request that is for other calls as well stands for all of them.
func TestRequestsOfOneReply(t *testing.T) {
	t.Parallel()
	at := func(id troupe.SessionID, call int, with ...int) troupe.Request {
		return troupe.Request{Session: id, Coord: troupe.Coord{Reply: 1, Call: call},
			RequestBody: troupe.RequestBody{With: with}}
	}
	got := leading([]troupe.Request{at("a", 1), at("b", 1), at("a", 0, 1, 2), at("a", 2), at("a", 3)})
	if s := fmt.Sprintf("%d %s %d %d", len(got), got[0].Session, got[1].Call, got[2].Call); s != "3 b 0 3" {
		t.Errorf("left are %+v", got)
	}
}

// BenchmarkAnswer answers one request while others wait in the same home.
func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := requestHome(b)
			var wg sync.WaitGroup
			next := make(chan int)
			for range 64 {
				wg.Go(func() {
					for i := range next {
						waiting(b, a, rootNo(i))
					}
				})
			}
			for i := range n {
				next <- i
			}
			close(next)
			wg.Wait()
			for i := n; b.Loop(); i++ {
				b.StopTimer()
				id := waiting(b, a, rootNo(i))
				b.StartTimer()
				if err := you(a).Answer(b.Context(), string(id), wire.Answer{Allow: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// An answer that comes again is none to a later question whose id begins like the first one's.
func TestWholeIDIsNoPrefix(t *testing.T) {
	t.Parallel()
	for id, whole := range map[string]bool{
		"7k3f00000000.1.1": true, "7k3f00000000.1.1.2": true, "7k3f00000000.1.": false, "7k3f00000000.1": false,
		"7k3f": false, "": false,
	} {
		if got := wholeRequest(id); got != whole {
			t.Errorf("%q: %v", id, got)
		}
	}
}
