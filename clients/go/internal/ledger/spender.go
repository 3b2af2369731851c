package ledger

import (
	"fmt"
	"math/big"
	"time"

	"keyshelf.example/keyshelf/offline"
)

// holdings are what a ledger has: its journal, its tranche, and what is reserved of it. The mutex of the ledger guards them.
type holdings struct {
	journal *journal
	store   *store
	uses    *uses
	now     func() time.Duration
	// reserved is set aside in memory.
	reserved tally
	local    offline.Local
	// tranche is what may be spent from the position of the ledger on, nil if nothing, and granted are its amounts.
	tranche *offline.Tranche
	granted tally
	// pinned are the claims that answer while the response of a refill is taken: those of its snapshot have counted what the
	// journal does not know to be settled yet.
	pinned *offline.Claims
	// combined are the claims of a snapshot with the tranche.
	combined, combinedOf *offline.Claims
}

func newHoldings(now func() time.Duration) holdings {
	return holdings{uses: newUses(now()), now: now, reserved: tally{}, granted: tally{}}
}

// open replaces the journal, or begins with one.
func (one *holdings) open(journal *journal) {
	one.journal = journal
	one.reposition()
}

// reposition follows the journal to its position.
func (one *holdings) reposition() {
	one.local = offline.Local{
		Source: one.journal.source, Positions: []offline.Position{one.journal.base}, Spent: one.journal.spent, Reserved: one.reserved,
		Returned: one.journal.given,
	}
}

func (one *holdings) setTranche(tranche *offline.Tranche) {
	one.tranche, one.granted = tranche, granted(tranche)
	one.combined, one.combinedOf = nil, nil
}

// claims are those of the snapshot that answers, with the tranche of the ledger.
func (one *holdings) claims(view View) *offline.Claims {
	of := view.Claims
	if of == nil {
		return nil
	}
	if one.pinned != nil {
		of = one.pinned
	}
	if one.combinedOf != of {
		one.combined, one.combinedOf = of.WithTranche(one.tranche), of
	}
	return one.combined
}

// write writes records down, and then applies them.
func (one *holdings) write(at time.Time, records ...record) error {
	if err := one.store.append(one.journal, at.UnixMilli(), records); err != nil {
		return err
	}
	for _, each := range records {
		each.apply(one.journal)
		if _, isMoved := each.(settledRecord); isMoved {
			one.reposition()
		}
	}
	return nil
}

// hold sets an amount aside, or frees a negative one.
func (one *holdings) hold(entitlement, period string, amount *big.Rat) {
	add(entitlement, period, amount, one.reserved)
}

func (one *holdings) unspent(entitlement, period string) *big.Rat {
	return atLeastZero(minus(amountAt(one.granted, entitlement, period), takenAt(&one.local, entitlement, period)))
}

func (one *holdings) answers(wish *Wish, view View, claims *offline.Claims) *Answers {
	return &Answers{Answers: claims.AnswerInOrder(wish.Checks, view.At, &one.local), At: view.At, Age: view.Age}
}

// attempt spends what a wish needs, or says what it lacks.
func (one *holdings) attempt(wish *Wish, view View) (*Answers, *lack, error) {
	claims := one.claims(view)
	if claims == nil {
		return nil, nil, ErrNoSnapshot
	}
	known := one.answers(wish, view, claims)
	covered := claims.Cover(wish.Checks, view.At, &one.local)
	if covered.Denied == "INVALID_REQUEST" {
		return nil, nil, fmt.Errorf("keyshelf: %s is neither a SUM nor a COUNT, and cannot be consumed", covered.Entitlement)
	}
	if covered.Denied != "" {
		return known, nil, nil
	}
	if spent, isKnown := one.journal.keys.spentBy(wish.Key, view.At.UnixMilli()); isKnown {
		wanted := one.paying(claims, covered.Refill).Cover(wish.Checks, view.At, &one.local)
		return repeated(known, spent, wanted)
	}
	if covered.Refill != nil {
		all := claims.WithTranche(nil).Cover(wish.Checks, view.At, &one.local)
		return nil, &lack{all.Refill, covered.Refill}, nil
	}
	// An amount of 0 asks whether usage is within the limit.
	if !known.isAllowed() {
		return known, nil, nil
	}
	if err := one.pay(covered.Spends, wish, view.At); err != nil {
		return nil, nil, err
	}
	if len(covered.Spends) == 0 {
		return known, nil, nil
	}
	after := one.answers(wish, view, claims)
	for place := range after.Checks {
		after.Checks[place].Allowed, after.Checks[place].Reason = true, known.Checks[place].Reason
	}
	return after, nil, nil
}

