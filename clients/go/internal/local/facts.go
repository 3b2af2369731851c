// Package local decides at the product: it holds a snapshot of each instance, knows how new it is, and keeps it new. Time,
// requests, streams and files are arguments.
package local

import (
	"math"
	"time"
)

// State says by what an instance is answered.
type State string

// The states follow from facts and the time: nothing has to set them.
const (
	// Starting: the first fetch is in flight, and nothing was stored.
	Starting State = "STARTING"
	// Live: a stream is open, a snapshot was confirmed after it opened, and the stream sent something within 30 seconds.
	Live State = "LIVE"
	// Polling: not Live; the service confirmed the snapshot within twice its max-age.
	Polling State = "POLLING"
	// Stale: it did so longer ago, or the snapshot was restored.
	Stale State = "STALE"
	// Expired: from the end of the snapshot on.
	Expired State = "EXPIRED"
	// None: there is no usable snapshot.
	None State = "NONE"
	// Revoked: the service ended the access.
	Revoked State = "REVOKED"
	// Closed: Close was called.
	Closed State = "CLOSED"
)

const (
	// maxSilence is how long a stream may be silent. The service sends a comment every 15 seconds.
	maxSilence = 30 * time.Second
	// defaultMaxAge is how soon to ask again, unless the service says it.
	defaultMaxAge = 30 * time.Second
	// never is a time that does not come.
	never = time.Duration(math.MaxInt64)
)

// facts are what a state follows from. Times are monotonic.
type facts struct {
	isClosed, isRevoked, isStarting bool
	// hasSnapshot says that one is in force; it expires at exp, in seconds since 1970.
	hasSnapshot bool
	exp         int64
	// confirmedAt is when the service last confirmed the snapshot by a response.
	confirmedAt time.Duration
	// requestedAt is when the request for that response was sent, unless the snapshot was restored.
	requestedAt time.Duration
	isRestored  bool
	maxAge      time.Duration
	// openedAt is when the stream opened, if one is open, and frameAt when it sent anything.
	isOpen            bool
	openedAt, frameAt time.Duration
}

func newFacts() facts { return facts{isStarting: true, isRestored: true, maxAge: defaultMaxAge} }

func (one *facts) isLive(now time.Duration) bool {
	isConfirmed := one.hasSnapshot && !one.isRestored && one.requestedAt >= one.openedAt
	return isConfirmed && one.isOpen && now-one.frameAt <= maxSilence
}

// freshUntil is until when a snapshot that was confirmed without a stream is fresh.
func (one *facts) freshUntil() time.Duration {
	if one.isRestored {
		return -1 << 62
	}
	return one.confirmedAt + 2*one.maxAge
}

// stateAt is the state at a time by both clocks. `millis` is the time of the service, since 1970.
func (one *facts) stateAt(now time.Duration, millis int64) State {
	switch {
	case one.isClosed:
		return Closed
	case one.isRevoked:
		return Revoked
	case !one.hasSnapshot && one.isStarting:
		return Starting
	case !one.hasSnapshot:
		return None
	case millis >= one.exp*1000:
		return Expired
	case one.isLive(now):
		return Live
	case now <= one.freshUntil():
		return Polling
	}
	return Stale
}

// ageAt is the time since the service confirmed the snapshot: by a response, or by any frame while the client is live.
func (one *facts) ageAt(now time.Duration) (age time.Duration, isKnown bool) {
	if !one.hasSnapshot || one.isRevoked {
		return 0, false
	}
	confirmed := one.confirmedAt
	if one.isLive(now) && one.frameAt > confirmed {
		confirmed = one.frameAt
	}
	if age = now - confirmed; age < 0 {
		age = 0
	}
	return age, true
}
