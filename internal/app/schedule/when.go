package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // 0.4 MB: a container often has no time zones of its own

	"github.com/robfig/cron/v3"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// leastEvery is how long it is at the least from one moment to the next.
const leastEvery = time.Minute

// moments are those of a schedule.
type moments interface {
	// after is the first one after t; none: the zero time.
	after(t time.Time) time.Time
}

// momentsOf reads when a schedule begins. Those of an interval count from since.
func momentsOf(w wire.When, since time.Time) (moments, *time.Location, error) {
	zone, err := zoneOf(w.Zone)
	if err != nil {
		return nil, nil, err
	}
	given := 0
	for _, is := range []bool{w.Cron != "", w.EveryMS != 0, w.At != ""} {
		if is {
			given++
		}
	}
	every := time.Duration(w.EveryMS) * time.Millisecond
	switch {
	case given != 1:
		return nil, nil, unusable("a schedule has one of cron, every and at", "Give one of them.")
	case w.Cron != "":
		m, err := parseCron(w.Cron, zone)
		return m, zone, err
	case w.At != "":
		t, err := parseAt(w.At, zone)
		return at(t), zone, err
	case every < leastEvery || every/time.Millisecond != time.Duration(w.EveryMS):
		return nil, nil, unusable(fmt.Sprintf("every %v is no interval", every),
			"It is a minute at the least, such as 30m.")
	}
	return interval{since, every}, zone, nil
}

func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name) // "" is UTC
	if err != nil || name == "Local" {
		return nil, unusable(fmt.Sprintf("there is no time zone %q", name), "Give one such as Europe/Berlin or UTC.")
	}
	return zone, nil
}

// at is one moment.
type at time.Time

func (a at) after(t time.Time) time.Time {
	if time.Time(a).After(t) {
		return time.Time(a)
	}
	return time.Time{}
}

// layouts are the ways in which a local time is written.
func layouts() []string {
	return []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04"}
}

func parseAt(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, l := range layouts() {
		if t, err := time.Parse(l, text); err == nil {
			return moment(t, zone), nil
		}
	}
	return time.Time{}, unusable(fmt.Sprintf("%q is no time", text),
		"Give one such as 2026-12-01 09:00, or 2026-12-01T09:00:00Z.")
}

// interval is every so long since a moment.
type interval struct {
	since time.Time
	every time.Duration
}

func (i interval) after(t time.Time) time.Time {
	if t.Before(i.since) {
		return i.since.Add(i.every)
	}
	return i.since.Add((t.Sub(i.since)/i.every + 1) * i.every)
}

// line is a line of cron. Where it names hours, it is about what clocks on the wall show: a time that clocks skip is
// the moment at which they do, and one that they show twice is the first. Where its hour is *, it is about hours that
// pass.
type line struct {
	spec *cron.SpecSchedule // of UTC, in which clocks on the wall are reckoned; or of the zone
	zone *time.Location
	wall bool
}

// star is the bit by which the parser says that a field is *.
const star = 1 << 63

func parseCron(text string, zone *time.Location) (moments, error) {
	wrong := func(why string) error {
		return unusable(fmt.Sprintf("%q is no line of cron: %s", text, why),
			"Give minute, hour, day of the month, month and day of the week (0 is Sunday), such as 0 7 * * 1-5, or "+
				"@daily.")
	}
	// The parser would take a zone at the beginning, and stop the program at one without an end.
	if strings.Contains(text, "=") || strings.HasPrefix(text, "@every") {
		return nil, wrong("zone and interval are given by themselves")
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, wrong(err.Error())
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, wrong("it is an interval")
	}
	for _, field := range []uint64{spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow} {
		if field == 0 {
			return nil, wrong("a field is empty")
		}
	}
	l := line{spec, zone, spec.Hour&star == 0}
	if spec.Location = zone; l.wall {
		spec.Location = time.UTC
	}
	if l.after(time.Unix(0, 0)).IsZero() {
		return nil, wrong("there is no such day")
	}
	return l, nil
}

func (l line) after(t time.Time) time.Time {
	if !l.wall {
		return l.spec.Next(t.In(l.zone))
	}
	// Of several times of a wall that are one moment, or have been, the next that is not.
	for wall := onWall(t.In(l.zone)); ; {
		if wall = l.spec.Next(wall); wall.IsZero() {
			return wall
		}
		if m := moment(wall, l.zone); m.After(t) {
			return m
		}
	}
}

// onWall is what a clock shows, as if it were UTC.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// moment is when clocks of a zone show what is given as if it were UTC: the first time of two, and for a time that they
// skip, when they do.
func moment(wall time.Time, zone *time.Location) time.Time {
	const day = 24 * time.Hour
	_, before := wall.Add(-day).In(zone).Zone()
	_, behind := wall.Add(day).In(zone).Zone()
	first := wall.Add(-time.Duration(max(before, behind)) * time.Second).In(zone)
	for _, offset := range []int{max(before, behind), min(before, behind)} {
		if t := wall.Add(-time.Duration(offset) * time.Second).In(zone); onWall(t).Equal(wall) {
			return t
		}
	}
	_, skipped := first.ZoneBounds()
	return skipped.In(zone)
}

func unusable(problem, hint string) error {
	return &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitUsage}
}
