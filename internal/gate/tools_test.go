package gate

import (
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// The tools of these tests are the real ones.
var known = sync.OnceValue(func() *Tools { return NewTools(all.Known().Facts()) })

func Decide(q Query) troupe.Decision { return known().Decide(q) }

func ParseRule(r troupe.Rule) (rule.Rule, error) { return known().ParseRule(r) }
