package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// oddly says what in the command gives a name another meaning, or runs a text that a program reads
// in its own way: then the names in it do not tell what it runs. It is "" if nothing does.
func (c *call) oddly() string {
	m := c.take()
	if m.odd == nil {
		why := c.oddPart()
		m.odd = &why
	}
	return *m.odd
}

func (c *call) oddPart() string {
	m := c.take()
	for i := range m.parts {
		p := &m.parts[i]
		for _, a := range p.Assigns {
			if namesAnew(a.Name) {
				return "the variable " + a.Name + " has a shell or git run something"
			}
		}
		if len(p.Words) == 0 {
			continue
		}
		for _, words := range c.readings(p) {
			if why := oddWords(words); why != "" {
				return why
			}
		}
	}
	return ""
}

// readings are the words of a part with what the command itself says about its variables: where
// one may be several texts, a reading for each.
func (c *call) readings(p *part) [][]reader.Word {
	const most = 16
	said := make([][]reader.Word, len(p.Words))
	many := 1
	for i, w := range p.Words {
		if !w.Known && strings.Contains(w.Text, "$") {
			for _, s := range c.speller().spell(w) {
				switch {
				case len(said[i]) >= most:
				case s.cut || s.glob || !s.own:
					said[i] = append(said[i], w)
				default:
					said[i] = append(said[i], reader.Word{Text: s.text, Known: true})
				}
			}
		}
		if len(said[i]) == 0 {
			said[i] = []reader.Word{w}
		}
		many = max(many, len(said[i]))
	}
	out := make([][]reader.Word, many)
	for k := range out {
		for i := range said {
			out[k] = append(out[k], said[i][min(k, len(said[i])-1)])
		}
	}
	return out
}

// oddWords is the same for the words of one command.
func oddWords(words []reader.Word) string {
	name, args := path.Base(words[0].Text), words[1:]
	letter := func(c string) bool {
		return slices.ContainsFunc(args, func(w reader.Word) bool {
			return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, c) || !w.Known && !strings.HasPrefix(w.Text, "-")
		})
	}
	switch name {
	case "alias":
		if slices.ContainsFunc(args, func(w reader.Word) bool { return !w.Known || strings.Contains(w.Text, "=") }) {
			return "`alias` gives a name another meaning"
		}
	case "hash":
		if letter("p") {
			return "`hash -p` gives a name another meaning"
		}
	case "enable":
		if letter("f") {
			return "`enable -f` loads a command from a file"
		}
	case "compgen":
		if letter("C") {
			return "`compgen -C` runs a text"
		}
	case "git":
		if at := gitSubcommand(args); at < len(args) && hidesSubcommand(args[at]) {
			return "which command of `git` it runs is only known when it runs"
		}
		return oddGit(args)
	case "npm", "pnpm", "yarn", "docker", "podman", "kubectl", "helm", "terraform", "tofu", "cargo", "gh", "aws", "gcloud", "systemctl":
		if len(args) > 0 && hidesSubcommand(args[0]) {
			return "which command of `" + name + "` it runs is only known when it runs"
		}
	case "env", "sudo", "doas":
		for _, w := range args {
			if v, _, ok := strings.Cut(w.Text, "="); ok && namesAnew(v) {
				return "the variable " + v + " has a shell or git run something"
			}
		}
	}
	if reader.RunsText(words) != "" {
		return "the program that `" + name + "` is given may run commands"
	}
	return ""
}

// hidesSubcommand: the word is made of something that is only known when it runs.
func hidesSubcommand(w reader.Word) bool {
	return !w.Known && !w.Pattern && !strings.HasPrefix(w.Text, "-")
}

// oddGit: git is given a setting that makes a new command of it or names a program.
func oddGit(args []reader.Word) string {
	for i, w := range args {
		text := w.Text
		value := ""
		if key, v, ok := strings.Cut(text, "="); ok {
			text, value = key, v
		} else if i+1 < len(args) {
			value = args[i+1].Text
		}
		switch key := strings.ToLower(text); {
		case strings.HasPrefix(key, "--config-env"):
			return "`git --config-env` takes settings from variables"
		case i == 0 && w.Text == "config" && len(args) > 1 && !args[1].Known:
			return "git is given a setting that is only known when it runs"
		case strings.HasPrefix(key, "alias.") && value != "" && !listsSettings(args):
			return "a setting makes a new command of git (" + visible(text) + ")"
		case i > 0 && args[i-1].Text == "-c" && strings.HasPrefix(value, "!"):
			return "a setting has git run something (" + visible(text) + ")"
		case i > 0 && (args[i-1].Text == "-c" || args[i-1].Text == "--config") && !w.Known && strings.HasPrefix(strings.Trim(text, `"`), "$"):
			return "git is given a setting that is only known when it runs"
		}
	}
	return ""
}

// listsSettings: git config only tells.
func listsSettings(args []reader.Word) bool {
	return slices.ContainsFunc(args, func(w reader.Word) bool {
		switch w.Text {
		case "get", "list", "unset", "--get", "--get-all", "--get-regexp", "--list", "-l", "--unset", "--unset-all":
			return true
		}
		return false
	})
}

// namesAnew: variables that give names another meaning to a shell, or hold what it or git runs.
func namesAnew(variable string) bool {
	switch variable {
	case "BASH_ALIASES", "BASH_CMDS", "BASH_ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS4", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT":
		return true
	}
	return strings.HasPrefix(variable, "GIT_CONFIG_KEY_") || strings.HasPrefix(variable, "BASH_FUNC_")
}

// runnable: variables whose value is a command that programs run.
func runnable(variable string) bool {
	if namesAnew(variable) || strings.HasPrefix(variable, "GIT_CONFIG_VALUE_") {
		return true
	}
	switch variable {
	case "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS", "PAGER", "MANPAGER",
		"LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "RSYNC_RSH", "CVS_RSH", "TAR_RSH", "SUDO_ASKPASS", "CC", "CXX", "SHELL", "MAKEFLAGS":
		return true
	}
	return false
}

// handedOn are texts in a part that others run: what a new name means, values of variables that
// programs run, programs that start others.
func (c *call) handedOn(p *part) []string {
	var out []string
	for _, a := range p.Assigns {
		if runnable(a.Name) {
			out = append(out, strings.Trim(a.Value.Text, `"`))
		}
	}
	if len(p.Words) == 0 {
		return out
	}
	switch path.Base(p.Words[0].Text) {
	case "alias":
		for _, w := range p.Words[1:] {
			if _, value, ok := strings.Cut(w.Text, "="); ok {
				out = append(out, strings.Trim(value, `"'`))
			}
		}
	case "git":
		settings := slices.ContainsFunc(p.Words, func(w reader.Word) bool { return w.Text == "config" })
		for _, w := range p.Words[1:] {
			if settings && strings.HasPrefix(w.Text, "!") {
				out = append(out, w.Text)
			}
		}
	case "hash":
		for _, w := range p.Words[1:] {
			out = append(out, path.Base(w.Text))
		}
	case "compgen":
		for _, w := range p.Words[1:] {
			out = append(out, w.Text)
		}
	}
	for _, words := range c.readings(p) {
		out = append(out, reader.RunsText(words))
	}
	return out
}
