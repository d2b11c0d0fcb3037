package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// spoken is what a person said, as a session is told it.
type spoken struct {
	text  string
	uses  *troupe.SkillUse   // the command that it begins with; nil: none
	typed *string            // what of the text the person typed; nil: all
	read  []troupe.FileTouch // files that stand whole in the text
}

// mostBrought is how many files one message brings along that count as read.
const mostBrought = 1000

// bringing is what was spoken with the files that a surface put into it.
func (s spoken) bringing(files []troupe.FileTouch) spoken {
	for _, f := range files[:min(len(files), mostBrought)] {
		if filepath.IsAbs(f.Path) && len(f.Hash) == len(troupe.ContentHash(nil)) {
			s.read = append(s.read, troupe.FileTouch{Path: tool.Resolve(f.Path), Hash: f.Hash})
		}
	}
	return s
}

// asTyped are words of which nothing is looked up.
func asTyped(text string) spoken {
	line, _, more := strings.Cut(text, wire.Attached)
	if !more {
		return spoken{text: text}
	}
	return spoken{text: text, typed: &line}
}

// only is what was spoken, of which a surface knows what was typed; nil: it knows nothing.
func (s spoken) only(typed *string, mask func(string) string) spoken {
	if typed != nil {
		text := mask(*typed)
		s.typed = &text
	}
	return s
}

// amid is what was spoken with other words around it that no person typed.
func (s spoken) amid(text string) spoken {
	if s.typed == nil {
		typed := s.text
		s.typed = &typed
	}
	s.text = text
	return s
}

// speaking makes of a person's words what a session is told: where they are a command, what its file says.
type speaking struct {
	skills

	policy *policy // of the folder
	hub    *session.Hub
	at     session.Aside
	// mute is why the commands of a text are not run; "" if they are.
	mute string
}

// isCommand reports whether words are to be looked up as a command, or lose the second of two slashes.
func isCommand(text string) bool {
	_, _, ok := wire.SlashCommand(strings.TrimPrefix(strings.TrimSpace(text), "/"))
	if !strings.HasPrefix(strings.TrimSpace(text), "//") {
		_, _, ok = wire.SlashCommand(text)
	}
	return ok
}

// words are what a person says, as the session is told it.
func (s speaking) words(ctx context.Context, text string) (spoken, error) {
	if rest, two := strings.CutPrefix(strings.TrimSpace(text), "//"); two && isCommand(text) {
		return asTyped("/" + rest), nil
	}
	name, args, ok := wire.SlashCommand(text)
	if !ok {
		return asTyped(text), nil
	}
	if isPrompt(name) {
		return s.serverPrompt(ctx, name, strings.TrimSpace(text), args)
	}
	set, _ := skill.Load(s.sources(s.policy, s.at.Session.Cwd))
	k, err := set.Lookup(name)
	switch {
	case wire.BuiltInCommand(name):
		return spoken{}, &troupe.UserError{Problem: fmt.Sprintf("/%s is a command of the conversation, and nothing "+
			"to tell "+
			"a session", name), Hint: "Two slashes send the words as they are.", Code: troupe.ExitUsage}
	case err == nil && !k.UserOff:
		return s.expand(ctx, k, strings.TrimSpace(text), args)
	case err == nil:
		err = &troupe.UserError{Problem: fmt.Sprintf("the skill %s is for models alone (user-invocable: false in %s)",
			k.Name, k.Source)}
	}
	if _, gone := os.Lstat("/" + name); gone == nil {
		return asTyped(text), nil // a path
	}
	return spoken{}, noSuchCommand(name, set, err)
}

func noSuchCommand(name string, set skill.Set, err error) error {
	var names []string
	for _, k := range set.List() {
		if !k.UserOff {
			names = append(names, k.Name)
		}
	}
	out := &troupe.UserError{Problem: strings.Replace(err.Error(), "there is no skill ",
		"there is no command or skill ", 1),
		Hint: "`troupe skills` lists them. To send words that begin with a slash, write two.", Code: troupe.ExitUsage,
		Err: err}
	if near := troupe.Nearest(name, names); near != "" {
		out.Hint = "Did you mean /" + near + "? " + out.Hint
	}
	return out
}

// expand puts into the text of a command what it asks for, with the rights of the session that is told it.
func (s speaking) expand(ctx context.Context, k skill.Skill, typed, args string) (spoken, error) {
	use := usesSkill(s.app.dirs, k)
	s.at.Use = *use
	left := func(what, why string) string {
		use.Left = append(use.Left, s.app.Mask(what+why))
		return "[" + what + why + "]"
	}
	why := s.mute
	switch {
	case !k.Runs:
		why = "this folder is not trusted (--trust, once you have looked at it)"
	case k.Mute != "":
		why = k.Mute
	}
	var b strings.Builder
	b.WriteString(typed + "\n\n" + aboutSkill(k) + s.wishes(k, s.at.Session, use) + "\n")
	calls := 0
	var files []troupe.FileTouch
	for _, p := range k.Pieces(args) {
		switch {
		case p.Run != "" && why != "":
			b.WriteString(left("`"+p.Run+"` was not run: ", why))
		case p.Run != "":
			calls++
			text, ran := s.run(ctx, calls, p.Run, left)
			b.WriteString(text)
			use.Ran = append(use.Ran, ran...)
		case p.File != "":
			calls++
			text, read := s.file(ctx, calls, p, left)
			b.WriteString(text)
			files = append(files, read...)
		default:
			b.WriteString(p.Text)
		}
		if err := ctx.Err(); err != nil {
			return spoken{}, err
		}
	}
	said := asTyped(typed).amid(s.app.Mask(b.String()))
	said.uses, said.read = use, files
	return said, nil
}

