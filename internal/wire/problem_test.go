package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestProblems: what crosses floors keeps its kind, there and back.
func TestProblems(t *testing.T) {
	t.Parallel()
	for kind, status := range map[error]int{
		troupe.ErrNotFound: 404, troupe.ErrExists: 409, troupe.ErrAmbiguous: 409, troupe.ErrFenced: 409,
		troupe.ErrBlocked: 409, troupe.ErrAsleep: 409, troupe.ErrChanged: 412,
		troupe.ErrNewer: 409, troupe.ErrCap: 409,
	} {
		p := wire.NewProblem(fmt.Errorf("x: %w", &troupe.UserError{Problem: "p", Hint: "h", Code: 4, Err: kind}))
		var user *troupe.UserError
		if err := p.Err(); p.Status != status || !errors.Is(err, kind) || !errors.As(err, &user) ||
			user.Problem != "p" || user.Hint != "h" || user.Code != 4 {
			t.Errorf("%v becomes %+v, and then %v", kind, p, err)
		}
	}
	for code, status := range map[int]int{
		0: 409, troupe.ExitUsage: 400, troupe.ExitPermission: 403, troupe.ExitFailed: 500,
	} {
		if p := wire.NewProblem(&troupe.UserError{Problem: "p", Code: code}); p.Status != status || p.Code != code {
			t.Errorf("code %d becomes %+v", code, p)
		}
	}
	if p := wire.NewProblem(errors.New("disk full")); p.Status != 500 || p.Code != 0 || p.Detail != "disk full" {
		t.Errorf("an error becomes %+v", p)
	}
}
