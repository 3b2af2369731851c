package offline

import (
	"math"
	"math/big"
	"sync"

	"keyshelf.example/keyshelf/internal/values"
)

// known is what was read of claims, which do not change while they answer: the terms of entitlements, by their slugs.
type known struct {
	mutex sync.RWMutex
	terms map[string]*datedTerms
}

// datedTerms are the terms of an entitlement, and for which instants they are the same: at from and after it, before to.
type datedTerms struct {
	from, to int64
	denial   string
	found    *figures
}

func newKnown() *known { return &known{terms: map[string]*datedTerms{}} }

func (one *known) get(slug string) *datedTerms {
	if one == nil {
		return nil
	}
	one.mutex.RLock()
	defer one.mutex.RUnlock()
	return one.terms[slug]
}

func (one *known) put(slug string, terms *datedTerms) {
	if one == nil || terms == nil {
		return
	}
	if terms.found != nil {
		terms.found.texts = terms.found.written()
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.terms[slug] = terms
}

// localPart is what this product spent and set aside of an entitlement in a period, and the tranche that pays it.
type localPart struct {
	tranche                   *Tranche
	spent, reserved, returned string
}

func (part localPart) amounts() (spent, reserved, returned *big.Rat) {
	return atLeastZero(values.Rat(part.spent)), atLeastZero(values.Rat(part.reserved)), atLeastZero(values.Rat(part.returned))
}

func (claims *Claims) partOf(slug, start string, local *Local) localPart {
	if local == nil {
		return localPart{}
	}
	return localPart{claims.trancheFor(local), local.Spent[slug][start], local.Reserved[slug][start], local.Returned[slug][start]}
}

// areRight reports whether terms are those of an instant, and of what this product spent by now.
func (terms *datedTerms) areRight(claims *Claims, slug string, at int64, local *Local) bool {
	if terms == nil || at < terms.from || at >= terms.to {
		return false
	}
	return terms.found == nil || terms.found.local == claims.partOf(slug, terms.found.period.Start, local)
}

// dated returns terms until the next instant at which one of them begins or ends; nil if it is not known which one that is.
func (claims *Claims) dated(entitlement *Entitlement, at int64, denial string, found *figures) *datedTerms {
	terms := &datedTerms{math.MinInt64, math.MaxInt64, denial, found}
	instants := []string{claims.License.Start, claims.License.End}
	for _, grant := range values.List(entitlement.Members["grants"]) {
		text, _ := values.StringOf(values.Object(grant)["from"])
		instants = append(instants, text)
	}
	for _, text := range instants {
		if instant, isTime := values.Millis(text); isTime {
			terms.limit(instant, at)
		}
	}
	if claims.Tranche != nil {
		terms.limit(claims.Tranche.Until*1000, at)
	}
	if entitlement.Type != "NUMBER" {
		return terms
	}
	if found == nil || found.period == nil {
		return nil
	}
	start, isTime := values.Millis(found.period.Start)
	end, isEnd := values.Millis(found.period.End)
	if !isTime || (!isEnd && found.period.End != "") {
		return nil
	}
	terms.limit(start, at)
	if isEnd {
		terms.limit(end, at)
	}
	return terms
}

func (terms *datedTerms) limit(instant, at int64) {
	if instant <= at && instant > terms.from {
		terms.from = instant
	}
	if instant > at && instant < terms.to {
		terms.to = instant
	}
}
