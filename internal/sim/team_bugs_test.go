package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// Bugs of teams, each by a store that does something else with what it is given.

// tactful drops what agents say to each other.
type tactful struct{ store.Tx }

func (t tactful) Send(m troupe.Mail) (bool, error) {
	if m.Kind == troupe.MailMessage && m.Message.Type == troupe.MessageWords {
		return true, nil
	}
	return t.Tx.Send(m)
}

// flattering tells members that a task is theirs which another one has.
type flattering struct{ store.Tx }

func (t flattering) Send(m troupe.Mail) (bool, error) {
	if m.Board != nil && m.Board.Failed && strings.HasPrefix(m.Board.Text, "task #") {
		b := *m.Board
		b.Failed, b.Text = false, "Updated: it is yours"
		m.Board = &b
	}
	return t.Tx.Send(m)
}

// grudging has those whose runs failed keep what they had begun.
type grudging struct{ store.Tx }

func (t grudging) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	name := ""
	for _, e := range events {
		if b, ok := e.Body.(troupe.MailDelivered); ok {
			for _, m := range b.Mail {
				if m.Ended != nil && m.Ended.Team != "" && m.Ended.Status != troupe.Completed {
					name = m.Ended.Name
				}
			}
		}
	}
	changing(events, func(it *troupe.BoardItem) {
		if name != "" && it.Owner == "" && it.Status == troupe.BoardPending {
			it.Owner, it.Status = name, troupe.BoardInProgress
		}
	})
	return t.Tx.Append(l, s, events)
}

// grabbing gives a task that one member has to another one that changes something of it.
type grabbing struct{ store.Tx }

func (t grabbing) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	wished := slices.ContainsFunc(events, func(e troupe.Event) bool {
		b, ok := e.Body.(troupe.MailDelivered)
		return ok && b.Mail[0].Board != nil
	})
	if wished {
		changing(events, func(it *troupe.BoardItem) {
			if it.Owner != "" {
				it.Owner = "Zed"
			}
		})
	}
	return t.Tx.Append(l, s, events)
}

// shortsighted does not see members that are at work.
type shortsighted struct{ store.Tx }

func (t shortsighted) Sessions(f store.Filter) ([]troupe.Session, error) {
	all, err := t.Tx.Sessions(f)
	return slices.DeleteFunc(all, func(s troupe.Session) bool { return s.Team != "" && s.Status.Live() }), err
}

// patient gives members whose lead wants them to come to an end an hour more.
type patient struct{ store.Tx }

func (t patient) Send(m troupe.Mail) (bool, error) {
	if m.Message != nil && m.Message.Type == troupe.MessageShutdown {
		msg := *m.Message
		msg.Until = msg.Until.Add(time.Hour)
		m.Message = &msg
	}
	return t.Tx.Send(m)
}

// insistent offers a task to a member as often as it is idle.
type insistent struct {
	store.Tx
	n *int
}

func (t insistent) Send(m troupe.Mail) (bool, error) {
	if strings.HasPrefix(string(m.ID), "offer:") {
		*t.n++
		m.ID = troupe.MailID(fmt.Sprintf("%s:%d", m.ID, *t.n))
	}
	return t.Tx.Send(m)
}

// confused brings what others say to an agent in another order.
type confused struct{ store.Tx }

func (t confused) Unread(id troupe.SessionID) ([]troupe.Mail, error) {
	all, err := t.Tx.Unread(id)
	slices.SortStableFunc(all, func(a, b troupe.Mail) int {
		if a.Kind == troupe.MailMessage && b.Kind == troupe.MailMessage {
			return -strings.Compare(string(a.ID), string(b.ID))
		}
		return 0
	})
	return all, err
}
