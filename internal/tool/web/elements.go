package web

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func is(atoms ...atom.Atom) func(atom.Atom) bool {
	return func(a atom.Atom) bool { return slices.Contains(atoms, a) }
}

func attribute(tok *html.Token, key string) string {
	for _, a := range tok.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// dropped reports whether an element and all in it is left out: what is for browsers and not
// for readers, and what a reader would not be shown, which is where pages talk to machines
// behind people's backs.
func dropped(tok *html.Token) bool {
	switch tok.DataAtom {
	case atom.Title, atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed,
		atom.Applet,
		atom.Svg, atom.Math, atom.Canvas, atom.Audio, atom.Video, atom.Map, atom.Textarea, atom.Input, atom.Select,
		atom.Datalist,
		atom.Noembed, atom.Noframes, atom.Frameset, atom.Plaintext, atom.Xmp, atom.Dialog:
		return true
	default:
	}
	for _, a := range tok.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "style":
			if invisibleStyle(a.Val) {
				return true
			}
		}
	}
	return false
}

// invisibleStyle reports whether a style keeps an element from being seen.
func invisibleStyle(style string) bool {
	for rule := range strings.SplitSeq(strings.ToLower(style), ";") {
		switch strings.TrimSuffix(strings.Join(strings.Fields(rule), ""), "!important") {
		case "display:none", "visibility:hidden", "visibility:collapse", "font-size:0", "font-size:0px", "opacity:0":
			return true
		}
	}
	return false
}

func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	default:
		return false
	}
}

func tablePart(a atom.Atom) bool {
	switch a {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
		return true
	default:
		return false
	}
}

func listPart(a atom.Atom) bool { return a == atom.Ul || a == atom.Ol || a == atom.Blockquote }

// endsParagraph reports whether an element cannot stand in a paragraph, and ends an open one.
func endsParagraph(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Details, atom.Div, atom.Dl, atom.Fieldset,
		atom.Figure, atom.Footer,
		atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Main, atom.Nav,
		atom.Ol, atom.P,
		atom.Pre, atom.Section, atom.Table, atom.Ul:
		return true
	default:
		return false
	}
}

// isInline reports whether an element is part of a line of text.
func isInline(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Abbr, atom.B, atom.Big, atom.Cite, atom.Code, atom.Em, atom.Font, atom.I, atom.Kbd, atom.Mark,
		atom.Q, atom.S, atom.Samp,
		atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var:
		return true
	default:
		return false
	}
}
