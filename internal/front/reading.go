package front

// Reading is what sources hold, read once for all that is made of it.
type Reading struct {
	Of     []Source
	reader Reader
	files  [][]File // of each source
	found  [][]Finding
}

// Read reads all files of sources, by an index.
func Read(by Reader, x Index, sources []Source) *Reading {
	r := &Reading{Of: sources, reader: by}
	r.reader.Use(x, sources)
	for _, s := range sources {
		files, found := r.reader.Files(s)
		r.files, r.found = append(r.files, files), append(r.found, found)
	}
	return r
}

// Files are those of a source, by its number.
func (r *Reading) Files(i int) ([]File, []Finding) { return r.files[i], r.found[i] }

// Save writes the index, once the files are parsed.
func (r *Reading) Save() { r.reader.Save() }
