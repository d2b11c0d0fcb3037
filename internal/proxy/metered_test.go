package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// TestMetered: all connections together bring what they may to the last byte, and not one more.
func TestMetered(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := metered(func(ctx context.Context, _ string, _ int, _ entry) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp4", l.Addr().String())
	}, 8)
	bring := func(text string) (string, error) {
		t.Helper()
		c, err := dial(t.Context(), "", 0, entry{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		there, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(there, text); err != nil {
			t.Error(err)
		}
		_ = there.Close()
		got, err := io.ReadAll(c)
		return string(got), err
	}
	for _, text := range []string{"four", "more"} {
		if got, err := bring(text); got != text || err != nil {
			t.Errorf("of %q came %q, %v", text, got, err)
		}
	}
	if got, err := bring("x"); got != "" || !errors.Is(err, errMuch) {
		t.Errorf("behind the last byte came %q, %v", got, err)
	}
}
