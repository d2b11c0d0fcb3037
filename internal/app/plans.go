package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/disk"
)

// plans implements session.Plans: a file for each session, in a folder of Troupe's own data.
type plans struct{ dir string }

// plans are those of the home. Tools follow links before they are judged, so that links in the name of the home are
// followed here too.
func plansOf(a *App) plans { return plans{filepath.Join(resolved(a.dirs.Data), config.PlansFolder)} }

// File implements session.Plans. The name tells people what it is about. A tree that has a name of its own lends it to
// its plan: no other tree has that one. All others end in the session's id.
func (p plans) File(s troupe.Session) string {
	if s.Parent == "" && s.Name != "" && slug(s.Name) == s.Name {
		return filepath.Join(p.dir, s.Name+planSuffix)
	}
	return filepath.Join(p.dir, slug(cmp.Or(s.Title, s.Name))+"-"+string(s.ID)+planSuffix)
}

// Read implements session.Plans.
func (p plans) Read(file string) (string, error) {
	text, err := disk.Read(file, disk.Most)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// remove deletes the plans of sessions that are gone.
func (p plans) remove(sessions []troupe.Session) error {
	var errs []error
	for _, s := range sessions {
		if err := os.Remove(p.File(s)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove the plan of session %s: %w", s.ID, err))
		}
	}
	return errors.Join(errs...)
}

const planSuffix = ".md"

// slugWords is how many words of a title make the name of a plan.
const slugWords = 5

// slug is a title as a part of a file's name.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	text := strings.Join(words[:min(len(words), slugWords)], "-")
	if len(text) > 50 {
		text = strings.TrimRight(text[:50], "-")
	}
	if text == "" {
		return "plan"
	}
	return text
}

// planned is an authority whose mode is plan with what that takes: a file, and the mode that an approval brings back.
// before is what the session had; otherwise the mode that one without any has.
func (p plans) planned(auth troupe.Authority, before *troupe.Authority, otherwise troupe.Mode,
	s troupe.Session) troupe.Authority {
	if before != nil {
		auth.Planning = before.Planning
		if otherwise = before.Mode; before.Mode == auth.Mode {
			return auth // as it was, also if it was begun by a version that had no plans
		}
	}
	mode := auth.Mode
	if auth.Mode = otherwise; mode == troupe.ModePlan && auth.Mode == "" {
		auth.Mode = troupe.ModeDefault
	}
	return auth.InMode(mode, p.File(s))
}
