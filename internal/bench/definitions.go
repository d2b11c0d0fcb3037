package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What a home with many definitions has. Their texts are as long as those that people publish.
const (
	manyAgents = 300
	manySkills = 300
	manyHooks  = 50
)

// definitions is a run of the main agent alone, in a home without any definitions and in one with hundreds: the first
// time there, and later, from what was kept. The two take turns, so that both are disturbed alike.
type definitions struct {
	firstByte time.Duration
	none      []result
	many      []result // from an index
	fresh     []result // the first time
}

// definitions compares the three, in turns.
func (l lab) definitions(ctx context.Context, runs int) (out definitions, err error) {
	out.firstByte = l.firstByte
	empty, err := l.site(ctx)
	if err != nil {
		return out, err
	}
	full, err := l.site(ctx)
	if err != nil {
		return out, err
	}
	if err := define(full.home); err != nil {
		return out, err
	}
	for _, s := range []site{empty, full} { // so that both homes have been used
		if _, err := l.alone(ctx, s); err != nil {
			return out, err
		}
	}
	for range runs {
		for _, used := range []struct {
			site
			to *[]result
		}{{empty, &out.none}, {full, &out.many}} {
			r, err := l.undisturbed(func() (result, error) { return l.alone(ctx, used.site) })
			if err != nil {
				return out, err
			}
			*used.to = append(*used.to, r)
		}
		r, err := l.undisturbed(func() (result, error) {
			other, err := l.site(ctx)
			if err == nil {
				err = define(other.home)
			}
			if err != nil {
				return result{}, err
			}
			return l.alone(ctx, other)
		})
		if err != nil {
			return out, err
		}
		out.fresh = append(out.fresh, r)
	}
	return out, nil
}

// define fills a home. No hook is for a moment that comes in these runs: what one costs that runs is another figure.
func define(home string) error {
	body := strings.Repeat("Read what there is before you write, and say what you have found and where it stands.\n",
		25)
	write := func(text string, name ...string) error {
		path := filepath.Join(append([]string{home, ".claude"}, name...)...)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	const about = "Work on part %d of a system that has many. Use it when that part is to be changed; not for others."
	for i := range manyAgents {
		head := fmt.Sprintf("---\nname: agent-%03d\ndescription: "+about+"\ntools: Read, Grep, Glob, Bash\nmodel: "+
			"inherit\n---\n", i, i)
		if err := write(head+body, "agents", fmt.Sprintf("agent-%03d.md", i)); err != nil {
			return err
		}
	}
	for i := range manySkills {
		head := fmt.Sprintf("---\nname: skill-%03d\ndescription: "+about+"\n---\n", i, i)
		if err := write(head+body, "skills", fmt.Sprintf("skill-%03d", i), "SKILL.md"); err != nil {
			return err
		}
	}
	type hook map[string]any
	var hooks []hook
	for i := range manyHooks {
		hooks = append(hooks, hook{"matcher": fmt.Sprintf("Write|Edit|mcp__server%d__.*", i),
			"hooks": []hook{{"type": "command", "command": fmt.Sprintf("true %d", i)}}})
	}
	data, err := json.Marshal(map[string]any{"hooks": map[string]any{"PreToolUse": hooks}})
	if err != nil {
		return err
	}
	return write(string(data), "settings.json")
}

func (d definitions) lines() (out []string) {
	for _, home := range []struct {
		name string
		runs []result
	}{{"none", d.none}, {"index", d.many}, {"first", d.fresh}} {
		for _, r := range home.runs {
			out = append(out, fmt.Sprintf("BenchmarkDefinitions/home=%s 1 %d ns/op %.1f first-ms %.2f cpu-ms %d "+
				"peak-KB %.2f "+
				"others", home.name, r.wall.Nanoseconds(), ms(r.first), ms(r.usage.cpu()), r.usage.PeakKB,
				r.others))
		}
	}
	return out
}

func (d definitions) table() string {
	first := func(r result) time.Duration { return r.first }
	cpu := func(r result) time.Duration { return r.usage.cpu() }
	var b strings.Builder
	fmt.Fprintf(&b, "%d agents, %d skills and %d hooks of the user's, one agent, one reply; what they add stands in "+
		"parentheses:\n\n| home | first request | CPU | CPU, least |\n|---|---|---|---|\n", manyAgents, manySkills,
		manyHooks)
	least := func(runs []result) time.Duration {
		out := cpu(runs[0])
		for _, r := range runs {
			out = min(out, cpu(r))
		}
		return out
	}
	for _, row := range []struct {
		name string
		runs []result
	}{{"none", d.none}, {"all, from an index", d.many}, {"all, the first time", d.fresh}} {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, f := range []func([]result) time.Duration{
			func(all []result) time.Duration { return median(all, first) },
			func(all []result) time.Duration { return median(all, cpu) }, least,
		} {
			took, base := f(row.runs), f(d.none)
			fmt.Fprintf(&b, " %.0f ms (%+.0f) |", ms(took), ms(took-base))
		}
		b.WriteString("\n")
	}
	return b.String()
}
