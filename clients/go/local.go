package keyshelf

import (
	"context"
	"errors"
	"time"

	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/wire"
)

// State says by what an instance is answered.
type State = local.State

// The states of an instance.
const (
	// StateStarting: the first snapshot is fetched, and nothing was stored.
	StateStarting = local.Starting
	// StateLive: the service says at once what changes.
	StateLive = local.Live
	// StatePolling: there is no stream of changes; the service confirmed the snapshot a short time ago.
	StatePolling = local.Polling
	// StateStale: it did so longer ago, or the snapshot was stored by another process.
	StateStale = local.Stale
	// StateExpired: the snapshot has expired. The vendor chose whether it answers on.
	StateExpired = local.Expired
	// StateNone: there is no usable snapshot, and the service is away or rejects the request.
	StateNone = local.None
	// StateRevoked: the service ended the access.
	StateRevoked = local.Revoked
	// StateClosed: the client was closed.
	StateClosed = local.Closed
)

// Event is what a client reports about itself: of the Type state, snapshot, refill, settled, rejected or error.
type Event = local.Event

// Status is what a client knows of an instance.
type Status struct {
	State State
	// Age is the time since the service confirmed the snapshot; nil without one.
	Age *time.Duration
	// ETag is that of the snapshot.
	ETag string
	// ExpiresAt is until when the snapshot answers without the service; nil without one.
	ExpiresAt *time.Time
	// Err is what the last fetch failed with.
	Err error
	// Tranches are what can be consumed without a request.
	Tranches []Tranche
	// Unsettled is what was consumed, and the service has not counted yet.
	Unsettled []Unsettled
}

// Tranche is what can be consumed of an entitlement in a period without a request, until a time.
type Tranche struct {
	Entitlement string
	PeriodStart time.Time
	Unspent     Amount
	SpendUntil  time.Time
}

// Unsettled is what was consumed of an entitlement in a period, and the service has not counted yet.
type Unsettled struct {
	Entitlement string
	PeriodStart time.Time
	Amount      Amount
}

var errRemote = errors.New("keyshelf: a remote client holds no snapshot")

// Start begins with an instance: it takes what is stored, follows the service, and waits until checks can be answered, at
// most for the timeout of the start. The first use of an instance begins too. It fails with what the service rejects, such
// as a wrong token. An absent service is no error: see Status.
func (client *Client) Start(ctx context.Context, instance string) error {
	if client.isClosed.Load() {
		return ErrClosed
	}
	if _, err := wire.Path("instances", instance); err != nil || client.local == nil {
		return err
	}
	view, err := client.local.Start(ctx, instance)
	if err != nil {
		return err
	}
	return view.Refusal()
}

// Status is what is known of an instance. A remote client knows nothing.
func (client *Client) Status(instance string) Status {
	if client.isClosed.Load() {
		return Status{State: StateClosed}
	}
	if _, err := wire.Path("instances", instance); err != nil || client.local == nil {
		return Status{State: StateNone, Err: err}
	}
	view, err := client.local.Glance(instance)
	if err != nil {
		return Status{State: StateClosed}
	}
	status := Status{State: view.State, Err: view.Err}
	if view.HasAge {
		status.Age = &view.Age
	}
	if view.Snapshot != nil {
		expires := time.Unix(view.Snapshot.Claims.Expires, 0).UTC()
		status.ETag, status.ExpiresAt = view.Snapshot.ETag, &expires
	}
	holdings := view.Holdings()
	for _, one := range holdings.Tranches {
		status.Tranches = append(status.Tranches, Tranche{
			one.Entitlement, periodStartOf(one.Period), Amount(one.Amount), time.Unix(holdings.Until, 0).UTC(),
		})
	}
	for _, one := range holdings.Unsettled {
		status.Unsettled = append(status.Unsettled, Unsettled{one.Entitlement, periodStartOf(one.Period), Amount(one.Amount)})
	}
	return status
}

// periodStartOf reads the start of a period, zero if it is none.
func periodStartOf(text string) time.Time {
	if start := timeOf(text); start != nil {
		return *start
	}
	return time.Time{}
}

// Refresh fetches the snapshot of an instance now: the next check knows what changed before. It fails if the service did
// not send one, and of a remote client.
func (client *Client) Refresh(ctx context.Context, instance string) error {
	if client.isClosed.Load() {
		return ErrClosed
	}
	if client.local == nil {
		return errRemote
	}
	if _, err := wire.Path("instances", instance); err != nil {
		return err
	}
	return client.local.Refresh(ctx, instance)
}

// Close settles what was consumed and gives back what is left, in at most 5 seconds. Then it ends the goroutines and the stream,
// stores the snapshots, and frees the directory. Calls fail from the beginning on.
func (client *Client) Close(ctx context.Context) error {
	client.isClosed.Store(true)
	if client.local == nil {
		return nil
	}
	return client.local.Close(ctx)
}

// answered answers checks without a request.
func (client *Client) answered(ctx context.Context, instance string, checks []Check, policy Policy) (*CheckResult, error) {
	view, err := client.local.Look(ctx, instance)
	if err != nil {
		return nil, err
	}
	verdict, err := view.Verdict(local.Policy(policy))
	if err != nil {
		return nil, err
	}
	return resultOf(instance, checks, view, verdict), nil
}

// resultOf is what a verdict says about checks.
func resultOf(instance string, checks []Check, view local.View, verdict local.Verdict) *CheckResult {
	if verdict.Snapshot != nil {
		return snapshotResult(checks, view)
	}
	source := FromPolicy
	if verdict.IsOfService {
		source = FromService
	}
	result := sameResult(instance, checks, Answer{Allowed: verdict.Allowed, Reason: verdict.Reason, Source: source, Age: view.Age})
	result.Confirmed = verdict.IsOfService
	return result
}

// sameResult answers all checks alike.
func sameResult(instance string, checks []Check, answer Answer) *CheckResult {
	result := &CheckResult{Instance: instance, Checks: make([]Answer, len(checks))}
	for place, check := range checks {
		result.Checks[place] = answer
		result.Checks[place].Entitlement = check.Entitlement
	}
	return result
}
