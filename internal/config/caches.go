package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Cache is a folder that a build tool keeps for all projects.
type Cache struct {
	Name   string
	Named  string // as tools name the folder, absolute
	Folder string // where that leads
	// Fetched: it holds what was fetched from elsewhere and will be run as it is. Without a
	// network nothing new comes into it, so there is no use in writing it then, and whoever
	// could write it could put another program in the place of one.
	Fetched bool
	// Missing: it is not there yet, and what the project is built with would make it.
	Missing bool
}

// cacheKind is how a tool says where its cache is.
type cacheKind struct {
	name    string
	env     string // variable that names the folder; "" if none does
	below   string // what of that folder is the cache
	in      cacheRoot
	at      string // without the variable: below the root
	fetched bool
	markers []string // files of projects that are built with it
}

type cacheRoot int

const (
	inHome  cacheRoot = iota
	inCache           // XDG_CACHE_HOME, ~/.cache, ~/Library/Caches
	inData            // XDG_DATA_HOME, ~/.local/share, ~/Library
)

// cacheTable lists the caches by the names that settings have for them. Of npm's and cargo's
// folders only the caches are: what stands beside them is run, or holds keys.
func cacheTable() []cacheKind {
	return []cacheKind{
		{name: "go", env: "GOCACHE", in: inCache, at: "go-build", markers: []string{"go.mod", "go.work"}},
		{name: "go", env: "GOMODCACHE", in: inHome, at: "go/pkg/mod", fetched: true,
			markers: []string{"go.mod", "go.work"}},
		{name: "golangci-lint", env: "GOLANGCI_LINT_CACHE", in: inCache, at: "golangci-lint"},
		{name: "npm", env: "npm_config_cache", below: "_cacache", in: inHome, at: ".npm/_cacache", fetched: true,
			markers: []string{"package.json"}},
		{name: "npm", env: "npm_config_cache", below: "_logs", in: inHome, at: ".npm/_logs"},
		{name: "yarn", env: "YARN_CACHE_FOLDER", in: inCache, at: "yarn", fetched: true},
		{name: "pnpm", in: inData, at: "pnpm/store", fetched: true},
		{name: "pnpm", in: inCache, at: "pnpm"},
		{name: "bun", env: "BUN_INSTALL", below: "install/cache", in: inHome, at: ".bun/install/cache", fetched: true},
		{name: "deno", env: "DENO_DIR", in: inCache, at: "deno", fetched: true},
		{name: "pip", env: "PIP_CACHE_DIR", in: inCache, at: "pip", fetched: true},
		{name: "uv", env: "UV_CACHE_DIR", in: inCache, at: "uv", fetched: true},
		{name: "cargo", env: "CARGO_HOME", below: "registry", in: inHome, at: ".cargo/registry", fetched: true,
			markers: []string{"Cargo.toml"}},
		{name: "cargo", env: "CARGO_HOME", below: "git", in: inHome, at: ".cargo/git", fetched: true},
		{name: "maven", in: inHome, at: ".m2/repository", fetched: true},
		{name: "gradle", env: "GRADLE_USER_HOME", below: "caches", in: inHome, at: ".gradle/caches", fetched: true},
		{name: "nuget", env: "NUGET_PACKAGES", in: inHome, at: ".nuget/packages", fetched: true},
		{name: "composer", env: "COMPOSER_CACHE_DIR", in: inCache, at: "composer", fetched: true},
		{name: "zig", env: "ZIG_GLOBAL_CACHE_DIR", in: inCache, at: "zig"},
		{name: "ccache", env: "CCACHE_DIR", in: inCache, at: "ccache"},
		{name: "sccache", env: "SCCACHE_DIR", in: inCache, at: "sccache"},
		{name: "ruff", env: "RUFF_CACHE_DIR", in: inCache, at: "ruff"},
	}
}

