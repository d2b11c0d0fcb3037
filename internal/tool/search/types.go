package search

import (
	"maps"
	"slices"
	"strings"
)

// typeGlobs are the names of files of the types that the own search knows. They are the
// common ones of ripgrep's, by ripgrep's names.
func typeGlobs() map[string]string {
	return map[string]string{
		"c": "*.[chH] *.cats *.[chH].in", "clojure": "*.clj *.cljc *.cljs *.cljx", "cmake": "CMakeLists.txt *.cmake",
		"cpp": "*.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in",
		"cs":  "*.cs", "csharp": "*.cs", "css": "*.css *.scss", "csv": "*.csv", "dart": "*.dart",
		"docker": "*Dockerfile*",
		"elixir": "*.ex *.eex *.exs *.heex *.leex *.livemd", "erlang": "*.erl *.hrl", "go": "*.go",
		"graphql": "*.graphql *.graphqls",
		"h":       "*.h *.hh *.hpp", "haskell": "*.c2hs *.cpphs *.hs *.hsc *.lhs", "html": "*.ejs *.htm *.html",
		"java": "*.java *.jsp *.jspx *.properties", "js": "*.cjs *.js *.jsx *.mjs *.vue",
		"json":  "*.json *.sarif composer.lock",
		"jsonl": "*.jsonl", "julia": "*.jl", "kotlin": "*.kt *.kts", "less": "*.less",
		"lisp": "*.el *.jl *.lisp *.lsp *.sc *.scm",
		"log":  "*.log", "lua": "*.lua", "make": "[Gg][Nn][Uu]makefile [Mm]akefile *.mak *.mk " +
			"[Gg][Nn][Uu]makefile.am " +
			"[Mm]akefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile.in",
		"markdown": "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn",
		"md":       "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn",
		"nix":      "*.nix", "objc": "*.h *.m", "ocaml": "*.ml *.mli *.mll *.mly",
		"perl": "*.perl *.pl *.PL *.plh *.plx *.pm *.t",
		"php":  "*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml", "proto": "*.proto", "protobuf": "*.proto",
		"ps": "*.cdxml *.ps1 *.ps1xml *.psd1 *.psm1", "py": "*.py *.pyi", "python": "*.py *.pyi",
		"r":   "*.R *.r *.Rmd *.Rnw",
		"rst": "*.rst", "ruby": "config.ru Gemfile .irbrc Rakefile *.gemspec *.rb *.rbw", "rust": "*.rs",
		"sass": "*.sass *.scss", "scala": "*.sbt *.scala",
		"sh": "*.bash *.bashrc .bash_login .bash_logout .bash_profile .bashrc *.csh .cshrc *.ksh .kshrc *.sh *.tcsh " +
			".tcshrc .zlogin .zlogout .zprofile .zshenv .zshrc .login .logout .profile profile *.zsh",
		"sql": "*.psql *.sql", "svelte": "*.svelte", "svg": "*.svg", "swift": "*.swift",
		"tex": "*.bib *.cls *.dtx *.ins *.ltx *.sty *.tex",
		"tf": "*.tf *.auto.tfvars terraform.tfvars *.tf.json *.auto.tfvars.json terraform.tfvars.json " +
			"*.terraformrc terraform.rc *.tfrc *.terraform.lock.hcl",
		"toml": "*.toml Cargo.lock", "ts": "*.cts *.mts *.ts *.tsx", "typescript": "*.cts *.mts *.ts *.tsx",
		"txt": "*.txt", "vue": "*.vue",
		"xml": "*.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt", "yaml": "*.yaml *.yml",
		"zig": "*.zig",
	}
}

// typeRules are the rules that select a type of file; false if it is not known.
func typeRules(name string) (rules, bool) {
	globs, ok := typeGlobs()[name]
	if !ok {
		return nil, false
	}
	var out rules
	for g := range strings.FieldsSeq(globs) {
		if r, ok := parseRule(g); ok {
			r.verdict = wanted
			out = append(out, r)
		}
	}
	return out, true
}

func typeNames() []string { return slices.Sorted(maps.Keys(typeGlobs())) }
