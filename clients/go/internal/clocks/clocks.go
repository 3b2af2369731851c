// Package clocks says how old something is, by both clocks of a machine. The monotonic one may stop while the machine
// sleeps, the other one may be set: neither is enough alone.
package clocks

import "time"

// Reading is what both clocks show.
type Reading struct {
	Wall time.Time
	// Monotonic is the time since the program started.
	Monotonic time.Duration
}

// Clock is the time and the dice of a client.
type Clock struct {
	// Read reads both clocks. The wall clock may be set at any time; the monotonic one never goes back.
	Read func() Reading
	// Random is from 0 to 1.
	Random func() float64
	// After runs work once, after a time. The function cancels it.
	After func(delay time.Duration, work func()) (cancel func())
}

var started = time.Now()

// Read reads the clocks.
func Read() Reading {
	now := time.Now()
	return Reading{now.Round(0), now.Sub(started)}
}

// Elapsed is the time since a reading, by the clock that shows more.
func Elapsed(since, now Reading) time.Duration {
	elapsed := now.Wall.Sub(since.Wall)
	if monotonic := now.Monotonic - since.Monotonic; monotonic > elapsed {
		elapsed = monotonic
	}
	if elapsed < 0 {
		return 0
	}
	return elapsed
}
