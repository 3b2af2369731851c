package ledger

import (
	"context"
	"time"
)

const (
	// longestTimer bounds a timer: a machine may sleep.
	longestTimer = time.Hour
	// pauseFor follows a refill that could not help.
	pauseFor = 500 * time.Millisecond
	// lookEvery is how often a product that consumes all the time looks whether little is left.
	lookEvery = 20 * time.Millisecond
)

// timing is when requests are due. Times are monotonic.
type timing struct {
	requestedAt, pausedUntil, lookedAt time.Duration
	// unsettledSince is when the first unit was spent that is not settled.
	unsettledSince time.Duration
	// isPlanned says that a timer runs.
	isPlanned bool
}

func newTiming() timing {
	return timing{requestedAt: longAgo, pausedUntil: longAgo, lookedAt: longAgo, unsettledSince: never}
}

// wake lets the goroutine look what is due.
func (ledger *Ledger) wake() {
	select {
	case ledger.woken <- struct{}{}:
	default:
	}
}

// noteSpent wakes the goroutine after something was spent, but not each time.
func (ledger *Ledger) noteSpent() {
	of, now := &ledger.timing, ledger.now()
	if of.isPlanned && of.unsettledSince != never && now < of.lookedAt+lookEvery {
		return
	}
	of.lookedAt = now
	ledger.wake()
}

// run refills when it is due, one request at a time, until the ledger is closed. Then it settles all.
func (ledger *Ledger) run() {
	defer close(ledger.ended)
	for {
		delay, isDue := ledger.next()
		select {
		case <-ledger.closing:
			ledger.settleAll()
			return
		default:
		}
		if isDue {
			ledger.refillOnce(ledger.ctx)
			continue
		}
		cancel := func() {}
		if delay > 0 {
			cancel = ledger.options.Clock.After(delay, ledger.wake)
		}
		select {
		case <-ledger.woken:
		case <-ledger.closing:
		}
		cancel()
	}
}

// next returns whether a request is due, or else after which delay the next one is: 0 if none is planned.
func (ledger *Ledger) next() (delay time.Duration, isDue bool) {
	ledger.lock()
	defer ledger.unlock()
	of := &ledger.timing
	of.isPlanned = false
	view := ledger.owner.View()
	claims := ledger.claims(view)
	if claims == nil {
		return 0, false
	}
	basis := ledger.basis(view, claims)
	if of.unsettledSince == never && !ledger.journal.isSettled() {
		of.unsettledSince = basis.now
	}
	isWaiting := len(ledger.queue.calls) > 0
	due, retryAt := basis.now, longAgo
	if !isWaiting {
		due = basis.due(of.requestedAt, of.unsettledSince, ledger.isShort)
	}
	if !isWaiting || !ledger.isReachable() {
		retryAt = ledger.retryAt()
	}
	at := latest(due, of.pausedUntil, retryAt)
	if at <= basis.now {
		of.requestedAt = basis.now
		return 0, true
	}
	if at >= never {
		return 0, false
	}
	of.isPlanned = true
	return soonest(at-basis.now, longestTimer), false
}

// refillOnce refills, and answers the calls that it cannot help.
func (ledger *Ledger) refillOnce(ctx context.Context) {
	wasConfirmed := ledger.owner.View().IsConfirmed
	came, err := ledger.refill(ctx, false)
	isProblem := err != nil && !isAway(err)
	if isProblem && (!wasConfirmed || ledger.owner.HasEnded(err)) {
		ledger.owner.Refetch(ctx)
	}
	ledger.lock()
	defer ledger.unlock()
	ledger.answerAfter(err, isProblem, wasConfirmed)
	of := &ledger.timing
	switch {
	case err == nil && came != nothing:
		// What was spent since the request is not settled.
		if of.unsettledSince = of.requestedAt; ledger.journal.isSettled() {
			of.unsettledSince = never
		}
	case err == nil || isProblem:
		of.pausedUntil = ledger.now() + pauseFor
	}
}

// answerAfter answers the calls that a request could not help. After a start, the time by which it names its periods may be that
// of a wrong clock, so a rejection says nothing before the service has confirmed the time.
func (ledger *Ledger) answerAfter(err error, isProblem, wasConfirmed bool) {
	view := ledger.owner.View()
	isOfClock := isProblem && !wasConfirmed && !view.IsRevoked
	switch {
	case err != nil && !isProblem, isOfClock && !view.IsConfirmed:
		ledger.queue.end(func(waiting *call) (*Answers, error) { return ledger.late(waiting.wish, waiting.lack) })
	case isProblem && !isOfClock && !ledger.isAtBoundary(view):
		ledger.queue.end(func(*call) (*Answers, error) {
			if view.IsRevoked {
				return nil, ErrNoSnapshot
			}
			return nil, err
		})
	default:
		ledger.serve(nil, nil)
	}
}

// isAtBoundary reports whether a request was rejected because a period ends: at the service it has ended, and here it ends, or
// just has.
func (ledger *Ledger) isAtBoundary(view View) bool {
	claims := ledger.claims(view)
	if claims == nil {
		return false
	}
	return ledger.basis(view, claims).isAtBoundary()
}

func (one *basis) isAtBoundary() bool {
	isNear := func(instant int64) bool {
		left := one.until(instant)
		return left < boundary && left > -boundary
	}
	for name := range one.demands {
		if found := one.figuresOf(name); found != nil && (isNear(found.startMillis) || found.hasEnd && isNear(found.endMillis)) {
			return true
		}
	}
	return false
}

// settleAll sends all that is not settled, and gives back the rest.
func (ledger *Ledger) settleAll() {
	ledger.lock()
	hasNothing := ledger.journal.token == "" && ledger.journal.isSettled()
	ledger.unlock()
	for !hasNothing {
		came, err := ledger.refill(ledger.ctx, true)
		if err != nil || came == nothing {
			return
		}
		ledger.lock()
		hasNothing = ledger.journal.isSettled()
		ledger.unlock()
	}
}
