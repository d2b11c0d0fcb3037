package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
	"github.com/troupe-dev/troupe/internal/trust"
	"github.com/troupe-dev/troupe/internal/wire"
)

// userSkills are where the user's own skills and commands lie.
func userSkills(dirs config.Dirs) []skill.Folder {
	var out []skill.Folder
	add := func(base string) {
		out = append(out, skill.Of(filepath.Join(base, "commands"), "", front.ScopeUser, true),
			skill.Of(filepath.Join(base, "skills"), "", front.ScopeUser, false))
	}
	if dirs.Home != "" {
		add(filepath.Join(dirs.Home, ".claude"))
	}
	add(dirs.Config)
	return out
}

// skillFolders are where skills and commands lie that hold in a folder: the user's, those of the project from its
// repository's root down to the folder, and an administrator's.
func skillFolders(dirs config.Dirs, cwd string) []skill.Folder {
	out := userSkills(dirs)
	folders := config.Folders(cwd)
	for _, dir := range folders {
		for _, p := range skill.ProjectPlaces() {
			out = append(out, skill.Of(filepath.Join(dir, filepath.FromSlash(p.Dir)), folders[0], front.ScopeProject,
				p.Commands))
		}
	}
	for _, m := range config.ManagedFiles(runtime.GOOS) {
		base := filepath.Dir(m.Path)
		out = append(out, skill.Of(filepath.Join(base, "commands"), "", front.ScopeManaged, true),
			skill.Of(filepath.Join(base, "skills"), "", front.ScopeManaged, false))
	}
	return out
}

// ownSkills tells which skills and commands the user has; nil: none. They are looked up once, if at all: most
// folders have none.
func ownSkills(dirs config.Dirs, plugins []skill.Folder) func(name string) bool {
	folders := append(plugins, userSkills(dirs)...)
	if !slices.ContainsFunc(folders, func(f skill.Folder) bool {
		_,
			err := os.Stat(f.Path)
		return err == nil
	}) {
		return nil
	}
	own := sync.OnceValue(func() skill.Set {
		set, _ := skill.Load(skill.Sources{Folders: folders})
		return set
	})
	return func(name string) bool { _, err := own().Lookup(name); return err == nil }
}

// skills finds skills and commands.
type skills struct {
	app   *App
	guard *guard
}

// sources are the skills and commands that hold in a folder.
func (s skills) sources(p *policy, cwd string) skill.Sources {
	src := skill.Sources{Folders: append(p.pluginSkills(), skillFolders(s.app.dirs, cwd)...), Mask: s.app.masker(),
		Tools: all.Known().Callable(), Index: s.app.dirs.Definitions()}
	untrusted := p.untrusted(trust.KindSkill)
	src.Trusted = func(file string, data []byte) bool { return !untrusted(file, data) }
	if hidden := hiddenAt(s.guard, cwd).Path; hidden != nil {
		src.Hidden = func(path string) bool { _, is := hidden(path); return is }
	}
	return src
}

// load reads those that hold in a folder now.
func (s skills) load(cwd string) (skill.Set, []front.Finding, error) {
	p, err := s.app.policyOf(cwd)
	if err != nil {
		return skill.Set{}, nil, err
	}
	set, problems := skill.Load(s.sources(p, cwd))
	return set, p.toTell(problems), nil
}

// limited are the skills of a folder that are for some files only. Where no file of a skill has changed since they were
// read last, they are those.
func (s skills) limited(cwd string, before *skillsAt) *skillsAt {
	out := &skillsAt{}
	p, err := s.app.policyOf(cwd)
	if err != nil {
		s.app.env.Log.Warn("skills are left out: settings cannot be read", "folder", cwd, "err", err)
		return out
	}
	src := s.sources(p, cwd)
	folders := []front.Source{{Path: trustFolder(s.app.dirs)}}
	for _, f := range src.Folders {
		folders = append(folders, f.Source)
	}
	if out.signature = front.Signature(folders); before != nil && before.signature == out.signature {
		return before
	}
	set, _ := skill.Load(src)
	for _, k := range set.List() {
		if k.Offered() && len(k.Paths) > 0 {
			out.some = append(out.some, k)
		}
	}
	return out
}

// toldSkills implements session.Skills.
type toldSkills struct{ skill.Set }

// Whole implements session.Skills. What it leaves of tools counts for those who use it, not for an agent whose
// definition, which says what it has, names it.
func (s toldSkills) Whole(name string) (text, file string, ok bool) {
	k, err := s.ForModel(name)
	if err != nil {
		return "", "", false
	}
	text, _ = k.Text("")
	k.Uses, k.Fork = nil, false // its definition says with which model it works, too
	return aboutSkill(k) + "\n" + text, k.Source, true
}

