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
	// BlockedBy are the items that have to be completed before this one is begun, in their order.
	BlockedBy []string `json:"blocked_by,omitempty"`
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
type BoardCreate struct{ Subject, Description, ActiveForm string }

// BoardUpdate is the TaskUpdate tool's input. What is empty stays as it is.
type BoardUpdate struct {
	Item                             string
	Subject, Description, ActiveForm string
	Owner                            string
	Status                           BoardStatus
	AddBlocks, AddBlockedBy          []string
}

// BoardQuery is the input of TaskGet, and without an Item that of TaskList.
type BoardQuery struct{ Item string }

func (BoardCreate) intent() {}
func (BoardUpdate) intent() {}
func (BoardQuery) intent()  {}
