package reader

// GitEnviron is what a command that Judge called read-only with SafeGit has to run with: it
// keeps git from starting what no configuration names (hooks for an index that is written on
// the way, the programs of submodules, fetching what a partial clone lacks).
func GitEnviron() []string {
	return []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "PAGER=cat",
		"GIT_CONFIG_COUNT=5",
		"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null",
		"GIT_CONFIG_KEY_2=diff.ignoreSubmodules", "GIT_CONFIG_VALUE_2=all",
		"GIT_CONFIG_KEY_3=log.showSignature", "GIT_CONFIG_VALUE_3=false",
		"GIT_CONFIG_KEY_4=diff.autoRefreshIndex", "GIT_CONFIG_VALUE_4=false",
	}
}
