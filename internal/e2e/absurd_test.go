package e2e_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// TestAbsurdUsage: counts that no call can have cost no session. What was sent and said is estimated, which the
// log says, and the session can be gone on with.
func TestAbsurdUsage(t *testing.T) {
	t.Parallel()
	for name, usage := range map[string]troupe.Usage{
		"huge":      {Input: 10, Output: 1 << 62},
		"all huge":  {Input: 1 << 62, Output: 1 << 62, CacheRead: 1 << 62, CacheWrite: 1 << 62},
		"negative":  {Input: -5, Output: -1 << 62},
		"just over": {Input: 20_000_001, Output: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newServed(t, func(*modeltest.Request) modeltest.Reply {
				r := modeltest.Text("Said.")
				r.Usage = usage
				return r
			})
			run := p.run(0, "-p", "go", "--max-cost", "5")
			total := run.Usage.Total()
			if run.Result != "Said." || total < 1000 || total > 1e6 || run.CostUSD <= 0 || run.CostUSD > 1 {
				t.Errorf("%q, %d tokens, %v dollars", run.Result, total, run.CostUSD)
			}
			log := p.troupe("log", "main").out
			if usage.Output > 0 && !strings.Contains(log, "what it cost is estimated") {
				t.Errorf("%s", log)
			}
			if again := p.run(0, "-p", "--continue", "more"); again.Result != "Said." {
				t.Errorf("%s: %s", again.Status, again.Error)
			}
			p.audit("main")
		})
	}
}

// TestAskedToWaitForLong: a service that wants to be left alone for longer than the run has patience for ends it,
// and the error says until when in plain words; one that names a time which has passed, or none, is asked again.
func TestAskedToWaitForLong(t *testing.T) {
	t.Parallel()
	for after, ends := range map[string]bool{"99999999999": true, "Fri, 31 Dec 9999 23:59:59 GMT": true, "-5": false,
		"Thu, 01 Jan 1970 00:00:00 GMT": false, "soon": false} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			p, s := newServed(t, func(*modeltest.Request) modeltest.Reply {
				if asked.Add(1) == 1 || ends {
					f := modeltest.Fail(429, "rate_limit_error", "slow down")
					f.RetryAfter = after
					return f
				}
				return modeltest.Text("Said.")
			})
			if !ends {
				if run := p.run(0, "-p", "go"); run.Result != "Said." {
					t.Errorf("%s: %s", run.Status, run.Error)
				}
				return
			}
			run := p.run(1, "-p", "go")
			if s.Count() != 1 || !strings.Contains(run.Error, "it asks for no other call before 20") ||
				!strings.Contains(run.Error, "gave up after 1 attempt:") {
				t.Errorf("after %d calls: %s", s.Count(), run.Error)
			}
		})
	}
}

// TestLimitsOfNothing: a limit that leaves nothing is refused, and not taken for none.
func TestLimitsOfNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("s.yaml", "replies: [{text: ok}]\n")
	for _, flag := range []string{"--max-turns=0", "--max-turns=-1", "--max-time=0", "--max-time=0s", "--max-time=-5s",
		"--max-tokens=0", "--max-cost=0", "--max-cost=NaN", "--max-cost=1e-10"} {
		name, _, _ := strings.Cut(flag, "=")
		r := p.troupe("-p", "go", "--model", "script:s.yaml", flag)
		if r.code != 2 || !strings.Contains(r.errOut, name) {
			t.Errorf("%s: exit %d\n%s%s", flag, r.code, r.out, r.errOut)
		}
	}
	p.write("../home/settings.json", `{"agents": {"max_cost_usd": 1e-10}}`)
	r := p.troupe("-p", "go", "--model", "script:s.yaml")
	if r.code != 2 || !strings.Contains(r.errOut, "max_cost_usd") || !strings.Contains(r.errOut, "no limit") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
}
