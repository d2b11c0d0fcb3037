package troupe

// BoardItem is one thing to do on the board of a tree. The board stands in the log of the root.
type BoardItem struct {
	ID          string `json:"id"` // "1", "2", … in the order in which they were put on it
	Subject     string `json:"subject"`
	Description string `json:"description,omitempty"`
	// ActiveForm says what is being done while it is in progress, for people who watch: "Running the tests".
	ActiveForm string      `json:"active_form,omitempty"`
	Status     BoardStatus `json:"status"`
	Owner      string      `json:"owner,omitempty"` // the name of an agent
	// By is the member of a team who put it on the board; "" is its lead, and in logs from before that was noted
	// anyone.
	By string `json:"by,omitempty"`
	// BlockedBy are the items that have to be completed before this one is begun, in their order.
	BlockedBy []string       `json:"blocked_by,omitempty"`
	Comments  []BoardComment `json:"comments,omitempty"` // the oldest first
}

// BoardComment is what an agent has put down about an item.
type BoardComment struct {
	By   string `json:"by"` // the name of an agent
	Text string `json:"text"`
}

// BoardStatus is how far an item of the board is.
type BoardStatus string

// States of an item. One that is deleted is off the board; its id is not used again.
const (
	BoardPending    BoardStatus = "pending"
	BoardInProgress BoardStatus = "in_progress"
	BoardCompleted  BoardStatus = "completed"
	BoardDeleted    BoardStatus = "deleted"
)

// BoardStatuses lists the states that an item can be given.
func BoardStatuses() []BoardStatus {
	return []BoardStatus{BoardPending, BoardInProgress, BoardCompleted, BoardDeleted}
}

// BoardChanged tells what items of the board are from here on: those that were put on it, and those that changed.
type BoardChanged struct {
	Items []BoardItem `json:"items"`
}

// Kind is that of the event.
func (BoardChanged) Kind() Kind { return KindBoardChanged }

// BoardCreate is the TaskCreate tool's input.
type BoardCreate struct {
	Subject     string `json:"subject"`
	Description string `json:"description,omitempty"`
	ActiveForm  string `json:"active_form,omitempty"`
}

// BoardUpdate is the TaskUpdate tool's input. What is empty stays as it is.
type BoardUpdate struct {
	Item         string      `json:"item"`
	Subject      string      `json:"subject,omitempty"`
	Description  string      `json:"description,omitempty"`
	ActiveForm   string      `json:"active_form,omitempty"`
	Owner        string      `json:"owner,omitempty"`
	Status       BoardStatus `json:"status,omitempty"`
	AddBlocks    []string    `json:"add_blocks,omitempty"`
	AddBlockedBy []string    `json:"add_blocked_by,omitempty"`
	Comment      string      `json:"comment,omitempty"` // one more
}

// BoardQuery is the input of TaskGet, and without an Item that of TaskList.
type BoardQuery struct {
	Item string `json:"item,omitempty"`
}

// BoardMail is what a member of a team wants of the board, which stands in the log of its lead, or what came of it.
type BoardMail struct {
	Coord Coord  `json:"coord"`        // the member's call
	By    string `json:"by,omitempty"` // the member's name
	// One of these is what it wants.
	Create *BoardCreate `json:"create,omitempty"`
	Update *BoardUpdate `json:"update,omitempty"`
	Query  *BoardQuery  `json:"query,omitempty"`
	// Text is the answer, and Failed says that nothing was changed.
	Text   string `json:"text,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// NewBoardMail is the wish that an intent is; false: it is not about the board.
func NewBoardMail(c Coord, by string, in Intent) (b BoardMail, ok bool) {
	b = BoardMail{Coord: c, By: by}
	switch in := in.(type) {
	case BoardCreate:
		b.Create = &in
	case BoardUpdate:
		b.Update = &in
	case BoardQuery:
		b.Query = &in
	default:
		return b, false
	}
	return b, true
}

// Intent is what it wants; nil: it is an answer.
func (b BoardMail) Intent() Intent {
	switch {
	case b.Create != nil:
		return *b.Create
	case b.Update != nil:
		return *b.Update
	case b.Query != nil:
		return *b.Query
	}
	return nil
}

func (BoardCreate) intent() {}
func (BoardUpdate) intent() {}
func (BoardQuery) intent()  {}
