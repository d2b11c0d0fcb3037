package web

import (
	"net/url"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	own, err := url.Parse("https://example.com/docs/page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, in, want string }{
		{"headings", "<h1>One</h1><p>two <b>three</b> <i>four</i> <code>five</code>",
			"# One\n\ntwo **three** *four* `five`"},
		{"no closing tags", "<p>one<p>two<ul><li>a<li>b</ul><p>three", "one\n\ntwo\n\n- a\n- b\n\nthree"},
		{"head without end", "<html><head><title>T</title><meta charset=utf-8><body><p>x", "x"},
		{"code", "<pre><code class=\"language-go\">func f() {\n\tx &lt; y\n}\n</code></pre>",
			"```go\nfunc f() {\n\tx < y\n}\n```"},
		{"links",
			`<a href="../a b">x</a> <a href="#top">y</a> <a href="javascript:alert(1)">z</a> <a href="data:text/html,x">w</a> <a href="//other.org/p">v</a>`,
			"[x](https://example.com/a%20b) y z w [v](https://other.org/p)"},
		{"base", `<base href="/lib/"><a href="f">x</a>`, "[x](https://example.com/lib/f)"},
		{"images", `<p>a <img src="https://evil.example/?d=1" alt="a
cat"> b<img src=x>`, "a [image: a cat] b"},
		{"hidden",
			`a<div hidden>b</div><p style="color:red; display : NONE !important">c<p style="font-size:0.9em">d<script>e</script><style>f</style><template>g</template><!-- h --><svg><text>i</text></svg><noscript>j</noscript>`, "a\n\nd"},
		{"table", "<table><tr><th>A<th>B<tr><td>1<td>2</table>", "| A | B |\n|---|---|\n| 1 | 2 |"},
		{"layout", "<table><tr><td>x<table><tr><td>1<td>2</table><td>y</table>z",
			"x\n\n| 1 | 2 |\n|---|---|\n\ny\n\nz"},
		{"cells without a table", "<tr><td>x</td></tr>", "x"},
		{"controls", "<p>a\x07b\x1b[31mc\u202ed\U000E0041e\uf002", "abcde"},
		{"misnested", "<b>one<p>two</b>three</p></div></span>four", "**one**\n\n**two**\n\nthreefour"},
		{"list start", `<ol start="3"><li>a<li>b</ol><ol start="999999999999"><li>c</ol>`, "3. a\n4. b\n\n1. c"},
	} {
		if got := markdown(c.in, own).text; got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	if got := markdown("<head><title>A\n &amp;\u202e B</title></head>x", own).title; got != "A & B" {
		t.Errorf("title %q", got)
	}
}

// hostilePages are what a page may do to whoever parses it: some bytes that stand for very
// many, or that are looked at again and again.
func hostilePages() map[string]string {
	const size = 128 << 10
	full := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (size-len(head)-len(tail))/len(unit)) + tail
	}
	var formats strings.Builder
	for i := range 500 {
		formats.WriteString("<font a" + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ">")
	}
	return map[string]string{
		"deep":             strings.Repeat("<div>", 1_000_000) + "at the bottom",
		"deep spans":       strings.Repeat("<span>x", 50_000),
		"deep quotes":      full(strings.Repeat("<blockquote>", 500), "x<br>", ""),
		"deep lists":       full(strings.Repeat("<ul><li>", 500), "x<br>", ""),
		"reopened formats": full("<p>"+formats.String()+"</p>", "<p>x", ""),
		"nested tables":    full(strings.Repeat("<table><tr><td>", 90), "x<br>", ""),
		"wide table":       full("<table><tr>"+strings.Repeat("<td>x", 3_000), "<tr><td>y", ""),
		"one wide cell":    full("<table><tr><td>"+strings.Repeat("w", 50_000), "<tr><td>x", ""),
		"spans":            full("<table>", "<tr><td colspan=1000000 rowspan=1000000>x", ""),
		"tables":           full("", "<table><tr><td>x", ""),
		"many tables":      full("", "<table><tr><td>x</table>", ""),
		"emphasis":         full("", "<b><i>x", ""),
		"unclosed links":   full("", "<a href=x>y", ""),
		"paragraphs":       full("", "<p>x", ""),
		"headings":         full("", "<h1>x", ""),
		"attributes":       full("<p", " a=1", ">x"),
		"closing tags":     full(strings.Repeat("<p><b>", 50), "</div>", ""),
		"brackets":         full("<p>", "<", ""),
		"ampersands":       full("<p>", "&", ""),
		"stars":            full("<p>", "*_", ""),
		"backticks":        full("<p><code>", "`", ""),
		"pre":              full("<pre>", "x\n", ""),
		"spaces":           full("<p>", " ", "x"),
		"breaks":           full("<p>", "<br>", "x"),
		"inline spaces":    full("<p>", "<b> </b>", "x"),
		"definition":       full("<dl>", "<dt>x<dd>y", ""),
		"comments":         full("", "<!--", ""),
		"doctype":          full("<!doctype ", "x", ""),
	}
}

func TestHostilePages(t *testing.T) {
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	t.Parallel()
	own := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	for name, in := range hostilePages() {
		t.Run(name, func(t *testing.T) {
			d := markdown(in, own)
			if len(d.text) > 8*len(in) {
				t.Errorf("%d bytes became %d", len(in), len(d.text))
			}
		})
	}
	deep := strings.Repeat("<div>", 50_000) + "at the bottom" + strings.Repeat("</div>", 50_000) + "<h1>after"
	if d := markdown(deep, own); d.text != "at the bottom\n\n# after" {
		t.Errorf("deep text: %.80q", d.text)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"<p>a<b>c</p>d", "<table><tr><td>x<table><td>y", "<ul><li><ol start=5><li>x",
		"<pre><code class=go>\n&lt;x", "<title>t</title><svg><a href=//x>y"} {
		f.Add(s)
	}
	own := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	f.Fuzz(func(t *testing.T, s string) {
		d := markdown(s, own)
		if d.text != clean(d.text) || d.title != oneLine(d.title) {
			t.Fatalf("%q became %q, %q", s, d.title, d.text)
		}
		if len(d.text) > 64*len(s)+100 {
			t.Fatalf("%d bytes became %d", len(s), len(d.text))
		}
	})
}

func BenchmarkMarkdown(b *testing.B) {
	section := `<h2 id="x">A heading</h2><p>Some words with <a href="/docs/other.html">a link</a>, <code>code</code> and <b>weight</b>, and more of them to fill the line.</p>
<ul><li>one</li><li>two <em>three</em></li></ul><pre><code class="language-go">func main() { println(1 &lt; 2) }
</code></pre><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
`
	page := "<html><head><title>T</title></head><body>" + strings.Repeat(section, 1<<20/len(section)) + "</body></html>"
	own := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if d := markdown(page, own); d.title != "T" || d.cut {
			b.Fatal(d.title, d.cut)
		}
	}
}
