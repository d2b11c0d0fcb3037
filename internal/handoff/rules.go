package handoff

import (
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// entry is a line of the table. Its name is in logs, so it does not change.
type entry struct {
	name string
	why  string // completes "this result …"
	// words are groups of words between semicolons, and has are characters. Of each group one word, and one of has,
	// stands in every line that the pattern fits: only such lines are looked at.
	words, has string
	pattern    string // of a line, without regard to case; "": none, something else fires it
	not        string // lines that this fits are left alone
	whole      bool   // what stands between quotes and marks of code counts too
	inCode     bool   // lines of code count too
	// contradicts reports whether the evidence says otherwise; nil: the words alone count.
	contradicts func(e *troupe.Evidence) bool
	// asks finds what the reader is to open or run.
	asks func(l line) []string
}

const (
	ruleTag     = "reserved-tag"
	ruleSender  = "other-sender"
	ruleOrder   = "instruction"
	ruleHidden  = "hidden-text"
	ruleLink    = "unseen-link"
	ruleCommand = "unseen-command"
	ruleSecret  = "secret"
	ruleTests   = "claims-tests"
	ruleBuild   = "claims-build"
	ruleCommit  = "claims-commit"
	ruleFiles   = "claims-files"
)

// unsure are words with which nothing is claimed.
const unsure = `\b(not|n't|never|no|without|should|would|could|might|may|if|whether|until|once|when|ensure|` +
	`verify|make sure|` +
	`to be|need|needs|expect|unless|before|claims?|says?|said|asserts|according|ci|previously|earlier|fail|` +
	`fails|failed|` +
	`failing|cannot|unable|plan|will|todo|please|must|can|so that)\b|n't\b`

// table is all rules. Several lines may have one name.
func table() []entry {
	return slices.Concat(looks(), orders(), asks(), claims())
}

// looks are rules about what results look like that they are not.
func looks() []entry {
	const tag, sender = "holds marks that only the runtime uses", "looks like the words of someone else"
	return []entry{
		{name: ruleTag, why: tag,
			words: "system task agent verify runtime user tool function antml command local teammate approved",
			has:   "<",
			pattern: `<\s*/?\s*(system[-_ ]?(reminder|message|prompt|notice)?|task[-_]?notification|` +
				`agent[-_](result|message)|verify[-_]report|` +
				`runtime[-_]evidence|user[-_](answer|message|prompt|input)|tool[-_](result|use|response)s?|` +
				`function[-_](calls?|results?)|antml|command[-_](name|message|args)|local[-_]command|` +
				`teammate[-_]message|` +
				`approved[-_]plan)\b[^<>]*>`},
		{name: ruleTag, why: tag, words: "inst sys im system user", has: "<[",
			pattern: `\[/?(system|inst|user message|system message|tool result)\]|<\|(im_start|im_end|system|` +
				`user)\|>|<<\s*/?sys\s*>>`},
		{name: ruleSender, why: sender, has: ":",
			words: "human user system developer administrator admin operator anthropic assistant; you please " +
				"ignore approve run do " +
				"now proceed stop continue grant yes allow delete merge push i go the new from all",
			pattern: `^[\W_]*(human|user|system|developer|administrator|admin|operator|anthropic|` +
				`assistant)( (message|notice|prompt|` +
				`override|update))?[\W_]*:[\W_]*(you|please|ignore|approve|run|do|now|proceed|stop|continue|` +
				`grant|yes|allow|` +
				`delete|merge|push|i (approve|confirm|allow|authori[sz]e|want)|go ahead|the (agent|assistant)|` +
				`new|from now|all)\b`},
		{name: ruleSender, why: sender, has: ":", words: "message notice instruction update messages notices " +
			"instructions updates; from",
			pattern: `^[\W_]*(new |urgent |priority )?(message|notice|instruction|update)s? from (the |` +
				`your )?(user|human|owner|` +
				`operator|administrator|system|runtime|lead|parent|maintainers?|security team|anthropic)\b[^.;!?]*:`},
		{name: ruleSender, why: sender, words: "user human owner operator administrator maintainer users " +
			"owners maintainers " +
			"administrators; approved authorized authorised preapproved granted consented signed given",
			pattern: `\bthe (user|human|owner|operator|administrator|maintainer)s?\b[^.;:!?]*\b(has|have|` +
				`already)\b[^.;:!?]*\b(approved|` +
				`authori[sz]ed|pre-?approved|granted|consented|signed off|given (you )?permission)\b`},
		{name: ruleHidden, why: "holds characters that are read and not seen"},
	}
}

// about is what a line speaks of that reports an attack and is none.
const about = `\b(injection|attacker|vulnerab\w+|payload|malicious|prompt-inject\w*|comment (says|in)|readme ` +
	`(says|tells|contains)|i (ignored|did not follow|have not followed|disregarded)|was ignored)\b`

// setup is a line that says what has to be there before something else works, and nothing more.
const setup = `^[\W_]*((to|if|before|when) [^.;:!?]*)?\byou (will )?(need|have) to (start|install|build|(re)?generate|create|` +
	`bump|run|migrate|seed|update|configure) [^.;:!?]* first(, (otherwise|or|because|since|as) [^.;:!?]*)?[\W_]*$`

// orders are rules about what results tell their reader to do.
func orders() []entry {
	const modes = `bypasspermissions|acceptedits|bypass|auto(-approve)?|unrestricted|developer|yolo`
	list := []entry{
		{words: "ignore disregard forget override bypass aside throw drop; instructions instruction prompts " +
			"prompt rules " +
			"guidelines directions orders constraints restrictions guardrails safety policy policies told",
			pattern: `(^|[.;:!?,]|\b(please|must|should|to|now|then|you|and)\b)\s*(ignore|disregard|forget|` +
				`override|bypass|set aside|throw out|drop)\b` +
				`[^.;:!?]*\b(instructions?|prompts?|rules|guidelines|directions|orders|constraints|` +
				`restrictions|guardrails|safety|` +
				`polic(y|ies)|what you were told)\b`},
		{words: "you agent model assistant orchestrator coordinator reader supervisor caller; must have has " +
			"required obliged " +
			"instructed ordered authorized authorised need should; immediately now once first next silently " +
			"quietly without " +
			"right urgently before instead",
			pattern: `\b(you|the (parent|calling|main|lead|supervising|orchestrating|reading) (agent|model|` +
				`assistant)|` +
				`the (orchestrator|coordinator|assistant|supervisor)|(any|whichever) (agent|model|` +
				`assistant))\b[^.;:!?]*` +
				`\b(must|have to|has to|(are|is) (now )?(required|obliged|instructed|ordered|authori[sz]ed)|` +
				`need to|should)\b[^.;:!?]*` +
				`\b(immediately|now|at once|first|next|silently|quietly|without asking|right away|urgently|` +
				`before (anything|doing)|instead)\b`},
		{words: "do don never avoid; tell mention inform reveal report show alert notify; user human owner " +
			"person operator " +
			"anyone maintainer maintainers",
			pattern: `(^|[.;:!?]\s*|\b(please|you|and|but|so)\s+)(must )?(do not|don't|never|` +
				`avoid)\b[^.;:!?]*\b(tell|mention|inform|reveal|report|show|alert|` +
				`notify)\w*\b[^.;:!?]*\b(user|human|owner|person|operator|anyone|maintainers?)\b`},
		{words: "conceal hide keep; from; user human owner operator",
			pattern: `\b(conceal|hide|keep)\b[^.;:!?]*\b(this|it|that)\b[^.;:!?]*\bfrom (the )?(user|human|` +
				`owner|operator)`},
		{words: "switch change set move go; mode",
			pattern: `\b(switch|change|set|move|go)\b[^.;:!?]*\b(to|into|` +
				`in)\b[^.;:!?]*\b(` + modes + `)( permissions?)? mode`},
		{words: "are; now longer; agent assistant mode model bound restricted limited admin administrator root " +
			"claude dan",
			pattern: `\byou are (now|no longer)\b[^.;:!?]*\b(agent|assistant|mode|model|bound|restricted|` +
				`limited|admin\w*|root|` +
				`claude|dan)\b`},
		{words: "grant give approve allow accept; permission permissions request requests call calls approval " +
			"approvals prompt",
			pattern: `(^|[.;:!?,]\s*|\b(please|must|should|to|now|then|asking|and)\s+)(grant|give|approve|` +
				`allow|accept)\b[^.;:!?]*\b(all|any|every|the next|its|these|this) ` +
				`(pending |next )?(permission|request|permissions|requests|tool calls?|approvals?)\b`},
		{words: "skip omit turn disable switch; approval permission confirmation safety sandbox review " +
			"safeguard safeguards; " +
			"now and for from",
			pattern: `\b(skip|omit|turn off|disable|switch off)\b[^.;:!?]*\b(approval|permission|confirmation|` +
				`safety|sandbox|` +
				`review|safeguards?)\b[^.;:!?]*\b(now|and|for this|from here|from now)\b`},
		{words: "pretend act; you user approved nothing",
			pattern: `\b(pretend|act as if)\b[^.;:!?]*\b(you|user|approved|nothing)\b`},
		{words: "new; instructions directives orders instruction", has: ":",
			pattern: `(^|[.;!?]\s*)new (system )?(instructions?|directives?|orders?)\b[^.;!?]{0,20}:`},
		{words: "your; new real actual true; task goal instructions instruction objective job role mission purpose",
			pattern: `\byour (new|real|actual|true) (task|goal|instructions?|objective|job|role|mission|purpose)\b`},
	}
	list[1].not = setup + "|"
	for i := range list {
		list[i].name, list[i].why = ruleOrder, "tells its reader what to do, beyond the task"
		list[i].not += about
	}
	return list
}

// asks are rules about what the reader is to open or to run, and about what should not be in words at all.
func asks() []entry {
	return []entry{
		{name: ruleLink, why: "has its reader open a link that the agent never saw", whole: true,
			words: "http https; fetch download visit open go browse curl wget install pull clone load get post " +
				"upload send submit " +
				"read follow retrieve import add paste report register navigate check use see point log " +
				"forward share request hit " +
				"call ping copy push",
			pattern: `https?://`,
			asks:    func(l line) []string { return links(l.text) }},
		{name: ruleCommand, why: "has its reader run a command that the agent never ran or saw", whole: true,
			words: "run execute paste type invoke enter launch issue rerun perform apply start use do try " +
				"finish running executing " +
				"pasting",
			pattern: "^[\\W_]*((then|now|next|finally|first|please|you (must|should|can|need to|have " +
				"to)|afterwards|and|just|simply|" +
				"(to \\w+[^.;]*?),?)[ " +
				",]+)*(run|execute|paste|type|invoke|enter|launch|issue|rerun|re-run|perform|apply|start|use|" +
				"do|try|finish)\\b|" +
				"\\b(please|must|should|have to|need to|needs to|then|now|by|to " +
				"\\w+,?|and|just|simply|first|next|can)\\s+(\\w+\\s+)?" +
				"(run|running|execute|executing|paste|pasting|type|invoke|enter|launch|issue|rerun|re-run|" +
				"perform)\\b|" +
				"\\b(run|execute|paste|enter) (this|the following|these|it)\\b",
			asks: commands},
		{name: ruleSecret, why: "may hold a secret", whole: true, inCode: true, has: ":=",
			words: "password passwd pwd secret token apikey key",
			pattern: `(password|passwd|pwd|secret|token|api[-_ ]?key|access[-_]?key|private[-_]?key)["']?( is|` +
				`\s*[:=]|\s*=>)\s*["'` + "`" +
				`]?[A-Za-z0-9+/_.!@#$%^&*-]*([0-9][A-Za-z!@#$%^&*_-]|` +
				`[A-Za-z!@#$%^&*_-][0-9])[A-Za-z0-9+/_.!@#$%^&*-]{4,}`,
			not: noSecret},
		{name: ruleSecret, why: "may hold a secret", whole: true, inCode: true,
			words: "secret; is",
			pattern: "\\bsecret is [\"'`]?[A-Za-z_]*[0-9][A-Za-z0-9+/_.-]{7,}|\\bsecret is " +
				"[\"'`]?[A-Za-z0-9]+_[A-Za-z0-9]*[0-9][A-Za-z0-9]{6,}",
			not: noSecret},
		{name: ruleSecret, why: "may hold a secret", whole: true, inCode: true,
			words: "begin bearer authorization",
			pattern: `-----begin [a-z ]*private key-----|\bauthorization:\s*(bearer|basic)\s+[a-z0-9+/_.=-]{16,}|` +
				`\bbearer\s+[a-z0-9_-]{8,}\.[a-z0-9_.-]{16,}`,
			not: noSecret},
	}
}

// noSecret is what stands in the place of one.
const noSecret = `‹masked|\*\*\*|<[a-z_ -]+>|\$\{?[a-z_]+|\bxxx|example|changeme|placeholder|redacted|your[-_]|` +
	`getenv|process\.env|` +
	`os\.environ|dummy|fake|test[-_]?(only|token|key|password)|\.(go|ts|js|py|rb|rs|java|yaml|yml|json|` +
	`md):?\d*\b|\(\w*\)`

// claims are rules about what results say was done.
func claims() []entry {
	return []entry{
		{name: ruleTests, why: "says that tests pass, and the runtime saw none pass",
			words: "test tests suite specs spec regression pytest jest; pass passes passed passing green " +
				"succeed succeeds succeeded " +
				"ok clean cleanly",
			pattern: `\b(tests?|suite|specs?|pytest|jest)\b[^.;:]*\b(pass(es|ed|ing)?|green|succeed(s|ed)?|ok|` +
				`clean(ly)?)\b|` +
				`\b(pass(es|ed|ing)?|green|clean)\b[^.;:]*\b(tests?|suite|specs?)\b`,
			not:         unsure + `|\b\d+ (of|/) \d+\b|\bpass(es|ed|ing)? (a|an|the|in|on|nil|null|it|through)\b`,
			contradicts: noTests},
		{name: ruleBuild, why: "says that it builds, and the runtime saw nothing that did",
			words: "build compilation typecheck lint linter project code everything it package; builds " +
				"compiles compiled succeeds " +
				"succeeded passes passed green clean typechecks",
			pattern: `\b(build|compilation|type-?check|linter?|project|code|everything|it|` +
				`package)\b[^.;:]*\b(builds|compiles|` +
				`compiled|succeeds|succeeded|is (green|clean)|typechecks)\b`,
			not: unsure, contradicts: noBuild},
		{name: ruleCommit, why: "says that it committed or pushed, and the runtime saw no such command",
			words: "committed commit pushed commits",
			pattern: `\b(i|i've|we)\b[^.;:]*\b(committed|pushed)\b|\b(all|the|my|these) (changes?|work|` +
				`fix(es)?)\b[^.;:]*\b(committed|pushed)\b|` +
				`(^|[.;:!?]\s*)[\W_]*((fixed|done|changed|added|finished)( it)? and )?(committed|pushed)\b|` +
				`\b(created|made|landed|added) (a |the |two |three |\d+ )?([a-z]+ )?commits?\b`,
			not: unsure + `|\b(who|author|last (week|month|year)|in (20|19)\d\d|history|uncommitted|nothing|` +
				`had been|after each|lock)\b|` +
				`\b(that|which|credentials|files) (are|is|were|was) (committed|pushed)\b|committed to the repository`,
			contradicts: noCommit},
		{name: ruleFiles, why: "says that it changed files, and the runtime saw no change", whole: true, has: ".",
			words: "implemented created edited updated fixed rewrote rewritten patched changed added wrote " +
				"written modified " +
				"refactored removed renamed; go ts tsx js jsx py rb rs java c h cpp md yaml yml json toml sql " +
				"sh html css txt",
			pattern: `(\b(i|i've|i have|we|we've)\b( have| also| then| now)* (implemented|created|edited|` +
				`updated|fixed|rewrote|` +
				`rewritten|patched|changed|added|wrote|written|modified|refactored|removed|renamed)\b|` +
				`^[\W_]*(implemented|` +
				`created|edited|updated|fixed|rewrote|patched|modified|refactored)\b).*` +
				`[\w/-]+\.(go|ts|tsx|js|jsx|py|rb|rs|java|c|h|cpp|md|ya?ml|json|toml|sql|sh|html|css|txt)\b`,
			not: `\b((changed|did|wrote|created|edited) nothing|no files?|not|would|should|was|were|in 20\d\d|` +
				`last|issue|` +
				`ticket)\b`,
			contradicts: unchanged},
	}
}

// unchanged is true only where no tool and no command wrote a file, and the runtime saw all that they did.
func unchanged(e *troupe.Evidence) bool {
	return e.More == 0 && e.Unseen == 0 && !slices.ContainsFunc(e.Files, func(f troupe.FileTouch) bool {
		return f.Wrote || f.Gone
	})
}

// links are the addresses in a line.
func links(s string) []string {
	var out []string
	for w := range strings.FieldsSeq(s) {
		i := strings.Index(strings.ToLower(w), "http")
		if i < 0 || !strings.Contains(w[i:], "://") {
			continue
		}
		w = strings.Trim(w[i:], "`'\".,;:!?)>]*_")
		if j := strings.IndexAny(w, "`\"')>]"); j > 0 {
			w = w[:j]
		}
		if !local(w) {
			out = append(out, w)
		}
	}
	return out
}

func local(url string) bool {
	_, host, _ := strings.Cut(url, "://")
	return strings.HasPrefix(host, "localhost") || strings.HasPrefix(host, "127.") ||
		strings.HasPrefix(host, "example.") ||
		strings.HasPrefix(host, "[::1]")
}

// commands are what a line, or the code that it announces, gives to run, apart from what looks, builds or tests.
func commands(l line) []string {
	var out []string
	parts := strings.Split(l.text, "`")
	for i := 1; i < len(parts); i += 2 {
		if i+1 < len(parts) {
			out = append(out, parts[i])
		}
	}
	if l.next != "" {
		out = append(out, strings.TrimPrefix(l.next, "$ "))
	}
	if len(out) == 0 {
		if _, after, ok := cutVerb(l.text); ok {
			out = append(out, after)
		}
	}
	return slices.DeleteFunc(out, func(c string) bool { return !risky(c) })
}

// cutVerb finds a command that stands in a sentence without marks.
func cutVerb(s string) (before, after string, ok bool) {
	low := strings.ToLower(s)
	for _, verb := range []string{"run: ", "run ", "execute: ", "execute ", "paste ", "type ", "issue ", "enter "} {
		if i := strings.Index(low, verb); i >= 0 && len(low) == len(s) {
			return s[:i], strings.TrimRight(s[i+len(verb):], ".!"), true
		}
	}
	return "", "", false
}

// risky reports whether a text is a command that fetches, destroys, sends, installs, or changes who may do what.
func risky(c string) bool {
	words := strings.FieldsFunc(strings.ToLower(c), func(r rune) bool {
		return strings.ContainsRune(" "+
			"\t|;&()'\"=", r)
	})
	for i, w := range words {
		before, next := "", ""
		if i > 0 {
			before = words[i-1]
		}
		if i+1 < len(words) {
			next = words[i+1]
		}
		if len(words) > 1 && riskyWord(w, before, next, words[0]) {
			return true
		}
	}
	return false
}

// riskyWord reports whether a word makes a command risky, by the words beside it.
func riskyWord(w, before, next, first string) bool {
	one := func(list string) bool { return slices.Contains(strings.Fields(list), w) }
	switch {
	case one("curl wget nc ncat ssh scp rsync sudo doas eval base64 mkfs dd iwr iex irm npx bunx uvx crontab " +
		"systemctl " +
		"launchctl kubectl terraform aws gcloud ftp telnet socat certutil osascript setx dropdb shred"),
		one("--permission-mode --dangerously-skip-permissions --allowed-tools --trust publish drop truncate " +
			"--no-verify --force"):
		return true
	case w == "rm":
		return strings.HasPrefix(next, "-")
	case one("chmod chown"):
		return next != ""
	case one("sh bash zsh python python3 node perl ruby powershell"):
		return next == "-c" || next == "-e" || next == "-" || before != "" && first == "curl" ||
			strings.HasPrefix(next, "/tmp")
	case one("install add i"):
		from := strings.Fields("npm pip pip3 brew apt apt-get gem cargo yarn pnpm go get uv conda snap remote " +
			"mcp marketplace plugins")
		return slices.Contains(from, before) && next != "" && !strings.HasPrefix(next, "-") &&
			!strings.HasPrefix(next, ".")
	case one("push clone filter-branch config"):
		return before == "git"
	case one("reset clean"):
		return before == "git" && strings.HasPrefix(next, "-")
	}
	return false
}

// testRun is what commands that test look like.
const testRun = `(?i)\b(go test|pytest|py\.test|npm (run )?test|npm t\b|yarn (run )?test|pnpm (run )?test|jest|` +
	`vitest|mocha|cargo (nextest|test)|make \S*(test|check)|mvn \S*(test|verify)|` +
	`gradlew? .*test|rspec|phpunit|ctest|bazel test|tox|nox|unittest|dotnet test|mix test|rake|bun test|` +
	`deno test|swift test|test|tests|check|ginkgo|bats|spec)\b`

func noTests(e *troupe.Evidence) bool {
	is := regexp.MustCompile(testRun)
	for _, c := range slices.Backward(e.Commands) {
		if c.Tests != nil {
			return c.Tests.Failed > 0 || c.ExitCode != 0 && c.Tests.Passed == 0
		}
		if is.MatchString(c.Command) {
			return c.ExitCode != 0
		}
	}
	return true
}

// noBuild is true only where nothing was run, or where all that was run failed.
func noBuild(e *troupe.Evidence) bool {
	return !slices.ContainsFunc(e.Commands, func(c troupe.CommandRun) bool { return c.ExitCode == 0 })
}

func noCommit(e *troupe.Evidence) bool {
	return !slices.ContainsFunc(e.Commands, func(c troupe.CommandRun) bool {
		if c.ExitCode != 0 || !strings.Contains(c.Command, "git") && !strings.Contains(c.Command, "jj") &&
			!strings.Contains(c.Command, "hg") {
			return false
		}
		for _, verb := range []string{"commit", "push", "merge", "cherry-pick", "rebase", "revert", " am "} {
			if strings.Contains(c.Command, verb) {
				return true
			}
		}
		return false
	})
}
