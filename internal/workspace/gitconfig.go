package workspace

import (
	"bytes"
	"slices"
	"strings"
)

// HarmlessConfig reports whether a repository's config may become another without a person looking at it: git then
// runs nothing that it did not run before, and git push and git pull, without a name, go where they went. What cannot
// be read for certain is not harmless.
func HarmlessConfig(was, is []byte) bool {
	before, ok := parseConfig(was)
	if !ok {
		return false
	}
	after, ok := parseConfig(is)
	if !ok {
		return false
	}
	c := configChange{before, after}
	for _, keys := range []config{before, after} {
		for key := range keys {
			if !slices.Equal(before[key], after[key]) && !c.harmless(key) {
				return false
			}
		}
	}
	return true
}

// configKey is a key as git compares it: section and name in small letters.
type configKey struct{ section, sub, name string }

// config has the values of each key in their order.
type config map[configKey][]string

// has reports whether there is anything in a subsection.
func (c config) has(section, sub string) bool {
	for key := range c {
		if key.section == section && key.sub == sub {
			return true
		}
	}
	return false
}

type configChange struct{ before, after config }

func (c configChange) harmless(key configKey) bool {
	is := c.after[key]
	switch {
	case len(is) > 0 && slices.ContainsFunc(is, hasControl), hasControl(key.sub):
		return false
	case key.section == "branch" && key.sub != "":
		return c.harmlessBranch(key, is)
	case key.section == "remote" && key.sub != "":
		return c.harmlessRemote(key, is)
	case key.section == "color":
		return true
	case key.sub != "":
		return false
	}
	return slices.Contains(harmlessNames(key.section), key.name)
}

// harmlessNames are the names in a section that say nothing of what runs and of who is reached.
func harmlessNames(section string) []string {
	switch section {
	case "user":
		return []string{"name", "email"}
	case "core":
		return []string{"abbrev", "autocrlf", "eol", "filemode", "ignorecase", "quotepath", "safecrlf"}
	case "pull":
		return []string{"rebase", "ff"}
	case "rebase":
		return []string{"autostash", "autosquash", "updaterefs"}
	case "merge":
		return []string{"ff", "conflictstyle", "renames"}
	case "fetch":
		return []string{"prune", "prunetags"}
	case "branch":
		return []string{"autosetupmerge", "autosetuprebase", "sort"}
	case "diff":
		return []string{"algorithm", "colormoved", "context", "mnemonicprefix", "noprefix", "renames"}
	case "status":
		return []string{"branch", "relativepaths", "short", "showuntrackedfiles"}
	case "log":
		return []string{"abbrevcommit", "date", "decorate"}
	case "commit":
		return []string{"verbose"}
	case "rerere":
		return []string{"autoupdate", "enabled"}
	case "tag":
		return []string{"sort"}
	case "gc", "maintenance":
		return []string{"auto"}
	case "column":
		return []string{"ui", "branch", "status", "tag"}
	}
	return nil
}

// origin is the remote that git goes to by itself. A command can neither make nor change it, so that a branch
// may follow it.
const origin = "origin"

func (c configChange) harmlessBranch(key configKey, is []string) bool {
	switch key.name {
	case "description":
		return true
	case "rebase", "merge":
		return key.name == "rebase" || !slices.ContainsFunc(is, func(v string) bool {
			return !strings.HasPrefix(v, "refs/heads/")
		})
	case "remote", "pushremote":
		url := configKey{"remote", origin, "url"}
		known := func(v string) bool {
			return v == "." || v == origin && len(c.before[url]) > 0 && slices.Equal(c.before[url], c.after[url])
		}
		other := func(v string) bool { return !known(v) }
		if len(is) == 0 {
			return !c.after.has("branch", key.sub) // a branch that is gone
		}
		return !slices.ContainsFunc(is, other) && !slices.ContainsFunc(c.before[key], other)
	}
	return false
}

// harmlessRemote lets a remote be added that nothing goes to by itself, and one be removed whole.
func (c configChange) harmlessRemote(key configKey, is []string) bool {
	if !c.after.has("remote", key.sub) {
		return true
	}
	if len(c.before[key]) > 0 || key.sub == origin || c.followed(key.sub) || strings.HasPrefix(key.sub, "-") ||
		strings.ContainsAny(key.sub, ":\\*?[~^ ") {
		return false
	}
	switch key.name {
	case "url":
		return len(is) == 1 && plainURL(is[0]) && !c.before.has("remote", key.sub)
	case "fetch": // git adds it a moment after the address
		return !slices.ContainsFunc(is, func(v string) bool {
			_, to, ok := strings.Cut(v, ":")
			return !ok || !strings.HasPrefix(to, "refs/remotes/"+key.sub+"/")
		})
	case "tagopt":
		return true
	}
	return false
}

