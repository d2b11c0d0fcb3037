package gate

import (
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// The tools of these tests are the real ones.
var known = sync.OnceValue(func() *Tools { return NewTools(all.Known().Facts()) })

func Decide(q Query) troupe.Decision { return known().Decide(q) }

func ParseRule(r troupe.Rule) (Rule, error) { return known().ParseRule(r) }

func Usable(chain []Layer, tools []string) []string { return known().Usable(chain, tools) }
