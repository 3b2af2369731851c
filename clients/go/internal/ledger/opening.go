package ledger

import (
	"errors"
	"os"
	"time"

	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

func (ledger *Ledger) newJournal() (*journal, error) {
	return newJournal("urn:keyshelf:ledger:" + wire.NewID())
}

// open opens what is stored, once. A directory that cannot be used fails the calls, each time.
func (ledger *Ledger) open() error {
	if ledger.isOpen() {
		return nil
	}
	ledger.opening.Lock()
	defer ledger.opening.Unlock()
	id := ledger.owner.ID()
	if ledger.isOpen() || id == "" {
		return nil
	}
	opened, read, err := ledger.read(id)
	if err != nil {
		return err
	}
	tranche := ledger.trancheOf(read)
	ledger.lock()
	defer ledger.unlock()
	if ledger.isClosed {
		_ = opened.close()
		return ErrClosed
	}
	ledger.store = opened
	ledger.setTranche(tranche)
	ledger.holdings.open(read)
	go ledger.run()
	return nil
}

// read reads the journal. Nothing is spent before it is replaced: a record after a line that was cut off would be lost.
func (ledger *Ledger) read(id string) (*store, *journal, error) {
	fresh, err := ledger.newJournal()
	if err != nil || ledger.options.Path == nil {
		return nil, fresh, err
	}
	path, err := ledger.options.Path(id)
	if err != nil {
		return nil, nil, err
	}
	failed := func(err error) { ledger.owner.Tell(Event{Type: "error", Err: err}) }
	opened, read, isDamaged, err := openStore(path, ledger.options.Clock, failed)
	if err != nil {
		return nil, nil, err
	}
	if read == nil {
		return opened, fresh, nil
	}
	if isDamaged {
		read = read.renewed(fresh)
	}
	if err := opened.replace(read, ledger.owner.View().At.UnixMilli()); err != nil {
		_ = opened.close()
		return nil, nil, err
	}
	return opened, read, nil
}

// trancheOf is the tranche of the snapshot that came when the journal was settled, if it is at its position.
func (ledger *Ledger) trancheOf(read *journal) *offline.Tranche {
	if read.token == "" {
		return nil
	}
	claims := ledger.owner.Verify(read.token)
	if claims == nil || claims.Tranche == nil || claims.Tranche.Source != read.source || claims.Tranche.Position != read.base {
		return nil
	}
	return claims.Tranche
}

func (ledger *Ledger) isOpen() bool {
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	return ledger.journal != nil
}

// Contact says that something was stored, or that the service responded: what waits for that goes on. It opens a ledger that
// another process left.
func (ledger *Ledger) Contact() {
	if ledger.isOpen() {
		ledger.wake()
		return
	}
	id := ledger.owner.ID()
	if ledger.options.Path == nil || id == "" {
		return
	}
	path, err := ledger.options.Path(id)
	if err == nil {
		if _, missing := os.Stat(path); missing != nil {
			return
		}
		err = ledger.open()
	}
	if err != nil && !errors.Is(err, ErrClosed) {
		ledger.owner.Tell(Event{Type: "error", Err: err})
	}
}

// Close settles, gives back what is not spent, and frees the file. It takes at most 5 seconds.
func (ledger *Ledger) Close() error {
	ledger.lock()
	wasClosed, isOpen := ledger.isClosed, ledger.journal != nil
	ledger.isClosed = true
	if isOpen && !wasClosed {
		ledger.queue.end(func(waiting *call) (*Answers, error) { return ledger.late(waiting.wish, waiting.lack) })
		ledger.endReservations()
	}
	ledger.unlock()
	if isOpen && !wasClosed {
		ledger.settleAtEnd()
	}
	ledger.cancel()
	// None is opened any more.
	ledger.opening.Lock()
	defer ledger.opening.Unlock()
	return ledger.store.close()
}

// settleAtEnd lets the goroutine settle, and waits until it has ended.
func (ledger *Ledger) settleAtEnd() {
	close(ledger.closing)
	expired := make(chan struct{})
	for after, work := range map[time.Duration]func(){abortAfter: ledger.cancel, closeTimeout: func() { close(expired) }} {
		defer ledger.options.Clock.After(after, work)()
	}
	select {
	case <-ledger.ended:
	case <-expired:
	}
}
