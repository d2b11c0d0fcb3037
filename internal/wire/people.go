package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// Me is who calls, as the process that answers knows them.
type Me struct {
	Name    string       `json:"name"`
	Right   troupe.Right `json:"right" doc:"owner on this machine; viewer, operator or admin at a server, or none there"`
	Version string       `json:"version" doc:"Of the Troupe that answers"`
	// Folders are those in which a server has agents work, the usual one first.
	Folders []string `json:"folders,omitempty" doc:"Where agents may work, the usual folder first; none: anywhere"`
	// Projects are the caller's own.
	Projects troupe.Projects `json:"projects,omitempty" doc:"Rights beyond the one at the server: in each folder, and below it"`
}

// User is one who may use a server.
type User struct {
	Name      string       `json:"name"`
	Right     troupe.Right `json:"right" enum:"none,viewer,operator,admin" doc:"At the whole server"`
	CreatedAt time.Time    `json:"created_at"`
	// Projects are in the order of their folders.
	Projects troupe.Projects `json:"projects,omitempty" doc:"In each folder, and below it, the user has the greater of this right and the one at the server; of several around a folder the deepest counts"`
	ETag     string          `json:"etag" doc:"For If-Match"`
}

// Tag is its ETag.
func (u User) Tag() string { return u.ETag }

// UserChange adds a user, changes one, or removes one with all tokens.
type UserChange struct {
	Precondition

	Name  string       `json:"name" minLength:"1" maxLength:"64"`
	Right troupe.Right `json:"right,omitempty" enum:"none,viewer,operator,admin" doc:"At the whole server. Without it a user keeps what they have, and a new one that is given projects has none"`
	// Projects that are not named stay as they are.
	Projects troupe.Projects `json:"projects,omitempty" doc:"Rights in folders; none takes the one away that the user has in just that folder"`
	New      bool            `json:"new,omitempty" doc:"Only if there is no such user yet; without it, one that is there is changed"`
	Remove   bool            `json:"remove,omitempty"`
	Invite   bool            `json:"invite,omitempty" doc:"Give a code with which the user logs in once"`
}

// UserChanged is a user after a change.
type UserChanged struct {
	User
	// Code is shown once, and kept nowhere.
	Code  string    `json:"code,omitempty" doc:"A login code, if the user was invited"`
	Until time.Time `json:"until,omitzero" doc:"Until when the code is good"`
}

// Token is what a client shows to be let in; its secret is not told again.
type Token struct {
	ID        string    `json:"id"`
	User      string    `json:"user"`
	Label     string    `json:"label,omitempty" doc:"What the client said of itself"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	UsedAt    time.Time `json:"used_at,omitzero" doc:"To the hour"`
	Yours     bool      `json:"yours,omitempty" doc:"The call came with it"`
}

// Revoke names a token that holds no more. Without one it is the token of the call.
type Revoke struct {
	ID string `json:"id,omitempty" maxLength:"64"`
}

// SignIn asks for a token.
type SignIn struct {
	Code  string `json:"code" minLength:"1" maxLength:"128"`
	Label string `json:"label,omitempty" maxLength:"128" doc:"What the token is for, such as the name of a machine"`
}

// SignedIn is a new token, with its secret.
type SignedIn struct {
	Token     string          `json:"token"`
	Name      string          `json:"name"`
	Right     troupe.Right    `json:"right"`
	Projects  troupe.Projects `json:"projects,omitempty"`
	ExpiresAt time.Time       `json:"expires_at"`
}