// tellSkills is what a run says about skills and commands; `troupe skills check` says all.
func tellSkills(log *slog.Logger, found []front.Finding) []string {
	var told []string
	for _, p := range found {
		if p.Note {
			log.Info("skill", "note", p.String())
			continue
		}
		told = append(told, p.String())
	}
	if len(told) > 1 {
		return []string{fmt.Sprintf("%s (and %d more: troupe skills check)", told[0], len(told)-1)}
	}
	return told
}

// use finds the text of a skill that a model asks for, as it is now.
func (s skills) use(ctx context.Context, env tool.Env, name, args string) (string, *troupe.SkillUse, error) {
	set, _, err := s.load(env.Cwd)
	if err != nil {
		return "", nil, err
	}
	k, err := set.ForModel(name)
	if err != nil {
		return "", nil, err
	}
	if env.Hidden != nil && (env.Hidden(k.Source) || env.Hidden(k.Real)) {
		return "", nil, &troupe.UserError{Problem: "a rule keeps the skill " + k.Name + " from being read"}
	}
	text, runs := k.Text(args)
	use, about := usesSkill(s.app.dirs, k), aboutSkill(k)
	if k.Model != "" || k.Effort != "" {
		self, err := s.app.trees.session(ctx, env.Session)
		if err != nil {
			return "", nil, err
		}
		about += s.wishes(k, self, use)
	}
	if runs {
		about += "What stands in it between !` and ` was not run: run it with Bash where you need what it prints.\n"
	}
	return about + "\n" + text, use, nil
}

// wishes puts into the use of a skill which model and effort it wants, as far as they are to be had. What it wants and
// does not get is said.
func (s skills) wishes(k skill.Skill, self troupe.Session, use *troupe.SkillUse) (not string) {
	switch {
	case k.Fork || k.Model == "" && k.Effort == "":
		return ""
	case !k.Runs:
		return "The model and the effort that it names do not count: what it asks for is not trusted.\n"
	}
	use.Effort = k.Effort
	if k.Model == "" {
		return ""
	}
	full, err := "", error(errNoFile)
	if !wire.NamesFile(k.Model) {
		full, err = s.app.models.Resolve(k.Model, self.Model, self.Cwd)
	}
	if err == nil {
		_, _, err = s.app.models.Provider(full)
	}
	_, priced := s.app.models.Cost(full, troupe.Usage{})
	_, was := s.app.models.Cost(self.Model, troupe.Usage{})
	switch {
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Sprintf("It names the model %q, which is not to be had here (%s).\n", troupe.Escape(k.Model),
			strings.TrimSuffix(why, "."))
	case was && !priced: // a limit in money would not hold
		return fmt.Sprintf("It names the model %s, whose price is not known, so the model stays.\n", full)
	}
	use.Model = full
	return ""
}

// aboutSkill says what a model has to know of a skill besides its text.
func aboutSkill(k skill.Skill) string {
	var b strings.Builder
	b.WriteString("Skill " + k.Name + "\n")
	if k.Own {
		b.WriteString("Its files lie in " + k.Folder + ", and you may read them. Paths in its text begin there.\n")
	}
	if k.Uses != nil {
		b.WriteString("While you follow it, until a person's next prompt, you have only what it leaves you: ")
		switch {
		case k.Uses.Tools == nil:
			b.WriteString("all your tools")
		case len(k.Uses.Tools) == 0:
			b.WriteString("no tools")
		default:
			b.WriteString(strings.Join(k.Uses.Tools, ", "))
		}
		if len(k.Uses.Without) > 0 {
			b.WriteString(", without " + strings.Join(k.Uses.Without, ", "))
		}
		b.WriteString(". It gives no permission that you do not have.\n")
	}
	if k.Fork {
		kind := k.Agent
		if kind == "" {
			kind = troupe.GeneralAgent
		}
		if k.Model != "" {
			kind += ", model " + k.Model
		}
		if k.Effort != "" {
			kind += ", effort " + string(k.Effort)
		}
		b.WriteString("An agent of its own is to do this: start one with Agent (" + troupe.Escape(kind) +
			"), give it the text below, " +
			"and report what it found. Do it yourself only if you cannot start agents.\n")
	}
	return b.String()
}

// usesSkill is what the log says of a use of a skill. A folder that is more than the skill's is not opened for it.
func usesSkill(dirs config.Dirs, k skill.Skill) *troupe.SkillUse {
	use := &troupe.SkillUse{Name: k.Name, File: k.Source}
	if k.Own && !troupe.Within(dirs.Home, k.Folder) {
		use.Folder = k.Folder
	}
	if k.Uses != nil {
		use.Narrows = &troupe.Narrowing{Tools: k.Uses.Tools, Without: k.Uses.Without}
	}
	return use
}
