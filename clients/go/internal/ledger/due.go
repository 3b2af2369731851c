package ledger

import (
	"math"
	"time"
)

const (
	// settleWithin is how long a unit that was spent is not settled.
	settleWithin = 5 * time.Second
	// spacing is how frequent requests are at most, unless a call waits.
	spacing = time.Second
	// renewBefore is how long before it can be spent no longer what is reserved is kept alive.
	renewBefore = 10 * time.Minute
	// never is a time that does not come, and long ago one that has passed; both leave room for a sum.
	never   = time.Duration(math.MaxInt64 / 4)
	longAgo = -never
	// farMillis bounds the time until an instant: a duration has room for 292 years.
	farMillis = 1_000_000_000_000
)

// soonest is the earliest of times.
func soonest(times ...time.Duration) time.Duration {
	first := never
	for _, one := range times {
		if one < first {
			first = one
		}
	}
	return first
}

func latest(times ...time.Duration) time.Duration {
	last := longAgo
	for _, one := range times {
		if one > last {
			last = one
		}
	}
	return last
}

// dueOf is when what an entitlement holds must change. isShort says that the last refill brought little of it.
func (one *basis) dueOf(name string, isShort bool) time.Duration {
	found := one.figuresOf(name)
	if found == nil {
		return never
	}
	due := never
	recent := one.uses.recent(name, one.now)
	if !isShort && plus(found.unspent, found.unspent).Cmp(recent) < 0 {
		due = one.now
	}
	next := noDemand.need
	if found.hasEnd {
		next = one.left(name, found.end)
	}
	if found.unspent.Sign() > 0 || next.Sign() > 0 {
		due = soonest(due, one.uses.lastAt(name)+useFor)
	}
	if found.hasEnd && recent.Sign() > 0 && !isShort && plus(next, next).Cmp(recent) < 0 {
		due = soonest(due, one.now+one.until(found.endMillis)-early)
	}
	return due
}

// due is when the next request is due if no call waits. requestedAt is when the last one was sent, unsettledSince when the
// first unit was spent that is not settled.
func (one *basis) due(requestedAt, unsettledSince time.Duration, isShort func(string) bool) time.Duration {
	due := soonest(unsettledSince + settleWithin)
	for _, name := range one.names() {
		due = soonest(due, one.dueOf(name, isShort(name)))
	}
	if tranche := one.claims.Tranche; tranche != nil && len(one.reserved) > 0 {
		due = soonest(due, one.now+one.until(tranche.Until*1000)-renewBefore)
	}
	return latest(requestedAt+spacing, due)
}

// until is the time from now until an instant of the service, in milliseconds since 1970.
func (one *basis) until(instant int64) time.Duration {
	millis := instant - one.at.UnixMilli()
	if millis > farMillis {
		millis = farMillis
	}
	if millis < -farMillis {
		millis = -farMillis
	}
	return time.Duration(millis) * time.Millisecond
}
