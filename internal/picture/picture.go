// Package picture draws what a terminal shows: text with its colours becomes an SVG that
// looks like a window. The pictures in the documentation are made with it, from real runs.
package picture

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Options are what the text itself does not say.
type Options struct {
	Title   string // shown in the window's bar
	Columns int    // where lines wrap; 0 means 100
}

// Measures in pixels. A cell is as wide as the usual monospace fonts at this size.
const (
	fontSize   = 14.0
	cellWidth  = 8.4
	lineHeight = 19.0
	bar        = 36.0 // height of the window's bar
	margin     = 18.0
)

// SVG draws the text, as a terminal of the given width would have it on its screen and in
// its history at the end. The same text gives the same bytes.
func SVG(w io.Writer, ansi string, o Options) error {
	if o.Columns <= 0 {
		o.Columns = 100
	}
	s := newScreen(o.Columns)
	s.write(ansi)
	rows := s.trimmed()

	width := 2*margin + float64(o.Columns)*cellWidth
	height := bar + margin + float64(len(rows))*lineHeight
	out := bufio.NewWriter(w)
	fmt.Fprintf(out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" role="img">`+
			"\n", num(width), num(height))
	fmt.Fprintf(out, "<title>%s</title>\n", escape(o.Title))
	fmt.Fprintf(out, `<rect x="0.5" y="0.5" width="%s" height="%s" rx="9" fill="%s" stroke="%s"/>`+"\n", num(width-1),
		num(height-1), paper, frame)
	for i, fill := range []string{"#ec6a5e", "#f4bf4f", "#61c554"} {
		fmt.Fprintf(out, `<circle cx="%s" cy="%s" r="6" fill="%s"/>`+"\n", num(margin+6+float64(i)*20), num(bar/2),
			fill)
	}
	fmt.Fprintf(out,
		`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="%s" fill="%s" xml:space="preserve">`+"\n", num(fontSize), ink)
	if o.Title != "" {
		fmt.Fprintf(out, `<text x="%s" y="%s" text-anchor="middle" fill="%s">%s</text>`+"\n", num(width/2),
			num(bar/2+5), quiet, escape(o.Title))
	}
	for i, row := range rows {
		top := bar + float64(i)*lineHeight
		for _, r := range runs(row) {
			r.draw(out, top)
		}
	}
	fmt.Fprint(out, "</g>\n</svg>\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("draw the picture: %w", err)
	}
	return nil
}

// run is neighbouring cells of one look.
type run struct {
	column, width int
	look          look
	text          string
}

func runs(row []cell) []run {
	var out []run
	for i, c := range row {
		if c.width == 0 {
			continue // the right half of the wide character before it
		}
		if n := len(out); n > 0 && out[n-1].look == c.look && out[n-1].column+out[n-1].width == i {
			out[n-1].text += c.text
			out[n-1].width += c.width
			continue
		}
		out = append(out, run{column: i, width: c.width, look: c.look, text: c.text})
	}
	return out
}

func (r run) draw(w io.Writer, top float64) {
	fg, bg := r.look.colours()
	x, width := margin+float64(r.column)*cellWidth, float64(r.width)*cellWidth
	if bg != "" {
		fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", num(x), num(top), num(width),
			num(lineHeight), bg)
	}
	// Space at the ends is only an offset, and some viewers would drop it.
	text := strings.TrimLeft(r.text, " ")
	x += float64(len(r.text)-len(text)) * cellWidth
	width -= float64(len(r.text)-len(text)) * cellWidth
	ink := strings.TrimRight(text, " ")
	width -= float64(len(text)-len(ink)) * cellWidth
	if ink == "" {
		return
	}
	// The length is fixed, so that columns stay in line whatever font the viewer has.
	fmt.Fprintf(w, `<text x="%s" y="%s" textLength="%s" lengthAdjust="spacingAndGlyphs"`, num(x),
		num(top+lineHeight*0.74), num(width))
	if fg != "" {
		fmt.Fprintf(w, ` fill="%s"`, fg)
	}
	if r.look.bold {
		fmt.Fprint(w, ` font-weight="bold"`)
	}
	if r.look.italic {
		fmt.Fprint(w, ` font-style="italic"`)
	}
	switch {
	case r.look.underline && r.look.strike:
		fmt.Fprint(w, ` text-decoration="underline line-through"`)
	case r.look.underline:
		fmt.Fprint(w, ` text-decoration="underline"`)
	case r.look.strike:
		fmt.Fprint(w, ` text-decoration="line-through"`)
	}
	if r.look.dim {
		fmt.Fprint(w, ` opacity="0.62"`)
	}
	fmt.Fprintf(w, ">%s</text>\n", escape(ink))
}

// num writes a number with at most one decimal.
func num(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
}

func escape(s string) string {
	var b strings.Builder
	// A strings.Builder takes everything, and EscapeText replaces what XML cannot hold.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
