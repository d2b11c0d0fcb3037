package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/trust"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	sourceAllow = "--allowed-tools"
	sourceDeny  = "--disallowed-tools"
)

// authority is what a root is granted: the settings' rules as they are now, and the flags',
// which a session that goes on keeps unless they are given anew. What an answer gave the session, or its agents in
// the background, is theirs for as long as they live, in whatever process. What was written into settings besides holds
// as long as it stands there.
func (a *App) authority(tools *gate.Tools, b wire.Begin, p *policy, before *troupe.Authority,
	own []string) (troupe.Authority, []string, error) {
	rules, err := a.rules(p, b.Cwd)
	if err != nil {
		return troupe.Authority{}, nil, err
	}
	out := troupe.Authority{Mode: b.Mode, Rules: rules}
	if out.Mode == "" && before != nil {
		out.Mode = before.Mode
	}
	if out.Mode == "" {
		out.Mode = p.all.Mode(p.trusted())
	}
	warnings := slices.Clone(p.warnings)
	used, _ := a.models.Default(b.Model, p.settings.Model, b.Cwd) // without one the run says so elsewhere
	if before != nil && strings.HasPrefix(before.AutoModel, "script/") {
		used = before.AutoModel
	}
	if out.AutoModel, err = judgeOf(a, p, used, b.Cwd); err != nil && b.Mode == troupe.ModeAuto {
		return troupe.Authority{}, nil, err
	} else if err != nil && out.Mode == troupe.ModeAuto {
		warnings, out.Mode = append(warnings, err.Error()+"; the mode is default"), troupe.ModeDefault
	}
	if most := config.AtMost(out.Mode, p.all.Most()); most != out.Mode {
		warnings = append(warnings, fmt.Sprintf("mode %s is not allowed by the administrator's settings; it is %s",
			out.Mode, most))
		out.Mode = most
	}
	for _, q := range p.trust.Questions {
		warnings = append(warnings, untrustedText(q))
	}
	out.Rules = append(out.Rules, flagRules(troupe.Deny, sourceDeny, b.Deny)...)
	out.Rules = append(out.Rules, flagRules(troupe.Allow, sourceAllow, b.Allow)...)
	if before != nil {
		// Each flag stands until that flag is given again: a new permission must not
		// take a prohibition away.
		for _, rule := range before.Rules {
			if rule.For != "" || rule.Granted() || rule.Source == sourceAllow && len(b.Allow) == 0 ||
				rule.Source == sourceDeny && len(b.Deny) == 0 {
				out.Rules = append(out.Rules, rule)
			}
		}
	}
	for _, rule := range out.Rules {
		if _, err := tools.ParseRule(rule); err != nil {
			warnings = append(warnings, err.Error())
		} else if text := unknownTool(tools, rule); text != "" && !slices.ContainsFunc(own, func(name string) bool {
			return strings.EqualFold(name, strings.TrimSpace(rule.Text))
		}) {
			warnings = append(warnings, text)
		}
	}
	return out, warnings, nil
}

// untrustedText says what does not count, and how it would.
func untrustedText(q trust.Question) string {
	what := "is not trusted"
	if q.Verdict.Before {
		what = "has changed since it was trusted"
	}
	if q.Fingerprint.TooMuch != "" {
		return fmt.Sprintf("%s cannot be trusted, so what its own files allow does not count: %s", q.Fingerprint.Folder,
			q.Fingerprint.TooMuch)
	}
	return fmt.Sprintf("%s %s: what its own files allow does not count (%d settings; `troupe --trust` accepts them)",
		q.Fingerprint.Folder, what, len(q.Fingerprint.Items))
}

// unknownTool says that a rule speaks of no tool there is. It may be meant for another
// program or a later version; or it may be a slip of somebody who believes to be protected.
func unknownTool(tools *gate.Tools, r troupe.Rule) string {
	name, _, _ := strings.Cut(strings.TrimSpace(r.Text), "(")
	if strings.ContainsAny(name, "*?") || strings.HasPrefix(strings.ToLower(name), "mcp__") || tools.Known(name) {
		return "" // the first two cover whatever there is, or will be
	}
	return fmt.Sprintf("%s: the %s rule %q has no effect: there is no tool %q", r.Source, r.Effect, r.Text, name)
}

func flagRules(effect troupe.Effect, source string, values []string) []troupe.Rule {
	var out []troupe.Rule
	for _, v := range values {
		for _, text := range rule.Split(v) {
			out = append(out, troupe.Rule{Effect: effect, Text: text, Source: source})
		}
	}
	return out
}

func sameAuthority(a, b troupe.Authority) bool {
	if a.Mode != b.Mode || a.AutoModel != b.AutoModel || (a.Planning == nil) != (b.Planning == nil) ||
		len(a.Rules) != len(b.Rules) {
		return false
	}
	for i := range a.Rules {
		if a.Rules[i] != b.Rules[i] {
			return false
		}
	}
	return true
}
