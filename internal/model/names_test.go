package model

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func catalog(t testing.TB, override string) *Catalog {
	t.Helper()
	var data []byte
	if override != "" {
		data = []byte(override)
	}
	c, err := LoadCatalog(data, "mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestResolve(t *testing.T) {
	t.Parallel()
	c := catalog(t, `
providers:
  local:
    aliases: {small: qwen3:8b}
    models:
      qwen3:8b: {window: 32768, price: {}}
`)
	for _, tt := range []struct{ name, def, want, problem string }{
		{"opus", "anthropic", "anthropic/claude-opus-5-5", ""},
		{"Sonnet", "anthropic", "anthropic/claude-sonnet-5-5", ""},
		{" haiku ", "", "anthropic/claude-haiku-5-5", ""},
		{"anthropic/opus", "local", "anthropic/claude-opus-5-5", ""},
		{"claude-opus-4-5-20251101", "anthropic", "anthropic/claude-opus-4-5-20251101", ""},
		{"claude-next-9", "local", "anthropic/claude-next-9", ""},
		{"small", "anthropic", "local/qwen3:8b", ""},
		{"qwen3:8b", "anthropic", "local/qwen3:8b", ""},
		{"router/anthropic/claude-x", "anthropic", "router/anthropic/claude-x", ""},
		{"haiku", "script", "script/haiku", ""},
		{"whatever", "script", "script/whatever", ""},
		{"opsu", "anthropic", "", `did you mean "opus"`},
		{"sonet", "anthropic", "", `did you mean "sonnet"`},
		{"sonnet-5", "anthropic", "", `did you mean "sonnet"`},
		{"mistral-9", "anthropic", "", "Use an alias"},
		{"", "anthropic", "", "Use an alias"},
		{"anthropic/", "anthropic", "", "Use an alias"},
		{"*", "anthropic", "", "Use an alias"},
	} {
		got, err := c.Resolve(tt.name, tt.def)
		if tt.problem == "" {
			if err != nil || got != tt.want {
				t.Errorf("Resolve(%q, %q) = %q, %v; want %q", tt.name, tt.def, got, err, tt.want)
			}
			continue
		}
		var ue *troupe.UserError
		if !errors.As(err, &ue) || !errors.Is(err, troupe.ErrNotFound) ||
			!strings.Contains(strings.ToLower(ue.Hint), strings.ToLower(tt.problem)) {
			t.Errorf("Resolve(%q, %q) = %q, %v; want an error with %q", tt.name, tt.def, got, err, tt.problem)
		}
	}
}

func TestEfforts(t *testing.T) {
	t.Parallel()
	c := catalog(t, `
providers:
  local:
    models:
      one: {efforts: [High]}
  anthropic:
    models:
      claude-opus-5-5: {efforts: []}
`)
	for _, tt := range []struct {
		model        string
		wished, want troupe.Effort
	}{
		{"anthropic/claude-sonnet-5-5", troupe.EffortMax, troupe.EffortMax},
		{"anthropic/claude-sonnet-5-5", "", ""},
		{"anthropic/claude-opus-4-6", troupe.EffortXHigh, troupe.EffortHigh},
		{"anthropic/claude-opus-4-5-20251101", troupe.EffortMax, troupe.EffortHigh},
		{"anthropic/claude-haiku-4-5", troupe.EffortLow, ""},
		{"anthropic/claude-opus-5-5", troupe.EffortLow, ""}, // the user's own table says that it takes none
		{"openai/gpt-5.4", troupe.EffortMax, troupe.EffortXHigh},
		{"openai/gpt-6-sol", troupe.EffortMax, troupe.EffortMax},
		{"local/one", troupe.EffortMax, troupe.EffortHigh},
		{"local/one", troupe.EffortMedium, ""}, // nothing that is not above it
		{"nobody/knows", troupe.EffortHigh, ""},
	} {
		i, _ := c.Lookup(tt.model)
		if got := tt.wished.Among(i.Efforts); got != tt.want {
			t.Errorf("%s, asked for %q: %q, want %q", tt.model, tt.wished, got, tt.want)
		}
	}
	_, err := LoadCatalog([]byte("providers:\n  a:\n    models:\n      b: {efforts: [low, much]}\n"), "mine.yaml")
	if err == nil || !strings.Contains(err.Error(), `"much" is no effort`) {
		t.Errorf("got %v", err)
	}
}

func TestLookupAndCost(t *testing.T) {
	t.Parallel()
	c := catalog(t, `
providers:
  anthropic:
    aliases: {opus: claude-mine}
    models:
      claude-mine: {window: 1000}
      claude-haiku-4-5: {price: {input: 7}}
  free:
    models: {"*": {price: {}}}
`)
	opus, _ := c.Resolve("opus", "anthropic")
	if opus != "anthropic/claude-mine" {
		t.Errorf("the override's alias lost: %s", opus)
	}
	if i, ok := c.Lookup(opus); !ok || i.Window != 1000 || i.Priced {
		t.Errorf("Lookup(%s) = %+v, %v", opus, i, ok)
	}
	if i, ok := c.Lookup("anthropic/claude-haiku-4-5-20251001"); !ok || i.Price.Input != 7*troupe.Dollar ||
		i.Window != 200_000 {
		t.Errorf("a dated id, overridden in part = %+v, %v", i, ok)
	}
	if i, ok := c.Lookup("free/any:thing"); !ok || !i.Priced || i.Price != (troupe.Price{}) {
		t.Errorf("Lookup(free/any:thing) = %+v, %v", i, ok)
	}
	for _, name := range []string{"anthropic/nobody", "nobody/x", "opus", ""} {
		if i, ok := c.Lookup(name); ok {
			t.Errorf("Lookup(%q) = %+v", name, i)
		}
	}
	haiku, _ := c.Lookup("anthropic/claude-haiku-5-5")
	short := haiku.Cost(troupe.Usage{Input: 40_000, CacheRead: 60_000, Output: 1000})
	long := haiku.Cost(troupe.Usage{Input: 40_001, CacheRead: 60_000, Output: 1000})
	if want := troupe.Dollars(0.004 + 0.0006 + 0.0005); short != want {
		t.Errorf("a short prompt costs %d, want %d", short, want)
	}
	if long < 5*short {
		t.Errorf("a long prompt costs %s, a short one %s", long, short)
	}
	written, read := haiku.Cost(troupe.Usage{CacheWrite: 10_000}), haiku.Cost(troupe.Usage{CacheRead: 10_000})
	if p := haiku.Price; written != p.CacheWrite/100 || read != p.CacheRead/100 || written <= p.Input/100 {
		t.Errorf("a cache costs %d to write and %d to read at %+v", written, read, p)
	}
	with := c.With("script/*", Info{Priced: true, Price: troupe.Price{Input: troupe.Dollar}})
	if i, ok := with.Lookup("script/demo"); !ok || i.Price.Input != troupe.Dollar {
		t.Errorf("With: %+v %v", i, ok)
	}
	if _, ok := c.Lookup("script/demo"); ok {
		t.Error("With changed the catalog it was called on")
	}
}

// TestBuiltin: whoever edits models.yaml must leave every alias priced and every price sane.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	c := catalog(t, "")
	for _, a := range c.Aliases() {
		full, err := c.Resolve(a, "anthropic")
		if err != nil {
			t.Fatal(err)
		}
		if i, ok := c.Lookup(full); !ok || !i.Priced {
			t.Errorf("%s leads to %s, which has no price", a, full)
		}
	}
	for _, m := range c.Models() {
		i, _ := c.Lookup(m)
		p := i.Price
		if p.CacheRead <= 0 || p.CacheRead >= p.Input || p.Input > p.CacheWrite || p.CacheWrite >= p.Output {
			t.Errorf("%s has an odd price: %+v", m, p)
		}
		if i.MaxOutput <= 0 || i.Window <= i.MaxOutput {
			t.Errorf("%s: window %d, max output %d", m, i.Window, i.MaxOutput)
		}
	}
}

