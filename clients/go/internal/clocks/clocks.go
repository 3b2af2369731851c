// Package clocks says how old something is, by both clocks of a machine. The monotonic one may stop while the machine
// sleeps, the other one may be set: neither is enough alone.
package clocks

import (
	"math"
	"time"
)

// Unlimited is an age that is not known.
const Unlimited = time.Duration(math.MaxInt64)

// Reading is what both clocks show.
type Reading struct {
	Wall time.Time
	// Monotonic is the time since the program started.
	Monotonic time.Duration
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

// Age is the age of an answer. It is Unlimited if the clock was set back to before the answer: it is not known then how
// long the machine slept, and setting the clock must not keep an answer alive.
func Age(since, now Reading) time.Duration {
	if now.Wall.Before(since.Wall) {
		return Unlimited
	}
	return Elapsed(since, now)
}
