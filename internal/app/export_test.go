package app

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// longReader is a store with one log of so many events, and mail that cannot be read.
type longReader struct {
	store.Reader

	events int64
}

var errUnread = errors.New("a damaged page")

func (l longReader) Events(id troupe.SessionID, after int64, limit int) (out []troupe.Event, err error) {
	for seq := after + 1; seq <= l.events && len(out) < limit; seq++ {
		out = append(out, troupe.Event{Session: id, Seq: seq, Body: troupe.Woke{}})
	}
	return out, nil
}

func (longReader) Mailboxes(root troupe.SessionID) ([]troupe.SessionID, error) {
	return []troupe.SessionID{root}, nil
}

func (longReader) Unread(troupe.SessionID) ([]troupe.Mail, error) { return nil, errUnread }

// TestExportIsWhole: a log of any length is in the file whole, and mail that cannot be read fails the export.
func TestExportIsWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	const events = 2001
	if err := writeLog(longReader{events: events}, "s", &out); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != events {
		t.Errorf("%d of %d events", n, events)
	}
	if err := writeMail(longReader{}, "s", &out); !errors.Is(err, errUnread) {
		t.Errorf("mail that cannot be read: %v", err)
	}
}

// meddled is a store in which something happens behind the look that takes a tree's mail.
type meddled struct {
	store.Store

	do func() error
}

type mailLook struct {
	store.Reader

	taken *bool
}

func (l mailLook) Mailboxes(root troupe.SessionID) ([]troupe.SessionID, error) {
	*l.taken = true
	return l.Reader.Mailboxes(root)
}

func (m meddled) View(ctx context.Context, fn func(store.Reader) error) error {
	taken := false
	err := m.Store.View(ctx, func(r store.Reader) error { return fn(mailLook{r, &taken}) })
	if err == nil && taken {
		err = m.do()
	}
	return err
}

// TestExportOfMoved: a session that is gone on with while it is exported is refused: what is in the file would be of
// two times.
func TestExportOfMoved(t *testing.T) {
	t.Parallel()
	data, root, _ := exportedFile(t)
	a := openHome(t, t.TempDir())
	if _, err := Import(t.Context(), a, troupe.You(troupe.SurfaceCommand), bytes.NewReader(data),
		wire.Import{Cwd: t.TempDir(), Model: "script:s.yaml"}); err != nil {
		t.Fatal(err)
	}
	plain, moved := a.trees.store, false
	a.trees.store = meddled{plain, func() error {
		moved = true
		return plain.Update(t.Context(), root, func(tx store.Tx) error {
			s, err := tx.Session(root)
			if err != nil {
				return err
			}
			lease, err := tx.Lease(root)
			if err != nil {
				return err
			}
			s.Seq++
			return tx.Append(lease, s, []troupe.Event{{Root: root, Session: root, Seq: s.Seq, At: s.CreatedAt,
				Body: troupe.BudgetWarned{Text: "meanwhile"}}})
		})
	}}
	_, err := Export(t.Context(), a, root, ExportTo{Out: new(bytes.Buffer)})
	a.trees.store = plain
	if err == nil || !moved || !strings.Contains(err.Error(), "was gone on with meanwhile") {
		t.Errorf("moved %v: %v", moved, err)
	}
	if _, err := Export(t.Context(), a, root, ExportTo{Out: new(bytes.Buffer)}); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
