package local

import (
	"context"
	"time"

	"keyshelf.example/keyshelf/internal/backoff"
	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/wire"
)

// follower keeps one instance new: it fetches after the stream opened, after each change, and from time to time.
type follower struct {
	*holder
	// ledger spends from tranches.
	ledger *ledger.Ledger
	// first is closed when the first fetch has ended, or the time for it.
	first chan struct{}
	// The mutex of the holder guards these. Times are monotonic.
	began, fetchAt, storeAt time.Duration
	// isChanged says that a change is not fetched yet: the next request needs a new snapshot.
	isChanged bool
	// isFetching says that a fetch is queued or in flight: there is one at a time.
	isFetching bool
	// isRepeated says that the last fetch overlapped a refill, so the next one repeats it.
	isRepeated bool
	failures   int
	waiting    []chan error
	lastState  State
}

func newFollower(slug string, options *Options, refetch func(context.Context)) *follower {
	one := &follower{holder: newHolder(slug, options), first: make(chan struct{}), lastState: Starting}
	one.ledger = newLedger(one, refetch)
	one.restore()
	now := one.now()
	one.began, one.storeAt = now, now+storeEvery
	one.fetchAt = now + openWithin
	if one.facts.isRevoked {
		// Who has no access has no stream.
		one.fetchAt = now
	}
	return one
}

// now is the time by the monotonic clock.
func (one *holder) now() time.Duration { return one.options.Clock.Read().Monotonic }

// notice reports a change of the state.
func (one *follower) notice() {
	one.mutex.Lock()
	now := one.now()
	state, previous := one.facts.stateAt(now, one.base.at(now)), one.lastState
	one.lastState = state
	one.mutex.Unlock()
	if state != previous {
		one.tell(Event{Type: "state", State: state, Previous: previous})
	}
}

// endStart ends the time for the first fetch. The fetch itself goes on.
func (one *follower) endStart() {
	if one.facts.isStarting {
		one.facts.isStarting = false
		close(one.first)
	}
}

// due does what is due by time alone, and reports whether a fetch must begin.
func (one *follower) due() (isFetch bool) {
	one.mutex.Lock()
	now := one.now()
	if now >= one.began+one.options.StartTimeout {
		one.endStart()
	}
	isStore := now >= one.storeAt
	if isStore {
		one.storeAt = now + storeEvery
	}
	isFetch = now >= one.fetchAt && !one.isFetching
	one.isFetching = one.isFetching || isFetch
	one.mutex.Unlock()
	if isStore {
		one.store()
	}
	return isFetch
}

// nextAt is when something happens by time: what is due, and what a state ends with.
func (one *follower) nextAt(now time.Duration) time.Duration {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	next := one.storeAt
	if !one.isFetching {
		next = least(next, one.fetchAt)
	}
	ends := []time.Duration{one.facts.freshUntil() + time.Millisecond}
	if one.facts.isStarting {
		ends = append(ends, one.began+one.options.StartTimeout)
	}
	if one.facts.isOpen {
		ends = append(ends, one.facts.frameAt+maxSilence+time.Millisecond)
	}
	// A duration has no room for the end of all times.
	if left := one.facts.exp*1000 - one.base.at(now); one.facts.hasSnapshot && left < longestSleep.Milliseconds() {
		ends = append(ends, now+time.Duration(left)*time.Millisecond)
	}
	for _, end := range ends {
		if end > now {
			next = least(next, end)
		}
	}
	return next
}

func least(one, other time.Duration) time.Duration {
	if one < other {
		return one
	}
	return other
}

// opened notes that a stream is open. The stream reports later changes; a fetch now gets the earlier ones.
func (one *follower) opened() {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	now := one.now()
	one.facts.isOpen, one.facts.openedAt, one.facts.frameAt = true, now, now
	one.fetchAt = now
}

// told takes what a stream sent: it is not silent, and perhaps something changed. Not all products ask at the same time.
func (one *follower) told(changes []*frame) {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	now := one.now()
	one.facts.frameAt = now
	for _, changed := range changes {
		if changed.concerns(one.slug, one.snapshot) {
			one.isChanged = true
			one.fetchAt = least(one.fetchAt, now+scaled(maxFrameDelay, one.options.Clock.Random()))
		}
	}
}

// ended plans the next fetch after the end of a stream, which is opened again after a delay.
func (one *follower) ended(err error, delay time.Duration) {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	now := one.now()
	wasOpen := one.facts.isOpen
	one.facts.isOpen = false
	switch {
	case isEnd(err) || one.facts.isStarting:
		one.fetchAt = now
	case wasOpen:
		polled := one.facts.confirmedAt + one.facts.maxAge
		if reopened := now + delay + openWithin; reopened > polled {
			polled = reopened
		}
		one.fetchAt = least(one.fetchAt, polled)
	}
}

// fetch asks for the snapshot, and plans what follows.
func (one *follower) fetch(ctx context.Context) {
	one.mutex.Lock()
	etag := ""
	if !one.isChanged && one.snapshot != nil {
		etag = one.snapshot.ETag
	}
	settled := one.waiting
	wasRepeated := one.isRepeated
	one.isChanged, one.waiting = false, nil
	one.fetchAt = never
	sent := one.now()
	one.mutex.Unlock()
	reply, err := one.options.Service.Snapshot(ctx, one.slug, etag)
	one.awaitRefill(ctx)
	isRepeat := false
	if ctx.Err() != nil {
		err = ErrClosed
	} else if isRepeat, err = one.receiveFetch(ctx, reply, err, sent, wasRepeated); err != nil {
		one.tell(Event{Type: "error", Err: err})
	} else if !isRepeat {
		one.ledger.Contact()
	}
	one.mutex.Lock()
	one.isFetching, one.isRepeated = false, isRepeat
	if isRepeat {
		one.isChanged, one.waiting = true, append(settled, one.waiting...)
		one.fetchAt = one.now()
		one.mutex.Unlock()
		return
	}
	one.plan(err, etag != "")
	one.endStart()
	if err == nil && one.facts.isRevoked {
		// Who waits for a refresh sees why.
		err = one.failure
	}
	one.mutex.Unlock()
	for _, waiter := range settled {
		waiter <- err
	}
}

// plan plans the next fetch.
func (one *follower) plan(err error, wasConditional bool) {
	now, random := one.now(), one.options.Clock.Random()
	switch {
	case err == nil && one.facts.isRevoked:
		one.isChanged = false
		one.fetchAt = now + spread(askRevokedEvery, random)
	case err == nil:
		one.failures = 0
		isBehind := one.isChanged || (one.facts.isOpen && one.facts.requestedAt < one.facts.openedAt)
		switch {
		case isBehind:
			one.fetchAt = now
		case one.facts.isOpen:
			one.fetchAt = now + spread(refreshEvery, random)
		default:
			one.fetchAt = now + spread(one.facts.maxAge, random)
		}
	default:
		one.isChanged = one.isChanged || !wasConditional
		one.failures++
		one.fetchAt = now + backoff.Polite(backoff.Retry(one.failures, firstRetry, random), wire.RetryAfter(err))
	}
	if len(one.waiting) > 0 {
		one.fetchAt = now
	}
}
