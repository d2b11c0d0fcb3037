package wire

import (
	"time"

	"github.com/troupe-dev/troupe"
)

// When says at which moments a run begins: one of Cron, EveryMS and At.
type When struct {
	Cron    string `json:"cron,omitempty" maxLength:"200" doc:"Minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly"`
	EveryMS int64  `json:"every_ms,omitempty" doc:"A minute at the least"`
	At      string `json:"at,omitempty" maxLength:"64" doc:"One moment: as in RFC 3339, or as 2026-12-01 09:00 in the zone"`
	Zone    string `json:"zone,omitempty" maxLength:"64" doc:"IANA name of the time zone that times and days are of, such as Europe/Berlin; without it UTC"`
}

// Overlap says what is done when a run is due while the last one goes on.
type Overlap string

// Overlaps. The first is what holds if nothing is said.
const (
	OverlapSkip   Overlap = "skip"   // it is left out
	OverlapQueue  Overlap = "queue"  // one begins when the last is over
	OverlapCancel Overlap = "cancel" // the last one is stopped first
	OverlapAllow  Overlap = "allow"  // it begins
)

// Overlaps lists them.
func Overlaps() []Overlap { return []Overlap{OverlapSkip, OverlapQueue, OverlapCancel, OverlapAllow} }

// CatchUp says what is done about moments that passed while no process looked.
type CatchUp string

// Ways to catch up. The first is what holds if nothing is said.
const (
	CatchUpOne  CatchUp = "one"  // one run begins for all of them
	CatchUpNone CatchUp = "none" // none does
	CatchUpAll  CatchUp = "all"  // one does for each of the last ten
)

// CatchUps lists them.
func CatchUps() []CatchUp { return []CatchUp{CatchUpOne, CatchUpNone, CatchUpAll} }

// ScheduleTerms are what a person says of a schedule.
type ScheduleTerms struct {
	Name string `json:"name" maxLength:"64" doc:"Letters, digits, dot, dash and underscore"`
	When
	Begin   Begin   `json:"begin" doc:"What begins: a new session, without a name, as begin takes it. A list has the first line of its prompt and no other text"`
	Overlap Overlap `json:"overlap,omitempty" enum:"skip,queue,cancel,allow" doc:"When a run is due and the last one goes on: skip, the default, leaves it out; queue begins one when the last is over; cancel stops the last one first; allow begins it"`
	CatchUp CatchUp `json:"catch_up,omitempty" enum:"one,none,all" doc:"Of moments that passed while no process looked: one run for all of them, the default; none; or one for each of the last ten"`
	// Limits of a day, in the zone. 0 is none.
	MaxRunsPerDay int     `json:"max_runs_per_day,omitempty" minimum:"0"`
	MaxCostPerDay float64 `json:"max_cost_per_day,omitempty" minimum:"0" doc:"Dollars: what the runs that began on the day cost together"`
	Version       int64   `json:"version,omitempty" doc:"Of the terms that are changed; 0 makes a new schedule"`
}

// Schedule is one, as it stands.
type Schedule struct {
	ScheduleTerms
	By     string    `json:"by" doc:"Who made it: runs begin as theirs, with the right that they have then"`
	Paused string    `json:"paused,omitempty" doc:"Who paused it; or why Troupe has"`
	Next   time.Time `json:"next,omitzero" doc:"The next moment; none: there is no other"`
	// Last is what came of the last moment.
	Last   *ScheduleRun `json:"last,omitempty"`
	Queued int          `json:"queued,omitempty" doc:"How many runs wait for the last one to be over"`
	// Today is the day in the zone.
	RunsToday int     `json:"runs_today,omitempty"`
	CostToday float64 `json:"cost_today,omitempty"`
	// Claimed is the run that is about to begin.
	Claimed  *ScheduleClaim `json:"claimed,omitempty"`
	Unserved string         `json:"unserved,omitempty" doc:"Why no process begins it"`
	Broken   string         `json:"broken,omitempty" doc:"Why what is kept of it cannot be read: it begins nothing, and an admin can remove it"`
}

// ScheduleRun is what came of a moment.
type ScheduleRun struct {
	At     time.Time        `json:"at"`
	Root   troupe.SessionID `json:"root,omitempty" doc:"The session that began, or that went on still"`
	Why    string           `json:"why,omitempty" doc:"Why none began"`
	Status troupe.Status    `json:"status,omitempty" doc:"How the session stands now"`
}

// ScheduleClaim is a run that a process is about to begin.
type ScheduleClaim struct {
	At    time.Time        `json:"at"`
	Root  troupe.SessionID `json:"session" doc:"The one that is to begin"`
	By    troupe.OwnerID   `json:"by,omitempty" doc:"The process that begins it; none: it was given back, for another one"`
	Tries int              `json:"tries,omitempty" doc:"How often it could not begin"`
	Why   string           `json:"why,omitempty" doc:"Why not, the last time"`
}

// SchedulePause pauses a schedule.
type SchedulePause struct {
	End bool `json:"end,omitempty" doc:"It goes on from now"`
}
