package replay

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Map puts every text of the recording through fn, wherever it stands. It goes by the form
// of the values and not by a list of fields, so that a field that is added later is not
// forgotten: this is how secrets are taken out. Bytes of pictures are left alone.
func (r *Recording) Map(fn func(string) string) {
	mapTexts(reflect.ValueOf(r).Elem(), fn)
}

func mapTexts(v reflect.Value, fn func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != "" && v.CanSet() {
			v.SetString(fn(s))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			mapTexts(v.Elem(), fn)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				mapTexts(v.Field(i), fn)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			mapTexts(v.Index(i), fn)
		}
	default: // numbers and truth values; a map is nowhere, and a test keeps it so
	}
}

// folders replaces folders by others wherever they stand in a text as whole names.
type folders []folder

type folder struct{ from, to string }

// pairs lists the recorded folders beside today's, with a word for each.
func pairs(then, now Place) []struct{ what, then, now string } {
	return []struct{ what, then, now string }{
		{"outputs", then.Outputs, now.Outputs},
		{"scratchpads", then.Scratchpads, now.Scratchpads},
		{"config", then.Config, now.Config},
		{"folder", then.Cwd, now.Cwd},
		{"home", then.Home, now.Home},
	}
}

// today has the recorded folders become today's.
func today(then, now Place) folders {
	var out folders
	for _, p := range pairs(then, now) {
		if p.then != p.now && p.now != "" {
			out = out.with(p.then, p.now)
		}
	}
	return out
}

// alike has both become one word: whoever asks may name a folder as it was then (the prompt
// does, if it is the same command) or as it is now.
func alike(then, now Place) folders {
	var out folders
	for _, p := range pairs(then, now) {
		if p.then != p.now {
			out = out.with(p.then, mark(p.what)).with(p.now, mark(p.what))
		}
	}
	return out
}

// mark stands for a value that is not compared.
func mark(what string) string { return "‹" + what + "›" }

// with adds a folder. The longest stay first: a project lies below somebody's home.
func (fs folders) with(from, to string) folders {
	// A folder of one letter, the root above all, would be found in everything.
	if len(from) <= 2 || !strings.HasPrefix(from, "/") {
		return fs
	}
	fs = append(fs, folder{from, to})
	slices.SortStableFunc(fs, func(a, b folder) int { return cmp.Compare(len(b.from), len(a.from)) })
	return fs
}

// in returns s with every folder replaced, each place once.
func (fs folders) in(s string) string {
	if len(fs) == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '/')
		if j < 0 {
			break
		}
		i += j
		f, ok := fs.at(s, i)
		if !ok {
			i++
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(f.to)
		i += len(f.from)
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func (fs folders) at(s string, i int) (folder, bool) {
	if before, _ := utf8.DecodeLastRuneInString(s[:i]); partOfName(before) {
		return folder{}, false
	}
	for _, f := range fs {
		if strings.HasPrefix(s[i:], f.from) && nameEnds(s[i+len(f.from):]) {
			return f, true
		}
	}
	return folder{}, false
}

// nameEnds reports whether a file's name ends before rest. A dot belongs to the name if more
// of it follows, else to the sentence.
func nameEnds(rest string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, "."))
	return !partOfName(r)
}

func partOfName(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-')
}
