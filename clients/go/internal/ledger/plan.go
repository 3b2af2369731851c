package ledger

import (
	"math/big"
	"sort"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

const (
	// maxLines and maxEntries are those of a request.
	maxLines   = 1_000
	maxEntries = 100
	// early is when a tranche of the next period is requested.
	early = 30 * time.Second
	// boundary is how soon a period ends that may have ended at the service.
	boundary = 10 * time.Second
)

// demand is what the calls in line need of an entitlement: the first of them, and all.
type demand struct{ need, want *big.Rat }

var noDemand = demand{new(big.Rat), new(big.Rat)}

// entry is what is to be kept, needed and wanted of an entitlement in a period.
type entry struct {
	Entitlement string `json:"entitlement"`
	PeriodStart string `json:"periodStart"`
	Keep        string `json:"keep"`
	Need        string `json:"need"`
	Want        string `json:"want"`
}

// request is the body of a refill.
type request struct {
	Source   string   `json:"source"`
	Lines    []string `json:"lines"`
	Close    bool     `json:"close"`
	Tranches []entry  `json:"tranches"`
}

// basis is what a refill is planned by.
type basis struct {
	claims   *offline.Claims
	local    *offline.Local
	journal  *journal
	granted  tally
	reserved tally
	uses     *uses
	demands  map[string]demand
	// at is the time of the service, now that of the monotonic clock.
	at  time.Time
	now time.Duration
}

// linesOf are the lines of all that is spent and in no line yet, up to the maximum of a request. A COUNT has one for each use.
func linesOf(claims *offline.Claims, of *journal, at time.Time) ([]record, error) {
	ledger, err := offline.OpenLedger(of.source, &of.base, nil)
	if err != nil {
		return nil, err
	}
	var records []record
	for _, spent := range portionsOf(of.open) {
		step := amountOf(spent.Amount)
		if isCount(claims, spent.Entitlement) {
			step = big.NewRat(1, 1)
		}
		when := at
		if last, isKnown := of.lastAt[place{spent.Entitlement, spent.Period}]; isKnown {
			when = time.UnixMilli(last)
		}
		for left := amountOf(spent.Amount); left.Sign() > 0 && len(records) < maxLines; left = minus(left, step) {
			text, err := ledger.Append(offline.Usage{
				Instance: claims.Instance.Slug, Entitlement: spent.Entitlement, BundleID: claims.ID, Value: values.Text(step), Time: when,
			})
			if err != nil {
				return nil, err
			}
			records = append(records, lineRecord{line{ledger.Position(), text, spent.Entitlement, spent.Period, step}})
		}
	}
	return records, nil
}

func isCount(claims *offline.Claims, slug string) bool {
	for place := range claims.Entitlements {
		if one := &claims.Entitlements[place]; one.Slug == slug {
			return one.Members["aggregation"] == "COUNT"
		}
	}
	return false
}

// figures are what of an entitlement can be planned: it has a limit, and is counted in periods.
type figures struct {
	start string
	// startMillis and endMillis are since 1970; hasEnd is false for a period that does not end.
	startMillis, endMillis int64
	hasEnd                 bool
	end                    string
	unspent                *big.Rat
}

func (one *basis) figuresOf(slug string) *figures {
	period, unspent, isSpendable := one.claims.Spendable(slug, one.at, one.local)
	if !isSpendable {
		return nil
	}
	found := &figures{start: period.Start, end: period.End, unspent: amountOf(unspent)}
	found.startMillis, _ = values.Millis(period.Start)
	found.endMillis, found.hasEnd = values.Millis(period.End)
	return found
}

// names are the entitlements that are used, needed or reserved, or that the tranche may still pay.
func (one *basis) names() []string {
	found := map[string]bool{}
	for name := range one.demands {
		found[name] = true
	}
	for _, name := range one.uses.names(one.now) {
		found[name] = true
	}
	for _, of := range []tally{one.reserved, one.granted} {
		for name := range of {
			found[name] = true
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// left is what is unspent of a period other than the present one.
func (one *basis) left(name, period string) *big.Rat {
	return minus(amountAt(one.granted, name, period), takenAt(one.local, name, period))
}

// entryOf is what is sent of an entitlement in a period, and what of its units is given back.
func (one *basis) entryOf(name, period string, unspent *big.Rat, of demand) (entry, offline.Spend) {
	want := plus(of.want, one.uses.recent(name, one.now))
	// Twice what is likely to be used, so that sizes do not swing.
	kept := least(unspent, plus(want, want))
	// The service does not know yet what is spent and not sent: that comes out of what is kept, too.
	more := plus(amountAt(one.reserved, name, period), amountAt(one.journal.open, name, period))
	sent := entry{name, period, values.Text(plus(kept, more)), "0", "0"}
	if of.need.Sign() > 0 {
		sent.Need = values.Text(plus(of.need, more))
	}
	if want.Sign() > 0 {
		sent.Want = values.Text(plus(want, more))
	}
	return sent, offline.Spend{Entitlement: name, Period: period, Amount: values.Text(minus(unspent, kept))}
}

// plan is what a refill sends. What is given back must be written down before that.
func (one *basis) plan() (entries []entry, given []offline.Spend) {
	entries = []entry{}
	put := func(name, period string, unspent *big.Rat, of demand) {
		if len(entries) == maxEntries {
			return
		}
		sent, returned := one.entryOf(name, period, unspent, of)
		entries = append(entries, sent)
		if amountOf(returned.Amount).Sign() > 0 {
			given = append(given, returned)
		}
	}
	for _, name := range one.names() {
		found := one.figuresOf(name)
		if found == nil {
			continue
		}
		of, isNeeded := one.demands[name]
		if !isNeeded {
			of = noDemand
		}
		put(name, found.start, found.unspent, of)
		if !found.hasEnd || one.until(found.endMillis) > early {
			continue
		}
		if amountAt(one.granted, name, found.end).Sign() != 0 || one.uses.recent(name, one.now).Sign() != 0 {
			put(name, found.end, atLeastZero(one.left(name, found.end)), noDemand)
		}
	}
	return entries, given
}