func TestOverrideErrors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                "mine.yaml: the file is empty",
		"# nothing yet":                   "mine.yaml: ",
		"[]":                              "mine.yaml:1: the file must be a mapping",
		"provider: {}":                    `mine.yaml:1: the file has no key "provider"; did you mean "providers"?`,
		"providers:\n  a:\n    model: {}": `mine.yaml:3: a provider has no key "model"; did you mean "models"?`,
		"providers:\n  a/b: {}":           "mine.yaml:2: ",
		"providers:\n a:\n  models:\n   x: {price: {input: cheap}}": `mine.yaml:4: input must be an amount in dollars`,
		"providers:\n a:\n  models:\n   x: {window: -1}":            "mine.yaml:4: window must be a whole number",
		"providers:\n a:\n  aliases: {inherit: x}":                  "mine.yaml:3: ",
		"providers: {a: {}, a: {}}":                                 "given twice",
		"providers: {a: {":                                          "mine.yaml:",
		"providers: {}\n---\nproviders: {}":                         "mine.yaml:",
	} {
		_, err := LoadCatalog([]byte(in), "mine.yaml")
		var ue *troupe.UserError
		if !errors.As(err, &ue) || !strings.Contains(ue.Problem, want) {
			t.Errorf("override %q: %v; want %q", in, err, want)
		}
	}
}

