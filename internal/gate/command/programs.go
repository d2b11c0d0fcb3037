package command

// program is what is known of one program. The table below is the only place that knows any.
type program struct {
	use use
	// flags are letters without a value, values letters with one, glued or in the next word,
	// optional letters with one that is glued. files are the options whose values name files.
	flags, values, optional, files string
	// long are options: "x" without a value, "x=" with one, "x[=" with one that is glued or none.
	long    string
	most    int  // the operands that it may have; 0 is any number
	ordered bool // behind its first operand all are operands
	texts   int  // how many of its first operands are text and no files
	shows   shows
	escapes bool                             // it makes control characters of escapes in its words
	check   func(*judge, *invocation) string // looks at what its options left
	own     func(*judge, []Word) string

	wraps  *wrapper // what follows its options is the command that it runs
	starts starting
	runs   string // options whose values are commands
	subs   bool   // its first word that is no option says what it does
	plain  string // options before a subcommand that have no value
	state  bool   // a builtin after which the same words may mean something else
	// code says whether a program in its own language, which it is given, may start others.
	code func(text string) bool
}

// use is what a program is used for.
type use int

const (
	anything    use = iota
	looks           // reading, by options that are not listed
	readsMore       // also reading: with the options listed here it only reads
	reads           // reading: with the options listed here it only reads
	readsAlways     // reading, with all options that there are
)

// shows is what a program shows of the files that it is given.
type shows int

const (
	contents shows = iota
	names          // names and attributes, and nothing of what is in them
	below          // what is below the folders, too
	here           // or below the folder that it is in, if it is given none
)

// shell: it runs the text that it reads, or is given.
func (p program) shell() bool { return p.runs == shellRuns }

// starting is whether what follows any of a program's words may be a command.
type starting int

const (
	startsNone   starting = iota
	startsSome            // it may be; rules that allow take the program for what it says
	startsOthers          // it does nothing else
)

const (
	all       = 1 << 30 // of the operands
	none      = -1
	shellRuns = "-c -lc -ic -ec"
	digits    = "0123456789"
	tools     = "-h -help -version --help --version --debug --verbose --quiet --offline --locked --frozen"
)

