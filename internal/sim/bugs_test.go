package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// enough is how many seeds the simulation may take to find a planted bug: as many as a CI run plays.
const enough = 4_000

func unjudged() func(*session.Deps) { return func(d *session.Deps) { d.Judge = nil } }

// txn keeps the table below in its lines.
type txn = store.Tx

// TestPlantedBugs plants bugs at the seams of the engine, each of which breaks a promise, and
// wants the simulation to notice every one of them.
func TestPlantedBugs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	lastTime := readNoticed(t)
	for name, plant := range map[string]func() func(*session.Deps){
		"an end is told in a transaction of its own":               endApart,
		"mail that comes during a summary is swallowed":            swallow,
		"an edit says that it only reads":                          harmless,
		"an edit in plan mode is let through":                      scribbling,
		"a commit is acknowledged and lost":                        acknowledged,
		"a timer is lost":                                          onSched(0, 8),
		"a wake-up is lost":                                        onSched(100, 0),
		"messages are encoded in another way by each process":      restless,
		"an answer is taken for another call":                      onSend(otherCall),
		"a no is taken for a yes":                                  onSend(func(m troupe.Mail) { yes(m.Answer) }),
		"what a client carried out is another result":              onSend(otherResult),
		"a rule is granted wider than it was shown":                onSend(func(m troupe.Mail) { widen(m.Rule) }),
		"leave for one run is leave for those after it":            onGuard(&lenient{}),
		"what was asked about is let before the answer":            asksAndRuns,
		"a sandbox is wider than was decided":                      onGuard(&roomy{}),
		"a yes to what was wanted opens the workspace":             onGuard(&generous{}),
		"a sandbox that was decided is not put up":                 onGuard(&absent{}),
		"the network is open whatever the answer was for":          onGuard(&open{}),
		"a commit is announced to those who follow another tree":   onNotify(toAnotherTree),
		"a commit is announced as another session's":               onNotify(asAnotherSession),
		"a commit is announced with other events than it wrote":    otherEvents,
		"a piece of a reply goes to those who follow another tree": onDelta(strayPiece),
		"a piece of a reply comes before its call":                 onDelta(earlyPiece),
		"a grant is told before it is committed":                   early,
		"calls begin without being judged":                         unjudged,
		"hooks are not told the end that a killed process owed":    forgotten,
		"a judgement counts for the next call":                     sluggish,
		"a hook that fails before a call guards nothing":           unminding,
		"a refusal of the model of mode auto is a yes":             persuaded,
		"an answer counts for whatever its call asks next":         onSend(nextQuestion),
		"a model call goes on when its session's time is up":       deafModel,
		"forks are told more than their parents":                   forksToldMore,

		// what is done to folders of sessions
		"tools begin before their folder is there": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return unmade{w}
		}),
		"a folder has another base after a crash": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return &rebased{Workspaces: w}
		}),
		"a base is made anew by whoever opens a folder":         without("find the base"),
		"what a log calls saved is kept by no ref":              without("keep"),
		"a ref is moved to what was not handed over":            without("hand over"),
		"a collection takes what is handed over":                without("pin"),
		"an end is told and the caller's repository has no ref": without("name the tip"),
		"a base is kept by no ref":                              without("keep the base"),
		"an end tells another tip than is kept": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return elsewhere{w}
		}),
		"a folder is removed while others work in it": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return crowded{w}
		}),
		"a merge is written before the log announces it": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return foretold{w}
		}),
		"an end says that all was merged, and it was not": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return unwritten{w}
		}),
		"a merge announces other files than it writes": onWorkspaces(func(w session.Workspaces) session.Workspaces {
			return sly{w}
		}),
		"a checkpoint that no log has counts as the last one": func() func(*session.Deps) {
			last := make(map[troupe.SessionID]string) // of all processes, as that of a keeper
			return func(d *session.Deps) { d.Workspaces = counted{d.Workspaces, last} }
		},

		// what holds calls back
		"the governor forgets somebody":                  func() func(*session.Deps) { return onGovernor(true) },
		"a call that failed does not leave the governor": func() func(*session.Deps) { return onGovernor(false) },

		// what is done to teams
		"what one agent says to another is dropped":            onTx(func(tx txn) txn { return tactful{tx} }),
		"a task that another one has is said to be one's own":  onTx(func(tx txn) txn { return flattering{tx} }),
		"a member that failed keeps what it had begun":         onTx(func(tx txn) txn { return grudging{tx} }),
		"a task goes to another member than the one that asks": onTx(func(tx txn) txn { return grabbing{tx} }),
		"a team ends while its members work":                   onTx(func(tx txn) txn { return shortsighted{tx} }),
		"a member does not come to the end that is wanted":     onTx(func(tx txn) txn { return patient{tx} }),
		"a task is offered again and again": func() func(*session.Deps) {
			n := new(int)
			return onTx(func(tx txn) txn { return insistent{tx, n} })()
		},
		"messages of one sender come in another order": onTx(func(tx txn) txn { return confused{tx} }),

		// what agents are bound to, and what checks their results
		"a take-over forgets which files agents may change":    onTx(func(tx txn) txn { return unbound{tx} }),
		"agents may change other files than their calls say":   laxCalls,
		"an edit goes to a file that its agent may not change": astray,
		"a check that failed is told as one that passed":       onTx(func(tx txn) txn { return credulous{tx} }),
		"a result does not wait for its check":                 onTx(func(tx txn) txn { return hastyCheck{tx} }),
		"what came of a check is not handed over":              onTx(func(tx txn) txn { return unverified{tx} }),
		"a model's doubt of a result is forgotten":             onTx(func(tx txn) txn { return uncritical{tx} }),
		"a model's doubt of a result is taken for a yes":       onTx(func(tx txn) txn { return persuadedOf{tx} }),

		// what is done to those who lead others
		"a step begins before what it needs has ended":          onFlow(needless),
		"a step is told another result than the one it needs":   onFlow(misquoting),
		"a coordinator works itself":                            onTx(func(tx txn) txn { return busybody{tx} }),
		"a take-over forgets that an agent is a coordinator":    onTx(func(tx txn) txn { return attentive{tx} }),
		"a team that its lead begins with has a member too few": onTx(func(tx txn) txn { return shorthanded{tx} }),
		"members are born of no team":                           unaffiliated,
		"a lead is not told what its members ask":               onTx(func(tx txn) txn { return secretive{tx} }),
		"a lead's no is taken for a yes":                        onTx(func(tx txn) txn { return obliging{tx} }),

		// what a transaction does
		"appends are not checked for the epoch":                  onTx(func(tx txn) txn { return unfenced{tx} }),
		"mail is not marked delivered":                           onTx(func(tx txn) txn { return unmarked{tx} }),
		"a summary forgets what was just said":                   onTx(func(tx txn) txn { return curt{tx} }),
		"a summary takes the mailbox for read":                   onTx(func(tx txn) txn { return greedy{tx} }),
		"births do not look at the caps":                         onTx(func(tx txn) txn { return capless{tx} }),
		"admissions do not look at the slots":                    onTx(func(tx txn) txn { return slotless{tx} }),
		"calls do not look at what others have reserved":         onTx(func(tx txn) txn { return unreserved{tx} }),
		"a claim does not take the session":                      onTx(func(tx txn) txn { return claimless{tx} }),
		"the sums of a tree forget what a take-over changes":     onTx(func(tx txn) txn { return &forgetful{Tx: tx} }),
		"a reservation is never given back":                      onTx(func(tx txn) txn { return keeper{tx} }),
		"a mailbox is read backwards":                            onTx(func(tx txn) txn { return backwards{tx} }),
		"the end of a command that a crash took is not told":     onTx(func(tx txn) txn { return &silent{Tx: tx} }),
		"the last event of a log is not read":                    onTx(func(tx txn) txn { return stale{tx} }),
		"a take-over forgets changes of modes and rules":         onTx(func(tx txn) txn { return reborn{tx} }),
		"a take-over forgets the sandboxes of profiles":          onTx(func(tx txn) txn { return unboxed{tx} }),
		"a judge's no is forgotten in the log":                   onTx(func(tx txn) txn { return oblivious{tx} }),
		"a yes of the model of mode auto is taken for anybody's": onTx(func(tx txn) txn { return laundered{tx} }),
		"the model of mode auto says yes to what a rule asks":    onTx(func(tx txn) txn { return forged{tx} }),
		"a take-over forgets what the run was started with":      onTx(func(tx txn) txn { return unset{tx} }),
		"a tree that is taken up is as it was when it began":     onTx(func(tx txn) txn { return stubborn{tx} }),
		"a settled request stays open in its row":                onTx(func(tx txn) txn { return undead{tx} }),
		"a request has no row until it is settled":               onTx(func(tx txn) txn { return rowless{tx} }),
		"an answer is logged as somebody's who gave none":        onTx(func(tx txn) txn { return anonymous{tx} }),
		"an approved plan brings back more than was there":       onTx(func(tx txn) txn { return lavish{tx} }),
		"plan mode forgets the mode before":                      onTx(func(tx txn) txn { return unmindful{tx} }),
		"the list forgets whose a task is":                       onTx(func(tx txn) txn { return disowned{tx} }),
		"the list forgets what a task waits for":                 onTx(func(tx txn) txn { return unblocked{tx} }),
		"a summary forgets the list":                             onTx(func(tx txn) txn { return listless{tx} }),
		"a question is answered with another option":             onTx(func(tx txn) txn { return misheard{tx} }),
		"a fork goes on from another event":                      onTx(func(tx txn) txn { return shifting{tx} }),
		"births of forks do not count":                           onTx(func(tx txn) txn { return &uncounted{Tx: tx} }),
		"a fork's log does not say that it is one":               onTx(func(tx txn) txn { return regrown{tx} }),
		"what is ticked off the list is forgotten":               onTx(func(tx txn) txn { return unticked{tx} }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n := lastTime.of(name); n > 0 && !*update {
				if _, err := play(n, nil, plant()); err != nil {
					t.Logf("noticed by seed %d: %v", n, err)
					return
				}
				t.Logf("seed %d does not notice it any more; -args -update writes down which does", n)
			}
			for n := uint64(1); n <= enough; n++ {
				if _, err := play(n, nil, plant()); err != nil {
					t.Logf("noticed by seed %d: %v", n, err)
					lastTime.note(name, n)
					return
				}
			}
			t.Errorf("%d seeds did not notice it", enough)
		})
	}
}

