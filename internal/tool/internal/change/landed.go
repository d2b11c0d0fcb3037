package change

import (
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Landed reports whether a change whose process died while it ran stands in the file, and is then its
// result: the file holds exactly what apply makes of what the session had seen there last, or of nothing if there
// was no file. Anything else leaves it open what happened, and the session has to look itself: where what it had seen
// was not kept, and where it had seen nothing of a file that may have been there all along.
func Landed(env tool.Env, t Target, apply func(*File) (string, error)) (tool.Output, bool) {
	now, err := look(env, t)
	if err != nil {
		return tool.Output{}, false
	}
	defer now.close()
	if !now.Exists() {
		return tool.Output{}, false
	}
	then := &File{Name: now.Name, env: env, target: t}
	touch := troupe.FileTouch{Path: t.Real(), Hash: tool.Hash(now.Old), Wrote: true}
	seen, known := now.seen()
	switch {
	case env.Absent:
		touch.New = true
	case !known || env.Kept == nil || seen == touch.Hash:
		return tool.Output{}, false
	default:
		if then.Old, err = env.Kept(seen); err != nil {
			return tool.Output{}, false
		}
		then.info, touch.Before = now.info, seen
	}
	after, err := apply(then)
	if err != nil || after != string(now.Old) {
		return tool.Output{}, false
	}
	touch.Added, touch.Removed = CountLines(string(then.Old), after)
	return Wrote(touch, fmt.Sprintf("Changed %s (%d lines added, %d removed). The process running this call was ended "+
		"before it could say so; that the change is there was checked since.", now.Name, touch.Added,
		touch.Removed)), true
}
