package console

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Limit words a limit: what it is of, how much of it is used, and what part that is; "" if there is no limit.
func Limit(l wire.Limit) (name, used, share string) {
	name, show := Line(l.Name, 30), func(v float64) string { return fmt.Sprintf("%.0f", v) }
	switch l.Name {
	case wire.LimitTokens:
		show = func(v float64) string { return troupe.FormatTokens(int64(v)) }
	case wire.LimitCost:
		name, show = "cost", func(v float64) string { return troupe.Dollars(v).String() }
	case wire.LimitAgents:
		name = "sub-agents since your last prompt"
	case wire.LimitTurns:
		name = "turns of this run"
	case wire.LimitAll:
		name = "turns of all agents"
	case wire.LimitTime:
		name, show = "time", func(v float64) string { return Duration(int64(v)) }
	}
	if l.Limit <= 0 {
		return name, show(l.Used), ""
	}
	return name, show(l.Used) + " of " + show(l.Limit), fmt.Sprintf("%.0f %%", 100*l.Used/l.Limit)
}
