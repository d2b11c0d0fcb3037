package config

import (
	"slices"
	"strings"
)

// environment is the names that commands get, by the reason for it. A name that may hold a key is
// not among them, nor one that leads to somebody who acts for the user: SSH_AUTH_SOCK,
// DBUS_SESSION_BUS_ADDRESS, DISPLAY, DOCKER_HOST, KUBECONFIG, TMUX. Nor does one that makes a
// shell or the loader run something first: BASH_ENV, ENV, PROMPT_COMMAND, LD_PRELOAD. A name with
// a star means all that begin so.
func environment() []string {
	const names = `
		PATH HOME USER LOGNAME SHELL HOSTNAME
		LANG LANGUAGE LC_* TZ TZDIR
		TERM COLORTERM TERMINFO TERMINFO_DIRS NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS LINES
		TMPDIR TMP TEMP
		XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS
		CI SOURCE_DATE_EPOCH

		GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

		HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
		SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS NIX_SSL_CERT_FILE

		CC CXX CPP AR LD NM RANLIB CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
		LIBRARY_PATH LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR CMAKE_PREFIX_PATH CMAKE_GENERATOR
		CMAKE_BUILD_PARALLEL_LEVEL CCACHE_DIR SCCACHE_DIR MANPATH

		GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOENV GOFLAGS GOOS GOARCH GOARM GOARM64 GOAMD64 GOEXPERIMENT
		GOTOOLCHAIN GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOINSECURE GOVCS GOWORK GO111MODULE GODEBUG
		GOTRACEBACK GOMAXPROCS GOGC GOMEMLIMIT GOTMPDIR GOLANGCI_LINT_CACHE
		CGO_ENABLED CGO_CFLAGS CGO_CPPFLAGS CGO_CXXFLAGS CGO_LDFLAGS

		NODE_ENV NODE_PATH NODE_OPTIONS NODE_VERSION NVM_DIR NVM_BIN FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME
		PNPM_HOME COREPACK_HOME YARN_CACHE_FOLDER BUN_INSTALL DENO_DIR npm_config_cache npm_config_prefix
		npm_config_registry NPM_CONFIG_CACHE NPM_CONFIG_PREFIX NPM_CONFIG_REGISTRY

		VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_SHLVL MAMBA_ROOT_PREFIX PYTHONPATH PYTHONHOME
		PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONWARNINGS
		PYTHONPYCACHEPREFIX PYENV_ROOT PYENV_VERSION POETRY_HOME PIP_CACHE_DIR PIP_INDEX_URL UV_CACHE_DIR
		UV_INDEX_URL DJANGO_SETTINGS_MODULE

		CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN CARGO_TARGET_DIR CARGO_BUILD_JOBS RUSTFLAGS RUSTDOCFLAGS
		RUST_BACKTRACE RUST_LOG RUSTC_WRAPPER

		JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME MAVEN_OPTS GRADLE_HOME GRADLE_USER_HOME GRADLE_OPTS ANDROID_HOME
		ANDROID_SDK_ROOT SDKMAN_DIR KOTLIN_HOME SCALA_HOME CLASSPATH

		GEM_HOME GEM_PATH BUNDLE_PATH BUNDLE_GEMFILE RBENV_ROOT RBENV_VERSION RUBYLIB RUBYOPT RAILS_ENV RACK_ENV
		DOTNET_ROOT DOTNET_CLI_HOME NUGET_PACKAGES COMPOSER_HOME COMPOSER_CACHE_DIR PERL5LIB PERL_MM_OPT
		LUA_PATH LUA_CPATH R_LIBS R_LIBS_USER JULIA_DEPOT_PATH OPAM_SWITCH_PREFIX OCAMLPATH CAML_LD_LIBRARY_PATH
		GHCUP_INSTALL_BASE_PREFIX STACK_ROOT MIX_ENV ZIG_GLOBAL_CACHE_DIR

		NIX_PATH HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR
		SYSTEMROOT WINDIR COMSPEC PATHEXT USERPROFILE`
	return strings.Fields(names)
}

// Environment is what commands get of the environment: the variables that builds need and no
// others, for a key that a command has not got it cannot give away. A variable that looks like
// a key by its name, or whose value has a password in it, is kept only if the
// settings name it in full. names are those that were kept, sorted, for people.
func Environment(environ []string, s Settings) (kept, names []string) {
	exact, prefixes := map[string]bool{}, []string{}
	for _, name := range environment() {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			prefixes = append(prefixes, prefix)
		} else {
			exact[name] = true
		}
	}
	wished := map[string]bool{}
	for _, name := range s.Sandbox.Keep {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			prefixes = append(prefixes, prefix)
		} else {
			wished[name] = true
		}
	}
	values := map[string]string{}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !variable(name) || strings.IndexByte(value, 0) >= 0 {
			continue
		}
		common := exact[name] || slices.ContainsFunc(prefixes,
			func(p string) bool { return strings.HasPrefix(name, p) })
		if wished[name] || common && !secretName(name) && !secretValue(value) {
			values[name] = value // of two with one name the last counts, as for any program
		}
	}
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		kept = append(kept, name+"="+values[name])
	}
	return kept, names
}

// variable reports whether a name is one that a shell can set. Bash exports functions under
// others, which run as soon as something calls a command of their name.
func variable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// secretName reports whether a name is one that keys are kept under.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range [...]string{"TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "APIKEY", "COOKIE",
		"BEARER"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	for word := range strings.SplitSeq(upper, "_") {
		switch word {
		case "KEY", "KEYS", "AUTH", "PASS", "PWD", "PAT", "PRIVATE", "SESSION", "DSN", "JWT", "SIGNATURE", "LICENSE":
			return true
		}
	}
	return false
}

// secretValue reports whether a value has an address with a name or a password in it, or an
// option that is one.
func secretValue(value string) bool {
	lower := strings.ToLower(value)
	for _, option := range [...]string{"password=", "passwd=", "token=", "secret=", "apikey=", "api_key="} {
		if strings.Contains(lower, option) {
			return true
		}
	}
	for {
		_, after, ok := strings.Cut(value, "://")
		if !ok {
			return false
		}
		host := after
		if end := strings.IndexAny(host, "/?# ,|"); end >= 0 {
			host = host[:end]
		}
		if strings.Contains(host, "@") {
			return true
		}
		value = after
	}
}
