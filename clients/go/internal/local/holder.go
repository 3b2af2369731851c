package local

import (
	"context"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

const (
	// A smaller difference of clocks is that of a header which has whole seconds, and of the way.
	maxClockDifference = 5 * time.Second
	// A snapshot that is older than the one in force by more is of a node that is behind, or was sent again.
	maxOlderSeconds = 300
)

// moment is the time of the service at a reading of the monotonic clock.
type moment struct {
	millis    int64
	monotonic time.Duration
}

func (one moment) at(now time.Duration) int64 {
	return one.millis + (now - one.monotonic).Milliseconds()
}

// holder holds the snapshot of one instance: it takes what the service sends, stores it, and ends it when the service says
// so. One goroutine at a time changes it; the mutex guards what others read.
type holder struct {
	slug    string
	options *Options
	own     trusting
	// receiving lets one response be taken after the other.
	receiving sync.Mutex
	// refill is the last one whose snapshot was taken.
	refill takenRefill

	mutex    sync.Mutex
	facts    facts
	snapshot *Snapshot
	trust    trust
	base     moment
	// revokedAt is when the service ended the access, in milliseconds since 1970; 0 if it did not.
	revokedAt int64
	// isShipped says that the snapshot is the bundle of the product, which is not stored.
	isShipped bool
	// failure is what the last fetch failed with.
	failure error
	// storing lets one write follow the other, so that the last one is the newest.
	storing sync.Mutex
}

func newHolder(slug string, options *Options) *holder {
	now := options.Clock.Read()
	own := trusting{options.Keys, options.Issuer, options.Families}
	return &holder{
		slug: slug, options: options, own: own, facts: newFacts(), base: moment{now.Wall.UnixMilli(), now.Monotonic}, refill: noRefill,
	}
}

func (one *holder) tell(event Event) {
	event.Instance = one.slug
	one.options.tell(event)
}

// tell calls the function of the product. A fault in it must not stop the client: it is for metrics.
func (options *Options) tell(event Event) {
	if options.OnEvent == nil {
		return
	}
	defer func() { _ = recover() }()
	options.OnEvent(event)
}

// restore takes what was stored, or what was shipped with the product: the newer of both.
func (one *holder) restore() {
	now := one.options.Clock.Read()
	if store := one.options.Store; store != nil {
		if stored := store.newest(one.slug); stored != nil {
			one.trust = trust{textOf(stored.Issuer), stored.Keys, stored.State}
			if stored.RevokedAt != nil {
				one.revokedAt, _ = values.Millis(*stored.RevokedAt)
				one.facts.isRevoked = true
				return
			}
			one.keep(textOf(stored.Token), textOf(stored.ETag), stored.confirmedAt(), now)
		}
	}
	if one.options.Bundle != "" {
		one.keep(one.options.Bundle, "", time.Time{}, now)
	}
}

// keep takes a token that was stored or shipped, if it is usable and newer than what is held. A bundle that was shipped was
// confirmed when it was issued.
func (one *holder) keep(token, etag string, confirmed time.Time, now clocks.Reading) {
	by := one.trust
	if _, issuer := unverified(token); by.issuer == "" {
		by.issuer = issuer
	}
	if one.own.issuer != "" {
		by.issuer = one.own.issuer
	}
	found := one.own.verifyKept(token, one.slug, by, now.Wall)
	if found.snapshot == nil {
		return
	}
	claims := found.snapshot.Claims
	if one.snapshot != nil && claims.IssuedAt <= one.snapshot.Claims.IssuedAt {
		return
	}
	one.isShipped = confirmed.IsZero()
	if one.isShipped {
		confirmed = time.Unix(claims.IssuedAt, 0)
	}
	found.snapshot.ETag = etag
	by.state = found.state
	millis := now.Wall.UnixMilli()
	for _, seen := range []int64{claims.IssuedAt, found.state.Latest} {
		if seen*1000 > millis {
			millis = seen * 1000
		}
	}
	one.snapshot, one.trust, one.base = found.snapshot, by, moment{millis, now.Monotonic}
	one.facts.hasSnapshot, one.facts.exp = true, claims.Expires
	one.facts.confirmedAt = now.Monotonic
	if age := millis - confirmed.UnixMilli(); age > 0 {
		one.facts.confirmedAt -= time.Duration(age) * time.Millisecond
	}
}

// heard is the time of a response. Without a header, or close to it, the clock of the machine is right.
func heard(now clocks.Reading, date time.Time) moment {
	wall := now.Wall
	if difference := date.Sub(wall); !date.IsZero() && (difference > maxClockDifference || difference < -maxClockDifference) {
		wall = date
	}
	return moment{wall.UnixMilli(), now.Monotonic}
}

// receive takes a response. `sent` is when its request was sent. It returns nil if the service confirmed or ended what is
// held, else what failed.
func (one *holder) receive(ctx context.Context, reply Reply, err error, sent time.Duration) error {
	one.receiving.Lock()
	defer one.receiving.Unlock()
	return one.receiveNext(ctx, reply, err, sent)
}

func (one *holder) receiveNext(ctx context.Context, reply Reply, err error, sent time.Duration) error {
	at := heard(one.options.Clock.Read(), reply.Date)
	switch {
	case err == nil && reply.Unchanged:
		one.mutex.Lock()
		defer one.mutex.Unlock()
		if one.snapshot != nil {
			one.confirm(at, sent, reply.MaxAge)
		}
		return nil
	case err == nil:
		err = one.take(ctx, reply, at, sent)
	}
	one.mutex.Lock()
	one.failure = err
	if !isEnd(err) || (one.snapshot == nil && !one.facts.isRevoked) {
		one.mutex.Unlock()
		return err
	}
	one.revokedAt, one.isShipped = one.base.at(one.now()), false
	one.mutex.Unlock()
	// It is written down before anybody knows it: no crash revives what was ended.
	one.store()
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.snapshot = nil
	one.facts.isRevoked, one.facts.hasSnapshot = true, false
	return nil
}

func (one *holder) confirm(at moment, sent, maxAge time.Duration) {
	if maxAge <= 0 {
		maxAge = defaultMaxAge
	}
	if state := one.trust.state; state != nil {
		// The time of the service counts, whatever the clock once showed.
		seen := *state
		if seen.Latest = at.millis / 1000; seen.Latest < one.snapshot.Claims.IssuedAt {
			seen.Latest = one.snapshot.Claims.IssuedAt
		}
		one.trust.state = &seen
	}
	one.base, one.failure = at, nil
	one.facts.confirmedAt, one.facts.requestedAt, one.facts.maxAge = at.monotonic, sent, maxAge
	one.facts.isRestored = false
}

// take verifies a snapshot, and puts it into force.
func (one *holder) take(ctx context.Context, reply Reply, at moment, sent time.Duration) error {
	by, err := one.trustFor(ctx, reply.Token)
	if err != nil {
		return err
	}
	found := one.own.verifySent(reply.Token, one.slug, by, time.UnixMilli(at.millis))
	if found.snapshot != nil && one.snapshot != nil && found.snapshot.Claims.IssuedAt < one.snapshot.Claims.IssuedAt-maxOlderSeconds {
		found = verified{status: offline.Superseded}
	}
	one.tell(Event{Type: "snapshot", Status: found.status, Taken: found.snapshot != nil})
	if found.snapshot == nil {
		return &SnapshotError{found.status}
	}
	found.snapshot.ETag = reply.ETag
	by.state = found.state
	one.mutex.Lock()
	one.snapshot, one.trust, one.isShipped, one.revokedAt = found.snapshot, by, false, 0
	one.facts.isRevoked, one.facts.hasSnapshot, one.facts.exp = false, true, found.snapshot.Claims.Expires
	one.confirm(at, sent, reply.MaxAge)
	one.mutex.Unlock()
	one.store()
	return nil
}

// trustFor is what verifies a token that the service has just sent: the keys of the product, or those that the service
// publishes now if another key signed than before.
func (one *holder) trustFor(ctx context.Context, token string) (trust, error) {
	by := one.trust
	kid, issuer := unverified(token)
	if one.own.issuer != "" {
		issuer = one.own.issuer
	}
	_, isKnown := by.keys[kid]
	isSame := isKnown && issuer == by.issuer && one.snapshot != nil && one.snapshot.kid == kid
	by.issuer = issuer
	organization, isIssuer := organizationOf(issuer)
	if one.own.keys != nil || isSame || !isIssuer {
		return by, nil
	}
	keys, err := one.options.Service.Keys(ctx, organization)
	if err != nil {
		return trust{}, err
	}
	by.keys = keys
	if by.state != nil {
		// These came from keys that the service may have revoked.
		state := *by.state
		state.Keys = map[string]offline.LearnedKey{}
		by.state = &state
	}
	return by, nil
}

// store stores the snapshot with the latest time that was seen, or that the access was ended.
func (one *holder) store() {
	if err := one.write(); err != nil {
		one.tell(Event{Type: "error", Err: err})
	}
}

func (one *holder) write() error {
	one.storing.Lock()
	defer one.storing.Unlock()
	one.mutex.Lock()
	store, state, isShipped := one.options.Store, one.trust.state, one.isShipped
	// What is stored and cannot be used now, for example because the clock is wrong, stays as it is.
	isHeld := one.snapshot != nil || one.revokedAt != 0
	if store == nil || state == nil || isShipped || !isHeld {
		one.mutex.Unlock()
		return nil
	}
	now := one.options.Clock.Read().Monotonic
	time := one.base.at(now)
	seen := *state
	// A clock that was wrong from the start must not lock anybody out when it is right again.
	wasExpired := one.facts.isRestored && one.base.millis >= one.facts.exp*1000
	if latest := time / 1000; latest > seen.Latest && !wasExpired {
		seen.Latest = latest
	}
	stored := record{
		Instance:    one.slug,
		ConfirmedAt: values.InstantText(time - (now - one.facts.confirmedAt).Milliseconds()),
		Issuer:      textOrNil(one.trust.issuer),
		State:       &seen,
	}
	if one.own.keys == nil {
		stored.Keys = one.trust.keys
	}
	if one.revokedAt != 0 {
		stored.RevokedAt = textOrNil(values.InstantText(one.revokedAt))
	} else {
		stored.Token, stored.ETag = &one.snapshot.Token, textOrNil(one.snapshot.ETag)
	}
	one.mutex.Unlock()
	return store.write(seen.Subject, &stored)
}
