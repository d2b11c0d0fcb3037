package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Sandbox is the "sandbox" part: what commands may touch. Lists add to what is built in.
type Sandbox struct {
	// DenyRead are files and folders that nothing an agent starts may read, besides those that
	// are built in (see Hidden).
	DenyRead []string
	// AllowRead takes files and folders out of those that are built in.
	AllowRead []string
	// Read are folders that agents of a server read besides their own project and what is installed; "/": anything.
	Read []string
	// DenyWrite are files and folders that stay as they are, besides those that are built in
	// (see Protected).
	DenyWrite []string
	// Write are folders that commands in the workspace level may write besides the session's.
	Write []string
	// Caches are the build caches that commands may write, by name; nil: all that exist.
	Caches []string
	// Offline: commands reach nobody, whatever rules allow.
	Offline bool
	// AllowedPorts and AllowedHosts bound what a command may reach. With hosts, it reaches them
	// alone, through a proxy, less DeniedHosts. A host is a name, *.name for all below it,
	// or * for everybody, each with :port at its end for that port alone.
	AllowedPorts []int
	AllowedHosts []string
	DeniedHosts  []string
	// HostsManaged: only an administrator's AllowedHosts count.
	HostsManaged bool
	Limits       Limits
	// Keep are environment variables that commands get besides those that are built in (see
	// Environment): NAME, or NAME* for all that begin so.
	Keep []string
}

// Limits keep one command from taking the whole machine. 0 is no limit.
type Limits struct {
	Processes int
	MemoryMB  int64
	FileMB    int64
}

func defaultSandbox() Sandbox {
	return Sandbox{Limits: Limits{
		// The kernel counts all of the user's, threads included, so a limit near what a desktop
		// has at work already would refuse honest builds. This ends a fork bomb within a second.
		Processes: 8192,
		// No limit: what can be limited is address space, and race detectors, sanitizers, Java and
		// WebAssembly reserve far more of it than any machine has. A number that lets them run
		// protects nothing.
		MemoryMB: 0,
		// Larger than any build's output, smaller than most disks.
		FileMB: 8192,
	}}
}

// Bounds are the limits as the kernel takes them.
func (l Limits) Bounds() troupe.Bounds {
	return troupe.Bounds{Processes: l.Processes, Memory: l.MemoryMB << 20, FileSize: l.FileMB << 20}
}

// maxMB is a petabyte, which still counts in bytes.
const maxMB = 1 << 30

func (p *parser) sandbox(n node, to *Sandbox) {
	p.object(n, "sandbox.", map[string]func(node){
		"deny_read":     func(n node) { p.paths(n, &to.DenyRead) },
		"allow_read":    func(n node) { p.paths(n, &to.AllowRead) },
		"read":          func(n node) { p.paths(n, &to.Read) },
		"deny_write":    func(n node) { p.paths(n, &to.DenyWrite) },
		"write":         func(n node) { p.paths(n, &to.Write) },
		"caches":        func(n node) { p.caches(n, &to.Caches) },
		"network":       func(n node) { p.network(n, &to.Offline) },
		"allowed_ports": func(n node) { p.ports(n, &to.AllowedPorts) },
		"allowed_hosts": func(n node) { p.hosts(n, &to.AllowedHosts) },
		"denied_hosts":  func(n node) { p.hosts(n, &to.DeniedHosts) },
		"limits": func(n node) {
			p.object(n, "sandbox.limits.", map[string]func(node){
				"processes": func(n node) { p.count(n, &to.Limits.Processes) },
				"memory_mb": func(n node) { p.integer(n, &to.Limits.MemoryMB, maxMB) },
				"file_mb":   func(n node) { p.integer(n, &to.Limits.FileMB, maxMB) },
			})
		},
		"environment": func(n node) {
			p.object(n, "sandbox.environment.", map[string]func(node){
				"keep": func(n node) { p.keep(n, &to.Keep) },
			})
		},
	})
}

func (p *parser) network(n node, offline *bool) {
	if !p.want(n, kindString, `"on" or "off"`) {
		return
	}
	if n.text != "on" && n.text != "off" {
		p.fail(n.at, fmt.Sprintf(`%s is %s, but must be "on" or "off"`, quote(p.key), quote(n.text)))
		return
	}
	*offline = n.text == "off"
}

