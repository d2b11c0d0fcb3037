package model

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/yamlfile"
)

//go:embed models.yaml
var builtinModels []byte

// Info is what is known of a model without asking its provider.
type Info struct {
	// Priced says that Price is known; a local model may well cost nothing.
	Priced bool
	Price  troupe.Price
	// A request whose prompt has more than LongOver tokens costs Long instead; 0: none does.
	Long     troupe.Price
	LongOver int64
	// Window is how many tokens a conversation may have, MaxOutput how many one reply;
	// 0: not known.
	Window    int
	MaxOutput int
	// Efforts are the levels of effort that it can be asked for; nil: none, or it is not known.
	Efforts []troupe.Effort `json:",omitempty"`
}

// Cost prices one request.
func (i Info) Cost(u troupe.Usage) troupe.Money {
	if i.LongOver > 0 && u.Input+u.CacheRead+u.CacheWrite > i.LongOver {
		return i.Long.Cost(u)
	}
	return i.Price.Cost(u)
}

// Saved is what n tokens cost less when they are read from the provider's cache than when a request writes them there.
func (i Info) Saved(n int64) troupe.Money {
	written := max(i.Cost(troupe.Usage{CacheWrite: n}), i.Cost(troupe.Usage{Input: n}))
	return max(0, written-i.Cost(troupe.Usage{CacheRead: n}))
}

// Catalog knows models by name. It does not change; all methods are safe for concurrent use.
type Catalog struct {
	providers map[string]*provider
	order     []string
}

type provider struct {
	any      bool // answers to every name
	prefixes []string
	aliases  map[string]string
	models   map[string]Info
}

// anyModel, as the name of a model, stands for those that are not listed.
const anyModel = "*"

// LoadCatalog reads the built-in catalog and, over it, a user's file of the same form (nil
// if there is none; overridePath is for messages). It takes a fraction of a millisecond,
// which is still too much for a start that does not need it: load when a name is asked for.
func LoadCatalog(override []byte, overridePath string) (*Catalog, error) {
	c := &Catalog{providers: map[string]*provider{}}
	if err := c.read("the built-in models.yaml", builtinModels); err != nil {
		return nil, err
	}
	if override != nil {
		if err := c.read(overridePath, override); err != nil {
			return nil, &troupe.UserError{
				Problem: err.Error(),
				Hint: "It adds to the built-in list of models: providers: NAME: {aliases: {ALIAS: ID}, models: " +
					"{ID: {window: N, max_output: N, efforts: [low, high], price: {input: $, output: $, cache_read: " +
					"$, cache_write: $}}}}",
				Code: troupe.ExitUsage, Err: err,
			}
		}
	}
	return c, nil
}

// With returns a catalog that also knows (or knows otherwise) one model. Full is
// "provider/id"; the id "*" stands for every model of the provider that is not listed.
func (c *Catalog) With(full string, info Info) *Catalog {
	name, id, _ := strings.Cut(full, "/")
	out := &Catalog{providers: maps.Clone(c.providers), order: slices.Clone(c.order)}
	p := provider{}
	if old, ok := c.providers[name]; ok {
		p = *old
	} else {
		out.order = append(out.order, name)
	}
	p.models = maps.Clone(p.models)
	if p.models == nil {
		p.models = map[string]Info{}
	}
	p.models[id] = info
	out.providers[name] = &p
	return out
}

// Lookup returns what is known of a model by its full name, "provider/id". A dated id is
// taken for the one without its date if only that is listed.
func (c *Catalog) Lookup(full string) (Info, bool) {
	name, id, ok := strings.Cut(full, "/")
	p := c.providers[name]
	if !ok || p == nil {
		return Info{}, false
	}
	for _, key := range []string{id, undated(id), anyModel} {
		if i, ok := p.models[key]; ok {
			return i, true
		}
	}
	return Info{}, false
}

func undated(id string) string {
	i := strings.LastIndexByte(id, '-')
	if i < 0 || len(id)-i != 9 || strings.Trim(id[i+1:], "0123456789") != "" {
		return id
	}
	return id[:i]
}

// Resolve makes a full name, "provider/id", of what a person or a profile wrote: an alias,
// a model's id, or already a full name. defaultProvider is asked first. What looks like a
// slip of the keys is refused, and the error says what was probably meant.
func (c *Catalog) Resolve(name, defaultProvider string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", c.unknown(name, "")
	}
	if prov, id, ok := strings.Cut(name, "/"); ok {
		if prov == "" || id == "" || strings.ContainsAny(name, " \t\r\n\x00") {
			return "", c.unknown(name, "")
		}
		if p := c.providers[prov]; p != nil && p.aliases[id] != "" {
			id = p.aliases[id]
		}
		return prov + "/" + id, nil
	}
	if p := c.providers[defaultProvider]; p != nil && p.any {
		return defaultProvider + "/" + name, nil
	}
	asked := append([]string{defaultProvider}, c.order...)
	for _, prov := range asked {
		p := c.providers[prov]
		if p == nil {
			continue
		}
		if id, ok := p.aliases[strings.ToLower(name)]; ok {
			return prov + "/" + id, nil
		}
		if _, ok := p.models[name]; ok && name != anyModel {
			return prov + "/" + name, nil
		}
	}
	if near := c.near(name); near != "" {
		return "", c.unknown(name, near)
	}
	for _, prov := range asked {
		p := c.providers[prov]
		if p != nil && slices.ContainsFunc(p.prefixes, func(s string) bool { return strings.HasPrefix(name, s) }) {
			return prov + "/" + name, nil
		}
	}
	return "", c.unknown(name, "")
}

