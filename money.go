package troupe

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// Money is an amount in billionths of a US dollar. Integers add up exactly, and one cached
// token of the cheapest models costs less than a millionth.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000

// Dollars converts an amount in dollars, as people and price tables write it.
func Dollars(d float64) Money { return Money(math.Round(d * float64(Dollar))) }

// Dollars returns the amount in dollars, for display and JSON.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String shows at least cents, and four digits below one dollar: $12.34, $0.0042.
func (m Money) String() string {
	if m >= Dollar || m == 0 {
		return "$" + strconv.FormatFloat(m.Dollars(), 'f', 2, 64)
	}
	return "$" + strconv.FormatFloat(m.Dollars(), 'f', 4, 64)
}

// Usage counts tokens as the provider reported them. Input excludes what was read from or
// written to the provider's cache.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Total is every token that was processed, however it was priced.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Price is what a model costs per million tokens.
type Price struct {
	Input      Money `json:"input"`
	Output     Money `json:"output"`
	CacheRead  Money `json:"cache_read"`
	CacheWrite Money `json:"cache_write"`
}

// Cost prices u. Amounts are rounded down per kind of token, to a billionth of a dollar.
func (p Price) Cost(u Usage) Money {
	var sum Money
	for _, x := range [...]struct {
		tokens int64
		price  Money
	}{{u.Input, p.Input}, {u.Output, p.Output}, {u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite}} {
		sum = min(sum+perMillion(x.tokens, x.price), maxMoney)
	}
	return sum
}

// maxMoney is where an amount stops to grow: a billion dollars, so that sums of many still fit.
const maxMoney = 1_000_000_000 * Dollar

// perMillion is what tokens cost at a price for a million of them: never less than nothing, nor more than maxMoney.
func perMillion(tokens int64, price Money) Money {
	if tokens <= 0 || price <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(tokens), uint64(price))
	const million = 1_000_000
	if high >= million {
		return maxMoney
	}
	n, _ := bits.Div64(high, low, million)
	return Money(min(n, uint64(maxMoney)))
}

// Tally is the running bill of one session, or of a whole tree.
type Tally struct {
	Usage    Usage `json:"usage"`
	Cost     Money `json:"cost"`
	Turns    int   `json:"turns"`
	ToolUses int   `json:"tool_uses"`
}

// Add returns the sum of both.
func (t Tally) Add(o Tally) Tally {
	return Tally{t.Usage.Add(o.Usage), t.Cost + o.Cost, t.Turns + o.Turns, t.ToolUses + o.ToolUses}
}

// Minus returns what t counts beyond o.
func (t Tally) Minus(o Tally) Tally {
	return Tally{
		Usage{t.Usage.Input - o.Usage.Input, t.Usage.Output - o.Usage.Output, t.Usage.CacheRead - o.Usage.CacheRead,
			t.Usage.CacheWrite - o.Usage.CacheWrite},
		t.Cost - o.Cost, t.Turns - o.Turns, t.ToolUses - o.ToolUses,
	}
}

// FormatTokens shortens a token count for people: 950, 31k, 1.2M.
func FormatTokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}