// lookup is the table.
func lookup(name string) program {
	switch name {
	// What is used on files, and only reads whatever its options.
	case "cat", "tac", "rev", "head", "tail", "nl", "wc", "od", "md5sum", "sha1sum", "sha224sum", "sha256sum",
		"sha384sum", "sha512sum", "b2sum", "cksum", "sum",
		"base32", "cmp", "comm", "join", "cut", "expand", "unexpand", "fold", "fmt", "pr", "column":
		return program{use: readsAlways, check: readsNames}
	case "diff":
		return program{use: readsAlways, shows: below, check: readsNames}
	case "hexdump", "paste":
		return program{use: readsAlways, escapes: true, values: "f", files: "f"}
	case "grep", "egrep", "fgrep":
		return program{
			use: readsAlways, values: "efmABCDd", files: "f file",
			long: "regexp= file= max-count= label= after-context= before-context= context=", texts: 1,
			check: searchesBelow,
		}
	case "tr":
		return program{use: readsAlways, texts: all, check: translates}
	case "tee":
		return program{use: readsMore, flags: "ai", texts: all, check: onlyToDevices}
	// What says names and attributes.
	case "ls", "dir", "vdir", "readlink", "realpath", "df", "which", "type", "whereis":
		return program{use: readsAlways, shows: names}
	case "du":
		return program{use: readsAlways, shows: names, check: readsNames}
	case "stat":
		return program{use: readsAlways, shows: names, escapes: true}
	case "file":
		return program{
			use: reads, shows: names, flags: "bhiklLNnrs0I", values: "F",
			long: "brief mime mime-type mime-encoding dereference no-dereference",
		}
	case "tree":
		return program{
			use: reads, shows: names, flags: "adflxCnNpsuhgDrtvJ", values: "LPI",
			long: "noreport dirsfirst prune du gitignore",
		}
	case "fd", "fdfind":
		return program{
			use: reads, shows: names, flags: "HIsigapLFu10lq", values: "dteES", texts: 1,
			runs: "-x -X --exec --exec-batch",
			long: "hidden no-ignore case-sensitive ignore-case glob absolute-path full-path follow fixed-strings " +
				"max-depth= type= extension= exclude= print0",
		}
	case "find", "gfind":
		return program{use: reads, shows: names, runs: "-exec -execdir -ok -okdir", escapes: true, own: (*judge).find}
	// What only tells, and opens no file.
	case "basename", "dirname", "pwd", "uname", "nproc", "whoami", "id", "groups", "tty", "uptime", "free", "seq",
		"expr", "factor", "sleep",
		"true", "false", ":", "yes", "lscpu", "help", "exit", "break", "continue", "return", "shift", "wait":
		return program{use: readsAlways, shows: names, texts: all}
	case "jobs", "dirs", "umask", "ulimit":
		return program{use: reads, flags: "lnprsvSHadftu", most: none}
	case "echo", "printf":
		return program{use: readsAlways, shows: names, texts: all, escapes: true, check: onlyShows}
	case "test", "[":
		return program{use: readsAlways, shows: names, texts: all, own: (*judge).condition}
	case "cd":
		return program{use: readsMore, own: (*judge).changeFolder}
	case "hostname":
		return program{use: reads, flags: "sfdiI", most: none}
	case "printenv":
		return program{use: reads, texts: all, check: onlyPlainVariables}
	case "date":
		return program{
			use: reads, flags: "uR", values: "d", optional: "I", long: "date= utc", texts: all, escapes: true,
			check: onlyFormats,
		}
	case "ps":
		return program{use: reads, flags: "eAafFlLHNwc", values: "pCugUo", texts: all, check: onlyProcesses}
	// What changes text on its way.
	case "sort", "gsort":
		return program{
			use: reads, flags: "bdfgiMhnrRVcCmsuz", values: "kSt", runs: "--compress-program",
			long: "numeric-sort reverse unique version-sort human-numeric-sort key= field-separator= stable " +
				"ignore-case zero-terminated check[= merge",
		}
	case "uniq":
		return program{
			use: reads, flags: "cdDiuz", values: "fsw", long: "count repeated unique ignore-case", most: 1,
			ordered: true,
		}
	case "xxd": // which writes to its second name, and reads the first letter of an option only
		return program{use: reads, own: (*judge).oneFile}
	case "base64":
		return program{use: reads, flags: "diD", values: "w", long: "decode wrap=", most: 1}
	case "strings":
		return program{use: reads, flags: "a" + digits, values: "n", check: noOptionFiles}
	case "less":
		return program{use: reads, flags: "NSRrXFiIMmeEqQ", runs: "+", check: onlyShowsPages}
	case "sed", "gsed":
		return program{
			use: reads, flags: "nErsuz", values: "e", long: "quiet silent regexp-extended expression=", texts: 1,
			check: script(sedOnlyReads), code: sedRuns,
		}
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return program{
			use: reads, values: "Fv", texts: 1, ordered: true, escapes: true, check: script(awkOnlyReads),
			code: awkRuns,
		}
	case "nm", "size", "readelf":
		return program{
			use: reads, flags: "aACDgnurSBdPWhlse", values: "tx", long: "demangle dynamic headers",
			check: noOptionFiles,
		}
	case "zipinfo":
		return program{use: reads, flags: "12smlvht"}
	case "shuf":
		return program{use: reads, flags: "erz", values: "in"}
	case "jq":
		return program{
			use: reads, flags: "ceMCaSjrsnR",
			long:  "compact-output null-input exit-status slurp raw-input raw-output join-output sort-keys tab",
			texts: 1, escapes: true, check: script(jqOnlyReads),
		}
	case "tar", "gtar", "bsdtar":
		return program{
			use: readsMore, own: (*judge).listArchive,
			runs: "--to-command --use-compress-program -I --checkpoint-action=exec --rsh-command --info-script -F",
		}
	case "gzip", "bzip2", "xz", "zstd", "gunzip", "bunzip2", "unxz", "unzstd":
		return program{use: readsMore, flags: "cdltv", long: "stdout decompress list test", check: onlyUnpacksToOutput}
	case "zcat", "bzcat", "xzcat":
		return program{use: reads}
	case "rg":
		return program{
			use: reads, shows: here, flags: "FHIilLNnoPpqSsUuvwxc0.", values: "ABCegmtTd", texts: 1,
			runs: "--pre --hostname-bin",
			long: "after-context= before-context= context= case-sensitive color= column count files " +
				"files-with-matches fixed-strings glob= heading hidden ignore-case invert-match json " +
				"line-number max-columns= max-count= max-depth= multiline no-filename no-heading no-ignore " +
				"no-line-number only-matching pcre2 quiet regexp= smart-case sort= stats type= type-not= " +
				"vimgrep word-regexp version",
			check: searchesBelow,
		}
	case "go":
		return program{use: readsMore, runs: "-exec -toolexec -vettool", plain: tools, own: (*judge).goTells}
	case "gofmt":
		return program{use: readsMore, shows: below, flags: "dels"}
	case "git":
		return program{
			use: looks, subs: true, plain: "-p -P -h -v --paginate --bare --literal-pathspecs --glob-pathspecs " +
				"--noglob-pathspecs --icase-pathspecs --version --help --html-path --man-path --info-path",
			runs: "run foreach --exec -x --upload-pack --receive-pack --extcmd --tree-filter --index-filter " +
				"--msg-filter -c -O --open-files-in-pager --config-env",
		}
	// What is used for reading, though nobody lists with which options.
	case "ag", "cal", "iconv", "lsof", "more", "objdump", "who", "zgrep", "where":
		return program{use: looks}
	case "man":
		return program{use: looks, runs: "-P --pager -H"}
	}
	return carrier(name)
}

