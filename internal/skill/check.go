package skill

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/front"
)

// Checked is what one file was read as.
type Checked struct {
	Path string
	// Skill is nil if nothing can be made of the file.
	Skill *Skill
	// Document: the file is taken for a text about commands.
	Document bool
	Problems []front.Finding
}

// Check reads each file of these sources by itself, whatever it shadows.
func Check(src Sources) []Checked {
	var out []Checked
	l, r := newLoader(src), Read(src.Folders, "")
	for i, f := range src.Folders {
		before := len(l.problems)
		files, found := r.Files(i)
		l.open(f, files, found, func(k *Skill, name string, problems []front.Finding) {
			c := Checked{Skill: k, Problems: problems, Document: name == ""}
			if k != nil {
				c.Path = k.Source
			} else if len(problems) > 0 {
				c.Path = problems[0].Path
			}
			out = append(out, c)
		})
		for _, p := range l.problems[before:] {
			out = append(out, Checked{Path: p.Path, Document: p.Note, Problems: []front.Finding{p}})
		}
	}
	return out
}

// Named are the sources that a person names: a SKILL.md, a file of commands, or a folder. Below a folder each
// SKILL.md counts, and in a folder of commands each Markdown file. A name that is not there has a problem.
func Named(paths []string) (folders []Folder, missing []Checked) {
	for _, name := range paths {
		info, err := os.Stat(name)
		if err != nil {
			missing = append(missing, Checked{Path: name, Problems: []front.Finding{{Path: name,
				Text: front.Reason(err), Unusable: true}}})
			continue
		}
		if abs, err := filepath.Abs(name); err == nil {
			name = abs
		}
		switch {
		case info.IsDir():
			commands := strings.Contains(filepath.ToSlash(name)+"/", "/commands/")
			folders = append(folders, Of(name, "", front.ScopeUser, commands))
		case strings.EqualFold(filepath.Base(name), "SKILL.md"):
			folders = append(folders, Of(filepath.Dir(name), "", front.ScopeUser, false))
		default:
			f := Of(filepath.Dir(name), "", front.ScopeUser, true)
			f.Only = filepath.Base(name)
			folders = append(folders, f)
		}
	}
	return folders, missing
}
