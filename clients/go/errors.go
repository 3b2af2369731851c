package keyshelf

import (
	"errors"

	"keyshelf.example/keyshelf/internal/journal"
	"keyshelf.example/keyshelf/internal/local"
	"keyshelf.example/keyshelf/internal/wire"
)

// ProblemError says that the service rejected the request, or could not handle it. Branch on its Code.
type ProblemError = wire.ProblemError

// ValidationError says what is wrong with a value of a request, and where.
type ValidationError = wire.ValidationError

// ConnectionError says that there was no response. The request may have been executed.
type ConnectionError = wire.ConnectionError

// ConfigurationError says that a setting of the client can never work, or that its token cannot be read. Nothing was sent,
// and no policy answers. Its text names the setting and never its value.
type ConfigurationError = wire.ConfigurationError

// SnapshotError says that the service sent a snapshot that cannot be taken, and why.
type SnapshotError = local.SnapshotError

var (
	// ErrBufferFull says that a buffer holds as many events as it may. The report was not accepted.
	ErrBufferFull = errors.New("keyshelf: the usage buffer is full")
	// ErrBufferLocked says that another process uses the file of a buffer.
	ErrBufferLocked = journal.ErrLocked
	// ErrClosed says that a client was closed.
	ErrClosed = local.ErrClosed
	// ErrReservationEnded says that a reservation has ended, or was denied.
	ErrReservationEnded = errors.New("keyshelf: the reservation has ended")
	// ErrSeatReleased says that a seat was released.
	ErrSeatReleased = errors.New("keyshelf: the seat was released")
)

// IsAway reports whether a call failed because the service was away, so that a product may go on without it.
func IsAway(err error) bool {
	var away interface{ IsAway() bool }
	return errors.As(err, &away) && away.IsAway()
}

// IsProblem reports whether a call failed with a problem of a code, such as "AcquireLease.LimitReached".
func IsProblem(err error, code string) bool {
	var problem *ProblemError
	return errors.As(err, &problem) && problem.Code == code
}
