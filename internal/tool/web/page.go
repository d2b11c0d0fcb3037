package web

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/troupe-dev/troupe/internal/tool"
)

// page is what was read at an address, as text that is clean but not yet escaped.
type page struct {
	key    string // the address that was asked for
	url    string // the one that answered
	status int
	kind   string // what it was: "text/html as Markdown"
	bytes  int    // of its content, unpacked
	cut    bool   // the content had more
	title  string
	text   string
	read   time.Time
}

func (p *page) size() int { return len(p.key) + len(p.url) + len(p.title) + len(p.text) + 200 }

// forms of content.
type form int

const (
	unreadable form = iota
	unknown         // its bytes have to be looked at
	plainText
	hypertext
)

// formOf says what a content type promises.
func formOf(contentType string) (form, string) {
	if strings.TrimSpace(contentType) == "" {
		return unknown, ""
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil && kind == "" {
		return unknown, ""
	}
	main, sub, _ := strings.Cut(kind, "/")
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		return hypertext, kind
	case main == "text", strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"),
		strings.HasSuffix(sub, "+yaml"):
		return plainText, kind
	}
	switch kind {
	case "application/json", "application/ld+json", "application/x-ndjson", "application/xml", "application/yaml",
		"application/x-yaml",
		"application/toml", "application/javascript", "application/x-javascript", "application/x-sh", "application/sql",
		"application/graphql", "application/markdown":
		return plainText, kind
	case "application/octet-stream", "binary/octet-stream", "application/unknown":
		return unknown, kind
	default:
		return unreadable, kind
	}
}

func readable(contentType string) bool {
	f, _ := formOf(contentType)
	return f != unreadable
}

// page makes a page of a reply. It is false if the content is nothing to read; kind then says
// what it is.
func (r *reply) page() (p *page, kind string, ok bool) {
	declared := r.header.Get("Content-Type")
	f, kind := formOf(declared)
	if f == unreadable {
		return nil, kind, false
	}
	text, ok := decode(r.body, declared, r.cut)
	if !ok {
		return nil, sniffed(r.body), false
	}
	if f == unknown {
		kind, f = "text", plainText
		if strings.HasPrefix(http.DetectContentType(r.body), "text/html") {
			kind, f = "text/html", hypertext
		}
	}
	p = &page{url: r.url.String(), status: r.status, kind: kind, bytes: len(r.body), cut: r.cut}
	if f == plainText {
		p.text = clean(text)
		return p, kind, true
	}
	md := markdown(text, r.url)
	p.title, p.text, p.cut = md.title, md.text, p.cut || md.cut
	p.kind += " as Markdown"
	return p, kind, true
}

func sniffed(body []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(body), ";")
	if strings.HasPrefix(kind, "text/") {
		kind = "application/octet-stream"
	}
	return kind
}

// sniffLen is how much of the content is looked at to tell what it is.
const sniffLen = 8 << 10

// decode turns content into UTF-8. It is false if the content is no text, whatever its type
// says it is.
func decode(body []byte, contentType string, cut bool) (string, bool) {
	enc, name, _ := charset.DetermineEncoding(body[:min(len(body), 1024)], contentType)
	if name == "windows-1252" && looksUTF8(body, cut) {
		name = "utf-8" // what nobody named, or many name by mistake
	}
	if name != "utf-8" {
		b, err := enc.NewDecoder().Bytes(body)
		if err != nil {
			return "", false
		}
		body = b
	}
	if bytes.IndexByte(body[:min(len(body), sniffLen)], 0) >= 0 {
		return "", false
	}
	text := strings.TrimPrefix(string(body), "\ufeff")
	head, _ := tool.Cut(text, sniffLen)
	if broken := len(head) - len(strings.ToValidUTF8(head, "")); broken*10 > len(head) {
		return "", false
	}
	return strings.ToValidUTF8(text, "\ufffd"), true
}

// looksUTF8 leaves out of account a character that was cut at the end.
func looksUTF8(b []byte, cut bool) bool {
	for i := 0; cut && i < utf8.UTFMax && len(b) > 0; i++ {
		last := b[len(b)-1]
		if last < utf8.RuneSelf {
			break
		}
		b = b[:len(b)-1]
		if utf8.RuneStart(last) {
			break
		}
	}
	return utf8.Valid(b)
}

// about is the line that says what was read and where.
func (p *page) about() string {
	more := ""
	if p.cut {
		more = ", cut: it has more"
	}
	return fmt.Sprintf("%s — %s, %s, %s%s", p.url, statusText(p.status), tool.FormatBytes(int64(p.bytes)), p.kind, more)
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// whole is the page as it is shown, with its title.
func (p *page) whole() string {
	if p.title == "" {
		return p.text
	}
	return "Title: " + p.title + "\n\n" + p.text
}

// announced is how long the content is by the server's word, for people.
func (r *reply) announced() string {
	n, err := strconv.ParseInt(r.header.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 {
		return "of unknown size"
	}
	return "of " + tool.FormatBytes(n)
}

// cutRunes shortens s to n characters and says how many bytes it left out.
func cutRunes(s string, n int) (string, int) {
	if len(s) <= n {
		return s, 0
	}
	for i := range s {
		if n == 0 {
			return s[:i], len(s) - i
		}
		n--
	}
	return s, 0
}

// baseOf is where links of a page begin: its own address, or what it says of that.
func baseOf(own *url.URL, href string) *url.URL {
	ref, err := url.Parse(strings.TrimSpace(href))
	if err != nil || href == "" {
		return own
	}
	if u := own.ResolveReference(ref); u.Scheme == "http" || u.Scheme == "https" {
		return u
	}
	return own
}
