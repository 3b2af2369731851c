package ledger

import (
	"context"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

// awayError says why no refill came, although the service rejected none.
type awayError string

func (failed awayError) Error() string { return "keyshelf: " + string(failed) }

// IsAway is true.
func (awayError) IsAway() bool { return true }

const (
	errAway   awayError = "the service is away, and no tranche pays"
	errRefill awayError = "the response to a refill has no tranche of the ledger"
)

// renew goes on with a new ledger, which takes what is not settled.
func (ledger *Ledger) renew() error {
	// Nothing is spent of a ledger that ends.
	ledger.setTranche(nil)
	fresh, err := ledger.newJournal()
	if err != nil {
		return err
	}
	next := ledger.journal.renewed(fresh)
	ledger.holdings.open(next)
	return ledger.store.replace(next, ledger.owner.View().At.UnixMilli())
}

// fork says that the ledger was continued elsewhere, or has ended.
func (ledger *Ledger) fork(code string) (outcome, error) {
	ledger.lock()
	defer ledger.unlock()
	return ledger.forked(code)
}

func (ledger *Ledger) forked(code string) (outcome, error) {
	ledger.tell(Event{Type: "rejected", Code: code})
	return renewed, ledger.renew()
}

// pin lets the claims of now answer on, until the response of a refill is taken.
func (ledger *Ledger) pin() {
	ledger.lock()
	defer ledger.unlock()
	ledger.pinned = ledger.owner.View().Claims
}

// take takes a response. Its snapshot is stored before the lines are settled.
func (ledger *Ledger) take(ctx context.Context, prepared *refilling, response Response, sent time.Duration) (outcome, error) {
	token, _ := values.StringOf(response.Body["snapshot"])
	etag, _ := values.StringOf(response.Body["etag"])
	ledger.pin()
	claims, err := ledger.owner.Receive(ctx, token, etag, response.Date, sent)
	ledger.lock()
	defer ledger.unlock()
	ledger.pinned = nil
	if err != nil {
		return nothing, err
	}
	if claims == nil || claims.Tranche == nil || claims.Tranche.Source != ledger.journal.source {
		return nothing, errRefill
	}
	lines := len(prepared.body.Lines)
	end := ledger.journal.end(lines)
	if claims.Tranche.Position != end {
		// A copy of the ledger went on, and nothing was sent that shows it.
		return ledger.forked(ledgerForked)
	}
	ledger.setTranche(claims.Tranche)
	if err := ledger.write(ledger.owner.View().At, settledRecord{end, token}); err != nil {
		return nothing, err
	}
	ledger.report(response.Body, lines)
	if err := ledger.tidy(response.Body["closed"] == true); err != nil {
		return nothing, err
	}
	ledger.noteShort(prepared.body.Tranches, values.List(response.Body["tranches"]))
	ledger.serve(prepared.present, denialsIn(response.Body, prepared.demands))
	return refilled, nil
}

// tidy begins a new ledger after the end of one, and rewrites a file that has become large.
func (ledger *Ledger) tidy(isClosed bool) error {
	if isClosed {
		return ledger.renew()
	}
	if ledger.store.isLarge() {
		return ledger.store.replace(ledger.journal, ledger.owner.View().At.UnixMilli())
	}
	return nil
}

// report reports what came, without amounts.
func (ledger *Ledger) report(body map[string]any, lines int) {
	tranches := values.List(body["tranches"])
	isSatisfied := true
	for _, one := range tranches {
		isSatisfied = isSatisfied && values.Object(one)["satisfied"] == true
	}
	if len(tranches) > 0 {
		ledger.tell(Event{Type: "refill", Satisfied: isSatisfied})
	}
	if lines > 0 {
		ledger.tell(Event{Type: "settled", Lines: lines})
	}
	for _, one := range values.List(body["results"]) {
		if result := values.Object(one); result["status"] == "rejected" {
			code, _ := values.StringOf(result["code"])
			ledger.tell(Event{Type: "rejected", Code: code})
		}
	}
}

// denialsIn is what the service did not grant of what the first calls need.
func denialsIn(body map[string]any, demands map[string]demand) map[string]denial {
	denials := map[string]denial{}
	for _, one := range values.List(body["tranches"]) {
		tranche := values.Object(one)
		slug, _ := values.StringOf(tranche["entitlement"])
		of, isNeeded := demands[slug]
		if tranche["satisfied"] == false && isNeeded && of.need.Sign() > 0 {
			reason, _ := values.StringOf(tranche["reason"])
			if reason == "" {
				reason = "LIMIT_REACHED"
			}
			denials[slug] = denial{of.need, reason}
		}
	}
	return denials
}

func (ledger *Ledger) noteShort(entries []entry, came []any) {
	until := ledger.now() + shortFor
	for place, asked := range entries {
		unspent := noDemand.want
		if place < len(came) {
			text, _ := values.StringOf(values.Object(came[place])["unspent"])
			unspent = amountOf(text)
		}
		if plus(unspent, unspent).Cmp(amountOf(asked.Want)) < 0 {
			ledger.refiller.shortUntil[asked.Entitlement] = until
		}
	}
}
