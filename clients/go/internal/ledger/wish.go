package ledger

import (
	"errors"
	"time"

	"keyshelf.example/keyshelf/offline"
)

// ErrNoSnapshot says that no snapshot answers now: the access was ended, the snapshot has expired, or there is none.
var ErrNoSnapshot = errors.New("keyshelf: no snapshot answers")

var errOtherUse = errors.New("keyshelf: the idempotency key was used for another consumption")

// Source says who gave an answer: the snapshot with what was spent; the service, which granted no refill; or a policy, because
// none could be requested.
type Source int

// The sources of answers.
const (
	OfSnapshot Source = iota
	OfService
	OfPolicy
)

// View is what is known of the instance at a time.
type View struct {
	// Claims are those of the snapshot that answers, nil if none does.
	Claims *offline.Claims
	// At is the time of the service, Age that since it confirmed the snapshot.
	At  time.Time
	Age time.Duration
	// IsConfirmed says that it did so a short time ago, IsRevoked that it ended the access.
	IsConfirmed, IsRevoked bool
}

// Wish is what a caller wants to spend.
type Wish struct {
	Checks []offline.Check
	// Key spends once in a day; empty if there is none.
	Key string
	// Fails says that the call fails where no tranche pays and the service is away.
	Fails bool
	// hold takes the amounts instead of spending them.
	hold func([]offline.Spend)
}

// Answers are those to a wish.
type Answers struct {
	offline.Answers
	Source Source
	At     time.Time
	Age    time.Duration
}

func (answers *Answers) isAllowed() bool {
	for _, one := range answers.Checks {
		if !one.Allowed {
			return false
		}
	}
	return true
}

// lack is what a consumption waits for: all that it needs of limited entitlements, because what a tranche pays of it must be
// kept; and the part that no tranche pays.
type lack struct{ needs, lacks []offline.Refill }
