package workspace

import "testing"

func TestHarmfulKeys(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		"core.fsmonitor": "x", "core.pager": "x", "core.sshcommand": "x", "core.editor": "x", "core.worktree": "..",
		"core.attributesfile": "x", "core.gitproxy": "x", "core.askpass": "x", "core.alternaterefscommand": "x",
		"diff.external": "x", "diff.X.textconv": "x", "diff.x.command": "x", "diff.submodule": "log",
		"filter.x.clean": "x", "filter.x.process": "x", "filter.x.smudge": "x", "gpg.program": "x",
		"gpg.ssh.program": "x", "log.showsignature": "true",
		"format.pretty": "%G?", "pretty.x": "%h %GK", "pager.log": "x", "remote.o.uploadpack": "x",
		"remote.o.promisor": "true", "remote.o.vcs": "x", "extensions.partialclone": "o", "include.path": "x",
		"includeif.x.path": "y", "merge.x.driver": "x", "submodule.x.update": "!x", "uploadpack.packobjectshook": "x",
		"interactive.difffilter": "x", "new.key": "x", "trace2.eventtarget": "x", "status.submodulesummary": "true",
		"sequence.editor": "x", "": "",
	} {
		if !harmful(key, value) {
			t.Errorf("%s=%s is harmless", key, value)
		}
	}
}