// repeated answers a consumption whose key was used before. It is spent already, so nothing is spent now.
func repeated(known *Answers, spent []offline.Spend, wanted offline.Cover) (*Answers, *lack, error) {
	isSame := wanted.Denied == "" && wanted.Refill == nil && len(wanted.Spends) == len(spent)
	for place := 0; isSame && place < len(spent); place++ {
		isSame = wanted.Spends[place].Entitlement == spent[place].Entitlement && wanted.Spends[place].Amount == spent[place].Amount
	}
	if !isSame {
		return nil, nil, errOtherUse
	}
	for place := range known.Checks {
		if answer := &known.Checks[place]; !answer.Allowed {
			answer.Allowed, answer.Reason = true, "GRANTED"
		}
	}
	return known, nil, nil
}

func (one *holdings) pay(spends []offline.Spend, wish *Wish, at time.Time) error {
	if wish.hold != nil {
		wish.hold(spends)
	} else if len(spends) > 0 || wish.Key != "" {
		if err := one.write(at, spendRecord{spends, at.UnixMilli(), wish.Key}); err != nil {
			return err
		}
	}
	for _, spend := range spends {
		one.uses.add(spend.Entitlement, amountOf(spend.Amount), one.now())
	}
	return nil
}

// goOn answers where nothing can be refilled: as the vendor says. If that allows it, it spends above the tranches.
func (one *holdings) goOn(wish *Wish, view View, lacks []offline.Refill) (*Answers, error) {
	claims := one.claims(view)
	if claims == nil {
		return nil, ErrNoSnapshot
	}
	known := one.answers(wish, view, claims)
	known.Source = OfPolicy
	goesOn := claims.Away == "ALLOW"
	for place := range known.Checks {
		for _, lacking := range lacks {
			if answer := &known.Checks[place]; answer.Entitlement == lacking.Entitlement {
				answer.Allowed, answer.Reason = goesOn, "SERVICE_AWAY"
			}
		}
	}
	if goesOn {
		covered := one.paying(claims, lacks).Cover(wish.Checks, view.At, &one.local)
		if covered.Denied == "" && covered.Refill == nil {
			return known, one.pay(covered.Spends, wish, view.At)
		}
		return known, nil
	}
	// The service is tried again soon for what is wanted.
	for _, lacking := range lacks {
		one.uses.add(lacking.Entitlement, amountOf(lacking.Need), one.now())
	}
	return known, nil
}

// farFuture is in seconds since 1970.
const farFuture = 1 << 40

// paying are the claims with a tranche that also pays what it lacks.
func (one *holdings) paying(claims *offline.Claims, lacks []offline.Refill) *offline.Claims {
	of := granted(one.tranche)
	for _, lacking := range lacks {
		slug, period := lacking.Entitlement, lacking.Period
		taken := takenAt(&one.local, slug, period)
		add(slug, period, minus(plus(taken, amountOf(lacking.Need)), amountAt(of, slug, period)), of)
	}
	amounts := map[string]any{}
	for slug, periods := range of {
		inPeriods := map[string]any{}
		for period, amount := range periods {
			inPeriods[period] = amount
		}
		amounts[slug] = inPeriods
	}
	return claims.WithTranche(&offline.Tranche{
		Source: one.local.Source, Position: one.local.Positions[0], Until: farFuture, Of: amounts,
	})
}

// deny answers what the service did not grant.
func (one *holdings) deny(wish *Wish, view View, entitlement, reason string) (*Answers, error) {
	claims := one.claims(view)
	if claims == nil {
		return nil, ErrNoSnapshot
	}
	known := one.answers(wish, view, claims)
	known.Source = OfService
	// Of several checks, those that fit are allowed. What is known may be older than the denial: then none is.
	fits := false
	for _, answer := range known.Checks {
		fits = fits || answer.Entitlement == entitlement && !answer.Allowed
	}
	for place := range known.Checks {
		if answer := &known.Checks[place]; answer.Entitlement == entitlement && !(fits && answer.Allowed) {
			answer.Allowed, answer.Reason = false, reason
		}
	}
	return known, nil
}
