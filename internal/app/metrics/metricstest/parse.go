// Package metricstest reads what a process has counted as strictly as its format is described, for tests.
package metricstest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Page is what was read: values by series, as NAME{label="value"}, and the type of each name.
type Page struct {
	Values map[string]float64
	Types  map[string]string
}

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	lineForm = regexp.MustCompile(`^([a-z][a-z0-9_]*)(\{(.*)\})? (\S+)$`)
	pairForm = regexp.MustCompile(`^([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)`)
)

// Parse reads a page. It refuses what the format, or the naming of units, does not allow.
func Parse(text string) (Page, error) {
	p := Page{Values: map[string]float64{}, Types: map[string]string{}}
	if !strings.HasSuffix(text, "\n") {
		return p, fmt.Errorf("the last line has no end: %.80q", text)
	}
	name, described := "", map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if err := p.line(line, &name, described); err != nil {
			return p, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	for family, kind := range p.Types {
		if kind == "histogram" {
			if err := p.histogram(family); err != nil {
				return p, fmt.Errorf("%s: %w", family, err)
			}
		}
	}
	return p, nil
}

func (p Page) line(line string, name *string, described map[string]bool) error {
	if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
		var help string
		*name, help, _ = strings.Cut(rest, " ")
		if described[*name] || !nameForm.MatchString(*name) || help == "" {
			return fmt.Errorf("a second HELP, no name, or no text")
		}
		described[*name] = true
		return nil
	}
	if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
		of, kind, _ := strings.Cut(rest, " ")
		if of != *name || p.Types[of] != "" || !slices.Contains([]string{"counter", "gauge", "histogram"}, kind) {
			return fmt.Errorf("not the TYPE of the HELP before, a second one, or none there is")
		}
		if (kind == "counter") != strings.HasSuffix(of, "_total") {
			return fmt.Errorf("a counter ends in _total, and nothing else does")
		}
		p.Types[of] = kind
		return nil
	}
	m := lineForm.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("no sample")
	}
	of := m[1]
	if p.Types[*name] == "histogram" {
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			if cut, ok := strings.CutSuffix(of, end); ok {
				of = cut
				break
			}
		}
	}
	if of != *name || p.Types[of] == "" {
		return fmt.Errorf("it does not stand below its own TYPE")
	}
	labels := map[string]bool{}
	for rest := m[3]; rest != ""; {
		pair := pairForm.FindStringSubmatch(rest)
		if pair == nil || labels[pair[1]] || pair[3] == "," && len(pair[0]) == len(rest) {
			return fmt.Errorf("its labels are none")
		}
		labels[pair[1]], rest = true, rest[len(pair[0]):]
	}
	v, err := strconv.ParseFloat(m[4], 64)
	if err != nil || math.IsNaN(v) {
		return fmt.Errorf("%s is no value", m[4])
	}
	series := m[1] + m[2]
	if _, twice := p.Values[series]; twice {
		return fmt.Errorf("it is there twice")
	}
	p.Values[series] = v
	return nil
}

// histogram looks whether buckets grow, and the last one is the count.
func (p Page) histogram(family string) error {
	last, sets := map[string]float64{}, map[string]map[float64]float64{}
	for series, v := range p.Values {
		rest, ok := strings.CutPrefix(series, family+"_bucket{")
		if !ok {
			continue
		}
		i := strings.LastIndex(rest, `le="`)
		set := strings.TrimSuffix(rest[:i], ",")
		le, err := strconv.ParseFloat(strings.TrimSuffix(rest[i+4:], `"}`), 64)
		if err != nil {
			return fmt.Errorf("no bound: %s", series)
		}
		if sets[set] == nil {
			sets[set] = map[float64]float64{}
		}
		sets[set][le] = v
	}
	for set, buckets := range sets {
		bounds := make([]float64, 0, len(buckets))
		for le := range buckets {
			bounds = append(bounds, le)
		}
		slices.Sort(bounds)
		for _, le := range bounds {
			if buckets[le] < last[set] {
				return fmt.Errorf("bucket %v of {%s} has less than the one before", le, set)
			}
			last[set] = buckets[le]
		}
		count := family + "_count"
		if set != "" {
			count += "{" + set + "}"
		}
		if !math.IsInf(bounds[len(bounds)-1], 1) || p.Values[count] != last[set] {
			return fmt.Errorf("the last bucket of {%s} is %v, and the count %v", set, last[set], p.Values[count])
		}
	}
	return nil
}
