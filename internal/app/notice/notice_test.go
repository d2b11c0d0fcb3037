package notice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/tool/web"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tree troupe.SessionID = "7k3f00000000"

// rows is store.Records under a name that is not one of its methods.
type rows = store.Records

// breaking fails what a test wants to fail.
type breaking struct {
	rows

	put func(r store.Record) error
}

func (b breaking) PutRecord(ctx context.Context, r store.Record) (int64, error) {
	if err := b.put(r); err != nil {
		return 0, err
	}
	return b.rows.PutRecord(ctx, r)
}

// world is a database, a receiver and a clock.
type world struct {
	t  *testing.T
	db *sqlite.Store
	at string // of the receiver

	mu     sync.Mutex
	clock  time.Time
	answer func(w http.ResponseWriter, r *http.Request) // nil: 200
	came   []got
	dead   map[troupe.OwnerID]bool
}

// got is what the receiver was sent.
type got struct{ id, body, secret string }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), dead: map[troupe.OwnerID]bool{}}
	db, err := sqlite.Open(t.Context(), t.TempDir()+"/troupe.db", sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w.db = db
	s := httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(s.Close)
	w.at = strings.TrimPrefix(s.URL, "http://")
	return w
}

func (w *world) receive(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	id, stamp := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
	w.came = append(w.came, got{id, string(body), stamp + " " + r.Header.Get("Webhook-Signature")})
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		answer(out, r)
	}
}

func (w *world) answers(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(status) }
}

