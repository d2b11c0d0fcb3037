package archtest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// textRules look at everything people wrote, whatever it is written in.
func textRules() []rule {
	return []rule{
		{
			name: "no machine's paths", check: noMachinePaths,
			why: "what names one person's folders works on one machine and tells strangers about it",
		},
		{
			name: "no registry hosts", check: noRegistryHosts,
			why: "where modules come from is for the environment of whoever builds to say",
		},
		{
			name: "plain words", check: plainWords,
			why: "a sentence that a hurried reader must read twice is wrong; use the words of git, gh and Claude " +
				"Code, and say who does what",
		},
		{
			name: "what is cited is there", check: cited,
			why: "a promise whose test or code is gone is one that a reader cannot check",
		},
	}
}

// noMachinePaths looks for absolute paths as they are on the machines of developers and
// build services. A leading word, dot or slash makes it part of another path.
func noMachinePaths(t *tree) []string {
	paths := regexp.MustCompile(`(?:^|[^\w./~$}*-])(/(?:work|workspace|workspaces)/|/root/(?:go|\.cache)/|/Users/[a-z]\w*/|/home/(?:runner|vagrant)/)`)
	return t.grep(paths, "a path of one machine", func(string) bool { return true })
}

// noRegistryHosts leaves test data alone: what is tested there may be about registries.
func noRegistryHosts(t *tree) []string {
	hosts := regexp.MustCompile(`((?:proxy|sum)\.golang\.org|goproxy\.\w+|registry\.(?:npmjs|yarnpkg)\.\w+|pythonhosted\.org|pypi\.org|(?:index|static)\.crates\.io|\.jfrog\.io|\b(?:artifactory|nexus)\.\w)`)
	return t.grep(hosts, "the host of a package registry", func(p string) bool {
		return !strings.Contains(p, "testdata/")
	})
}

func (t *tree) grep(re *regexp.Regexp, what string, in func(path string) bool) []string {
	var out []string
	for _, f := range t.texts {
		if !in(f.path) || path.Base(f.path) == "go.sum" {
			continue
		}
		for i, line := range bytes.Split(f.data, []byte("\n")) {
			if m := re.FindSubmatch(line); m != nil {
				out = append(out, fmt.Sprintf("%s:%d: %q is %s", f.path, i+1, m[1], what))
			}
		}
	}
	return out
}

func containsLine(s, line string) bool {
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}
