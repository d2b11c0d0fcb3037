package checkout

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Source is what a checkout is made of.
type Source struct {
	URL string // an address of https
	// Ref is a branch, a tag or a whole commit; "" is the branch that the remote's HEAD is.
	Ref string
}

func (s Source) String() string {
	if s.Ref == "" {
		return s.URL
	}
	return s.URL + " at " + s.Ref
}

// tidy is the source as it is named from here on: without what makes no difference to its host.
func (s Source) tidy() Source {
	u, err := url.Parse(s.URL)
	if err == nil && strings.EqualFold(u.Scheme, "https") {
		u.Scheme, u.Host = "https", strings.ToLower(u.Host)
		u.Host = strings.TrimSuffix(u.Host, ":443")
		s.URL = strings.TrimRight(u.String(), "/")
	}
	return s
}

// bad is what is wrong with a source; "" if nothing is. What it says of an address must be safe to be shown.
func (s Source) bad() string {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || troupe.VisibleLine(s.URL) != s.URL || strings.ContainsAny(s.URL, " \t\r\n\\"):
		return "it is no address"
	case u.Scheme != "https":
		return "only addresses that begin with https:// are taken"
	case u.User != nil:
		return "keys do not belong into an address: the settings of git at the server have them"
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return "it has more than a host and a path"
	case u.Hostname() == "" || len(s.URL) > 1000:
		return "it is no address"
	case !goodName(nameOf(u.Path)):
		return "its path does not end with the name of a repository"
	case u.Path != path.Clean(u.Path) || u.EscapedPath() != u.Path:
		return "its path is not written plainly"
	case s.Ref != "" && !goodRef(s.Ref):
		return fmt.Sprintf("%.100q is no name of a branch, a tag or a commit", s.Ref)
	}
	return ""
}

// goodName: a folder can be called so.
func goodName(name string) bool {
	return name != "" && name[0] != '.' && name[0] != '-' && len(name) <= 100 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// goodRef: git takes it for a name, and for nothing else.
func goodRef(name string) bool {
	if name[0] == '-' || name[0] == '+' || len(name) > 500 || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".") ||
		troupe.VisibleLine(name) != name || name == "HEAD" || name == "@" {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r)
	})
}

// goodBranch: git takes it for the name of a branch, and no program for anything else.
func goodBranch(name string) bool {
	if name == "" || !goodRef(name) || strings.HasPrefix(name, "refs/") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part[0] == '-' || part == "HEAD" {
			return false
		}
	}
	return true
}

// hostPort is where a source is.
func (s Source) hostPort() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// failed is an error with a repository, for people.
func (s Source) failed(err error) error {
	if said, ok := errors.AsType[*troupe.UserError](err); ok {
		return said
	}
	return &troupe.UserError{Problem: fmt.Sprintf("%s could not be checked out: %v", s, err), Err: err,
		Hint: "Look at the address and the branch. A private one needs its key in the settings of git of the " +
			"server's " +
			"user."}
}
