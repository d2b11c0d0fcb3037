package plan_test

import (
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/plan"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	want := map[string]troupe.Intent{"EnterPlanMode": troupe.EnterPlan{}, "ExitPlanMode": troupe.ExitPlan{}}
	for _, d := range plan.Tools() {
		tooltest.Spec(t, d.Spec())
		tooltest.Inputs(t, d.Spec(), `{}`, func(in string) error {
			_, err := d.Intent(in)
			return err
		})
		if got, err := d.Intent(""); err != nil || got != want[d.Name] {
			t.Errorf("%s: %+v %v", d.Name, got, err)
		}
	}
}

// TestPlanSentAlong: models that learned the tool elsewhere send the plan with the call. It is not advertised.
func TestPlanSentAlong(t *testing.T) {
	t.Parallel()
	for _, d := range plan.Tools() {
		got, err := d.Intent(`{"plan":"# x"}`)
		if takes := d.Name == "ExitPlanMode"; takes != (err == nil) || takes && got != (troupe.ExitPlan{Plan: "# x"}) {
			t.Errorf("%s: %+v %v", d.Name, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{"plan":"x"}`)
	f.Fuzz(func(t *testing.T, in string) {
		for _, d := range plan.Tools() {
			var ie *tool.InputError
			if _, err := d.Intent(in); err != nil && !errors.As(err, &ie) {
				t.Fatalf("%T %v", err, err)
			}
		}
	})
}
