package httpd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// taking takes deliveries, and refuses as its webhook says.
type taking struct{ got []wire.Delivery }

func (t *taking) Deliver(_ context.Context, d wire.Delivery) (wire.Delivered, error) {
	d.Body = bytes.Clone(d.Body) // which is the server's again behind the answer
	t.got = append(t.got, d)
	switch d.Hook {
	case "stranger":
		return wire.Delivered{}, &troupe.UserError{Problem: "no sender", Code: troupe.ExitPermission}
	case "full":
		return wire.Delivered{}, &troupe.UserError{Problem: "no more", Err: troupe.ErrCap}
	case "paused":
		return wire.Delivered{}, &troupe.UserError{Problem: "not now", Err: troupe.ErrBlocked}
	case "words":
		return wire.Delivered{}, &troupe.UserError{Problem: "no JSON", Code: troupe.ExitUsage}
	case "broken":
		return wire.Delivered{}, errors.New("the disk is on fire")
	}
	return wire.Delivered{Session: "7k3f00000000"}, nil
}

// TestDeliver: what is delivered comes whole and without a token, and what is answered.
func TestDeliver(t *testing.T) {
	t.Parallel()
	hooks := &taking{}
	_, s := listenFor(t, Address{Folders: []string{t.TempDir()}, Hooks: hooks})
	for name, want := range map[string]int{"stranger": 401, "full": 429, "paused": 409, "words": 400, "broken": 503} {
		if status, body := callAt(t, s, "", "POST", "/v1/webhooks/"+name+"/deliveries", "{}"); status != want ||
			strings.Contains(body, "fire") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	hooks.got = nil
	body := "{\"a\" :\n1}"
	status, got := callAt(t, s, "", "POST", "/v1/webhooks/h/deliveries", body, "X-Hub-Signature-256", "sha256=00",
		"Content-Type", "text/plain", "Host", "localhost")
	if status != http.StatusAccepted || got != "{\"session\":\"7k3f00000000\"}\n" || len(hooks.got) != 1 {
		t.Fatal(status, got, hooks.got)
	}
	if d := hooks.got[0]; d.Hook != "h" || string(d.Body) != body ||
		d.Header.Get("x-hub-signature-256") != "sha256=00" {
		t.Errorf("%+v came", d)
	}
	if status, _ := callAt(t, s, "", "POST", "/v1/webhooks/h/deliveries", strings.Repeat("x", maxBody+1)); status !=
		http.StatusRequestEntityTooLarge {
		t.Errorf("a large one: %d", status)
	}
	for _, x := range [][2]string{{"GET", "/v1/webhooks/h/deliveries"}, {"POST", "/v1/webhooks/h/deliveries/x"},
		{"POST", "/v1/webhooks//deliveries"}, {"POST", "/v1/webhooks/h"}, {"POST", "/v1/webhooks/a/b/deliveries"},
		{"POST", "/v1/webhooks"}, {"POST", "/v1/webhooks/h/pause"}} {
		if status, body := callAt(t, s, "", x[0], x[1], "{}"); status != http.StatusUnauthorized ||
			!strings.Contains(body, "without a token") {
			t.Errorf("%s without a token: %d %s", x, status, body)
		}
	}
	if len(hooks.got) != 1 {
		t.Errorf("%d deliveries came", len(hooks.got))
	}
	if status, _ := callAt(t, s, "", "POST", "/v1/webhooks/h/deliveries", "{}", "Host", "evil.example"); status !=
		http.StatusForbidden {
		t.Errorf("by another name: %d", status)
	}
	_, s = listenFor(t, Address{Folders: []string{t.TempDir()}})
	if status, _ := callAt(t, s, "", "POST", "/v1/webhooks/h/deliveries", "{}"); status != http.StatusUnauthorized {
		t.Errorf("where nothing is taken: %d", status)
	}
	if status, _ := ask(t, serve(t).Path(), "POST", "/v1/webhooks/h/deliveries", "{}"); status !=
		http.StatusUnauthorized {
		t.Errorf("on a socket: %d", status)
	}
}

// TestDeliveriesAreBounded: from one address so many come in, which takes nothing from others, from logins or tokens.
func TestDeliveriesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := (&Server{}).guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
		}), newDoor(Address{Log: slog.New(slog.DiscardHandler)}, rightKeys{}, false).admit)
		const path = "/v1/webhooks/h/deliveries"
		for range deliveryBurst {
			if status := visit(t, h, "POST", path, "", "10.0.0.1"); status != http.StatusAccepted {
				t.Fatal(status)
			}
		}
		for _, x := range []struct {
			from, path, token string
			want              int
		}{{"10.0.0.1", path, "", 429}, {"10.0.0.2", path, "", 202}, {"10.0.0.1", "/v1/sign-in", "", 202},
			{"10.0.0.1", "/v1/sessions", "viewer", 202}} {
			if status := visit(t, h, "POST", x.path, x.token, x.from); status != x.want {
				t.Errorf("%+v: %d", x, status)
			}
		}
	})
}
