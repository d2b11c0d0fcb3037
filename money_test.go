package troupe

import "testing"

// TestCost: each kind of token has its own price, and what is less than a billionth of a dollar
// is dropped for each of them, so that a sum never exceeds what was used.
func TestCost(t *testing.T) {
	t.Parallel()
	price := Price{Input: 3 * Dollar, Output: 15 * Dollar, CacheRead: 3 * Dollar / 10, CacheWrite: 375 * Dollar / 100}
	small := Price{Input: 1_999_999, Output: 1_999_999, CacheRead: 1_999_999, CacheWrite: 1_999_999}
	for name, tt := range map[string]struct {
		price Price
		usage Usage
		want  Money
	}{
		"nothing":        {price, Usage{}, 0},
		"input":          {price, Usage{Input: 1000}, 3_000_000},
		"output":         {price, Usage{Output: 1000}, 15_000_000},
		"read":           {price, Usage{CacheRead: 1000}, 300_000},
		"written":        {price, Usage{CacheWrite: 1000}, 3_750_000},
		"all":            {price, Usage{1000, 1000, 1000, 1000}, 22_050_000},
		"a million":      {price, Usage{1_000_000, 1_000_000, 1_000_000, 1_000_000}, 22_050_000_000},
		"rounded down":   {small, Usage{Input: 1}, 1},
		"each by itself": {small, Usage{1, 1, 1, 1}, 4},
		"less than one":  {Price{Input: 999_999}, Usage{Input: 1}, 0},
		"no price":       {Price{}, Usage{1, 2, 3, 4}, 0},
	} {
		if got := tt.price.Cost(tt.usage); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestTally: what a sum counts beyond a part of it is the rest, in every number.
func TestTally(t *testing.T) {
	t.Parallel()
	a := Tally{Usage{1, 20, 300, 4000}, 5, 6, 7}
	b := Tally{Usage{10, 200, 3000, 40_000}, 50, 60, 70}
	sum := Tally{Usage{11, 220, 3300, 44_000}, 55, 66, 77}
	if got := a.Add(b); got != sum {
		t.Errorf("%+v, want %+v", got, sum)
	}
	if got := sum.Minus(b); got != a {
		t.Errorf("%+v, want %+v", got, a)
	}
	if got := sum.Usage.Total(); got != 47_531 {
		t.Errorf("%d tokens in all", got)
	}
}
