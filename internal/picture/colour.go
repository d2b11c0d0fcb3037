package picture

import (
	"fmt"
	"strconv"
)

// The window's own colours.
const (
	paper = "#15171c"
	frame = "#343842"
	ink   = "#d6d9e0"
	quiet = "#868d9c"
)

// palette is one of the 256 colours that terminals have numbers for. The first 16 are ours,
// chosen to be read on paper; the others are the same everywhere.
func palette(n int) string {
	named := [16]string{
		"#3b4048", "#e8716d", "#8fc873", "#e3b866", "#6ca6f0", "#c58ae0", "#5cc1c6", "#c3c8d2",
		"#6f7683", "#ff918c", "#aee394", "#f7d083", "#92c0ff", "#dba9f2", "#82dde1", "#f4f6fa",
	}
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return named[n]
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return rgb(level(n/36), level(n/6%6), level(n%6))
	default:
		v := 8 + 10*(n-232)
		return rgb(v, v, v)
	}
}

func rgb(r, g, b int) string { return fmt.Sprintf("#%02x%02x%02x", r&255, g&255, b&255) }

// extended reads the colour after 38 or 48: "5;n" or "2;r;g;b". It returns what follows.
func extended(p []string) (colour string, rest []string) {
	var v []int
	for _, s := range p {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 255 || len(v) == 4 {
			break
		}
		v = append(v, n)
	}
	switch {
	case len(v) >= 2 && v[0] == 5:
		return palette(v[1]), p[2:]
	case len(v) == 4 && v[0] == 2:
		return rgb(v[1], v[2], v[3]), p[4:]
	default:
		return "", nil
	}
}
