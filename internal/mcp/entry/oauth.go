package entry

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// oauth reads as which client a user logs in. What cannot be read is left out, and then the server may refuse the
// login; it gives nothing.
func (b *builder) oauth(key string, raw json.RawMessage) {
	all, err := members(raw)
	if err != nil {
		b.say("%s is not followed here: it is no object with a clientId; the user logs in with troupe mcp login",
			visible(key))
		return
	}
	o := &OAuth{}
	for _, m := range all {
		b.client(o, m.key, m.raw)
	}
	if o.ID != "" || o.Issuer != "" || o.Scopes != nil || o.Redirect != "" {
		b.e.OAuth = o
	}
}

func (b *builder) client(o *OAuth, key string, raw json.RawMessage) {
	switch plain(key) {
	case "clientid":
		b.text(key, raw, &o.ID)
	case "clientsecret":
		b.text(key, raw, &o.Secret)
	case "issuer":
		b.text(key, raw, &o.Issuer)
	case "scope", "scopes":
		var words string
		if json.Unmarshal(raw, &o.Scopes) != nil {
			b.text(key, raw, &words)
			o.Scopes = strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == ',' })
		}
	case "callbackport", "redirectport":
		var port uint16
		if json.Unmarshal(raw, &port) != nil || port == 0 {
			b.say("%s must be the number of a port; it is left out", visible(key))
			return
		}
		o.Redirect = "http://localhost:" + strconv.Itoa(int(port)) + "/callback"
	case "redirecturi", "redirecturl":
		var address string
		b.text(key, raw, &address)
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" || !Loopback(u.Hostname()) || u.Port() == "" {
			b.say("%s must be an address of this machine, such as http://localhost:8080/callback; it is left out",
				visible(key))
			return
		}
		o.Redirect = u.String()
	case "enabled", "clientname", "type":
	default:
		b.say("%s in %s is not followed here", visible(key), "oauth")
	}
}

// Loopback reports whether a host, as it stands in an address, is this machine whoever is asked for its name.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// Word is a name as one word of a command line, whatever stands in it.
func Word(name string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r == '-' || r == '_' || r == '.' || r == ':' || r == '@' || r == '/' ||
			r >= '0' && r <= '9' ||
			r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	if name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
