package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestHandoffModelInTime: a model that checks results and says nothing for half a minute has said nothing, however long
// it would have taken, or its governor would have had it wait.
func TestHandoffModelInTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		delay string
		busy  bool
		took  time.Duration
		want  string
	}{
		"in time":              {"29s", false, 29 * time.Second, "fine"},
		"too late":             {"31s", false, 30 * time.Second, "it had not answered after 30s"},
		"others are before it": {"1s", true, 30 * time.Second, "it had not answered after 30s"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "s.yaml")
		if err := os.WriteFile(file, []byte("replies:\n  - {delay: "+tt.delay+", text: 'pass: fine'}\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			models := newModels(Env{Lookup: func(string) (string, bool) { return "", false }},
				config.Dirs{Config: dir}, config.Settings{})
			defer models.close()
			full, err := models.Resolve("script:"+file, "", dir)
			if err != nil {
				t.Fatal(err)
			}
			gov := governor.New(governor.Options{Max: func(string) int { return 1 }, Now: time.Now,
				After: func(d time.Duration, fn func()) func() {
					stop := time.AfterFunc(d, fn)
					return func() { stop.Stop() }
				}})
			p, _, err := models.Provider(full)
			if err != nil {
				t.Fatal(err)
			}
			if tt.busy {
				gov.Enter(p.Name(), func() {})
			}
			h := handoffModel{opinions{&engine{governor: gov}, models, time.Now}}
			began := time.Now()
			got := h.Check(t.Context(), session.HandoffAsking{ID: "a", Model: full, Result: "done"})
			if took := time.Since(began); took != tt.took || !strings.Contains(got.Why, tt.want) ||
				got.Failed != (tt.want != "fine") || !got.Failed && got.Effect != troupe.Allow {
				t.Errorf("%s: after %v: %+v", name, took, got)
			}
		})
	}
}