// Caches are the folders of the build caches that commands may write: those that are there, and
// those that the project's own builds will need first. What nobody has needed is not made.
// environ is what commands get, for it is they who look there. A variable that says that a
// cache is the whole home, or holds it or the project, is not followed.
func (a All) Caches(environ []string, goos string) []Cache {
	lookup, home := a.cacheSettings(environ)
	wanted := a.sandbox().Caches
	var out []Cache
	for _, k := range cacheTable() {
		if wanted != nil && !slices.Contains(wanted, k.name) {
			continue
		}
		dir := k.folder(lookup, home, goos)
		if dir == "" {
			continue
		}
		// A link is followed here, once, so that what is written is what was judged.
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) && a.builds(k) && !a.tooWide(dir) {
			out = append(out, Cache{k.name, dir, dir, k.fetched, true})
			continue
		}
		named := dir
		dir = real
		if err != nil || a.tooWide(dir) || a.places.Folder != "" && troupe.Within(a.places.Folder, dir) {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			out = append(out, Cache{k.name, named, dir, k.fetched, false})
		}
	}
	return out
}

// CachesBelow makes folders for caches below one folder, and is how commands are told of them. Caches of what is
// fetched
// are there for who may fetch, and from then on.
func CachesBelow(dir string, fetches bool) (environ []string) {
	add := func(name, path, below string) {
		if os.MkdirAll(filepath.Join(path, below), 0o700) != nil {
			return // then the tool says so
		}
		if kv := name + "=" + path; !slices.Contains(environ, kv) {
			environ = append(environ, kv)
		}
	}
	add("XDG_CACHE_HOME", filepath.Join(dir, "xdg"), "")
	for _, k := range cacheTable() {
		path := filepath.Join(dir, strings.ToLower(k.env))
		if _, err := os.Lstat(path); k.env != "" && (!k.fetched || fetches || err == nil) {
			add(k.env, path, k.below)
		}
	}
	return environ
}

func (a All) cacheSettings(environ []string) (lookup func(string) (string, bool), home string) {
	lookup = func(name string) (string, bool) {
		for _, entry := range environ {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
	home = a.places.Dirs.Home
	if v, ok := lookup("HOME"); ok && filepath.IsAbs(v) {
		home = v
	}
	return lookup, home
}

// CachesToCome are where caches would be that are not there, whether this project needs them or not: a link there
// would be followed once one does.
func (a All) CachesToCome(environ []string, goos string) []string {
	lookup, home := a.cacheSettings(environ)
	var out []string
	for _, k := range cacheTable() {
		dir := k.folder(lookup, home, goos)
		if dir == "" {
			continue
		}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			out = append(out, dir)
		}
	}
	return out
}

// builds reports whether the project has what this cache is for, so that its first build needs
// the folder.
func (a All) builds(k cacheKind) bool {
	for _, name := range k.markers {
		for _, dir := range a.Folders {
			if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}

// folder is where the cache is, "" if nothing says.
func (k cacheKind) folder(lookup func(string) (string, bool), home, goos string) string {
	if k.env != "" {
		for _, name := range [...]string{k.env, strings.ToUpper(k.env)} {
			if v, ok := lookup(name); ok && v != "" {
				if !filepath.IsAbs(v) {
					return "" // "off", or a folder of each project
				}
				return filepath.Join(v, k.below)
			}
		}
	}
	if k.env == "GOMODCACHE" {
		if v, ok := lookup("GOPATH"); ok && filepath.IsAbs(v) {
			return filepath.Join(filepath.SplitList(v)[0], "pkg", "mod")
		}
	}
	base := func(variable, mac, other string) string {
		if v, ok := lookup(variable); ok && filepath.IsAbs(v) {
			return v
		}
		if goos == "darwin" {
			return filepath.Join(home, mac)
		}
		return filepath.Join(home, other)
	}
	dir := home
	switch k.in {
	case inCache:
		dir = base("XDG_CACHE_HOME", "Library/Caches", ".cache")
	case inData:
		dir = base("XDG_DATA_HOME", "Library", ".local/share")
	case inHome:
	}
	if home == "" || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, k.at)
}
