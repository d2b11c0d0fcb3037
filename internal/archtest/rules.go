package archtest

import "slices"

// rules lists all that must hold, over the given map, libraries and excuses.
func rules(rooms []room, libs []library, excused map[string]string) []rule {
	return slices.Concat(
		[]rule{
			{
				name: "every package has a room", check: mapped(rooms),
				why: "a package outside the map follows no rule",
			},
			{
				name: "imports run downward", check: downward(rooms),
				why: "a floor that is known from below cannot be changed, replaced or tested alone",
			},
			{
				name: "test helpers stay in tests", check: testOnly,
				why: "what helps tests is neither small nor safe, and users would carry it",
			},
			{
				name: "the standard library in its place", check: standardBans,
				why: "what a package may touch is decided by what it can import",
			},
			{
				name: "every library has a home", check: libraryHomes(libs),
				why: "a library used everywhere can never be replaced, and its types become ours",
			},
		},
		sourceRules(),
		sizeRules(excused),
		textRules(),
	)
}