// noticed is which seed noticed each planted bug first when that was last written down. It is played first: that
// finds most bugs at once. Where it finds none any more, all seeds are played, as if nothing stood there.
type noticed struct {
	mu    sync.Mutex
	seeds map[string]uint64
}

const noticedFile = "testdata/noticed.txt"

func readNoticed(t *testing.T) *noticed {
	t.Helper()
	n := &noticed{seeds: make(map[string]uint64)}
	data, err := os.ReadFile(noticedFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		digits, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n.seeds[name], err = strconv.ParseUint(digits, 10, 64); err != nil {
			t.Fatalf("%s: %v", noticedFile, err)
		}
	}
	t.Cleanup(func() { // when all bugs have been looked for
		if !*update {
			return
		}
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(n.seeds)) {
			fmt.Fprintf(&b, "%d %s\n", n.seeds[name], name)
		}
		if err := os.WriteFile(noticedFile, []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *noticed) note(name string, seed uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seeds[name] = seed
}

func (n *noticed) of(name string) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seeds[name]
}

// planted is a store with a bug.
type planted struct {
	store.Store
	update func(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error
}

func (p planted) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	return p.update(ctx, root, fn)
}

// onTx plants a bug in every transaction.
func onTx(wrap func(store.Tx) store.Tx) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		return func(d *session.Deps) {
			real := d.Store
			d.Store = planted{real, func(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
				return real.Update(ctx, root, func(tx store.Tx) error { return fn(wrap(tx)) })
			}}
		}
	}
}

