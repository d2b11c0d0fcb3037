package tool

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Site is an address that a text names.
type Site struct{ URL, Host string }

// Mentions finds the files and folders of a folder that a text names, and the addresses. Too
// many paths are none: whoever reads the list has to be able to.
func Mentions(text, cwd string) (paths []string, sites []Site) {
	return pathsIn(text, cwd), sitesIn(text)
}

// maxDeclared bounds how many paths or addresses of a job are asked about one by one.
const maxDeclared = 20

func pathWord() *regexp.Regexp {
	return regexp.MustCompile(`@?[~\w.\-+/]*[\w\-]+(?:/[\w.\-+]+|\.[A-Za-z]\w{0,7})/?`)
}

func urlWord() *regexp.Regexp {
	return regexp.MustCompile(`https?://[^\s<>"'` + "`" + `)\]]+`)
}

// pathsIn finds the files and folders of the session's folder that a job names.
func pathsIn(prompt, cwd string) []string {
	var out []string
	for _, w := range pathWord().FindAllString(urlWord().ReplaceAllString(prompt, " "), -1) {
		w = strings.TrimRight(strings.TrimPrefix(w, "@"), ".")
		if !filepath.IsAbs(w) {
			w = filepath.Join(cwd, w)
		}
		w = filepath.Clean(w)
		if w == cwd || !troupe.Within(w, cwd) || slices.Contains(out, w) {
			continue
		}
		if out = append(out, w); len(out) > maxDeclared {
			return nil // too many to read: it is asked about as a whole
		}
	}
	return out
}

func sitesIn(text string) []Site {
	var out []Site
	for _, w := range urlWord().FindAllString(text, maxDeclared) {
		w = strings.TrimRight(w, ".,;:")
		if u, err := url.Parse(w); err == nil && u.Hostname() != "" {
			out = append(out, Site{w, u.Hostname()})
		}
	}
	return out
}
