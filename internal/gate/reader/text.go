package reader

import (
	"strings"
)

// text are programs that change text on its way.
func text(name string) (spec, bool) {
	switch name {
	case "sort":
		// Not -o and -T, and not --compress-program, which it starts.
		return spec{
			flags: "bdfgiMhnRrVcCmsuz", values: "kSt", most: many, files: "files0-from random-source",
			long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort random-source= reverse sort= version-sort batch-size= check[= debug files0-from= key= merge stable buffer-size= field-separator= parallel= unique zero-terminated version help",
		}, true
	case "uniq":
		// Its second name is written to.
		return spec{flags: "cdDiuz", values: "fsw", most: 1, ordered: true, long: "count repeated all-repeated[= skip-fields= group[= ignore-case skip-chars= unique zero-terminated check-chars= version help", check: oneName}, true
	case "cut":
		return spec{flags: "nszw", values: "bcdfO", most: many, harmless: true, long: "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated version help"}, true
	case "tr":
		return spec{flags: "cCdstu", most: 2, texts: many, harmless: true, long: "complement delete squeeze-repeats truncate-set1 version help", check: translation}, true
	case "paste":
		return spec{flags: "sz", values: "d", most: many, harmless: true, long: "delimiters= serial zero-terminated version help", check: noControls("d", "delimiters")}, true
	case "expand", "unexpand":
		return spec{flags: "ai", values: "t", numbers: true, most: many, harmless: true, long: "all initial tabs= first-only version help"}, true
	case "fold", "fmt":
		return spec{flags: "bsctu", values: "wpg", numbers: true, most: many, harmless: true, long: "bytes spaces width= crown-margin prefix= split-only tagged-paragraph uniform-spacing goal= version help"}, true
	case "pr":
		return spec{flags: "acdfFhJlmnNprtTv", optional: "einsSN", values: "DhlNoWw", numbers: true, plus: true, most: many, harmless: true, long: "pages= columns= across double-space date-format= form-feed header= length= merge omit-header omit-pagination width= page-width= version help"}, true
	case "column":
		return spec{flags: "texLnRJd", values: "scoNHTEWlrip", most: many, harmless: true, long: "table separator= output-separator= table-columns= fillrows output-width= json version help"}, true
	case "tsort", "factor":
		return spec{most: many, harmless: true, long: "version help"}, true
	case "shuf":
		return spec{flags: "erz", values: "in", most: many, long: "echo input-range= head-count= repeat zero-terminated version help"}, true
	case "seq":
		return spec{flags: "w", values: "fs", numbers: true, most: 3, texts: many, harmless: true, long: "format= separator= equal-width version help"}, true
	case "numfmt":
		return spec{flags: "z", values: "d", most: many, texts: many, long: "from= to= from-unit= to-unit= field= format= grouping header[= padding= round= suffix= delimiter= invalid= version help"}, true
	case "iconv":
		return spec{flags: "lcs", values: "ft", most: many, long: "from-code= to-code= list silent version help", check: plainCodes}, true
	case "expr", "true", "false", ":":
		return spec{most: many, texts: many, harmless: true, flags: "", values: ""}, true
	case "bc":
		return spec{flags: "lqs", most: 0, long: "mathlib quiet standard version help"}, true
	}
	return spec{}, false
}

// oneName: words that may become several could name an output.
func oneName(_ *judge, c *call) string {
	for _, a := range c.operands {
		if !a.single {
			return "gives `" + c.name + "` names that are only known when it runs, and it writes to the second"
		}
	}
	return ""
}

// plainCodes: names of character sets; one with a slash may load code from a folder.
func plainCodes(_ *judge, c *call) string {
	for _, a := range c.valuesOf("f", "t", "from-code", "to-code") {
		if !a.known || strings.Contains(strings.ReplaceAll(strings.ReplaceAll(a.text, "//TRANSLIT", ""), "//IGNORE", ""), "/") {
			return "gives `iconv` a character set that may load code"
		}
	}
	return ""
}

// golang judges the go command: it builds, writes caches and fetches modules, unless it is
// only asked about itself.
func golang(j *judge, args []arg) string {
	if len(args) == 0 || !args[0].known {
		return "runs `go`, which may build and run code"
	}
	switch args[0].text {
	case "version":
		return j.use(spec{flags: "mv", most: many, open: len(args) > 1}, "go version", singleDash(args[1:]), nil)
	case "help":
		return j.use(spec{most: 2, texts: many}, "go help", args[1:], nil)
	case "env":
		for _, a := range args[1:] {
			if a.known && (a.text == "-json" || a.text == "-changed") {
				continue
			}
			if !a.known || !isName(a.text) || !strings.HasPrefix(a.text, "GO") && !strings.HasPrefix(a.text, "CGO_") {
				return "gives `go env` " + a.shown() + ", which is not known to only read"
			}
		}
		return ""
	}
	if args[0].text == "list" && len(args) > 1 && args[1].known && args[1].text == "-m" && (len(args) == 2 || len(args) == 3 && args[2].known && args[2].text == "-json") {
		return "" // the module itself; others may have to be fetched
	}
	return "runs `go " + args[0].text + "`, which may fetch, build and run code"
}

// singleDash: go and gofmt take -name and --name alike, and no clusters.
func singleDash(args []arg) []arg {
	out := make([]arg, len(args))
	for i, a := range args {
		if a.known && strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && len(a.text) > 2 {
			a = plainArg("-" + a.text)
		}
		out[i] = a
	}
	return out
}

// gofmt: not -w, which writes.
func gofmt(j *judge, args []arg) string {
	return j.use(spec{flags: "dels", most: many, open: true}, "gofmt", singleDash(args), nil)
}

// versionOnly are programs that tell their version and look at nothing in the folder first:
// not those that are started by something that reads a version to start from a file there.
func versionOnly(name string, args []arg) bool {
	switch name {
	case "make", "gmake", "cmake", "ninja", "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "node", "python", "python3", "perl", "bash", "zsh",
		"sqlite3", "curl", "wget", "ssh", "docker", "podman", "vim", "nvim", "awk", "gawk", "sed", "less", "jq", "openssl", "gdb", "rsync", "busybox", "psql", "ruby":
	default:
		return false
	}
	if name == "openssl" && len(args) == 2 && args[0].known && args[0].text == "version" && args[1].known {
		return len(args[1].text) > 1 && args[1].text[0] == '-' && strings.Trim(args[1].text[1:], "abdefoprv") == ""
	}
	if len(args) != 1 || !args[0].known {
		return false
	}
	switch args[0].text {
	case "--version":
		return true
	case "-V":
		return name == "ssh" || name == "python3" || name == "python"
	case "-v":
		return name == "node" || name == "perl" || name == "ruby"
	case "version":
		return name == "openssl"
	}
	return false
}