func FuzzCatalog(f *testing.F) {
	f.Add(string(builtinModels))
	f.Add("providers: &p\n  a: {aliases: {x: y}, models: {y: {price: {input: 1}}}}\n  b: *p\n")
	f.Fuzz(func(t *testing.T, in string) {
		c, err := LoadCatalog([]byte(in), "fuzz.yaml")
		if err != nil {
			return
		}
		for _, a := range c.Aliases() {
			if full, err := c.Resolve(a, "anthropic"); err == nil {
				c.Lookup(full)
			}
		}
	})
}

func BenchmarkLoadCatalog(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		catalog(b, "")
	}
}

// TestSaved: what is read from a cache saves what writing it would have cost; where a provider takes nothing for
// writing, what sending it would have. It never costs the more.
func TestSaved(t *testing.T) {
	t.Parallel()
	const n = 2_000_000
	for name, tt := range map[string]struct {
		info Info
		want troupe.Money
	}{
		"a write has its price": {Info{Price: troupe.Price{Input: 100, CacheWrite: 125, CacheRead: 10}},
			2 * (125 - 10)},
		"a write has none":  {Info{Price: troupe.Price{Input: 100, CacheRead: 10}}, 2 * (100 - 10)},
		"a read costs more": {Info{Price: troupe.Price{Input: 100, CacheWrite: 50, CacheRead: 300}}, 0},
		"nothing costs":     {Info{}, 0},
		"a long prompt": {Info{Price: troupe.Price{Input: 100, CacheRead: 10},
			Long: troupe.Price{Input: 200, CacheRead: 20}, LongOver: n - 1}, 2 * (200 - 20)},
	} {
		if got := tt.info.Saved(n); got != tt.want {
			t.Errorf("%s: %d is saved, want %d", name, got, tt.want)
		}
	}
}

// TestFirstBlock: it ends with the first block, of two or more, wherever the message lies in memory.
func TestFirstBlock(t *testing.T) {
	t.Parallel()
	const one, two = `{"type":"text","text":"} ]"}`, `{"type":"text","text":"b"}`
	for name, tt := range map[string]struct{ message, want string }{
		"one block": {`{"role":"user","content":[` + one + `]}`, ""},
		"two": {`{"role":"user","content":[` + one + `,` + two + `]}`,
			`{"role":"user","content":[` + one},
		"three, with spaces": {`{"content": [ ` + one + ` , ` + two + `,` + two + `]}`, `{"content": [ ` + one},
		"a text":             {`{"role":"user","content":"[{},{}]"}`, ""},
		"none":               {`{"role":"user","content":[]}`, ""},
		"no content":         {`{"role":"user"}`, ""},
		"nothing":            {``, ""},
	} {
		message := append(make([]byte, 0, 1000), tt.message...)
		if got := string(message[:FirstBlock(message)]); got != tt.want {
			t.Errorf("%s: the first block ends after %q, want %q", name, got, tt.want)
		}
	}
}
