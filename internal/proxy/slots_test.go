package proxy

import (
	"net"
	"testing"
	"testing/synctest"
)

// endless is a listener that has a connection whenever one is wanted.
type endless struct{}

func (endless) Accept() (net.Conn, error) {
	c, _ := net.Pipe()
	return c, nil
}
func (endless) Close() error   { return nil }
func (endless) Addr() net.Addr { return nil }

// TestSlots: no more connections are open at once than there are slots, each end gives exactly one
// slot back, however often it is told, and Close ends the wait for one.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 3
		l := newLimited(endless{}, slots)
		defer l.Close()
		accepted := make(chan net.Conn, 10_000)
		done := make(chan error, 1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					done <- err
					return
				}
				accepted <- c
			}
		}()
		synctest.Wait()
		for round := range 20 {
			if n := len(accepted); n != slots {
				t.Fatalf("round %d: %d connections are open, want %d", round, n, slots)
			}
			c := <-accepted
			_ = c.Close()
			_ = c.Close()
			synctest.Wait()
		}
		_ = l.Close()
		if err := <-done; err == nil {
			t.Error("Accept goes on after Close")
		}
	})
}
