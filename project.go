package troupe

// RightNone is that of a user of a server who has none beyond their projects. As every right that is not known, it
// covers nothing.
const RightNone Right = "none"

// Project is a folder in which, and below which, a user of a server has a right beside that at the server.
type Project struct {
	Folder string `json:"folder" minLength:"1" maxLength:"4096" doc:"In one of the folders of the server"`
	Right  Right  `json:"right" enum:"none,viewer,operator,admin"`
}

// Projects are those of a user.
type Projects []Project

// In is a caller as one who does something in a folder: with the greater of their right at the server and that of the
// deepest of their projects around the folder.
//
// Who administers a project operates in it, and Governs says which it is. So what looks at the right alone, as an older
// version of another process does, takes nobody for an admin of the server.
func (c Caller) In(folder string) Caller {
	var p Project
	for _, x := range c.Projects {
		if x.Folder != "" && Within(folder, x.Folder) && len(x.Folder) > len(p.Folder) {
			p = x
		}
	}
	c.Projects, c.Governs = nil, ""
	switch {
	case p.Folder == "", c.Right.Covers(p.Right):
	case p.Right == RightAdmin:
		c.Governs = p.Folder
		if !c.Right.Covers(RightOperator) {
			c.Right = RightOperator
		}
	default:
		c.Right = p.Right
	}
	return c
}

// May reports whether a caller may do what needs a right in a project, for what is in the folder that they are In.
func (c Caller) May(needs Right) bool {
	return c.Right.Covers(needs) || needs == RightAdmin && c.Governs != ""
}

// MaySomewhere reports whether there may be a folder in which a caller may do what needs a right.
func (c Caller) MaySomewhere(needs Right) bool {
	for _, p := range c.Projects {
		if p.Right.Covers(needs) {
			return true
		}
	}
	return c.Right.Covers(needs)
}
