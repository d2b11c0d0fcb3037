package httpd

import (
	"context"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ground is where a caller may do what a verb does.
type ground struct {
	served folders
	in     folders // in which they may, the usual one first
	c      troupe.Caller
	needs  troupe.Right
	at     string // the folder that was named, or is meant; "": none is
}

// groundOf is all of the server's folders for who has the right at the server, and the projects in which they have it
// for others.
func groundOf(served folders, c troupe.Caller, needs troupe.Right) *ground {
	g := &ground{served: served, in: served, c: c, needs: needs}
	if c.Right.Covers(needs) {
		return g
	}
	g.in = nil
	for _, p := range c.Projects {
		if p.Right.Covers(needs) && troupe.WithinAny(p.Folder, served) {
			g.in = append(g.in, p.Folder)
		}
	}
	return g
}

func (o *operations) ground(ctx context.Context, verb string) *ground {
	return groundOf(o.in, caller(ctx), wire.RouteOf(verb).Needs)
}

// within is the real name of what lies where the caller may. Who sees it, and may do less there, is told so: lacks.
func (g *ground) within(path string) (real string, lacks bool, err error) {
	real, err = g.served.within(path)
	switch c := g.c.In(real); {
	case err == nil && c.May(g.needs):
	case err == nil && c.May(troupe.RightViewer):
		lacks, err = true, troupe.NotAllowed(g.needs)
	default:
		err = g.in.outside(path)
	}
	return real, lacks, err
}

// mayDo reports whether a caller may have a verb answer, of all there is or of something in a project.
func mayDo(c troupe.Caller, verb string) bool {
	r := wire.RouteOf(verb)
	return c.Right.Covers(r.Needs) || r.InProject && c.MaySomewhere(r.Needs)
}

// bounds is the api for a user of a server, for a verb.
func (o *operations) bounds(c troupe.Caller, verb string) api.API {
	needs := wire.RouteOf(verb).Needs
	everywhere := c.Right.Covers(needs)
	if len(o.in) == 0 && everywhere {
		return o.bind(c)
	}
	b := bounded{see: sight{bind: o.bind, c: c, needs: needs, in: o.in, checkouts: o.checkouts}}
	if o.checkouts != "" {
		b.see.in = append(slices.Clip(o.in), o.checkouts)
	}
	looks := c
	if looks.Projects = nil; !everywhere {
		looks.Right = troupe.RightViewer
	}
	if b.see.all = o.bind(looks); everywhere {
		b.API = b.see.all
	}
	return b
}
