package app

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/wire"
)

// using implements api.Using.
type using struct{ bound }

// Skills lists the skills and commands that there are at a place, and looks at their files.
func (a using) Skills(ctx context.Context, q wire.SkillQuery) (out wire.SkillList, err error) {
	out = wire.SkillList{Skills: []wire.Skill{}, Problems: []string{}}
	p, err := a.app.policyOf(q.Cwd)
	if err != nil {
		return out, err
	}
	if q.Trust {
		p.trust.Trusted, p.trust.Questions = true, nil
	}
	if q.Styles {
		found := stylesOf(a.app, p, q.Cwd)
		out.Styles = found.list()
		for i := range out.Styles {
			out.Styles[i].Chosen = front.Fold(out.Styles[i].Name) == front.Fold(p.settings.Style)
		}
		for _, f := range found.problems {
			out.Problems = append(out.Problems, f.String())
		}
		if _, missing := found.named(p.settings.Style); missing != "" {
			out.Problems = append(out.Problems, missing)
		}
		return out, nil
	}
	guard := a.app.newGuard(ctx)
	defer func() { err = errors.Join(err, guard.close()) }()
	src := skills{a.app, guard}.sources(p, q.Cwd)
	set, found := skill.Load(src)
	if q.Name != "" {
		k, err := set.Lookup(q.Name)
		if err != nil {
			return out, &troupe.UserError{Problem: err.Error(), Hint: "`troupe skills` lists them.",
				Code: troupe.ExitUsage, Err: err}
		}
		row := skillRow(k)
		row.Text = k.Body
		out.Skills = append(out.Skills, row)
		return out, nil
	}
	for _, k := range set.List() {
		out.Skills = append(out.Skills, skillRow(k))
		if wire.BuiltInCommand(k.Name) {
			found = append(found, front.Finding{Path: k.Source, Text: "/" + k.Name + " is a command of Troupe, which " +
				"counts; models may use this one"})
		}
	}
	for _, f := range found {
		if !f.Note {
			out.Problems = append(out.Problems, f.String())
		}
	}
	prompts, err := skills{a.app, guard}.promptRows(ctx, p, q.Cwd)
	if err != nil {
		return out, err
	}
	out.Skills = append(out.Skills, prompts...)
	if q.Check {
		out.Files = checkSkills(src, q.Paths)
	}
	return out, nil
}

// checkSkills looks at each file by itself: those of the sources, or those that are named.
func checkSkills(src skill.Sources, paths []string) []wire.SkillCheck {
	out := []wire.SkillCheck{}
	var checked []skill.Checked
	if len(paths) > 0 {
		src.Folders, checked = skill.Named(paths)
		src.Hidden, src.Trusted = nil, nil
	}
	for _, c := range append(checked, skill.Check(src)...) {
		row := wire.SkillCheck{Path: c.Path, Loaded: c.Skill != nil, Document: c.Document, Warnings: []string{}}
		if c.Skill != nil {
			row.Skill = skillRow(*c.Skill)
		}
		for _, p := range c.Problems {
			row.Warnings = append(row.Warnings, p.String())
		}
		out = append(out, row)
	}
	return out
}

func skillRow(k skill.Skill) wire.Skill {
	out := wire.Skill{Name: k.Name, Description: k.Description, Source: k.Source, Scope: string(k.Scope),
		Shadows: k.Shadows, Command: k.Command, Hint: k.Hint, Models: k.Offered(), Paths: k.Paths,
		People: !k.UserOff && !wire.BuiltInCommand(k.Name), Runs: k.Runs && k.Mute == "", Mute: k.Mute, Fork: k.Fork}
	if k.Uses != nil {
		out.Tools, out.Without = k.Uses.Tools, k.Uses.Without
	}
	return out
}
