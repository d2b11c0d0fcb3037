package troupe

import (
	"fmt"
	"slices"
	"strings"
)

// Effort is how much work a model puts into a reply, as people name it. "" leaves it to the model.
type Effort string

// Levels of effort.
const (
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
	EffortXHigh  Effort = "xhigh"
	EffortMax    Effort = "max"
)

// Efforts lists the levels, the least first.
func Efforts() []Effort { return []Effort{EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax} }

// EffortNames lists the levels in words.
func EffortNames() string {
	var names []string
	for _, e := range Efforts() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// ParseEffort is the level that a person named, in any case.
func ParseEffort(name string) (Effort, error) {
	if e := Effort(strings.ToLower(strings.TrimSpace(name))); slices.Contains(Efforts(), e) {
		return e, nil
	}
	return "", &UserError{
		Problem: fmt.Sprintf("there is no effort %q", name),
		Hint:    "The levels are " + EffortNames() + ".", Code: ExitUsage,
	}
}

// Among is the level that a model is asked for that takes these: the highest that is not above e; "" if it takes none.
func (e Effort) Among(takes []Effort) Effort {
	levels := Efforts()
	for i := slices.Index(levels, e); i >= 0; i-- {
		if slices.Contains(takes, levels[i]) {
			return levels[i]
		}
	}
	return ""
}