func (p *parser) caches(n node, to *[]string) {
	p.strings(n, to)
	known := map[string]bool{}
	for _, c := range cacheTable() {
		known[c.name] = true
	}
	for _, item := range n.items {
		if item.kind == kindString && !known[item.text] {
			p.warn(item.at, p.key, quote(item.text)+" is not a build cache that is known here"+
				suggest(item.text, known))
		}
	}
	*to = slices.DeleteFunc(*to, func(name string) bool { return !known[name] })
}

func (p *parser) ports(n node, to *[]int) {
	if !p.want(n, kindArray, "a list of ports in brackets") {
		return
	}
	*to = make([]int, len(n.items))
	for i, item := range n.items {
		var port int64
		p.integer(item, &port, 65_535)
		if (*to)[i] = int(port); port == 0 {
			p.fail(item.at, quote(p.key)+" has a port that is not from 1 to 65535")
		}
	}
}

func (p *parser) hosts(n node, to *[]string) {
	p.strings(n, to)
	for i, item := range n.items {
		if item.kind != kindString {
			continue
		}
		host, problem := hostName(item.text)
		if problem != "" {
			p.fail(item.at, fmt.Sprintf("%s has %s, which %s", quote(p.key), quote(item.text), problem))
			return
		}
		(*to)[i] = host
	}
}

// localHosts reads hosts by their names or addresses; there is no pattern for what is nearby.
func (p *parser) localHosts(n node, to *[]string) {
	p.hosts(n, to)
	for i, host := range *to {
		if strings.Contains(host, "*") {
			p.fail(n.items[i].at, fmt.Sprintf("%s has %s, but each host has to be named there", quote(p.key),
				quote(host)))
		}
	}
}

// hostName reads the name of a host or "*.name", with or without a port at its end. The problem, if not empty,
// completes "which …".
func hostName(text string) (host, problem string) {
	host, port := strings.ToLower(text), ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && net.ParseIP(host) == nil && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i:]
	}
	host = strings.TrimSuffix(host, ".")
	name := strings.TrimPrefix(host, "*.")
	n, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
	switch {
	case strings.Contains(text, "/"):
		return "", "is an address; write the name of the host alone"
	case port != "" && (err != nil || n == 0):
		return "", "has a port that is not from 1 to 65535"
	case host == "*", net.ParseIP(strings.Trim(name, "[]")) != nil:
		return host + port, ""
	case len(name) > 253 || name == "":
		return "", "is not the name of a host"
	}
	for label := range strings.SplitSeq(name, ".") {
		bad := strings.IndexFunc(label, func(r rune) bool {
			return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
		if bad >= 0 && label[bad] == '*' {
			return "", "has a star that is not its first label; only *.name is understood"
		}
		if bad >= 0 || label == "" || len(label) > 63 {
			return "", "is not the name of a host (write names with other letters in their xn-- form)"
		}
	}
	return host + port, ""
}

func (p *parser) keep(n node, to *[]string) {
	p.strings(n, to)
	for _, item := range n.items {
		if item.kind == kindString && !variable(strings.TrimSuffix(item.text, "*")) {
			p.fail(item.at, fmt.Sprintf("%s has %s, which cannot be the name of an environment variable", quote(p.key),
				quote(item.text)))
		}
	}
}

// searchURL reads where searches are sent. The key goes there too, so it goes encrypted or not
// out of this machine.
func (p *parser) searchURL(n node, to *string) {
	if p.str(n, to); n.kind != kindString || n.text == "" {
		return
	}
	u, err := url.Parse(strings.ReplaceAll(n.text, "{query}", "x"))
	local := err == nil && u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && !local {
		p.fail(n.at, fmt.Sprintf("%s must be an address that begins with https:// (or http:// on this machine), "+
			"without a name or a password in it", quote(p.key)))
	} else if !strings.Contains(n.text, "{query}") {
		p.fail(n.at, quote(p.key)+" must have {query} where the words go")
	}
}
