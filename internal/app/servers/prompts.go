package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/tool"
)

// PromptPrefix is how the names of servers' prompts begin, as people say them behind a slash.
const PromptPrefix = "mcp__"

// Prompt is a prompt of a server, as a command of people.
type Prompt struct {
	Server Server
	// Name is what people say: mcp__SERVER__PROMPT.
	Name string
	mcp.Prompt
}

// Prompts are those of all servers that hold, as far as it is known.
func (k *Known) Prompts() (out []Prompt) {
	for _, s := range k.Servers {
		if l, _ := k.List(s.Entry); s.Why == "" {
			out = append(out, promptsOf(s, l)...)
		}
	}
	return out
}

func promptsOf(s Server, l mcp.List) (out []Prompt) {
	own := make([]string, len(l.Prompts))
	for i, p := range l.Prompts {
		own[i] = p.Name
	}
	for i, name := range entry.ToolNames(s.Name, own) {
		out = append(out, Prompt{s, name, l.Prompts[i]})
	}
	return out
}

// FindPrompt finds the prompt that people mean by a name. A server of which nothing is known yet is asked, as by
// List. all are the names that there are.
func (r *Registry) FindPrompt(ctx context.Context, k *Known, name, cwd string, service tool.Service, reads bool,
) (p Prompt, all []string, err error) {
	have := k.Prompts()
	for _, s := range k.Servers {
		if _, unknown := k.List(s.Entry); s.Why == "" && unknown != "" &&
			strings.HasPrefix(strings.ToLower(name), strings.ToLower(entry.Head(s.Name))) {
			l, err := r.List(ctx, s, cwd, service, reads)
			if err != nil {
				return p, nil, fmt.Errorf("MCP server %s: %w", s.Name, err)
			}
			have = append(have, promptsOf(s, l)...)
		}
	}
	for _, p := range have {
		if strings.EqualFold(p.Name, name) {
			return p, nil, nil
		}
		all = append(all, p.Name)
	}
	return p, all, errNoPrompt
}

var errNoPrompt = errors.New("no MCP server here has it")

// Hint is what its arguments are, for people.
func (p Prompt) Hint() string {
	var b strings.Builder
	for _, a := range p.Arguments {
		b.WriteString(" [" + a + "]")
	}
	return strings.TrimSpace(b.String())
}

// split gives the words of a person to the arguments of a prompt, in their order; the last has all that is left.
func (p Prompt) split(words string) (map[string]string, error) {
	out, rest := map[string]string{}, strings.TrimSpace(words)
	for i, name := range p.Arguments {
		if rest == "" {
			break
		}
		value := rest
		if cut := strings.IndexAny(rest, " \t\n"); i < len(p.Arguments)-1 && cut > 0 {
			value, rest = rest[:cut], strings.TrimSpace(rest[cut:])
		} else {
			rest = ""
		}
		out[name] = value
	}
	if rest != "" {
		return nil, errors.New("it takes no arguments")
	}
	return out, nil
}

// Say starts a server, asks it for the text of a prompt, and ends it.
func (r *Registry) Say(ctx context.Context, p Prompt, words, cwd string, service tool.Service) (string, error) {
	args, err := p.split(words)
	if err != nil {
		return "", err
	}
	pool := r.pool(ctx, nil)
	defer pool.Close()
	t, err := r.target(p.Server, cwd, "", service)
	if err != nil {
		return "", err
	}
	text, err := pool.Prompt(ctx, t, p.Prompt.Name, args)
	if err != nil {
		return "", fmt.Errorf("MCP server %s: %w", p.Server.Name, err)
	}
	return text, nil
}
