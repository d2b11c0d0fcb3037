package home

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// slowest is how long an answer may take.
const slowest = 5 * time.Second

// tells is what an answer that refuses must not: of the insides of the server.
var tells = regexp.MustCompile(`(?i)sqlite|sql:|no such (table|column)|constraint failed|goroutine \d|runtime error|` +
	`nil pointer|panic|%!|0x[0-9a-f]{6}|json: cannot|strconv\.|context (deadline|canceled)|reflect|\bEOF\b|` +
	`/internal/|\.go:\d|home-of-troupe|troupe\.db`)

// hostileText are texts that something may trip over, wherever it takes one.
func hostileText(w *world) []string {
	return []string{"", " ", "x", "-", "--help", "-rf", ".", "..", "/", "//", "~", "~/x", "../../../../etc/passwd",
		"/etc/passwd",
		"/proc/self/environ", "a/b", "a\\b", "%2e%2e%2f", "%00", "\x00", "a\x00b", "\x1b[31m", "\r\nX-A: b",
		"\u202e\u2066",
		"\ufeff", "é\u0301", strings.Repeat("a", 5000), strings.Repeat("é", 20_000), "NaN", "null", "-1", "1e400",
		"99999999999999999999", "'; DROP TABLE sessions; --", "\" OR 1=1", "%", "_", "*", "[", "(?", "{{.}}", "${HOME}",
		"$(id)", "`id`", "<script>", "main", "main/", "0000-00-00T00:00:00Z", "2026-02-30T25:61:61Z",
		"+292277026596-01-01T00:00:00Z",
		"@every 1ns", "* * * * *", "0 0 31 2 *", "Europe/Nowhere", "../UTC", "script:/etc/passwd", "bypassPermissions",
		"Bash(", "Read(//etc/**)", "file:///etc/passwd", "http://127.0.0.1:1/", "ext::sh -c id", w.dir, w.elsewhere,
		w.dir + "/../elsewhere", w.home, w.ids["done"], w.ids["child"], w.ids["outside"], w.ids["request"],
		w.ids["outside request"], "done", "job", "theirs", "nightly", "triage", "bob", "ymgz5gb5x2a0", "zzzzzzzzzzzz"}
}

// hostileValues are such values as JSON, some of which is none.
func hostileValues(w *world) (out []string) {
	for _, text := range hostileText(w) {
		b, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		out = append(out, string(b))
	}
	const many = 100_000
	return append(out, "null", "true", "false", "0", "-0", "-1", "1", "1.5", "1e400", "-1e400", "1e-400", "NaN",
		"Infinity",
		"2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
		strings.Repeat("9", 5000), `"\ud800"`, "\"\xff\xfe\"", "\"\x01\"", `"\u0000"`, "[]", "{}", "[null]", `[""]`,
		`["x","x"]`, `[1,"a",null,{}]`, `{"x":1}`, `{"":null}`, `{"__proto__":{}}`, `{"x":1,"x":2}`,
		"["+strings.Repeat("0,", many)+"0]", "["+strings.Repeat(`"x",`, many)+`"x"]`,
		"["+strings.Repeat("null,", 999)+"null]",
		strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000),
		strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000),
		strings.Repeat("[", 9000)+strings.Repeat("]", 9000), "", "tru", `"`)
}

// hostileBodies are such in the place of a whole body.
func hostileBodies() []string {
	return []string{"", " ", "null", "true", "0", `""`, "[]", "[{}]", "{", "{}", "{}{}", "{},", "{} x", "\ufeff{}",
		"\xff\xfe{\x00}\x00",
		"{'a':1}", "a=b&c=d", "<x/>", "{\"a\":}", "{\"\\ud800\":1}", strings.Repeat("[", 100_000),
		strings.Repeat("{\"a\":[", 50_000),
		strings.Repeat(" ", 1<<20) + "{}", `{"` + strings.Repeat("a", 1<<19) + `":1}`,
		"{" + strings.Repeat(`"a":1,`, 100_000) + `"a":1}`}
}

