package reader

// gitPatches are commands that show patches and objects, and check them.
func gitPatches(name string) (spec, bool) {
	switch name {
	case "hash-object":
		// Not -w, which writes the object; not --stdin-paths, whose names come from elsewhere.
		return spec{values: "t", most: many, long: "stdin no-filters"}, true
	case "apply":
		return spec{
			flags: "Rv", values: "pC", most: many, long: "check stat numstat summary reverse verbose quiet recount unidiff-zero ignore-space-change ignore-whitespace",
			check: func(_ *judge, c *call) string {
				if !c.has("check", "stat", "numstat", "summary") {
					return "applies a patch"
				}
				return ""
			},
		}, true
	case "format-patch":
		return spec{
			flags: "nNks", numbers: true, most: many, open: true,
			long: "stdout root numbered no-numbered keep-subject subject-prefix= start-number= zero-commit no-signature signoff stat[= no-stat no-renames find-renames[= binary full-index no-binary ignore-if-in-upstream",
			check: func(_ *judge, c *call) string {
				if !c.has("stdout") {
					return "writes patches to files"
				}
				return ""
			},
		}, true
	case "fsck":
		// Not --lost-found, which writes what it finds.
		return spec{flags: "v", most: many, texts: many, long: "full no-full strict dangling no-dangling unreachable connectivity-only tags root cache no-reflogs name-objects progress no-progress verbose"}, true
	case "var":
		return spec{most: 1, texts: many}, true
	case "bisect":
		return spec{most: 1, texts: many, check: func(_ *judge, c *call) string { return firstIs(c, "log") }}, true
	case "stripspace":
		return spec{flags: "sc", long: "strip-comments comment-lines"}, true
	}
	return spec{}, false
}
