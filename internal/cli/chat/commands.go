package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// command is one of the words that begin with a slash.
type command struct {
	name, args, help string
	aliases          []string
	early            bool // also before the conversation has begun
	late             bool // also while its end is waited for
	attached         bool // also where one agent is attached to
	// run carries it out. quit has none: the machine decides what becomes of it.
	run func(ctx context.Context, v *conversation, args string) error
}

func commands() []command {
	return []command{
		{name: "help", attached: true, help: "what there is", aliases: []string{"h", "?"}, early: true, late: true,
			run: func(ctx context.Context, v *conversation, _ string) error {
				v.say(help(v.width(), v.m.attached) + skillHelp(skillsOf(ctx, v), v.width()))
				return nil
			}},
		{name: "agents", attached: true, help: "every agent of this conversation; at first, the types there are",
			aliases: []string{"agent"}, early: true, late: true, run: listAgents},
		{name: "tasks", attached: true, help: "what is at work", aliases: []string{"task", "ps", "jobs"}, late: true,
			run: listTasks},
		{name: "board", attached: true, help: "the list of what is to be done, with what agents said of it",
			aliases: []string{"todos", "todo"}, late: true, run: showBoard},
		{name: "team", attached: true, help: "who is in the team, what each is at, and said last",
			aliases: []string{"roster"},
			late:    true, run: showTeam},
		{name: "panes", args: "[hide|show] [NAME]", help: "who of the team has a pane, or close and open them",
			late: true,
			run:  orderPanes},
		{name: "show", attached: true, args: "[N|TASK]", help: "all of a result that was shown in part, or a " +
			"command's output",
			aliases: []string{"expand"}, late: true, run: showWhole},
		{name: "log", attached: true, args: "[NAME|#|TASK]",
			help:    "all that an agent said and did, or a command's output",
			aliases: []string{"transcript"}, late: true, run: showLog},
		{name: "status", help: "model, mode, folder, cost", early: true, late: true, run: showStatus},
		{name: "clear", help: "begin a new conversation", aliases: []string{"new", "reset"}, early: true,
			run: clearTree},
		{name: "cost", attached: true, help: "the bill, and how much of the limits is used",
			aliases: []string{"usage", "bill"},
			late:    true, run: showCost},
		{name: "context", attached: true, args: "[NAME|#]", help: "what stands in an agent's context, and what each " +
			"part takes",
			late: true, run: showContext},
		{name: "memory", attached: true, args: "[NAME|#]",
			help:  "the instructions and memory that an agent was told, and what agents keep",
			early: true, late: true, run: showMemory},
		{name: "mcp", args: "[NAME]", help: "MCP servers, or what is known of one", early: true, late: true,
			run: listServers},
		{name: "hooks", help: "the hooks that are set here", early: true, late: true, run: listHooks},
		{name: "skills", help: "skills and commands of files, and who uses them", early: true, late: true,
			run: listSkills},
		{name: "plans", args: "[NAME]", help: "the plans that agents have written, or the text of one", early: true,
			late: true, run: listPlans},
		{name: "model", args: "[NAME]", help: "the main agent's model, or another one from here on", early: true,
			run: setModel},
		{name: "mode", args: "[NAME]", help: "what is allowed without a question: default, acceptEdits, plan, …",
			aliases: []string{"permissions"}, early: true, run: setMode},
		{name: "resume", args: "[ID|NAME]", help: "earlier conversations of this folder, or go on with one",
			aliases: []string{"continue"}, early: true, run: resume},
		{name: "compact", args: "[HINT]", help: "shorten the conversation; the hint says what to keep",
			run: compact},
		{name: "undo", args: "[TURN|merge ID|redo]",
			help: "take back what tools did to files, or take that back; `troupe undo main --list` lists turns",
			run:  planUndo},
		{name: "worktrees", args: "[NAME|#]",
			help:    "the folders that agents have of their own, and what they hold (--all)",
			aliases: []string{"worktree"}, early: true, late: true, run: listWorktrees},
		{name: "diff", args: "[NAME|#]",
			help:  "what was changed in a worktree (--stat); without a name in the main agent's",
			early: true, late: true, run: showDiff},
		{name: "merge", args: "[NAME|#]",
			help:  "bring the work of a worktree to your files; it takes the flags of `troupe merge`",
			early: true, late: true, run: mergeTree},
		{name: "push", args: "[NAME|#]", help: "push the work of a worktree at a server as a branch",
			early: true, late: true, run: pushTree},
		{name: "fork", attached: true, args: "PROMPT", help: "have a copy of the agent do something beside it, with " +
			"all that it knows",
			run: forkAgent},
		{name: "background", args: "[NAME|#]", help: "what is waited for goes on in the background: all, or one agent",
			aliases: []string{"bg"}, run: background},
		{name: "foreground", args: "NAME|#|TASK", help: "follow an agent's work, or a command; Esc returns",
			aliases: []string{"fg"}, run: foreground},
		{name: "stop", attached: true, args: "[NAME|#|TASK]",
			help:    "stop the turn, one agent, or a command in the background",
			aliases: []string{"kill"}, late: true,
			run: stopAgent},
		{name: "sleep", help: "put the conversation away with all its agents; `troupe wake` has it go on", late: true,
			run: sleepTree},
		{name: "quit", attached: true, help: "end; asks if something is at work",
			aliases: []string{"exit", "q", "bye"}},
	}
}

// compact is /compact. How much it came to is told when it is done; until then it is said what that waits for.
func compact(ctx context.Context, v *conversation, hint string) error {
	err := v.tree.held(ctx, func() error { return v.trees.api.Compact(ctx, v.tree.root, hint) })
	switch {
	case err != nil:
		return err
	case len(v.m.asks) > 0:
		v.say("The conversation is shortened once what is asked has an answer.")
	case v.m.working:
		v.say("The conversation is shortened after the step that is under way.")
	}
	return nil
}

