package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/ledgertest"
	"keyshelf.example/keyshelf/internal/wire"
)

// losing is a client whose responses are lost.
type losing struct{ *product }

func (one losing) Refill(ctx context.Context, body any) (Response, error) {
	if _, err := one.product.Refill(ctx, body); err != nil {
		return Response{}, err
	}
	return Response{}, &wire.ConnectionError{Origin: "here", Cause: errors.New("lost")}
}

func newProduct(t *testing.T, limit int64) *product {
	played := &product{t: t, start: time.UnixMilli(1_768_046_400_000), path: filepath.Join(t.TempDir(), "ledger.jsonl"), tokens: map[string]map[string]any{}}
	played.model = ledgertest.New(func() time.Time { return played.start.Add(played.now) }, ledgertest.Sold{Slug: "exports", Aggregation: "SUM", Limit: limit})
	played.open()
	return played
}

func (one *product) unspent() string {
	view := one.View()
	_, unspent, _ := one.ledger.claims(view).Spendable("exports", view.At, &one.ledger.local)
	return unspent
}

func TestNothingIsSpentThatWasGivenBack(t *testing.T) {
	played := newProduct(t, 1_000)
	played.refill(step{Do: "refill", Need: "40", Response: "arrives"})
	if !played.attempt("10", nil) || played.unspent() != "30" {
		t.Fatal(played.unspent())
	}
	// Ten seconds without use.
	played.now = 11 * time.Second
	played.ledger.owner = losing{played}
	if came, err := played.ledger.send(context.Background(), false); came != nothing || !isAway(err) {
		t.Fatal(came, err)
	}
	if held := played.model.Held("exports"); held != 0 || played.unspent() != "0" || played.attempt("1", nil) {
		t.Error(held, played.unspent())
	}
	// A restart knows it, too.
	played.open()
	if played.unspent() != "0" || played.attempt("1", nil) {
		t.Error(played.unspent())
	}
	if came, err := played.ledger.send(context.Background(), false); came != refilled || err != nil {
		t.Error(came, err)
	}
	if usage := played.model.Usage("exports"); usage != 10 || !played.ledger.journal.isSettled() {
		t.Error(usage)
	}
}

func TestALostRequestIsSentAgainWithoutWhatWasSpentLater(t *testing.T) {
	played := newProduct(t, 1_000)
	played.refill(step{Do: "refill", Need: "40", Response: "arrives"})
	played.attempt("10", nil)
	played.ledger.owner = losing{played}
	for round := 0; round < 2; round++ {
		if _, err := played.ledger.send(context.Background(), false); !isAway(err) {
			t.Fatal(err)
		}
		played.attempt("5", nil)
	}
	played.ledger.owner = played
	for _, expected := range []string{"10", "0"} {
		if came, err := played.ledger.send(context.Background(), false); came != refilled || err != nil {
			t.Fatal(came, err)
		}
		if spent := spentIn(played.ledger.journal); spent != expected {
			t.Error(spent, expected)
		}
	}
	if facts, overrun := played.model.Facts(); facts != 0 || overrun > 0 || played.model.Usage("exports") != 20 || played.model.Forks() > 0 {
		t.Error(facts, overrun, played.model.Usage("exports"), played.model.Forks())
	}
}

func TestAClosedLedgerSaysWhatItHasCounted(t *testing.T) {
	played := newProduct(t, 1_000)
	played.refill(step{Do: "refill", Need: "40", Response: "arrives"})
	played.attempt("10", nil)
	source := played.ledger.journal.source
	played.ledger.owner = losing{played}
	// All is counted and the ledger is closed, and this one does not know it.
	if _, err := played.ledger.send(context.Background(), true); !isAway(err) {
		t.Fatal(err)
	}
	played.ledger.owner = played
	played.ledger.uses.add("exports", amountOf("5"), played.now)
	if came, err := played.ledger.send(context.Background(), false); came != refilled || err != nil {
		t.Fatal(came, err)
	}
	if next := played.ledger.journal; next.source == source || !next.isSettled() || next.token != "" {
		t.Error(next)
	}
	if came, err := played.ledger.send(context.Background(), false); came != refilled || err != nil {
		t.Error(came, err)
	}
	if usage := played.model.Usage("exports"); usage != 10 {
		t.Error(usage)
	}
}

func TestAFileOfAnotherPositionPaysNothing(t *testing.T) {
	played := newProduct(t, 1_000)
	played.refill(step{Do: "refill", Need: "40", Response: "arrives"})
	token := played.ledger.journal.token
	played.attempt("10", nil)
	played.refill(step{Do: "refill", Need: "40", Response: "arrives"})
	played.ledger.journal.token = token
	if played.ledger.trancheOf(played.ledger.journal) != nil {
		t.Error("an older tranche pays")
	}
}
