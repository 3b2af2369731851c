package keyshelf

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/wire"
)

const defaultTTL = 300 * time.Second

// SeatOptions configure a seat.
type SeatOptions struct {
	// TTL is for how long it is held without renewal: whole seconds, from 10 seconds to 7 days. The default is 5 minutes.
	TTL      time.Duration
	Metadata map[string]any
}

// Seat is a seat of a CONCURRENT entitlement. It ends by itself after its time, and is free at once after Release.
// Nothing renews it unless you call Renew, or run Keep.
type Seat struct {
	transport *wire.Transport
	path      string
	holder    string
	ttl       time.Duration

	// requests lets one request follow the other. The mutex guards what they change, and is not held while they run.
	requests   sync.Mutex
	mutex      sync.Mutex
	id         string
	since      clocks.Reading
	isReleased bool
	released   chan struct{}
}

// AcquireSeat takes a seat for a holder, such as a user or a device. If all are taken, it fails with a *ProblemError of
// the code AcquireLease.LimitReached.
func (client *Client) AcquireSeat(ctx context.Context, instance, entitlement, holder string, options SeatOptions) (*Seat, error) {
	path, err := wire.Path("instances", instance, "entitlements", entitlement, "leases")
	if err != nil {
		return nil, err
	}
	if options.TTL == 0 {
		options.TTL = defaultTTL
	}
	if !isLabel(holder) {
		return nil, errors.New("keyshelf: the holder must be a text of 1 to 255 characters")
	}
	if options.TTL < 0 {
		return nil, errors.New("keyshelf: the TTL must be above 0")
	}
	seat := &Seat{transport: client.transport, path: path, holder: holder, ttl: options.TTL, released: make(chan struct{})}
	if err := seat.acquire(ctx, options.Metadata); err != nil {
		return nil, err
	}
	return seat, nil
}

// ID is the id of the lease.
func (seat *Seat) ID() string {
	seat.mutex.Lock()
	defer seat.mutex.Unlock()
	return seat.id
}

// Remaining is the time for which the seat is surely held, by the clocks of this machine.
func (seat *Seat) Remaining() time.Duration {
	seat.mutex.Lock()
	defer seat.mutex.Unlock()
	if left := seat.ttl - clocks.Elapsed(seat.since, clocks.Read()); left > 0 && !seat.isReleased {
		return left
	}
	return 0
}

// IsHeld reports whether the seat is surely held now.
func (seat *Seat) IsHeld() bool { return seat.Remaining() > 0 }

// Renew holds the seat for its whole time from now on. If it had ended and others took it, it fails with a *ProblemError
// of the code AcquireLease.LimitReached. While the service is away, the seat stays held until its time is up.
func (seat *Seat) Renew(ctx context.Context) error {
	return seat.acquire(ctx, nil)
}

// Keep renews the seat three times in its time, until ctx ends, the seat is released, or others took it. It blocks: run
// it in a goroutine.
func (seat *Seat) Keep(ctx context.Context) error {
	ticker := time.NewTicker(seat.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-seat.released:
			return nil
		case <-ticker.C:
			// Another attempt follows while the service is away.
			if err := seat.Renew(ctx); errors.Is(err, ErrSeatReleased) {
				return nil
			} else if err != nil && !IsAway(err) {
				return err
			}
		}
	}
}

// Release frees the seat. If that fails, it ends by its time.
func (seat *Seat) Release(ctx context.Context) error {
	seat.mutex.Lock()
	if seat.isReleased {
		seat.mutex.Unlock()
		return nil
	}
	seat.isReleased = true
	close(seat.released)
	seat.mutex.Unlock()
	seat.requests.Lock()
	defer seat.requests.Unlock()
	request := wire.Request{Method: http.MethodDelete, Path: seat.path + "/" + seat.ID(), Promise: wire.Nothing}
	_, err := seat.transport.Send(ctx, request)
	// Not found: it has ended, or the response to the first attempt was lost.
	if IsProblem(err, "Lease.NotFound") {
		return nil
	}
	return err
}

func (seat *Seat) acquire(ctx context.Context, metadata map[string]any) error {
	body := map[string]any{"holder": seat.holder, "ttlSeconds": int64(seat.ttl / time.Second)}
	if metadata != nil {
		body["metadata"] = metadata
	}
	seat.requests.Lock()
	defer seat.requests.Unlock()
	select {
	case <-seat.released:
		return ErrSeatReleased
	default:
	}
	since := clocks.Read()
	// A holder has one lease: a repeated request renews it. The key distinguishes a repetition from the next renewal.
	request := wire.Request{Method: http.MethodPost, Path: seat.path, Body: body, IdempotencyKey: wire.NewID()}
	response, err := seat.transport.Send(ctx, request)
	if err != nil {
		return err
	}
	var lease struct {
		ID        string `json:"id"`
		ExpiresAt string `json:"expiresAt"`
	}
	if err := seat.transport.Decode(response, &lease); err != nil {
		return err
	}
	if lease.ID == "" || lease.ExpiresAt == "" {
		return seat.transport.Foreign(errors.New("the response is not a lease"))
	}
	// The time counts from before the request: the seat is never taken for held longer than by the service.
	seat.mutex.Lock()
	defer seat.mutex.Unlock()
	seat.id, seat.since = lease.ID, since
	return nil
}