// hostileHeaders are headers that calls come with.
func hostileHeaders() []http.Header {
	h := func(kv ...string) http.Header {
		out := http.Header{}
		for i := 0; i+1 < len(kv); i += 2 {
			out[kv[i]] = append(out[kv[i]], kv[i+1])
		}
		return out
	}
	return []http.Header{h("Content-Type", "text/plain"), h("Content-Type", "application/x-www-form-urlencoded"),
		h("Content-Type", "application/json; charset=utf-16"), h("Content-Type", "multipart/form-data; boundary=x"),
		h("Content-Type", "application/cbor"), h("Content-Type", ""),
		h("Content-Type", "application/json", "Content-Type", "x/y"),
		h("Content-Encoding", "gzip"), h("Content-Encoding", "br"), h("Accept", "text/event-stream"),
		h("Accept", "application/cbor"),
		h("Accept", "*/*;q=NaN"), h("Accept", strings.Repeat("a/b,", 5000)), h("Last-Event-ID", "x"),
		h("Last-Event-ID", "7k3f00000000:99999999999999999999"), h("Last-Event-ID", ":/"), h("If-Match", "*"),
		h("If-None-Match", "*"),
		h("Range", "bytes=0-0,5-,-1"), h("Expect", "100-continue"), h("X-Http-Method-Override", "DELETE"),
		h("Accept-Encoding", "gzip, br"), h("Cookie", strings.Repeat("a=b; ", 5000)), h("Te", "trailers"),
		h("Troupe-Caller", `{"name":"eve","right":"admin","surface":"server"}`),
		h("Idempotency-Key", strings.Repeat("k", 5000))}
}

// places are where a body has fields, at any depth, as the description says.
func (d document) places(s *schema, at []string, depth int) (out [][]string) {
	s = d.resolve(s)
	if s == nil || depth == 0 {
		return nil
	}
	if s.Items != nil {
		return d.places(s.Items, append(slices.Clone(at), "[]"), depth)
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		here := append(slices.Clone(at), name)
		out = append(append(out, here), d.places(s.Properties[name], here, depth-1)...)
	}
	return out
}

// put is a body with a value, as JSON, at a place.
func put(body any, at []string, value string) any {
	switch {
	case len(at) == 0:
		return json.RawMessage(value)
	case at[0] == "[]":
		list, _ := body.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list = slices.Clone(list)
		list[0] = put(list[0], at[1:], value)
		return list
	}
	out := map[string]any{}
	if m, ok := body.(map[string]any); ok {
		for k, v := range m {
			out[k] = v
		}
	}
	out[at[0]] = put(out[at[0]], at[1:], value)
	return out
}