// followed reports whether something goes to a remote of this name already, which is not there.
func (c configChange) followed(remote string) bool {
	for key, values := range c.before {
		switch key.name {
		case "remote", "pushremote", "pushdefault":
			if slices.Contains(values, remote) {
				return true
			}
		}
	}
	return false
}

// plainURL is an address by which git runs no helper that the address names.
func plainURL(url string) bool {
	if url == "" || strings.HasPrefix(url, "-") || strings.Contains(url, "::") {
		return false
	}
	scheme, _, ok := strings.Cut(url, "://")
	return !ok || slices.Contains([]string{"http", "https", "ssh", "git", "file"}, scheme)
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// parseConfig reads a config as git does. It does not read what git itself would not write and few people do: then
// ok is false.
func parseConfig(text []byte) (keys config, ok bool) {
	if bytes.IndexByte(text, 0) >= 0 || bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return nil, false
	}
	r := configReader{rest: strings.ReplaceAll(string(text), "\r\n", "\n"), keys: config{}}
	for r.rest != "" {
		switch r.rest[0] {
		case '\n', ' ', '\t':
			r.rest = r.rest[1:]
		case '#', ';':
			_, r.rest, _ = strings.Cut(r.rest, "\n")
		case '[':
			if !r.header() {
				return nil, false
			}
		default:
			if !r.entry() {
				return nil, false
			}
		}
	}
	return r.keys, true
}

type configReader struct {
	rest         string
	section, sub string
	keys         config
}

// word takes letters, digits and dashes.
func (r *configReader) word() string {
	n := strings.IndexFunc(r.rest, func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	if n < 0 {
		n = len(r.rest)
	}
	word := r.rest[:n]
	r.rest = r.rest[n:]
	return strings.ToLower(word)
}

// header reads [section] and [section "sub"].
func (r *configReader) header() bool {
	r.rest = r.rest[1:]
	r.section, r.sub = r.word(), ""
	if r.section == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(r.rest, " \t"), `"`); ok && rest != r.rest {
		var sub strings.Builder
		for {
			if rest == "" || rest[0] == '\n' {
				return false
			}
			c := rest[0]
			rest = rest[1:]
			if c == '"' {
				break
			}
			if c == '\\' {
				if rest == "" || rest[0] == '\n' {
					return false
				}
				c, rest = rest[0], rest[1:]
			}
			sub.WriteByte(c)
		}
		r.sub, r.rest = sub.String(), rest
	}
	rest, ok := strings.CutPrefix(r.rest, "]")
	r.rest = rest
	return ok
}

// entry reads a name and its value.
func (r *configReader) entry() bool {
	if c := r.rest[0] | 0x20; c < 'a' || c > 'z' || r.section == "" {
		return false
	}
	key := configKey{r.section, r.sub, r.word()}
	r.rest = strings.TrimLeft(r.rest, " \t")
	rest, given := strings.CutPrefix(r.rest, "=")
	if !given {
		if r.rest != "" && r.rest[0] != '\n' {
			return false // a comment there is not read by git either
		}
		r.keys[key] = append(r.keys[key], "true")
		return true
	}
	r.rest = rest
	value, ok := r.value()
	r.keys[key] = append(r.keys[key], value)
	return ok
}

// value reads to the end of the line. Blanks at its ends count only in quotes.
func (r *configReader) value() (string, bool) {
	var out strings.Builder
	kept, quoted := 0, false // kept: the length up to the last that is not a blank without quotes
	r.rest = strings.TrimLeft(r.rest, " \t")
	for r.rest != "" {
		c := r.rest[0]
		r.rest = r.rest[1:]
		switch {
		case c == '\n':
			return out.String()[:kept], !quoted
		case !quoted && (c == '#' || c == ';'):
			_, r.rest, _ = strings.Cut(r.rest, "\n")
			return out.String()[:kept], true
		case c == '"':
			quoted = !quoted
			kept = out.Len()
			continue
		case c == '\\':
			if r.rest == "" {
				return "", false
			}
			c, r.rest = r.rest[0], r.rest[1:]
			switch c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '"', '\\':
			default:
				return "", false
			}
			out.WriteByte(c)
			kept = out.Len()
			continue
		}
		out.WriteByte(c)
		if quoted || c != ' ' && c != '\t' {
			kept = out.Len()
		}
	}
	return out.String()[:kept], !quoted
}
