package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/reader"
)

// maxStarted bounds how many of a command's words are looked at as commands of their own.
const maxStarted = 256

// startedBy are the commands that the words of another may start: what follows any of its words
// where it does nothing but run others, and what follows an option that says what to run.
func startedBy(words []string) []string {
	if len(words) > maxStarted {
		words = words[:maxStarted]
	}
	name := strings.ToLower(path.Base(words[0]))
	var out []string
	add := func(text string) {
		if text = strings.Trim(text, "\"' \t\n"); text != "" {
			out = append(out, text)
		}
	}
	from := func(j int) {
		add(strings.Join(words[j:], " "))
		if len(words[j]) > 0 && strings.ContainsAny(words[j], " \t\n;&|") {
			out = append(out, spoken(words[j])...)
		}
	}
	// A word that begins with a dash is no program: a wrapper was read in another way.
	if startsOthers(name) || alsoStarts(name) || strings.HasPrefix(words[0], "-") {
		for j := 1; j < len(words); j++ {
			from(j)
			if _, value, ok := strings.Cut(words[j], "="); ok {
				add(value)
			}
		}
		return out
	}
	options := startOptions(name)
	for j := 1; j < len(words) && len(options) > 0; j++ {
		for _, o := range options {
			rest, ok := strings.CutPrefix(words[j], o)
			switch {
			case !ok:
			case rest == "" && j+1 < len(words):
				from(j + 1)
			case strings.HasPrefix(rest, "="):
				add(rest[1:])
				out = append(out, spoken(rest[1:])...)
			case len(o) <= 2 || strings.HasSuffix(o, "="):
				add(rest)
				out = append(out, spoken(rest)...)
			}
		}
	}
	return out
}

// alsoStarts: further commands whose words may be a command; rules that allow do not count them
// among those.
func alsoStarts(name string) bool {
	switch name {
	case "-", "eval", "trap", "entr", "fakeroot", "faketime", "proot", "bwrap", "valgrind", "perf", "xvfb-run", "dbus-run-session", "sg", "coproc",
		"direnv", "nix-shell", "poetry", "pipenv", "uv", "uvx", "npx", "bunx", "rtk", "mise", "asdf", "hyperfine", "gdb", "lldb", "torsocks", "torify", "proxychains", "proxychains4",
		"caffeinate", "arch", "numactl", "cgexec", "pipx", "at", "batch", "ssh-agent", "gosu", "su-exec", "tini", "dumb-init", "catchsegv", "run-parts", "tmux", "screen":
		return true
	}
	return false
}

// startOptions are the options of a program whose values are commands.
func startOptions(name string) []string {
	switch name {
	case "fd", "fdfind":
		return []string{"-x", "-X", "--exec", "--exec-batch"}
	case "rg":
		return []string{"--pre", "--hostname-bin"}
	case "find", "gfind":
		return []string{"-exec", "-execdir", "-ok", "-okdir"}
	case "tar", "gtar", "bsdtar":
		return []string{"--to-command", "--use-compress-program", "-I", "--checkpoint-action=exec", "--rsh-command", "--info-script", "-F"}
	case "sort", "gsort":
		return []string{"--compress-program"}
	case "less":
		return []string{"+"}
	case "man":
		return []string{"-P", "--pager", "-H"}
	case "git":
		return []string{"run", "foreach", "--exec", "-x", "--upload-pack", "--receive-pack", "--extcmd", "--tree-filter", "--index-filter", "--msg-filter", "-c", "-O", "--open-files-in-pager", "--config-env"}
	case "rsync":
		return []string{"-e", "--rsh", "--rsync-path"}
	case "scp", "sftp":
		return []string{"-S"}
	case "ssh":
		return []string{"-o", "-oProxyCommand"}
	case "docker", "podman", "kubectl", "nerdctl":
		return []string{"exec", "run", "--", "--entrypoint"}
	case "go":
		return []string{"-exec", "-toolexec", "-vettool"}
	case "cargo", "npm", "pnpm", "yarn", "bun":
		return []string{"exec", "--", "dlx", "-c", "--call"}
	case "make", "gmake":
		return []string{"SHELL="}
	case "split":
		return []string{"--filter"}
	case "vim", "vi", "nvim", "ex":
		return []string{"-c", "+", "--cmd"}
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish":
		return []string{"-c", "-lc", "-ic", "-ec"}
	}
	return nil
}

// runsInput: a shell, or what hands it to one later, in the command runs what it reads: no script and no text is given to it.
func (m *command) runsInput() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return shellOfInput(p.Words) })
}

func shellOfInput(words []reader.Word) bool {
	if len(words) == 0 {
		return false
	}
	switch path.Base(words[0].Text) {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish":
	case "at", "batch":
		return !slices.ContainsFunc(words[1:], func(w reader.Word) bool {
			return slices.Contains([]string{"-l", "-c", "-r", "-d", "-f", "-V"}, w.Text)
		})
	case "crontab":
		return slices.ContainsFunc(words[1:], func(w reader.Word) bool { return w.Text == "-" || w.Text == "/dev/stdin" })
	case "source", ".":
		return len(words) > 1 && strings.HasPrefix(words[1].Text, "/dev/")
	default:
		return false
	}
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		switch {
		case text == "-" || text == "--" || text == "/dev/stdin" || strings.HasPrefix(text, "/dev/fd/") || strings.HasPrefix(text, "/proc/") || strings.HasPrefix(text, "<("):
			return true
		case text == "--version" || text == "--help":
			return false
		case text == "--rcfile" || text == "--init-file" || text == "-o" || text == "-O" || text == "+o" || text == "+O":
			i++
		case strings.HasPrefix(text, "--"):
		case strings.HasPrefix(text, "-") && strings.Contains(text, "s"):
			return true
		case strings.HasPrefix(text, "-") && strings.Contains(text, "c"):
			return false
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
		default:
			return false // a script
		}
	}
	return true
}

// spoken are the commands in a text of which nobody knows what of it is run: what follows any
// of its words.
func spoken(text string) []string {
	var out []string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r;&|<>()'\"`!={}", r) }) {
		words := strings.Fields(strings.ReplaceAll(line, `\n`, " "))
		for j := range words[:min(len(words), maxStarted)] {
			out = append(out, strings.Join(words[j:], " "))
		}
		if len(out) > maxStarted*4 {
			break
		}
	}
	return out
}
