package local

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

// Clock is the time and the dice of a client.
type Clock = clocks.Clock

// SystemClock is that of the machine.
func SystemClock() Clock {
	after := func(delay time.Duration, work func()) func() {
		timer := time.AfterFunc(delay, work)
		return func() { timer.Stop() }
	}
	return Clock{Read: clocks.Read, Random: wire.Random, After: after}
}

// Reply is the answer to a request for a snapshot.
type Reply struct {
	// Unchanged says that the snapshot with the ETag of the request is still right; then there is no token.
	Unchanged   bool
	Token, ETag string
	// MaxAge is how soon to ask again without a stream, 0 where the service does not say it.
	MaxAge time.Duration
	// Date is when the service sent it, by its own clock; zero where it does not say it.
	Date time.Time
}

// Service is what a client asks. Each request is sent once: the client repeats them itself.
type Service interface {
	// Snapshot is GET /instances/{slug}/snapshot.
	Snapshot(ctx context.Context, instance, etag string) (Reply, error)
	// Keys is GET /offline/{organization}/keys.
	Keys(ctx context.Context, organization string) (offline.Keys, error)
	// Changes is GET /changes. The stream ends with the context.
	Changes(ctx context.Context, instances []string) (io.ReadCloser, error)
	// Refill is POST /instances/{slug}/tranches.
	Refill(ctx context.Context, instance string, body any) (ledger.Response, error)
}

// Event is what a client reports about itself. It has no token, no key, and no amount.
type Event struct {
	// Type is state, snapshot, refill, settled, rejected or error.
	Type     string
	Instance string
	// State and Previous are of the type state.
	State, Previous State
	// Status is that of the verification, of the type snapshot. Taken says whether it is in force now.
	Status offline.Status
	Taken  bool
	// Satisfied says, of the type refill, whether it brought what was needed.
	Satisfied bool
	// Lines are how many the service has counted, of the type settled.
	Lines int
	// Code is why the service rejected a line of the ledger or the ledger, of the type rejected.
	Code string
	// Err is of the type error.
	Err error
}

// Options are what a client is made of.
type Options struct {
	Clock   Clock
	Service Service
	// Store is nil where all is in memory.
	Store *Store
	// Keys are part of the product. Without them, those count that the service published at the first fetch.
	Keys     offline.Keys
	Issuer   string
	Families []string
	// Bundle is shipped with the product, for a start without anything stored.
	Bundle       string
	StartTimeout time.Duration
	// FlushAlways lets each consumption wait for the disk.
	FlushAlways bool
	OnEvent     func(Event)
}

// ErrClosed says that a client was closed.
var ErrClosed = ledger.ErrClosed

// SnapshotError says that the service sent a snapshot that cannot be taken.
type SnapshotError struct{ Status offline.Status }

func (failed *SnapshotError) Error() string {
	return "keyshelf: the snapshot of the service cannot be taken: " + string(failed.Status)
}

// IsAway reports whether a product may go on as if the service were away. One of another license family was chosen by the
// vendor: that must be seen.
func (failed *SnapshotError) IsAway() bool { return failed.Status != offline.WrongLicense }

// isAway reports whether a request failed because the service was away.
func isAway(err error) bool {
	var away interface{ IsAway() bool }
	return errors.As(err, &away) && away.IsAway()
}

// isEnd reports whether an answer of the service ends the access. A page of a proxy does not.
func isEnd(err error) bool {
	var problem *wire.ProblemError
	var rejected *SnapshotError
	if errors.As(err, &rejected) {
		return rejected.Status == offline.WrongLicense
	}
	if !errors.As(err, &problem) {
		return false
	}
	switch problem.Code {
	case "Auth.InvalidCredential":
		return problem.Status == http.StatusUnauthorized
	case "Auth.MissingScope":
		return problem.Status == http.StatusForbidden
	case "Instance.NotFound":
		return problem.Status == http.StatusNotFound
	}
	return false
}
