package app

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/plugins"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/trust"
)

// policy is what the settings of everybody who has a say allow in one folder, as they are
// when it is read.
type policy struct {
	all      config.All
	trust    trust.Status
	settings config.Settings
	plugins  []plugins.Found // of which something counts
	warnings []string
}

// trusted: what the folder's own files allow counts.
func (p *policy) trusted() bool { return p.trust.Trusted }

// policyOf reads what holds in a folder.
func (a *App) policyOf(folder string) (*policy, error) { return readPolicy(a, folder, false) }

// readPolicy reads what holds in a folder, and where trust is granted keeps that the folder is trusted as it is now,
// from here on.
func readPolicy(a *App, folder string, grant bool) (*policy, error) {
	all, warnings, err := config.Read(config.Places{Managed: config.ManagedFiles(runtime.GOOS), Dirs: a.dirs,
		Folder: folder})
	if err != nil {
		return nil, err
	}
	p := &policy{all: all}
	for _, w := range warnings {
		if w.Note {
			a.env.Log.Info("settings", "note", w.String())
			continue
		}
		p.warnings = append(p.warnings, w.String())
	}
	if folder == "" {
		p.settings = all.Settings(false)
		return p, nil
	}
	var told []string
	if p.plugins, told, err = pluginHome(a).Active(all.Plugins(), folder); err != nil {
		return nil, err
	}
	p.warnings = append(p.warnings, told...)
	// An agent of the user's own is not replaced unasked either.
	own := sync.OnceValue(func() []string { return append(a.defined.own(a), profile.Main) })
	store := trust.In(trustFolder(a.dirs))
	brought, _ := p.pluginServers()
	ownServers := servers.Own(servers.Places{Dirs: a.dirs, Cwd: folder, Settings: all.Servers(false), Plugins: brought})
	var subjects []trust.Subject
	for _, dir := range all.Folders {
		subjects = append(subjects, trust.Subject{Folder: dir, Root: all.Folders[0], Home: a.dirs.Home,
			Fixed:  len(a.env.Folders) > 0,
			Agents: own, AgentKey: profile.Key,
			AgentFolders: profile.ProjectFolders(), Skills: ownSkills(a.dirs, skillsOf(p.plugins, true)),
			Servers: ownServers})
	}
	for {
		if p.trust, err = store.Look(subjects, all.Read()); err != nil {
			return nil, err
		}
		if !grant || len(p.trust.Questions) == 0 {
			break
		}
		for _, q := range p.trust.Questions {
			// Whoever says --trust means the folder they stand in, and what is above it only as far
			// as it is a project.
			if err := store.Grant(q.Fingerprint, q.Fingerprint.Folder == folder); err != nil {
				return nil, refusedTrust(err)
			}
		}
		grant = false
	}
	p.warnings = append(p.warnings, p.trust.Problems...)
	p.settings = all.Settings(p.trust.Trusted)
	return p, nil
}

// refusedTrust is why a folder is not trusted, for whoever wanted it.
func refusedTrust(err error) error {
	out := &troupe.UserError{Problem: err.Error(), Code: troupe.ExitUsage, Err: err}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		out.Hint = h.Hint()
	}
	return out
}

// untrustedAgents is untrusted for definitions of agents.
func (p *policy) untrustedAgents() func(file string, data []byte) bool {
	return p.untrusted(trust.KindAgent)
}

// untrusted tells which files of a kind do not count: those that have to be trusted first, and what is not as it was
// when that was looked at.
func (p *policy) untrusted(kind trust.Kind) func(file string, data []byte) bool {
	files := map[string]bool{}
	for _, q := range p.trust.Questions {
		for _, i := range q.Fingerprint.Items {
			if i.Kind == kind {
				files[filepath.Join(q.Fingerprint.Folder, filepath.FromSlash(i.File))] = true
			}
		}
	}
	return func(file string, data []byte) bool {
		sum := sha256.Sum256(data)
		return files[file] || p.trust.Seen[file] != hex.EncodeToString(sum[:])
	}
}

// trustFolder is where it is kept which folders are trusted as what.
func trustFolder(dirs config.Dirs) string { return filepath.Join(dirs.Data, "trust") }

// rules are those that hold in a folder before any flag: the settings', and what the user
// answered "always" to.
func (a *App) rules(p *policy, folder string) ([]troupe.Rule, error) {
	kept, err := config.KeptRules(a.dirs.Kept(folder))
	if err != nil {
		return nil, err
	}
	rules := p.all.Rules(p.trusted())
	for i := range rules {
		if src, ok := p.all.Source(rules[i].Source); ok {
			rules[i].Folder, rules[i].Managed = src.Folder, src.Scope == config.ScopeManaged
		}
	}
	return slices.Concat(rules, kept), nil
}