// endApart tells a parent of an end once the end is committed.
func endApart() func(*session.Deps) {
	return func(d *session.Deps) {
		real := d.Store
		d.Store = planted{real, func(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
			var later []troupe.Mail
			err := real.Update(ctx, root, func(tx store.Tx) error {
				later = nil
				return fn(apart{tx, &later})
			})
			if err != nil || len(later) == 0 {
				return err
			}
			return real.Update(ctx, root, func(tx store.Tx) error {
				for _, m := range later {
					if _, err := tx.Send(m); err != nil {
						return err
					}
				}
				return nil
			})
		}}
	}
}

type apart struct {
	store.Tx
	later *[]troupe.Mail
}

func (t apart) Send(m troupe.Mail) (bool, error) {
	if m.Kind == troupe.MailTaskEnded && m.From != m.To {
		*t.later = append(*t.later, m)
		return true, nil
	}
	return t.Tx.Send(m)
}

type unfenced struct{ store.Tx }

func (t unfenced) Append(_ troupe.Lease, s troupe.Session, events []troupe.Event) error {
	held, err := t.Lease(s.ID)
	return errors.Join(err, t.Tx.Append(held, s, events))
}

type unmarked struct{ store.Tx }

func (unmarked) MarkDelivered(troupe.SessionID, int64, []troupe.MailID) error { return nil }

