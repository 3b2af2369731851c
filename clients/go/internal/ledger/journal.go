package ledger

import (
	"math/big"

	"keyshelf.example/keyshelf/offline"
)

// line is usage that is sent, and not settled yet.
type line struct {
	position            offline.Position
	text                string
	entitlement, period string
	amount              *big.Rat
}

// place is an entitlement in a period.
type place struct{ entitlement, period string }

// journal is what a ledger says: what a product spent, and what it sent.
type journal struct {
	source string
	// base is what is settled, and token the snapshot that came when it was; empty if none did.
	base  offline.Position
	token string
	lines []line
	// open is spent, and in no line yet.
	open tally
	// spent is not settled.
	spent tally
	// given is not spendable any more: the next request gives it back.
	given tally
	// lastAt is when something of a period was last spent, in milliseconds since 1970.
	lastAt map[place]int64
	keys   *keys
}

// newJournal is a ledger without lines. The source has the form that a ledger needs.
func newJournal(source string) (*journal, error) {
	opened, err := offline.OpenLedger(source, nil, nil)
	if err != nil {
		return nil, err
	}
	return &journal{
		source: source, base: opened.Position(), open: tally{}, spent: tally{}, given: tally{}, lastAt: map[place]int64{}, keys: newKeys(),
	}, nil
}

// record is an entry of a journal. It is applied as it is written, and as it is read again.
type record interface {
	apply(to *journal)
}

// spendRecord was spent before the product went on. The key is the caller's, empty if there is none.
type spendRecord struct {
	spend []offline.Spend
	at    int64
	key   string
}

// givenRecord is given back by the next request.
type givenRecord struct{ given []offline.Spend }

// lineRecord is the sum of spends before it, as it is sent.
type lineRecord struct{ line line }

// settledRecord says that the service has counted the lines up to a position, and what may be spent from there on.
type settledRecord struct {
	position offline.Position
	token    string
}

// keyRecord is a key whose spends are settled.
type keyRecord struct{ keyed }

func (one spendRecord) apply(to *journal) {
	for _, spend := range one.spend {
		add(spend.Entitlement, spend.Period, amountOf(spend.Amount), to.open, to.spent)
		to.lastAt[place{spend.Entitlement, spend.Period}] = one.at
	}
	if one.key != "" {
		to.keys.keep(keyed{one.key, one.at, one.spend})
	}
}

func (one givenRecord) apply(to *journal) {
	for _, given := range one.given {
		add(given.Entitlement, given.Period, amountOf(given.Amount), to.given)
	}
}

func (one lineRecord) apply(to *journal) {
	to.lines = append(to.lines, one.line)
	add(one.line.entitlement, one.line.period, new(big.Rat).Neg(one.line.amount), to.open)
}

func (one settledRecord) apply(to *journal) {
	var kept []line
	for _, sent := range to.lines {
		if sent.position.Lines > one.position.Lines {
			kept = append(kept, sent)
			continue
		}
		add(sent.entitlement, sent.period, new(big.Rat).Neg(sent.amount), to.spent)
	}
	to.lines = kept
	if to.isSettled() {
		to.lastAt = map[place]int64{}
	}
	to.base, to.token, to.given = one.position, one.token, tally{}
}

func (one keyRecord) apply(to *journal) { to.keys.keep(one.keyed) }

func (one *journal) isSettled() bool { return len(one.spent) == 0 }

// end is the position after the first lines.
func (one *journal) end(lines int) offline.Position {
	if lines == 0 {
		return one.base
	}
	return one.lines[lines-1].position
}

// renewed goes on with a new ledger, which begins with what is not settled. Nothing can be spent from it.
func (one *journal) renewed(fresh *journal) *journal {
	for _, spent := range portionsOf(one.spent) {
		add(spent.Entitlement, spent.Period, amountOf(spent.Amount), fresh.open, fresh.spent)
	}
	fresh.keys, fresh.lastAt = one.keys, one.lastAt
	return fresh
}
