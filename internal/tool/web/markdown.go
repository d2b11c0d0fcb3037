package web

import (
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// document is a page of HTML as Markdown.
type document struct {
	title, text string
	cut         bool // the page had more than is read
}

// markdown turns a page into Markdown. It takes time and memory in proportion to the page,
// whatever the page is: what the converter is given was built within caps (see grow).
func markdown(text string, own *url.URL) document {
	t := grow(text, own)
	conv := converter.NewConverter(
		// Escaped punctuation is for programs that draw Markdown; it is read as it is here.
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(
			base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(
				commonmark.WithListEndComment(false),
				commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
				commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			),
			table.NewTablePlugin(
				table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
				table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
				table.WithSkipEmptyRows(true),
				table.WithHeaderPromotion(true),
			),
		),
	)
	d := document{title: t.title, cut: t.cut}
	md, err := conv.ConvertNode(t.root)
	if err != nil {
		d.text = t.plain() // no form, but every word
		return d
	}
	d.text = strings.TrimSpace(clean(string(md)))
	return d
}