// swallow loses words to a session that waits for a summary.
func swallow() func(*session.Deps) {
	busy := make(map[troupe.SessionID]bool)
	return onTx(func(tx store.Tx) store.Tx { return swallowing{tx, busy} })()
}

type swallowing struct {
	store.Tx
	busy map[troupe.SessionID]bool
}

func (t swallowing) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for _, e := range events {
		switch b := e.Body.(type) {
		case troupe.CallSealed:
			t.busy[s.ID] = b.Compact
		case troupe.Compacted, troupe.ModelFailed:
			t.busy[s.ID] = false
		}
	}
	return t.Tx.Append(l, s, events)
}

func (t swallowing) Send(m troupe.Mail) (bool, error) {
	if t.busy[m.To] && m.Kind == troupe.MailPrompt {
		return true, nil
	}
	return t.Tx.Send(m)
}

type curt struct{ store.Tx }

func (t curt) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	for i, e := range events {
		if b, ok := e.Body.(troupe.Compacted); ok {
			b.Blocks = b.Blocks[:2]
			events[i].Body = b
		}
	}
	return t.Tx.Append(l, s, events)
}

type greedy struct{ store.Tx }

func (t greedy) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	if err := t.Tx.Append(l, s, events); err != nil {
		return err
	}
	if !slices.ContainsFunc(events, func(e troupe.Event) bool { return e.Body.Kind() == troupe.KindCompacted }) {
		return nil
	}
	unread, err := t.Unread(s.ID)
	for _, m := range unread {
		err = errors.Join(err, t.MarkDelivered(s.ID, s.Seq, []troupe.MailID{m.ID}))
	}
	return err
}

type capless struct{ store.Tx }

func (t capless) Tree(root troupe.SessionID) (troupe.Tree, error) {
	tree, err := t.Tx.Tree(root)
	tree.SincePrompt = 0
	return tree, err
}

type slotless struct{ store.Tx }

func (t slotless) Tree(root troupe.SessionID) (troupe.Tree, error) {
	tree, err := t.Tx.Tree(root)
	tree.Active = 0
	return tree, err
}

type unreserved struct{ store.Tx }

func (t unreserved) Tree(root troupe.SessionID) (troupe.Tree, error) {
	tree, err := t.Tx.Tree(root)
	tree.Reserved = troupe.Reservation{}
	return tree, err
}

type claimless struct{ store.Tx }

func (t claimless) Claim(id troupe.SessionID, _ troupe.OwnerID) (troupe.Lease, error) {
	return t.Lease(id)
}

// forgetful is a transaction that takes sessions over, and does not add up what that changes.
type forgetful struct {
	store.Tx
	claimed bool
}

func (t *forgetful) Claim(id troupe.SessionID, owner troupe.OwnerID) (troupe.Lease, error) {
	t.claimed = true
	return t.Tx.Claim(id, owner)
}

func (t *forgetful) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	if t.claimed {
		return nil
	}
	return t.Tx.AddTree(root, d)
}

type keeper struct{ store.Tx }

func (t keeper) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	d.Reserved.Tokens, d.Reserved.Cost = max(0, d.Reserved.Tokens), max(0, d.Reserved.Cost)
	return t.Tx.AddTree(root, d)
}

type backwards struct{ store.Tx }

func (t backwards) Unread(to troupe.SessionID) ([]troupe.Mail, error) {
	mail, err := t.Tx.Unread(to)
	slices.Reverse(mail)
	return mail, err
}

type silent struct {
	store.Tx
	claimed bool
}

