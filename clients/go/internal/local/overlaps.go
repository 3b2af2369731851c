package local

import (
	"context"
	"time"

	"keyshelf.example/keyshelf/offline"
)

// Refills bring snapshots, too. What a fetch brings that overlaps one may be older, or show lines that are not settled here.

// refillWait is how long a fetch waits for a refill in flight: a change must decide within a second.
const refillWait = 200 * time.Millisecond

// takenRefill is when a refill was sent, and when its snapshot was taken, by the monotonic clock.
type takenRefill struct{ sent, taken time.Duration }

var noRefill = takenRefill{-1 << 62, -1 << 62}

// receiveRefill takes the snapshot of a refill, and returns its claims; nil if the access has ended.
func (one *holder) receiveRefill(ctx context.Context, reply Reply, sent time.Duration) (*offline.Claims, error) {
	one.receiving.Lock()
	defer one.receiving.Unlock()
	reply.MaxAge = one.facts.maxAge
	if err := one.receiveNext(ctx, reply, nil, sent); err != nil || one.snapshot == nil {
		return nil, err
	}
	one.refill = takenRefill{sent, one.now()}
	return one.snapshot.Claims, nil
}

// receiveFetch takes the response to a fetch. A refill that was sent after it has brought a newer snapshot. If one was in flight
// before, it is not known which snapshot is newer, so the fetch is to be repeated once.
func (one *holder) receiveFetch(ctx context.Context, reply Reply, err error, sent time.Duration, isRepeated bool) (isRepeat bool, failed error) {
	one.receiving.Lock()
	defer one.receiving.Unlock()
	if err == nil && !reply.Unchanged && one.refill.taken >= sent {
		if one.refill.sent < sent && !isRepeated {
			return true, nil
		}
		reply.Unchanged = one.refill.sent >= sent
	}
	return false, one.receiveNext(ctx, reply, err, sent)
}

// awaitRefill waits for a refill in flight, but not for long.
func (one *follower) awaitRefill(ctx context.Context) {
	inFlight := one.ledger.InFlight()
	if inFlight == nil {
		return
	}
	expired := make(chan struct{})
	defer one.options.Clock.After(refillWait, func() { close(expired) })()
	select {
	case <-inFlight:
	case <-expired:
	case <-ctx.Done():
	}
}