// near finds the alias that name is probably a slip for. Ids are not compared: a new model
// is often one digit away from an old one.
func (c *Catalog) near(name string) string {
	return troupe.Nearest(name, c.Aliases())
}

// Aliases lists every alias, sorted.
func (c *Catalog) Aliases() []string {
	var out []string
	for _, p := range c.providers {
		out = slices.AppendSeq(out, maps.Keys(p.aliases))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Models lists every model that is known, as full names: providers in the order of the
// files, their models sorted.
func (c *Catalog) Models() []string {
	var out []string
	for _, prov := range c.order {
		for _, id := range slices.Sorted(maps.Keys(c.providers[prov].models)) {
			if id != anyModel {
				out = append(out, prov+"/"+id)
			}
		}
	}
	return out
}

func (c *Catalog) unknown(name, near string) error {
	hint := fmt.Sprintf("Use an alias (%s), a model's own id, or provider/model.", strings.Join(c.Aliases(), ", "))
	if near != "" {
		hint = fmt.Sprintf("Did you mean %q? Otherwise write provider/model, such as anthropic/%s.", near, name)
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("no model is known as %q", name),
		Hint:    hint, Code: troupe.ExitUsage, Err: troupe.ErrNotFound,
	}
}

func (c *Catalog) read(path string, data []byte) error {
	root, err := yamlfile.Parse(path, data)
	if err != nil {
		return err
	}
	return root.Fields("the file", map[string]func(yamlfile.Node) error{
		"providers": func(n yamlfile.Node) error {
			return n.Members("providers", func(name string, v yamlfile.Node) error {
				if name == "" || strings.ContainsAny(name, "/ \t") {
					return v.Errorf("%q cannot be the name of a provider: no spaces, no slash", name)
				}
				return c.readProvider(name, v)
			})
		},
	})
}

func (c *Catalog) readProvider(name string, n yamlfile.Node) error {
	p := c.providers[name]
	if p == nil {
		p = &provider{aliases: map[string]string{}, models: map[string]Info{}}
		c.providers[name] = p
		c.order = append(c.order, name)
	}
	return n.Fields("a provider", map[string]func(yamlfile.Node) error{
		"any": func(v yamlfile.Node) error {
			s, err := v.String("any")
			if err == nil && s != "true" && s != "false" {
				err = v.Errorf("any must be true or false, not %q", s)
			}
			p.any = s == "true"
			return err
		},
		"prefixes": func(v yamlfile.Node) (err error) {
			p.prefixes, err = v.Strings("prefixes")
			return err
		},
		"aliases": func(v yamlfile.Node) error {
			return v.Members("aliases", func(alias string, id yamlfile.Node) error {
				s, err := id.String("an alias")
				if err == nil && (alias == "inherit" || strings.Contains(alias, "/")) {
					err = id.Errorf("%q cannot be an alias", alias)
				}
				p.aliases[strings.ToLower(alias)] = s
				return err
			})
		},
		"models": func(v yamlfile.Node) error {
			return v.Members("models", func(id string, m yamlfile.Node) error {
				info := p.models[id] // what the file does not say about it stays
				err := readInfo(m, &info)
				p.models[id] = info
				return err
			})
		},
	})
}

func readInfo(n yamlfile.Node, i *Info) error {
	count := func(what string, to *int) func(yamlfile.Node) error {
		return func(v yamlfile.Node) error {
			k, err := v.Int(what)
			*to = int(k)
			return err
		}
	}
	return n.Fields("a model", map[string]func(yamlfile.Node) error{
		"window":     count("window", &i.Window),
		"max_output": count("max_output", &i.MaxOutput),
		"efforts": func(v yamlfile.Node) error {
			names, err := v.Strings("efforts")
			i.Efforts = nil
			for _, name := range names {
				e, bad := troupe.ParseEffort(name)
				if bad != nil && err == nil {
					err = v.Errorf("%q is no effort; the levels are %s", name, troupe.EffortNames())
				}
				i.Efforts = append(i.Efforts, e)
			}
			return err
		},
		"price": func(v yamlfile.Node) (err error) {
			i.Priced = true
			i.Price, err = v.Price("price", nil)
			return err
		},
		"long": func(v yamlfile.Node) (err error) {
			i.Long, err = v.Price("long", map[string]func(yamlfile.Node) error{
				"over": func(o yamlfile.Node) (err error) {
					i.LongOver, err = o.Int("over")
					return err
				},
			})
			return err
		},
	})
}
