package wire

import (
	"strconv"
	"time"
)

// StoredTerms are what a person says of a stored agent.
type StoredTerms struct {
	Name string `json:"name" maxLength:"64" doc:"What it is started by: letters, digits, dot, dash and underscore"`
	Text string `json:"text" maxLength:"32000" doc:"The definition as a file has it: front matter and prompt. A name in it is the same"`
	// Version is the one that is changed; 0 makes a new agent. The header If-Match says the same.
	Version int64  `json:"version,omitempty" minimum:"0" doc:"The version that is changed, as If-Match can say too; 0 makes a new agent"`
	Once    string `json:"idempotency_key,omitempty" maxLength:"128" doc:"A change of the same caller with the same key counts once: a call that is made again makes no second version"`
}

// StoredQuery asks for a stored agent.
type StoredQuery struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // a number, or the beginning of a hash; "": the newest
}

// StoredRemoval removes one.
type StoredRemoval struct {
	Name    string `json:"name"`
	Version int64  `json:"version,omitempty"` // that is the newest; 0: whichever is
}

// StoredVersion is a version of a stored agent. It does not change.
type StoredVersion struct {
	Version int64     `json:"version"`
	Hash    string    `json:"hash" doc:"SHA-256 of the text"`
	By      string    `json:"by" doc:"Who made the version"`
	At      time.Time `json:"at"`
}

// VersionTag is the ETag of a version.
func VersionTag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// Tag is the version as an ETag.
func (v StoredVersion) Tag() string { return VersionTag(v.Version) }

// StoredAgent is a definition of an agent that is kept in the database, in one of its versions.
type StoredAgent struct {
	StoredVersion
	Name        string    `json:"name"`
	Owner       string    `json:"owner" doc:"Who made it, and changes it; admins do too"`
	Description string    `json:"description"`
	Removed     time.Time `json:"removed,omitzero" doc:"When it was removed: it can be read, and starts nothing any more"`
	// Text and Versions are left out in lists, Warnings where nothing was checked.
	Text     string          `json:"text,omitempty"`
	Versions []StoredVersion `json:"versions,omitempty" doc:"All that there were, the newest first"`
	Warnings []string        `json:"warnings,omitempty" doc:"What is not followed as it is written"`
}