// carrier are the programs that run others, and what else changes what a command means.
func carrier(name string) program {
	switch name {
	// What is looked through.
	case "command":
		return program{
			use: reads, shows: names, wraps: &wrapper{flags: "p"}, starts: startsOthers, texts: all, flags: "vV",
		}
	case "builtin", "nohup":
		return program{wraps: &wrapper{}, starts: startsOthers}
	case "exec":
		return program{wraps: &wrapper{flags: "cl", values: "a"}, starts: startsOthers, state: true}
	case "time":
		return program{wraps: &wrapper{flags: "p"}, starts: startsOthers}
	case "timeout":
		return program{
			wraps: &wrapper{flags: "vpf", values: "ks", operands: 1,
				long: "--foreground --preserve-status --verbose --kill-after= --signal="},
			starts: startsOthers,
		}
	case "nice":
		return program{wraps: &wrapper{values: "n", number: true, long: "--adjustment="}, starts: startsOthers}
	case "stdbuf":
		return program{wraps: &wrapper{values: "ioe", long: "--input= --output= --error="}, starts: startsOthers}
	case "env":
		return program{
			wraps:  &wrapper{flags: "i0", values: "u", assigns: true, long: "--ignore-environment --null --unset="},
			starts: startsOthers,
		}
	case "xargs":
		return program{
			use: reads, shows: names,
			wraps: &wrapper{flags: "0rtxop", values: "nPLIsdEa",
				long: "--arg-file= --open-tty --null --no-run-if-empty --verbose --exit --max-args= --max-procs= " +
					"--max-lines= --delimiter="},
			starts: startsOthers, flags: "0rtx", values: "nPLIsdE", texts: all,
		}
	// What has options that matter, so that it is a part itself.
	case "sudo":
		return program{
			wraps: &wrapper{visible: true, flags: "nEHSkbAi", values: "ughpCrtTDU", assigns: true,
				long: "--non-interactive --preserve-env --set-home --login --user= --group="},
			starts: startsOthers,
		}
	case "doas":
		return program{wraps: &wrapper{visible: true, flags: "n", values: "uC"}, starts: startsOthers}
	case "setsid":
		return program{wraps: &wrapper{visible: true, flags: "cfw"}, starts: startsOthers}
	case "chroot", "chrt", "flock":
		return program{
			wraps: &wrapper{visible: true, flags: "abfiorsxenF", values: "wE", operands: 1}, starts: startsOthers,
		}
	case "ionice", "watch":
		return program{wraps: &wrapper{visible: true, flags: "bcdegtwx", values: "n"}, starts: startsOthers}
	case "busybox", "toybox", "strace", "unshare":
		return program{
			wraps: &wrapper{visible: true, flags: "cfFqrtTvxyiCkwmunpU", values: "abeEIoOPsSuX"}, starts: startsOthers,
		}
	case "capsh", "choom", "firejail", "ltrace", "nsenter", "parallel", "pkexec", "prlimit", "runuser", "script",
		"setarch", "setpriv", "su", "systemd-run", "taskset", "unbuffer",
		"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "rlwrap":
		return program{starts: startsOthers}
	// Their words may be a command, or something else.
	case "-", "entr", "fakeroot", "faketime", "proot", "bwrap", "valgrind", "perf", "xvfb-run", "dbus-run-session",
		"sg", "coproc", "direnv", "nix-shell", "poetry", "pipenv", "uv", "uvx", "npx",
		"bunx", "rtk", "mise", "asdf", "hyperfine", "gdb", "lldb", "torsocks", "torify", "proxychains", "proxychains4",
		"caffeinate", "arch", "numactl", "cgexec", "pipx", "at", "batch",
		"ssh-agent", "gosu", "su-exec", "tini", "dumb-init", "catchsegv", "run-parts", "tmux", "screen":
		return program{starts: startsSome}
	case "rsync":
		return program{runs: "-e --rsh --rsync-path"}
	case "scp", "sftp":
		return program{runs: "-S"}
	case "ssh":
		return program{runs: "-o -oProxyCommand"}
	case "docker", "podman", "nerdctl":
		return program{
			subs: true, runs: "exec run -- --entrypoint", plain: "-D -v --debug --tls --tlsverify --version --help",
		}
	case "npm", "pnpm", "yarn", "bun":
		return program{
			subs: true, runs: "exec -- dlx -c --call",
			plain: "-s -d -q -g -f -y -h -v -D -S -E -O -P --silent --quiet --verbose --global --force --yes " +
				"--json --dry-run --production --ignore-scripts --help --version",
		}
	case "cargo":
		return program{subs: true, runs: "exec -- dlx -c --call", plain: tools}
	case "kubectl":
		return program{subs: true, runs: "exec run -- --entrypoint", plain: tools}
	case "make", "gmake":
		return program{runs: "SHELL=", plain: tools}
	case "terraform", "tofu", "helm", "gh", "aws", "gcloud", "systemctl":
		return program{subs: true, plain: tools}
	case "split":
		return program{runs: "--filter"}
	case "vim", "vi", "nvim", "ex":
		return program{runs: "-c + --cmd"}
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "fish":
		return program{runs: shellRuns}
	case "eval", "trap":
		return program{starts: startsSome, state: true}
	case ".", "alias", "bind", "complete", "declare", "enable", "export", "fc", "getopts", "hash", "history", "let",
		"local",
		"mapfile", "popd", "pushd", "read", "readarray", "readonly", "set", "shopt", "source", "typeset", "unalias",
		"unset":
		return program{state: true}
	}
	return program{}
}
