package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
)

// TestSameAsMemory gives both implementations the same transactions, good ones and bad
// ones, and compares every answer and everything that can be read. What the simulation
// learns on the one then holds for the other.
func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	disk := home{path: filepath.Join(t.TempDir(), "troupe.db")}.Open(t)
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		for _, root := range []troupe.SessionID{"root-1", "root-2"} { // what the check before left
			err := disk.Update(t.Context(), root, func(tx store.Tx) error { return tx.DeleteTree(root) })
			if err != nil && !errors.Is(err, troupe.ErrNotFound) {
				t.Fatal(err)
			}
		}
		memory := memstore.New(memstore.Options{}).Open()
		for range rapid.IntRange(1, 25).Draw(t, "transactions") {
			root := drawRoot(t)
			ops := rapid.SliceOfN(rapid.Custom(drawOp), 1, 6).Draw(t, "ops")
			undo := rapid.IntRange(0, 5).Draw(t, "undo") == 0
			want, wantErr := perform(t, memory, root, ops, undo)
			got, gotErr := perform(t, disk, root, ops, undo)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("they answer differently (-memory +sqlite):\n%s\nin memory: %v\non disk: %v", d, wantErr,
					gotErr)
			}
			if d := cmp.Diff(everything(t, memory), everything(t, disk)); d != "" {
				t.Fatalf("they hold different things (-memory +sqlite):\n%s", d)
			}
		}
	})
}

// op is one call in a transaction, drawn so that most are right and many clash.
type op struct {
	What    string
	Session troupe.Session
	Lease   troupe.Lease
	Seq     int64
	Mail    []troupe.MailID
	N       int
}

func drawRoot(t *rapid.T) troupe.SessionID {
	return rapid.SampledFrom([]troupe.SessionID{"root-1", "root-1", "root-2"}).Draw(t, "root")
}

func drawOp(t *rapid.T) op {
	o := op{
		What: rapid.SampledFrom([]string{
			"insert", "insert", "append", "append", "append", "claim", "send", "send", "deliver", "add", "caps", "ask",
			"ask", "delete",
		}).Draw(t, "what"),
		Session: drawSession(t),
		Lease: troupe.Lease{
			Owner: rapid.SampledFrom([]troupe.OwnerID{"o", "o", "o", "p"}).Draw(t, "owner"),
			Epoch: rapid.SampledFrom([]int64{1, 1, 1, 2}).Draw(t, "epoch"),
		},
		Seq:  rapid.Int64Range(0, 3).Draw(t, "seq"),
		Mail: rapid.SliceOfN(rapid.SampledFrom([]troupe.MailID{"m1", "m2", "m3"}), 1, 2).Draw(t, "mail"),
		N:    rapid.IntRange(-2, 4).Draw(t, "n"),
	}
	if o.What == "delete" && o.N != 0 {
		o.What = "append"
	}
	return o
}

func drawSession(t *rapid.T) troupe.Session {
	root := drawRoot(t)
	s := troupe.Session{
		ID: root, Root: root, Cwd: "/w", Type: "main", Model: "m", Status: troupe.Spawning,
		Name: rapid.SampledFrom([]string{"", "Login", "LOGIN", "Billing"}).Draw(t, "name"),
	}
	if n := rapid.IntRange(0, 3).Draw(t, "child"); n > 0 {
		s.Parent, s.Depth, s.Coord = root, 1, troupe.Coord{Reply: 1, Call: n % 2}
		s.ID = troupe.SessionID(fmt.Sprintf("%s-%d", root, n))
	}
	if rapid.Bool().Draw(t, "running") {
		s.Status, s.Run, s.StartedAt = troupe.Running, 1, time.Unix(1, 2).UTC()
	}
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		s.Cause, s.EndedAt = troupe.CauseError, time.Unix(3, 4).UTC()
		s.Status = rapid.SampledFrom(troupe.Statuses()).Draw(t, "status")
	}
	return s
}

func (o op) do(tx store.Tx) (any, error) {
	s := o.Session
	switch o.What {
	case "insert":
		return nil, tx.Insert(s, o.Lease, &troupe.Caps{MaxDepth: 1})
	case "append":
		if have, err := tx.Session(s.ID); err == nil && o.N > 0 {
			o.Seq = have.Seq
		}
		s.Seq, s.Tally.Turns = o.Seq+1, o.N
		return nil, tx.Append(o.Lease, s, []troupe.Event{{
			Root: s.Root, Session: s.ID, Seq: s.Seq, At: time.Unix(5, s.Seq),
			Body: troupe.ModelChanged{Why: fmt.Sprint(o.N)},
		}})
	case "claim":
		return tx.Claim(s.ID, o.Lease.Owner)
	case "send":
		return tx.Send(troupe.Mail{ID: o.Mail[0], Root: s.Root, To: s.ID, Kind: troupe.MailPrompt})
	case "deliver":
		return nil, tx.MarkDelivered(s.ID, o.Seq, o.Mail)
	case "ask":
		r := troupe.Request{ID: troupe.NewRequestID(s.ID, s.Coord, int(o.Seq)), Root: s.Root, Session: s.ID,
			Coord: s.Coord, Opened: time.Unix(6, o.Seq).UTC()}
		r.Kind, r.Action = troupe.RequestPermission, "rm"
		if o.N > 0 {
			r.Settled, r.Answer = time.Unix(7, 8).UTC(), &troupe.Answer{Effect: troupe.Allow}
		}
		return nil, tx.PutRequest(r)
	case "add":
		return nil, tx.AddTree(s.Root, troupe.TreeDelta{Total: o.N, Tally: troupe.Tally{Turns: o.N}})
	case "caps":
		return nil, tx.SetCaps(s.Root, troupe.Caps{MaxActive: o.N + 2})
	default:
		return nil, tx.DeleteTree(s.Root)
	}
}

// perform runs ops in one transaction and returns every answer, then Update's own. Answers
// of the contract are passed over, as a caller might; others end the transaction.
func perform(t *rapid.T, s store.Store, root troupe.SessionID, ops []op, undo bool) (answers []any, err error) {
	err = s.Update(t.Context(), root, func(tx store.Tx) error {
		answers = nil
		for _, o := range ops {
			out, err := o.do(tx)
			answers = append(answers, out, class(err))
			if class(err) == "other" {
				return err
			}
		}
		if undo {
			return errUndo
		}
		return nil
	})
	return append(answers, class(err)), err
}

// errUndo ends a transaction that was not meant to stay.
var errUndo = errors.New("undo")

// class is what of an error the contract speaks about.
func class(err error) string {
	for _, known := range []error{troupe.ErrNotFound, troupe.ErrExists, troupe.ErrFenced, errUndo} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "other"
	}
	return ""
}

// everything is all that can be read from s.
func everything(t *rapid.T, s store.Store) (out []any) {
	err := s.View(t.Context(), func(r store.Reader) error {
		all, err := r.Sessions(store.Filter{})
		if err != nil {
			return err
		}
		asked, err := r.Requests(store.RequestFilter{})
		if err != nil {
			return err
		}
		out = append(out, asked)
		for _, sess := range all {
			l, err1 := r.Lease(sess.ID)
			ev, err2 := r.Events(sess.ID, 0, 0)
			un, err3 := r.Unread(sess.ID)
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			out = append(out, sess, l, len(un), un, len(ev))
			for _, e := range ev {
				out = append(out, e)
			}
			if sess.Parent == "" {
				tree, err := r.Tree(sess.ID)
				if err != nil {
					return err
				}
				out = append(out, tree)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