func (t *silent) Claim(id troupe.SessionID, owner troupe.OwnerID) (troupe.Lease, error) {
	t.claimed = true
	return t.Tx.Claim(id, owner)
}

func (t *silent) Send(m troupe.Mail) (bool, error) {
	if t.claimed && m.Ended != nil && m.Ended.Kind == troupe.TaskShell {
		return true, nil
	}
	return t.Tx.Send(m)
}

type stale struct{ store.Tx }

func (t stale) Events(id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	events, err := t.Tx.Events(id, after, limit)
	return events[:max(0, len(events)-1)], err
}

var errUndone = errors.New("undone")

// acknowledged undoes one commit of a hundred, and says that it went well.
func acknowledged() func(*session.Deps) {
	n := 0
	return func(d *session.Deps) {
		real := d.Store
		d.Store = planted{real, func(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
			n++
			if n%100 != 0 {
				return real.Update(ctx, root, fn)
			}
			err := real.Update(ctx, root, func(tx store.Tx) error { return errors.Join(fn(tx), errUndone) })
			if errors.Is(err, errUndone) {
				return nil
			}
			return err
		}}
	}
}

// onSched loses one of so many wake-ups or timers.
func onSched(wakes, timers int) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		l := &lossy{wakes: wakes, timers: timers}
		return func(d *session.Deps) {
			own := *l
			own.Scheduler = d.Sched
			d.Sched = &own
		}
	}
}

type lossy struct {
	session.Scheduler
	wakes, timers   int
	nWakes, nTimers int
}

func (l *lossy) Go(fn func(context.Context)) {
	if l.nWakes++; l.wakes > 0 && l.nWakes%l.wakes == 0 {
		return
	}
	l.Scheduler.Go(fn)
}

func (l *lossy) After(d time.Duration, fn func()) func() {
	if l.nTimers++; l.timers > 0 && l.nTimers%l.timers == 0 {
		return func() {}
	}
	return l.Scheduler.After(d, fn)
}

// harmless has edits declare that they only read.
func harmless() func(*session.Deps) {
	return func(d *session.Deps) {
		d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
			if t.Runner != nil {
				t.Runner = reader{t.Runner}
			}
			return t
		})
	}
}

type reader struct{ tool.Runner }

func (r reader) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := r.Runner.Prepare(env, input)
	if err != nil {
		return nil, err
	}
	return readOnly{p}, nil
}

type readOnly struct{ tool.Prepared }

func (r readOnly) Access() troupe.Access {
	a := r.Prepared.Access()
	a.Class, a.Reads, a.Writes = troupe.ClassRead, a.Writes, nil
	return a
}

// restless has each process encode messages in its own way, under the same version.
func restless() func(*session.Deps) {
	n := 0
	return func(d *session.Deps) {
		n++
		d.Models = dialect{d.Models, byte('0' + n%10)}
	}
}

type dialect struct {
	session.Models
	mark byte
}

func (m dialect) Provider(full string) (model.Provider, string, error) {
	p, id, err := m.Models.Provider(full)
	if err != nil {
		return nil, "", err
	}
	return marked{p, m.mark}, id, nil
}

type marked struct {
	model.Provider
	mark byte
}

func (m marked) EncodeMessage(msg troupe.Message) ([]byte, error) {
	b, err := m.Provider.EncodeMessage(msg)
	return append(b, m.mark), err
}

// onGovernor has the governor lose a caller in five, or not notice that failed calls are over.
func onGovernor(forgets bool) func(*session.Deps) {
	return func(d *session.Deps) {
		if d.Governor != nil {
			d.Governor = &sloppy{Governor: d.Governor, forgets: forgets}
		}
	}
}

type sloppy struct {
	session.Governor
	forgets bool
	n       int
}

func (g *sloppy) Enter(provider string, ready func()) (bool, func()) {
	g.n++
	if g.forgets && g.n%5 == 0 {
		ready = func() {}
	}
	return g.Governor.Enter(provider, ready)
}

func (g *sloppy) Leave(provider string, err error) {
	if g.forgets || err == nil {
		g.Governor.Leave(provider, err)
	}
}

// otherResult has a client say something else.
func otherResult(m troupe.Mail) {
	if m.Answer != nil && m.Answer.Result != nil {
		m.Answer.Result = &troupe.Carried{Text: "another"}
	}
}