// commandNamed is a command by its full name.
func commandNamed(name string) command {
	all := commands()
	return all[slices.IndexFunc(all, func(c command) bool { return c.name == name })]
}

// escaped begins a message that is to begin with a slash.
const escaped = "//"

// parseCommand reports whether a line is a command: a slash and a word. A path is none.
func parseCommand(line string) (name, args string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "/") || strings.HasPrefix(line, escaped) {
		return "", "", false
	}
	name, args = line[1:], ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], strings.TrimSpace(name[i:])
	}
	if name == "" {
		return "help", "", true
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && r != '-' && r != '_' && r != '?' {
			return "", "", false
		}
	}
	return strings.ToLower(name), args, true
}

// unescape takes the first of two slashes off that keep a message from being a command.
func unescape(line string) string {
	if rest := strings.TrimSpace(line); strings.HasPrefix(rest, escaped) {
		if name, _, ok := parseCommand(rest[1:]); ok && name != "" && len(rest) > 2 && rest[2] != ' ' {
			return rest[1:]
		}
	}
	return line
}

// findCommand finds a command by its name, another word for it, or a beginning that only
// one has. The problem says what might have been meant.
func findCommand(word string) (name, problem string) {
	var begin, words []string
	meant := make(map[string]string)
	for _, c := range commands() {
		for _, w := range append([]string{c.name}, c.aliases...) {
			if w == word {
				return c.name, ""
			}
			words, meant[w] = append(words, w), c.name
		}
		if strings.HasPrefix(c.name, word) {
			begin = append(begin, c.name)
		}
	}
	best := meant[troupe.Nearest(word, words)]
	for of, instead := range otherWords() {
		if of == word {
			return "", fmt.Sprintf("There is no /%s here: %s. Nothing was sent.", word, instead)
		}
		words = append(words, of)
	}
	if near := troupe.Nearest(word, words); best == "" && near != "" {
		return "", fmt.Sprintf("There is no /%s. For %s: %s. Nothing was sent.", word, near, otherWords()[near])
	}
	switch {
	case len(begin) == 1:
		return begin[0], ""
	case len(begin) > 1:
		return "", fmt.Sprintf("/%s could be /%s.", word, strings.Join(begin, " or /"))
	case best != "":
		return "", fmt.Sprintf("There is no /%s. Did you mean /%s? Nothing was sent.", word, best)
	}
	return "", fmt.Sprintf("There is no /%s; /help lists what there is. "+
		"To send a message that begins with a slash, write two.", word)
}

// otherWords says where to find what other programs have as a command of the conversation.
func otherWords() map[string]string {
	return map[string]string{
		"config":       "settings are files, and `troupe docs settings` tells which; /status shows what holds",
		"settings":     "settings are files, and `troupe docs settings` tells which; /status shows what holds",
		"init":         "ask the agent to write an AGENTS.md",
		"plugins":      "`troupe plugins` in a terminal lists, adds and enables them",
		"plugin":       "`troupe plugins` in a terminal lists, adds and enables them",
		"doctor":       "`troupe doctor` in a terminal checks the set-up",
		"export":       "`troupe log` in a terminal prints the whole conversation",
		"rewind":       "/undo takes back what tools did to files",
		"output-style": "`troupe styles` in a terminal lists them; \"outputStyle\" in the settings chooses one",
		"statusline":   "say what the line is to show, and that the agent Statusline is to write it",
		"login":        "set the key of a model in the environment; `troupe mcp login` is for MCP servers",
	}
}

// helpIndent is where the words about a command begin.
const helpIndent = 23

// helpRow is a command with what it does: beside it, or below one that is too long for that.
func helpRow(head string, words []string) string {
	between := "\n" + strings.Repeat(" ", helpIndent)
	if len(head) > helpIndent-3 {
		head += between
	} else {
		head = fmt.Sprintf("%-20s ", head)
	}
	return "  " + head + strings.Join(words, between) + "\n"
}

// help is the text of /help. Words that go on in another row begin where they began.
func help(width int, attached bool) string {
	var b strings.Builder
	room := 0
	if width > 2*helpIndent {
		room = width - helpIndent
	}
	for _, c := range commands() {
		if attached && !c.attached {
			continue
		}
		head := "/" + c.name
		if c.args != "" {
			head += " " + c.args
		}
		b.WriteString(helpRow(head, console.Wrap(c.help, room)))
	}
	b.WriteString(helpRow("@path", console.Wrap("the file, picture or folder goes with the message", room)))
	b.WriteString(`  A request is answered with a key and Enter: y yes, once; s for this session; f for its folder; a always; n no (n and words says why); v shows all of it; ? shows it again, and what each key gives.
  Enter sends; Alt-Enter, or a backslash at the end, begins another line.
`)
	if attached {
		b.WriteString(`  What you send reaches the agent while it works, and has it go on when it has ended.
  Ctrl-C empties the line; where nothing is typed, Ctrl-C and Ctrl-D detach. Nothing is stopped by that.
  Up, Down and Ctrl-R find what was entered before: Ctrl-R what holds the words on the line. Tab completes.
`)
		return b.String()
	}
	b.WriteString(`  While agents work, what you send steers the main agent, or the agent that /foreground or /log shows.
  Esc or Ctrl-C stops the turn; Ctrl-C twice quits. Ctrl-D quits. Tab completes.
  Ctrl-B, where nothing is typed, is /background. Shift-Tab begins plan mode, and ends it.
  Up, Down and Ctrl-R find what was entered before: Ctrl-R what holds the words on the line.
`)
	return b.String()
}
