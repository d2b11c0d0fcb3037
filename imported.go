package troupe

// Imported says that the session came from another home in a file. What stands before it in the log was made anew of
// what the file says, and gives nothing leave here: what was allowed there, and what was seen of files there, ends with
// it. Undo does not look behind it.
type Imported struct {
	Caller  *Caller `json:"caller,omitempty"`  // who had it come
	File    string  `json:"file"`              // hex SHA-256 of the file
	Version string  `json:"version,omitempty"` // of the Troupe that wrote it
	Folder  string  `json:"folder,omitempty"`  // in which the session worked there
}

// Kind implements Body.
func (Imported) Kind() Kind { return KindImported }