// rawJSON is a body as JSON, also where parts of it are none.
func rawJSON(v any) string {
	switch v := v.(type) {
	case json.RawMessage:
		return string(v)
	case map[string]any:
		parts := make([]string, 0, len(v))
		for name, x := range v {
			parts = append(parts, jsonOf(name)+":"+rawJSON(x))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = rawJSON(x)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return jsonOf(v)
}

// fuzzed calls a world with what nobody should send, and judges its answers.
type fuzzed struct {
	*world

	client *http.Client
	good   map[string]asked // by operation
	tokens map[troupe.Right]string
	texts  []string
	values []string
	made   map[string]int // how often what good is about was made anew
}

func newFuzzed(t testing.TB) *fuzzed {
	t.Helper()
	w := newWorld(t, ServeOptions{Proxies: []string{"127.0.0.1"}})
	w.fill()
	f := &fuzzed{world: w, client: w.client(), good: map[string]asked{}, made: map[string]int{},
		tokens: map[troupe.Right]string{}}
	t.Cleanup(f.client.CloseIdleConnections)
	for id, make := range w.reaching() {
		f.good[id] = make()
	}
	f.texts, f.values = hostileText(w), hostileValues(w)
	return f
}

// token is one with a right, made anew where the last one is no more.
func (f *fuzzed) token(right troupe.Right) string {
	f.t.Helper()
	if f.tokens[right] == "" {
		f.tokens[right] = tokenOf(f.t, f.s.hosting.people, "fuzzer-"+string(right), right)
	}
	return f.tokens[right]
}

// send sends a call of an operation and judges the answer. It reports whether that is a 2xx.
func (f *fuzzed) send(o *operation, x sent, right troupe.Right) bool {
	f.t.Helper()
	var a got
	var err error
	for range 3 {
		x.token = f.token(right)
		a, err = f.call(f.client, x)
		if err != nil || a.status != http.StatusUnauthorized && a.status != http.StatusTooManyRequests ||
			o.ID == "deliver" || o.ID == "sign-in" {
			break
		}
		f.tokens[right] = "" // it was revoked, or has had its calls of this second
	}
	if err != nil && (o.ID == "wait" || o.ID == "events") && a.took >= patience {
		return false // it waits for what does not come
	}
	told := fmt.Sprintf("%s %.300q %.300q %.200q as %s", x.method, x.path, x.body, x.header, right)
	if err != nil {
		f.t.Errorf("%s: %s: no answer: %v", o.ID, told, err)
		return false
	}
	if a.took > time.Second {
		f.t.Logf("%s: %s: %d, it took %v", o.ID, told, a.status, a.took)
	}
	switch {
	case a.status >= 500:
		f.t.Errorf("%s: %s: %d %.1000s", o.ID, told, a.status, a.body)
	case a.took > slowest && o.ID != "wait":
		f.t.Errorf("%s: %s: it took %v", o.ID, told, a.took)
	}
	if a.status/100 != 2 && tells.Match(f.without(a.body)) {
		f.t.Errorf("%s: %s: it tells of its insides: %d %.1000s", o.ID, told, a.status, a.body)
	}
	if wrong := f.doc.answers(o, a); len(wrong) > 0 {
		f.t.Errorf("%s: %s: %d %.500s\n%.1000s", o.ID, told, a.status, a.body, strings.Join(wrong, "\n"))
	}
	return a.status/100 == 2
}

// without is an answer without the words of the call.
func (f *fuzzed) without(b []byte) []byte {
	s := string(b)
	for _, text := range f.texts {
		if len(text) > 3 {
			s = strings.ReplaceAll(s, strings.Trim(jsonOf(text), `"`), "")
		}
	}
	return []byte(s)
}

// broken is a call that is broken at some places.
type broken struct {
	asked

	whole *string // in the place of the body
	tail  string  // behind the path
}

func (o *operation) broken(b broken) sent {
	body := b.body
	b.body = nil // which may be no JSON by now
	x := o.of(b.asked, "")
	if x.path += b.tail; b.whole != nil {
		x.body = []byte(*b.whole)
	} else if body != nil {
		x.body = []byte(rawJSON(body))
	}
	return x
}

// variants break a call of an operation at one place each. Pick chooses how.
func (f *fuzzed) variants(o *operation) (out []func(b *broken, pick func(n int) int)) {
	for _, p := range o.Parameters {
		switch p.In {
		case "path":
			out = append(out, func(b *broken, pick func(int) int) {
				b.in = map[string]string{p.Name: f.texts[pick(len(f.texts))]}
			})
		case "query":
			out = append(out, func(b *broken, pick func(int) int) {
				b.query += "&" + p.Name + "=" + url.QueryEscape(f.texts[pick(len(f.texts))])
				if b.query = strings.TrimPrefix(b.query, "&"); pick(8) == 0 {
					b.query += "&" + b.query
				}
			})
		}
	}
	out = append(out, func(b *broken, pick func(int) int) {
		all := hostileHeaders()
		b.header = all[pick(len(all))]
	}, func(b *broken, pick func(int) int) {
		all := hostileBodies()
		b.whole = &all[pick(len(all))]
	}, func(b *broken, pick func(int) int) {
		all := []string{"?unknown=1", "?cwd", "?%zz", "?a=%00", "?;", "/", "//", "/..", "/.", "#x"}
		b.tail = all[pick(len(all))]
	})
	if s := o.sends(); s != nil {
		for _, at := range append(f.doc.places(s, nil, 4), []string{"unknown_field"}) {
			out = append(out, func(b *broken, pick func(int) int) {
				b.body = put(b.body, at, f.values[pick(len(f.values))])
			})
		}
	}
	return out
}

// most is how often what a call has used up is made anew, for each operation.
const most = 3

// break sends calls of an operation: without choices each variant once, else one with what they choose.
func (f *fuzzed) broke(o *operation, choices []byte) {
	r := rand.New(rand.NewPCG(17, uint64(len(o.ID))))
	pick := func(n int) int {
		if len(choices) == 0 {
			return r.IntN(n)
		}
		c := int(choices[0])
		choices = choices[1:]
		return c % n
	}
	rights, all := troupe.UserRights(), f.variants(o)
	send := func(of ...func(*broken, func(int) int)) {
		right := rights[len(rights)-1]
		if pick(4) == 0 {
			right = rights[pick(len(rights))]
		}
		b := broken{asked: f.good[o.ID]}
		for _, v := range of {
			v(&b, pick)
		}
		if f.send(o, o.broken(b), right) && o.method != http.MethodGet && f.made[o.ID] < most {
			f.made[o.ID]++
			f.good[o.ID] = f.reaching()[o.ID]()
		}
	}
	if len(choices) > 0 {
		send(all[pick(len(all))], all[pick(len(all))], all[pick(len(all))])
		return
	}
	for _, v := range all {
		send(v)
	}
}

// FuzzAPI: whatever is sent, field by field as the description has them, is answered in time, as that promises, and
// never with what went wrong inside. Without -fuzz each field of each operation is broken once, always in the same way.
func FuzzAPI(f *testing.F) {
	if testing.Short() {
		f.Skip("without -short it runs")
	}
	w := newFuzzed(f)
	for i := range w.doc.operations {
		f.Add(uint16(i), []byte(nil))
	}
	f.Fuzz(func(t *testing.T, operation uint16, choices []byte) {
		w.t = t
		w.broke(w.doc.operations[int(operation)%len(w.doc.operations)], choices)
		if p := w.log.panics(); len(p) > 0 {
			t.Fatalf("it panicked: %s", p)
		}
	})
}
