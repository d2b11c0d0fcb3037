package script

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/yamlfile"
)

// file is a script that has been read.
type file struct {
	path    string
	model   string
	info    model.Info
	entries []entry
}

func parse(path string, data []byte) (file, error) {
	f := file{path: path}
	root, err := yamlfile.Parse(path, data)
	if err != nil {
		return f, err
	}
	err = root.Fields("a script", map[string]func(yamlfile.Node) error{
		"model": func(n yamlfile.Node) (err error) {
			if f.model, err = n.String("model"); err == nil &&
				(f.model == "" || strings.ContainsAny(f.model, " \t\n")) {
				err = n.Errorf("model must be a word, not %q", f.model)
			}
			return err
		},
		"price": func(n yamlfile.Node) (err error) {
			f.info.Priced = true
			f.info.Price, err = n.Price("price", nil)
			return err
		},
		"window": func(n yamlfile.Node) error {
			v, err := n.Int("window")
			if err == nil && (v < 1000 || v > 1<<30) {
				err = n.Errorf("window: it is a number of tokens, at least 1000, and not %d", v)
			}
			f.info.Window = int(v)
			return err
		},
		"replies": func(n yamlfile.Node) error {
			return n.Elements("replies", func(_ int, v yamlfile.Node) error {
				e, err := parseEntry(v)
				f.entries = append(f.entries, e)
				return err
			})
		},
	})
	if err == nil && len(f.entries) == 0 {
		err = root.Errorf("the script has no replies")
	}
	return f, err
}

// textField reads a text into to.
func textField(what string, to *string) func(yamlfile.Node) error {
	return func(n yamlfile.Node) (err error) {
		*to, err = n.String(what)
		return err
	}
}

func listField(what string, to *[]string) func(yamlfile.Node) error {
	return func(n yamlfile.Node) (err error) {
		if *to, err = n.Strings(what); err == nil && slices.Contains(*to, "") {
			err = n.Errorf("%s must not be empty; leave the key out to match everything", what)
		}
		return err
	}
}

func parseEntry(n yamlfile.Node) (entry, error) {
	e := entry{line: n.Line()}
	var after *yamlfile.Node
	err := n.Fields("a reply", map[string]func(yamlfile.Node) error{
		"agent":    listField("agent", &e.when.agents),
		"name":     listField("name", &e.when.names),
		"turn":     spanField("turn", &e.when.turn),
		"attempt":  spanField("attempt", &e.when.attempt),
		"contains": listField("contains", &e.when.contains),
		"matches": func(v yamlfile.Node) error {
			s, err := v.String("matches")
			if err != nil {
				return err
			}
			if e.when.matches, err = regexp.Compile(s); err != nil {
				return v.Errorf("matches: %w", err)
			}
			return nil
		},
		"thinking": textField("thinking", &e.thinking),
		"text":     textField("text", &e.text),
		"calls": func(v yamlfile.Node) error {
			return v.Elements("calls", func(_ int, c yamlfile.Node) error {
				got, err := parseCall(c)
				e.calls = append(e.calls, got)
				return err
			})
		},
		"stop":  func(v yamlfile.Node) error { return e.parseStop(v) },
		"usage": func(v yamlfile.Node) error { return e.parseUsage(v) },
		"delay": func(v yamlfile.Node) (err error) {
			e.delay, err = v.Duration("delay")
			return err
		},
		"over": func(v yamlfile.Node) (err error) {
			e.over, err = v.Duration("over")
			return err
		},
		"error": func(v yamlfile.Node) error { return e.parseError(v) },
		"retry_after": func(v yamlfile.Node) error {
			after = &v
			return nil
		},
	})
	if err != nil {
		return e, err
	}
	return e, e.finish(n, after)
}

// finish checks what only the whole entry can tell.
func (e *entry) finish(n yamlfile.Node, after *yamlfile.Node) (err error) {
	if after != nil {
		if e.fault == nil || e.fault.kind != troupe.FaultRetry {
			return after.Errorf("retry_after needs an error that can be tried again: %s",
				strings.Join(retryable(), ", "))
		}
		if e.fault.retryAfter, err = after.Duration("retry_after"); err != nil {
			return err
		}
	}
	if e.silent() && e.fault == nil && e.stop == "" {
		return n.Errorf("this reply says nothing: give it text, calls, an error, or a stop")
	}
	if e.fault != nil && e.stop != "" {
		return n.Errorf("a reply that ends in an error has no stop")
	}
	if e.fault != nil && e.fault.name == "cut" && e.silent() {
		return n.Errorf("error: cut needs text, thinking or calls to come before it")
	}
	return nil
}

