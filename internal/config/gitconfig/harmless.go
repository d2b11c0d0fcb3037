package gitconfig

import (
	"slices"
	"strings"
)

// Harmless reports whether a repository's config may become another without a person looking at it. It is so for three
// changes that git itself makes day by day, none of which can change what git runs, or to which remote git push, git
// pull and git fetch go:
//
//   - user.name and user.email, whatever they were,
//   - a branch that had nothing here and now follows the remote that it would go to anyway, or a branch of this
//     repository; git writes remote, merge and rebase one after the other,
//   - a branch that followed so and has nothing any more.
//
// All else has to be as it was and in its order. A config that cannot be read for certain is never harmless.
func Harmless(was, is []byte, beside Beside) bool {
	before, ok := Parse(was)
	if !ok {
		return false
	}
	after, ok := Parse(is)
	if !ok {
		return false
	}
	remote, known := defaultRemote(before)
	all := slices.Concat(beside.Entries, before)
	with, alsoKnown := defaultRemote(all)
	if with != remote {
		remote = "" // git may go elsewhere with what holds beside it
	}
	unsure := !known || !alsoKnown || beside.Unsure || isSplit(before) || len(branchesOf(beside.Entries)) > 0
	c := change{branchesOf(before), branchesOf(after), remote, unsure, followsNames(all)}
	return slices.Equal(rest(before), rest(after)) && identities(after) && c.harmless()
}

// Beside are the settings that hold beside a repository's own: the user's and the machine's, some of them on a
// condition.
type Beside struct {
	Entries []Entry
	Unsure  bool // there may be others
}

// rest is what may not change: all but branches and the identity.
func rest(entries []Entry) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		_, sub := e.Sub()
		return isIdentity(e) || e.Section() == "branch" && sub
	})
}

func isIdentity(e Entry) bool { return e.Key == "user.name" || e.Key == "user.email" }

// identities reports whether the identity is such that git and its hooks take it for nothing else.
func identities(entries []Entry) bool {
	return !slices.ContainsFunc(entries, func(e Entry) bool {
		return isIdentity(e) && (!e.Given || strings.ContainsFunc(e.Value, isControl))
	})
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// branchesOf are the settings of each branch, by its name.
func branchesOf(entries []Entry) map[string][]Entry {
	out := map[string][]Entry{}
	for _, e := range entries {
		if name, ok := e.Sub(); ok && e.Section() == "branch" {
			out[name] = append(out[name], e)
		}
	}
	return out
}

// isSplit reports whether parts of what git reads stand in files that are not looked at here: then a branch that has
// nothing in this one may have something there.
func isSplit(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		section := e.Section()
		return section == "include" || section == "includeif" || e.Key == "extensions.worktreeconfig"
	})
}

// defaultRemote is the remote to which git goes for a branch that says nothing: the only one, or origin. It is "" if
// that has no address. known is false if a remote is called as git calls the repository itself.
func defaultRemote(entries []Entry) (name string, known bool) {
	addresses, cleared := map[string]bool{}, false
	for _, e := range entries {
		if remote, ok := e.Sub(); ok && e.Section() == "remote" {
			if _, ok := addresses[remote]; !ok {
				addresses[remote] = false
			}
			if e.Name() == "url" {
				addresses[remote] = true
				cleared = cleared || e.Value == "" // later versions forget the addresses before it
			}
		}
	}
	name = "origin"
	if len(addresses) == 1 {
		for only := range addresses {
			name = only
		}
	}
	if !addresses[name] || cleared {
		name = ""
	}
	_, taken := addresses[self]
	return name, !taken
}

// followsNames reports whether push.default says that a branch is pushed to the name that it follows.
func followsNames(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Key == "push.default" && (e.Value == "upstream" || e.Value == "tracking")
	})
}

type change struct {
	before, after map[string][]Entry
	remote        string // where a branch goes that says nothing, "" if nowhere
	// unsure: what stands here of a branch does not say where git goes.
	unsure bool
	// named: git push goes to the name that a branch follows, not to its own.
	named bool
}

func (c change) harmless() bool {
	for name, was := range c.before {
		if is := c.after[name]; len(is) == 0 && (c.unsure || !c.mayGo(name, was)) || !startsWith(is, was) {
			return false
		}
	}
	for name, is := range c.after {
		if len(is) > len(c.before[name]) && (c.unsure || !c.mayCome(name, is)) {
			return false
		}
	}
	return true
}

// startsWith reports whether a branch has what it had, or nothing.
func startsWith(is, was []Entry) bool {
	return len(is) == 0 || len(is) >= len(was) && slices.Equal(is[:len(was)], was)
}

// mayGo: git goes where it went when a branch has none of this any more.
func (c change) mayGo(branch string, was []Entry) bool {
	for _, e := range was {
		switch e.Name() {
		case "remote", "merge":
			if !c.usual(branch, was, e) {
				return false
			}
		case "rebase", "description", "vscode-merge-base", "github-pr-owner-number":
		default:
			return false
		}
	}
	return true
}

// mayCome: it is what git writes for a new branch, in the order in which it does.
func (c change) mayCome(branch string, is []Entry) bool {
	order := []string{"remote", "merge", "rebase"}
	if branch == "" || strings.ContainsFunc(branch, isControl) || len(is) > len(order) {
		return false
	}
	for i, e := range is {
		if e.Name() != order[i] || !c.usual(branch, is, e) {
			return false
		}
	}
	return true
}

// usual reports whether a setting of a branch changes nothing of which remote it goes to.
func (c change) usual(branch string, all []Entry, e Entry) bool {
	if !e.Given {
		return false
	}
	switch e.Name() {
	case "remote":
		return e.Value == self || e.Value != "" && e.Value == c.remote
	case "merge":
		name, ok := strings.CutPrefix(e.Value, "refs/heads/")
		local := slices.ContainsFunc(all, func(e Entry) bool { return e.Name() == "remote" && e.Value == self })
		return ok && isBranch(name) && (name == branch || local || !c.named)
	case "rebase":
		return slices.Contains([]string{"true", "false", "merges"}, e.Value)
	}
	return false
}

// self is how git calls the repository itself where it wants a remote.
const self = "."

// isBranch reports whether git takes a name for that of one branch and nothing else.
func isBranch(name string) bool {
	return name != "" && !strings.HasPrefix(name, "-") && !strings.ContainsAny(name, " ~^:?*[\\") &&
		!strings.Contains(name, "..") && !strings.ContainsFunc(name, isControl)
}
