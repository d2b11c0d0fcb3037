// Package archtest keeps the house in order: who may import whom, and a few rules that hold
// for every file. Its tests read the repository and fail with the place, what is wrong and
// why that matters.
//
// The map of the house is in floors.go, the homes of the libraries in libraries.go, the rules
// about single files in source.go and text.go, the budgets of size in size.go. A new package
// needs a line in the map; a test says so when it is missing. Every rule is also tried on a
// small invented tree that breaks it, so that none of them can fall asleep.
//
// Sources are read as they are, whatever system they are for: a rule that only held for the
// system the tests run on would be broken on another.
package archtest