// notDone notes for the person what of a text was not done, and why, and words it for the model.
type notDone func(what, why string) string

// run is what stands in a text for a command.
func (s speaking) run(ctx context.Context, n int, command string, left notDone) (text string,
	ran []troupe.CommandRun) {
	out, refused := s.call(ctx, n, "Bash", map[string]string{"command": command,
		"description": "for /" + s.at.Use.Name})
	text = strings.TrimRight(troupe.JoinText(out.Blocks), "\n")
	switch {
	case refused != "" && len(out.Evidence.Commands) == 0:
		text = left("`"+command+"` was not run: ", refused)
	case refused != "":
		text += "\n" + left("`"+command+"`: ", refused)
	}
	for _, c := range out.Evidence.Commands {
		c.Watched = nil
		ran = append(ran, c)
	}
	return text, ran
}

// file is what stands in a text for a file, and what was read of it. What is no file stays as it is written.
func (s speaking) file(ctx context.Context, n int, p skill.Piece, left notDone) (text string,
	read []troupe.FileTouch) {
	name := p.File
	switch {
	case strings.HasPrefix(name, "~/"):
		name = filepath.Join(s.app.dirs.Home, name[2:])
	case !filepath.IsAbs(name):
		name = filepath.Join(s.at.Session.Dir(), name)
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return p.Text, nil
	}
	if s.mute != "" {
		return left(p.Text+" was not read: ", s.mute), nil
	}
	out, refused := s.call(ctx, n, "Read", map[string]string{"file_path": name})
	if refused != "" {
		return left(p.Text+" was not read: ", refused), nil
	}
	return fmt.Sprintf("%s:\n%s\n", p.Text, strings.TrimRight(troupe.JoinText(out.Blocks), "\n")), out.Evidence.Files
}

func (s speaking) call(ctx context.Context, n int, name string, input any) (out tool.Output, refused string) {
	data, err := json.Marshal(input)
	if err != nil {
		return out, err.Error()
	}
	// What is kept of long output is named after the call, and there are others before and after it.
	return s.hub.Aside(ctx, s.at, troupe.Call{Reply: int(s.app.env.Now().UnixNano() / int64(time.Millisecond)),
		Index: n,
		Name:  name, Input: string(data)})
}

// heard is what a session is told of a person's words. A run of a recording is told what was said then.
func (a runs) heard(ctx context.Context, b wire.Begin, s speaking) (spoken, error) {
	if a.app.models.player != nil {
		return asTyped(b.Prompt), nil
	}
	said, err := s.words(ctx, b.Prompt)
	return said.only(b.Typed, a.app.Mask).bringing(b.Read), err
}

// command has a session go on with a command, judged by what holds for it from here on.
func (a runs) command(ctx context.Context, e *engine, p *policy, roles *profiles, s troupe.Session, b wire.Begin,
	ad *session.Adoption) error {
	events, err := a.app.trees.events(ctx, s.ID, 0, 0)
	if err != nil {
		return err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return fmt.Errorf("read session %s: %w", s.ID, err)
	}
	authority := st.Authority
	for _, body := range ad.Events {
		if c, ok := body.(troupe.AuthorityChanged); ok {
			authority = c.Authority
		}
	}
	layer := e.tools.gate.LayerOf(profile.Main, st.Profile, authority, ad.Caps.MaxDepth > 0, false)
	layer.Session = s.ID
	said, err := a.heard(ctx, b, speaking{skills: skills{a.app, e.guard}, policy: p, hub: e.hub,
		at: session.Aside{Session: s, Roles: roles, Line: []gate.Layer{layer}}})
	ad.Prompt, ad.Uses, ad.Typed, ad.Read = words(said.text, b.Images), said.uses, said.typed, said.read
	return err
}

// command is what a session is told that is sent words which may be a command.
func (a steering) command(ctx context.Context, s troupe.Session, text string) (spoken, error) {
	if !isCommand(text) {
		return asTyped(text), nil
	}
	p, err := a.app.policyOf(s.Cwd)
	if err != nil {
		return spoken{}, err
	}
	speak := speaking{policy: p, at: session.Aside{Session: s}, mute: "no process runs the session now"}
	if e := a.app.engine.Load(); e != nil {
		speak.hub = e.hub
		if place, ok := e.hub.Place(s); ok {
			speak.at, speak.mute = place, ""
		}
	}
	guard := a.app.newGuard(ctx)
	speak.skills = skills{a.app, guard}
	said, err := speak.words(ctx, text)
	return said, errors.Join(err, guard.close())
}
