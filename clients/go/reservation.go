package keyshelf

import (
	"context"
	"errors"
	"net/http"
	"time"

	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/wire"
)

// maxReservation is the longest time of a reservation.
const maxReservation = 24 * time.Hour

// Reservation is a quantity that is set aside for work whose cost is known only afterwards. It ends by itself after its time; one
// of a local client is in memory, and ends with the process too.
type Reservation struct {
	// Answer says whether the quantity is reserved, or why it is not: then Commit and Release fail with ErrReservationEnded.
	Answer Answer `json:"-"`
	// ID is that of the service, empty for a local client.
	ID        string    `json:"id"`
	Quantity  Amount    `json:"quantity"`
	ExpiresAt time.Time `json:"expiresAt"`
	transport *wire.Transport
	held      *ledger.Reservation
}

// Reserve sets a quantity aside for a time: whole seconds, from 1 second to 24 hours. It counts in the period in which it
// begins. See Answer of the result: what does not fit is no error.
func (client *Client) Reserve(ctx context.Context, instance, entitlement string, quantity Amount, ttl time.Duration, options ...CheckOption) (*Reservation, error) {
	if client.isClosed.Load() {
		return nil, ErrClosed
	}
	path, err := wire.Path("instances", instance, "entitlements", entitlement, "reservations")
	if err != nil {
		return nil, err
	}
	chosen := client.chosen(options)
	checks := []Check{{entitlement, quantity}}
	if _, err := quantity.countable(); err != nil {
		return nil, err
	}
	if err := chosen.check(checkBody{Checks: checks, Consume: true}); err != nil {
		return nil, err
	}
	if ttl < time.Second || ttl > maxReservation {
		return nil, errors.New("keyshelf: the time of a reservation is from 1 second to 24 hours")
	}
	if chosen.isRemote {
		return client.reserveRemotely(ctx, path, entitlement, quantity, ttl)
	}
	reserved := &Reservation{Quantity: quantity}
	wish := ledger.Wish{Checks: checksOf(checks), Fails: chosen.policy == Fail}
	result, err := client.spent(instance, checks, chosen.policy, func() (answers *ledger.Answers, err error) {
		answers, reserved.held, err = client.local.Reserve(ctx, instance, wish, ttl)
		return answers, err
	})
	if err != nil {
		return nil, err
	}
	reserved.Answer, reserved.ExpiresAt = result.Checks[0], time.Now().Add(ttl)
	return reserved, nil
}

func (client *Client) reserveRemotely(ctx context.Context, path, entitlement string, quantity Amount, ttl time.Duration) (*Reservation, error) {
	reserved := &Reservation{transport: client.transport}
	// A random key lets the client repeat the request: the service reserves once.
	err := reserved.send(ctx, wire.Request{
		Method: http.MethodPost, Path: path, IdempotencyKey: wire.NewID(),
		Body: map[string]any{"quantity": quantity, "expiresInSeconds": int64(ttl / time.Second)},
	})
	if IsProblem(err, "Reserve.LimitReached") {
		return &Reservation{Quantity: quantity, Answer: Answer{Entitlement: entitlement, Reason: "LIMIT_REACHED", Source: FromService}}, nil
	}
	reserved.Answer = Answer{Entitlement: entitlement, Allowed: true, Reason: "GRANTED", Source: FromService}
	return reserved, err
}

// Commit counts what was used, at most what is reserved, and frees the rest. It fails with ErrReservationEnded if the reservation
// has ended; of one of the service, with its problem.
func (reserved *Reservation) Commit(ctx context.Context, used Amount) error {
	plain, err := used.countable()
	if err != nil {
		return err
	}
	if reserved.transport == nil {
		if reserved.held == nil {
			return ErrReservationEnded
		}
		isOpen, err := reserved.held.Commit(plain)
		return wasOpen(isOpen, err)
	}
	path, err := wire.Path("reservations", reserved.ID, "commit")
	if err != nil {
		return err
	}
	ended := &Reservation{transport: reserved.transport}
	return ended.send(ctx, wire.Request{
		Method: http.MethodPost, Path: path, Body: map[string]any{"quantity": used}, IdempotencyKey: wire.NewID(),
	})
}

func wasOpen(isOpen bool, err error) error {
	if err == nil && !isOpen {
		return ErrReservationEnded
	}
	return err
}

// Release frees what is reserved. It fails with ErrReservationEnded if the reservation has ended; one of the service is 409
// Reservation.NotHeld then.
func (reserved *Reservation) Release(ctx context.Context) error {
	if reserved.transport == nil {
		return wasOpen(reserved.held != nil && reserved.held.Release(), nil)
	}
	path, err := wire.Path("reservations", reserved.ID)
	if err != nil {
		return err
	}
	_, err = reserved.transport.Send(ctx, wire.Request{Method: http.MethodDelete, Path: path, Promise: wire.Nothing})
	return err
}

func (reserved *Reservation) send(ctx context.Context, request wire.Request) error {
	response, err := reserved.transport.Send(ctx, request)
	if err != nil {
		return err
	}
	if err := reserved.transport.Decode(response, reserved); err != nil {
		return err
	}
	if reserved.ID == "" {
		return reserved.transport.Foreign(errors.New("the response is not a reservation"))
	}
	return nil
}