func spanField(what string, to *span) func(yamlfile.Node) error {
	return func(n yamlfile.Node) error {
		s, err := n.String(what)
		if err != nil {
			return err
		}
		first, last, ranged := strings.Cut(strings.ReplaceAll(s, " ", ""), "-")
		a, err := strconv.Atoi(first)
		b := a
		switch {
		case ranged && last == "":
			b = 0
		case ranged && err == nil:
			if b, err = strconv.Atoi(last); b < a {
				err = strconv.ErrRange
			}
		}
		if err != nil || a < 1 {
			return n.Errorf("%s must be a number from 1 on or a range such as 2-5 or 3-, not %q", what, s)
		}
		*to = span{a, b}
		return nil
	}
}

func parseCall(n yamlfile.Node) (call, error) {
	var c call
	var input, raw bool
	err := n.Fields("a call", map[string]func(yamlfile.Node) error{
		"tool": textField("tool", &c.tool),
		"input": func(v yamlfile.Node) error {
			if input = true; !v.IsMap() {
				return v.Errorf("input must be a mapping; for anything else write raw: and the text a model would send")
			}
			b, err := v.AppendJSON(nil)
			c.input = string(b)
			return err
		},
		"raw": func(v yamlfile.Node) (err error) {
			raw = true
			c.input, err = v.String("raw")
			return err
		},
	})
	switch {
	case err != nil:
		return c, err
	case c.tool == "":
		return c, n.Errorf("a call needs a tool")
	case input && raw:
		return c, n.Errorf("a call has either input or raw, not both")
	case !input && !raw:
		c.input = "{}"
	}
	return c, nil
}

func (e *entry) parseStop(n yamlfile.Node) error {
	s, err := n.String("stop")
	if err != nil {
		return err
	}
	stops := []string{string(troupe.StopEndTurn), string(troupe.StopToolUse), string(troupe.StopMaxTokens),
		string(troupe.StopRefusal), string(troupe.StopOther)}
	if !slices.Contains(stops, s) {
		return n.Errorf("stop must be one of %s, not %q", yamlfile.Join(stops), s)
	}
	e.stop = troupe.StopReason(s)
	return nil
}

func (e *entry) parseUsage(n yamlfile.Node) error {
	u := &troupe.Usage{}
	e.tokens = u
	fields := map[string]func(yamlfile.Node) error{}
	for key, to := range map[string]*int64{"input": &u.Input, "output": &u.Output, "cache_read": &u.CacheRead,
		"cache_write": &u.CacheWrite} {
		fields[key] = func(v yamlfile.Node) (err error) {
			if *to, err = v.Int(key); err == nil && *to > 1e12 {
				err = v.Errorf("%s: %d tokens are more than anybody has ever sent", key, *to)
			}
			return err
		}
	}
	return n.Fields("usage", fields)
}

// faults are the errors a script can name, and what a person is told of each.
func faults() map[string]fault {
	return map[string]fault{
		"overloaded":  {kind: troupe.FaultRetry, message: "the service is overloaded"},
		"rate_limit":  {kind: troupe.FaultRetry, message: "the rate limit is reached"},
		"server":      {kind: troupe.FaultRetry, message: "the service failed"},
		"cut":         {kind: troupe.FaultRetry, message: "the stream ended before the reply did"},
		"auth":        {kind: troupe.FaultAuth, message: "the API key is not accepted"},
		"no_model":    {kind: troupe.FaultNoModel, message: "the service does not know the model"},
		"too_long":    {kind: troupe.FaultTooLong, message: "the conversation does not fit the model's window"},
		"bad_request": {kind: troupe.FaultBad, message: "the service does not take the request"},
	}
}

func retryable() []string {
	var out []string
	for k, f := range faults() {
		if f.kind == troupe.FaultRetry {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (e *entry) parseError(n yamlfile.Node) error {
	s, err := n.String("error")
	if err != nil {
		return err
	}
	all := faults()
	f, ok := all[s]
	if !ok {
		known := slices.Sorted(maps.Keys(all))
		near := ""
		if k := troupe.Nearest(s, known); k != "" {
			near = fmt.Sprintf("; did you mean %q?", k)
		}
		return n.Errorf("error must be one of %s, not %q%s", yamlfile.Join(known), s, near)
	}
	f.name = s
	e.fault = &f
	return nil
}
