package app

import (
	"bytes"
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
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