// told are the bodies that came since the last call, in their order.
func (w *world) told() (out []got) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, w.came = w.came, nil
	return out
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) passes(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

func (w *world) poster() Poster {
	o := web.Options{Local: []string{w.at}, Setting: "notify.local_hosts"}
	client, err := web.Client(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return Poster{Client: client, Check: func(a string) error { return web.Check(o, a) }, Agent: "troupe/test",
		Now: w.now}
}

func (w *world) targets() *Targets { return New(w.db, w.poster()) }

// teller is a process that has not begun to look by itself: a test has it look.
func (w *world) teller(owner troupe.OwnerID, records store.Records) *Teller {
	t := NewTeller(Options{Poster: w.poster(), Store: w.db, Records: records,
		Alive: func(_ context.Context, id troupe.OwnerID) (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.dead[id], nil
		},
		Mask: func(s string) string { return strings.ReplaceAll(s, "KEY", "***") },
		Log:  slog.New(slog.DiscardHandler), Metrics: metrics.New()})
	t.owner = owner
	return t
}

// looks has a process look once, and waits for what it delivers.
func (w *world) looks(t *Teller) {
	w.t.Helper()
	t.kick()
	<-t.kicked
	if err := t.look(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	t.sends.Wait()
}

func (w *world) set(t wire.TargetTerms) (secret string) {
	w.t.Helper()
	t.Name = "chat"
	if t.URL == "" {
		t.URL = "http://" + w.at + "/hook?token=hidden"
	}
	if len(t.Events) == 0 {
		t.Events = wire.NoticeEvents()
	}
	out, err := w.targets().Set(w.t.Context(), troupe.Caller{Name: "ann"}, t)
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Secret
}

func (w *world) chat() wire.Target {
	w.t.Helper()
	out, err := w.targets().One(w.t.Context(), "chat")
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// session writes a session whose runs have ended as is said, one after the other.
func (w *world) session(id, parent troupe.SessionID, name string, runs ...troupe.Status) {
	w.t.Helper()
	at := w.now()
	s := troupe.Session{ID: id, Root: tree, Parent: parent, Name: name, Type: "main", Cwd: "/src/a",
		Status: troupe.Spawning, CreatedAt: at}
	if parent != "" {
		s.Depth, s.Coord = 1, troupe.Coord{Reply: 1, Call: len(name)}
	}
	err := w.db.Update(w.t.Context(), tree, func(tx store.Tx) error {
		var caps *troupe.Caps
		if parent == "" {
			caps = &troupe.Caps{}
		}
		if err := tx.Insert(s, troupe.Lease{Owner: "o", Epoch: 1}, caps); err != nil {
			return err
		}
		return tx.AddTree(tree, troupe.TreeDelta{Total: s.Depth})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ends(s, runs...)
}

// ends has runs of a session begin and end.
func (w *world) ends(s troupe.Session, runs ...troupe.Status) {
	w.t.Helper()
	for _, status := range runs {
		at := w.now()
		s.Run++
		s.Status, s.Waiting, s.StartedAt, s.EndedAt, s.Cause = status, "", at, at, ""
		if status != troupe.Completed {
			s.Cause = troupe.CauseError
		}
		o := troupe.Outcome{Session: s.ID, Run: s.Run, Status: status, Cause: s.Cause, Result: "said KEY",
			Tally: troupe.Tally{Cost: troupe.Dollars(0.25), Turns: 2}}
		events := []troupe.Event{
			{Root: tree, Session: s.ID, Seq: s.Seq + 1, At: at, Body: troupe.Started{Run: s.Run}},
			{Root: tree, Session: s.ID, Seq: s.Seq + 2, At: at, Body: troupe.Ended{Outcome: o}},
		}
		s.Seq += 2
		if err := w.db.Update(w.t.Context(), tree, func(tx store.Tx) error {
			return tx.Append(troupe.Lease{Owner: "o", Epoch: 1}, s, events)
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) read(id troupe.SessionID) (s troupe.Session) {
	w.t.Helper()
	if err := w.db.View(w.t.Context(), func(r store.Reader) (err error) {
		s, err = r.Session(id)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) tells(t *Teller) {
	w.t.Helper()
	if err := t.Tell(w.t.Context(), host.News{Root: tree, Leaves: true}); err != nil {
		w.t.Fatal(err)
	}
}

// TestEnds: each end of a run is told once, with what it came to, whatever else has happened since.
func TestEnds(t *testing.T) {
	w := newWorld(t)
	w.session(tree, "", "fix", troupe.Completed) // before the target
	w.passes(time.Minute)
	secret := w.set(wire.TargetTerms{Link: "https://troupe.example.com/"})
	w.ends(w.read(tree), troupe.Failed, troupe.Completed)
	w.session("7k3f00000001", tree, "helperKEY", troupe.Completed)
	p := w.teller("one", w.db)
	for range 3 {
		w.tells(p)
		w.looks(p)
	}
	all := w.told()
	var said []string
	for _, g := range all {
		said = append(said, g.body)
		stamp, signature, _ := strings.Cut(g.secret, " ")
		if want := schedule.Signature(secret, g.id, stamp, []byte(g.body)); signature != want {
			t.Errorf("signed %s, want %s", signature, want)
		}
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{`"name":"fix","agent":"main","link":"https://troupe.example.com/v1/sessions/` +
		string(tree) + `","run":2,"status":"failed","cause":"error","cost_usd":0.25`, `"run":3,"status":"completed"`,
		`{"type":"subagent.ended","timestamp":"2026-11-28T12:01:00Z","data":{"target":"chat",` +
			`"session":"7k3f00000001"`, `"parent":"` + string(tree) + `","name":"helper***"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not told:\n%s", want, text)
		}
	}
	if len(all) != 3 || strings.Contains(text, "said") {
		t.Errorf("told %d:\n%s", len(all), text)
	}
	if x := w.chat(); x.Delivered != 3 || x.Waiting != 0 || x.Failed != 0 {
		t.Errorf("%+v", x)
	}
}

// TestFolderAndResult: a target is told of its folder alone, and of results where it asks for them, masked.
func TestFolderAndResult(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{Folder: "/src/b"})
	w.session(tree, "", "fix", troupe.Completed)
	p := w.teller("one", w.db)
	w.tells(p)
	w.looks(p)
	if all := w.told(); len(all) > 0 {
		t.Errorf("told %v", all)
	}
	w.set(wire.TargetTerms{Folder: "/src", Result: true, Version: w.chat().Version})
	w.ends(w.read(tree), troupe.Completed)
	w.tells(p)
	w.looks(p)
	if all := w.told(); len(all) != 1 || !strings.Contains(all[0].body, `"result":"said ***"`) {
		t.Errorf("told %v", all)
	}
}

// TestKilled: whatever write a process is killed behind or before, what happened is delivered by the next one, and once
// where the try was not cut off.
func TestKilled(t *testing.T) {
	killed := errors.New("killed")
	for n := 1; ; n++ {
		w := newWorld(t)
		w.set(wire.TargetTerms{})
		w.session(tree, "", "fix", troupe.Completed)
		writes, where := 0, ""
		first := w.teller("first", breaking{w.db, func(r store.Record) error {
			if writes++; writes >= n {
				where += r.Kind + " "
				return killed
			}
			return nil
		}})
		if err := first.Tell(t.Context(), host.News{Root: tree, Leaves: true}); err == nil {
			w.looks(first)
		} else if !errors.Is(err, killed) {
			t.Fatal(err)
		}
		tries := len(w.told())
		w.dead["first"] = true
		second := w.teller("second", w.db)
		w.tells(second)
		w.looks(second)
		w.tells(second)
		w.looks(second)
		again := len(w.told())
		if tries > 1 || tries+again == 0 || tries+again > 1 && !strings.HasPrefix(where, kindLetter+" ") {
			t.Errorf("killed at write %d, of %s: told %d times, and %d times by the next one", n, where, tries, again)
		}
		if x := w.chat(); x.Waiting != 0 || x.Dead != 0 {
			t.Errorf("killed at write %d: %+v", n, x)
		}
		if where == "" {
			return
		}
	}
}

// TestTogether: of processes that look at the same time one delivers each.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix", troupe.Completed)
	for i := range 20 {
		w.session(troupe.SessionID(fmt.Sprintf("7k3f0000%04d", i+1)), tree, strings.Repeat("h", i+1), troupe.Completed)
	}
	var all sync.WaitGroup
	for i := range 4 {
		p := w.teller(troupe.OwnerID(fmt.Sprint("p", i)), w.db)
		all.Go(func() {
			for range 3 {
				if err := p.Tell(t.Context(), host.News{Root: tree, Leaves: true}); err != nil {
					t.Error(err)
				}
				p.kick()
				<-p.kicked
				if err := p.look(t.Context()); err != nil {
					t.Error(err)
				}
				p.sends.Wait()
			}
		})
	}
	all.Wait()
	ids := map[string]int{}
	for _, g := range w.told() {
		ids[g.id]++
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
	if len(ids) != 21 {
		t.Errorf("%d came", len(ids))
	}
}

// TestSameMoment: a process that is about to write a letter when another one has delivered it writes none.
func TestSameMoment(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix", troupe.Completed)
	one, before := w.teller("one", w.db), false
	two := w.teller("two", breaking{w.db, func(r store.Record) error {
		if r.Kind == kindLetter && !before {
			before = true
			w.tells(one)
			w.looks(one)
		}
		return nil
	}})
	w.tells(two)
	w.looks(two)
	if all := w.told(); len(all) != 1 || !before {
		t.Errorf("told %v", all)
	}
	w.passes(time.Hour)
	w.looks(two)
	if left, err := w.db.Records(t.Context(), kindLetter, "", 0); err != nil || len(left) > 0 {
		t.Errorf("left %v %v", left, err)
	}
}

// TestAsked: a request that waits is told once, without its words; one of before the target is not.
func TestAsked(t *testing.T) {
	w := newWorld(t)
	w.session(tree, "", "fix")
	p := w.teller("one", w.db)
	ask := func(id troupe.RequestID) {
		t.Helper()
		if err := w.db.Update(t.Context(), tree, func(tx store.Tx) error {
			return tx.PutRequest(troupe.Request{ID: id, Root: tree, Session: tree, Opened: w.now(),
				RequestBody: troupe.RequestBody{Kind: troupe.RequestPermission, Action: "rm -rf /"}})
		}); err != nil {
			t.Fatal(err)
		}
		p.Changed(tree)
	}
	ask("old")
	w.passes(time.Minute)
	w.set(wire.TargetTerms{})
	ask("r1")
	for range 2 {
		w.tells(p)
		w.looks(p)
	}
	ask("r2")
	w.tells(p)
	w.looks(p)
	all := w.told()
	if len(all) != 2 || !strings.Contains(all[0].body, `"request":"r1","kind":"permission"`) ||
		!strings.Contains(all[1].body, `"request":"r2"`) || strings.Contains(fmt.Sprint(all), "rm -rf") {
		t.Errorf("told %v", all)
	}
}

// TestBounded: of too many that wait the last are given up, and of too many that were given up the oldest go.
func TestBounded(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	p := w.teller("one", w.db)
	x, err := p.current(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostDead + 4 {
		l := letter{ID: fmt.Sprint("msg_", i), Salt: x[0].Salt, At: w.now().Add(time.Duration(i))}
		if _, err := putJSON(t.Context(), w.db, store.Record{Kind: kindDead, Key: l.key(x[0])}, l); err != nil {
			t.Fatal(err)
		}
	}
	w.passes(time.Second)
	w.session(tree, "", "fix", troupe.Completed)
	p.waiting["chat"] = mostWaiting
	w.tells(p)
	w.looks(p)
	if x := w.chat(); x.Dead != mostDead || x.Dropped != 5 || x.Waiting != 0 || len(w.told()) > 0 ||
		x.Letters[0].Why != "too many notices waited to be delivered" {
		t.Errorf("%d dead, %d dropped, %d wait: %+v", x.Dead, x.Dropped, x.Waiting, x.Letters[0])
	}
}

// TestRetries: a notice that is not taken is tried with growing waits, then kept, and delivered when an admin says so,
// always under one id.
func TestRetries(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix", troupe.Completed)
	w.answers(http.StatusServiceUnavailable)
	p := w.teller("one", w.db)
	w.tells(p)
	w.looks(p)
	ids := map[string]bool{}
	for i, wait := range waits() {
		w.passes(wait - time.Second)
		w.looks(p)
		all := w.told()
		if len(all) != 1 {
			t.Fatalf("try %d: %v", i, all)
		}
		ids[all[0].id] = true
		w.passes(time.Second)
		w.looks(p)
	}
	if x := w.chat(); len(w.told()) != 1 || x.Waiting != 0 || x.Dead != 1 || x.Failed != 8 || x.Letters[0].Tries != 8 ||
		x.Letters[0].Why != "it answered 503 Service Unavailable" || x.Last.Status != 503 {
		t.Errorf("%+v", x)
	}
	w.passes(24 * time.Hour)
	w.looks(p)
	if all := w.told(); len(all) > 0 {
		t.Errorf("told %v", all)
	}
	w.answers(http.StatusOK)
	_, err := w.targets().Replay(t.Context(), "chat", wire.Replay{Notice: "none"})
	if !errors.Is(err, troupe.ErrNotFound) {
		t.Error(err)
	}
	out, err := w.targets().Replay(t.Context(), "chat", wire.Replay{})
	if err != nil || out.Notices != 1 {
		t.Errorf("%+v %v", out, err)
	}
	w.looks(p)
	w.looks(p)
	all := w.told()
	if len(all) != 1 || !ids[all[0].id] || len(ids) != 1 {
		t.Errorf("told %v, and %v before", all, ids)
	}
	if x := w.chat(); x.Dead != 0 || x.Waiting != 0 || x.Delivered != 1 {
		t.Errorf("%+v", x)
	}
}

// TestClockSetBack: what waits by a clock that was ahead is delivered.
func TestClockSetBack(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix", troupe.Completed)
	w.answers(http.StatusServiceUnavailable)
	p := w.teller("one", w.db)
	w.tells(p)
	w.looks(p)
	w.passes(-365 * 24 * time.Hour)
	w.answers(http.StatusOK)
	w.looks(p)
	if all := w.told(); len(all) != 2 {
		t.Errorf("told %v", all)
	}
}

// TestGone: a receiver that says that it is gone is told nothing any more, until an admin says so.
func TestGone(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix", troupe.Completed)
	w.answers(http.StatusGone)
	p := w.teller("one", w.db)
	w.tells(p)
	w.looks(p)
	w.ends(w.read(tree), troupe.Completed)
	w.tells(p)
	w.looks(p)
	if x := w.chat(); len(w.told()) != 1 || x.Dead != 1 || !strings.Contains(x.Stopped, "410") {
		t.Errorf("%+v", x)
	}
	if _, err := w.targets().Replay(t.Context(), "chat", wire.Replay{}); err == nil {
		t.Error("what is stopped is replayed")
	}
	w.answers(http.StatusNoContent)
	w.set(wire.TargetTerms{Version: w.chat().Version})
	w.ends(w.read(tree), troupe.Completed)
	w.tells(p)
	w.looks(p)
	if x := w.chat(); len(w.told()) != 1 || x.Stopped != "" {
		t.Errorf("%+v", x)
	}
}

// TestAnswers: a redirect is not followed, no more than a little of an answer is read, and neither what was answered
// nor the address is told.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	followed := false
	w.answer = func(out http.ResponseWriter, r *http.Request) {
		if followed = r.URL.Path != "/hook"; !followed {
			http.Redirect(out, r, "http://"+w.at+"/other?secret", http.StatusTemporaryRedirect)
		}
	}
	try, err := w.targets().Test(t.Context(), "chat")
	if err != nil || followed || try.Status != 307 || try.Why != "it answered 307 Temporary Redirect" {
		t.Errorf("%+v %v", try, err)
	}
	sent := make(chan int64, 1)
	w.mu.Lock()
	w.answer = func(out http.ResponseWriter, _ *http.Request) {
		n, _ := io.Copy(out, io.LimitReader(endless{}, 1<<30))
		sent <- n
	}
	w.mu.Unlock()
	if try, err := w.targets().Test(t.Context(), "chat"); err != nil || try.Why != "" {
		t.Errorf("%+v %v", try, err)
	}
	if n := <-sent; n > 16<<20 {
		t.Errorf("%d bytes were taken", n)
	}
	w.mu.Lock()
	w.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	w.mu.Unlock()
	try, err = w.targets().Test(t.Context(), "chat")
	if err != nil || try.Why == "" || strings.Contains(try.Why, "hidden") {
		t.Errorf("%+v %v", try, err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestSlow: a target that does not answer keeps no other waiting, nor the look.
func TestSlow(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	w.answer = func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
	}
	w.set(wire.TargetTerms{})
	if _, err := w.targets().Set(t.Context(), troupe.Caller{Name: "ann"}, wire.TargetTerms{Name: "a-slow",
		URL: "http://" + w.at + "/slow", Events: wire.NoticeEvents()}); err != nil {
		t.Fatal(err)
	}
	w.session(tree, "", "fix", troupe.Completed)
	p := w.teller("one", w.db)
	w.tells(p)
	for {
		if err := p.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if x := w.chat(); x.Delivered == 1 {
			break
		}
	}
	close(release)
	p.sends.Wait()
}

// TestParkedAndMissed: parked trees are told once for each time, and runs that did not begin.
func TestParkedAndMissed(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix")
	p := w.teller("one", w.db)
	n := host.News{Root: tree, Parked: "it was taken up 3 times KEY", Version: 7, At: w.now()}
	for range 2 {
		if err := p.Tell(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.teller("two", w.db).Tell(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Version = 9
	if err := p.Tell(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	w.looks(p)
	all := w.told()
	if len(all) != 2 || !strings.Contains(all[0].body, `"type":"session.parked"`) ||
		!strings.Contains(all[0].body, `"why":"it was taken up 3 times ***"`) {
		t.Errorf("told %v", all)
	}
	plan := func(key, misses string) {
		t.Helper()
		var version int64
		if r, err := w.db.Record(t.Context(), "schedule", key); err == nil {
			version = r.Version
		}
		if _, err := w.db.PutRecord(t.Context(), store.Record{Kind: "schedule", Key: key, Version: version,
			Value: []byte(`{"every_ms":3600000,"begin":{"cwd":"/src/a"},"by":"ann","misses":[` + misses +
				`]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	one := `{"n":1,"at":"2026-11-28T12:00:01Z","why":"no process KEY"}`
	two := `{"n":2,"at":"2026-11-28T13:00:01Z","why":"two"}`
	plan("triage", one)
	for range 2 {
		w.passes(plansEvery)
		w.looks(p)
	}
	plan("triage", one+","+two)
	for range 2 {
		w.passes(plansEvery)
		w.looks(p)
	}
	w.looks(p)
	all = w.told()
	if len(all) != 2 || !strings.Contains(all[0].body, `"type":"schedule.failed"`) ||
		!strings.Contains(all[0].body, `"name":"triage"`) || !strings.Contains(all[0].body, `"why":"no process ***"`) ||
		!strings.Contains(all[1].body, `"why":"two"`) {
		t.Errorf("told %v", all)
	}
}

// TestRemoved: what waits for a target that is removed goes, and one of the same name knows nothing of it.
func TestRemoved(t *testing.T) {
	w := newWorld(t)
	w.set(wire.TargetTerms{})
	w.session(tree, "", "fix", troupe.Completed)
	p := w.teller("one", w.db)
	w.tells(p)
	w.looks(p)
	if len(w.told()) != 1 {
		t.Error("it was not told")
	}
	w.ends(w.read(tree), troupe.Completed)
	w.tells(p)
	if err := w.targets().Remove(t.Context(), "chat"); err != nil {
		t.Fatal(err)
	}
	w.set(wire.TargetTerms{})
	w.looks(p)
	if all := w.told(); len(all) > 0 || w.chat().Waiting > 0 || w.chat().Delivered > 0 {
		t.Errorf("told %v", all)
	}
}

// TestRefused: nothing is sent to addresses that are not public and not listed, and no connection is begun.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	for _, address := range []string{"http://127.0.0.1:9/", "https://127.0.0.1:9/", "https://[::1]/",
		"https://10.1.2.3/",
		"https://169.254.169.254/latest", "https://192.168.1.1/", "https://[fd00::1]/", "http://example.com/",
		"https://user@example.com/", "ftp://example.com/", "https://2130706433/", "https://example.com:22/",
		"http://" + w.at + "@example.com/"} {
		_, err := w.targets().Set(t.Context(), troupe.Caller{}, wire.TargetTerms{Name: "x", URL: address,
			Events: wire.NoticeEvents()})
		user, ok := errors.AsType[*troupe.UserError](err)
		if !ok || !strings.Contains(user.Problem, "nothing is sent") {
			if address != "https://example.com:22/" { // a name is judged when it is dialled
				t.Errorf("%s: %v", address, err)
			}
		}
		if address == "https://example.com:22/" {
			_ = w.targets().Remove(t.Context(), "x")
		}
	}
	// One that was allowed when it was made, and is no more.
	w.set(wire.TargetTerms{})
	p := w.poster()
	p.Check = func(a string) error { return web.Check(web.Options{}, a) }
	try, err := New(w.db, p).Test(t.Context(), "chat")
	if err != nil || try.Why == "" || len(w.told()) > 0 {
		t.Errorf("%+v %v", try, err)
	}
}
