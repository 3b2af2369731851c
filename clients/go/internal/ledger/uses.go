package ledger

import (
	"math/big"
	"time"
)

const (
	// useFor is how far back use is an estimate of what comes.
	useFor = 10 * time.Second
	// bucketFor is how long uses are added up.
	bucketFor = time.Second
)

type bucket struct {
	since  time.Duration
	amount *big.Rat
}

type use struct {
	lastAt  time.Duration
	buckets []bucket
}

// uses are how much of each entitlement was used lately. Times are monotonic.
type uses struct {
	began time.Duration
	of    map[string]*use
}

func newUses(began time.Duration) *uses { return &uses{began, map[string]*use{}} }

func (one *uses) add(entitlement string, amount *big.Rat, now time.Duration) {
	of := one.of[entitlement]
	if of == nil {
		of = &use{}
		one.of[entitlement] = of
	}
	of.lastAt = now
	if last := len(of.buckets) - 1; last >= 0 && now < of.buckets[last].since+bucketFor {
		of.buckets[last].amount = plus(of.buckets[last].amount, amount)
		return
	}
	kept := make([]bucket, 0, len(of.buckets)+1)
	for _, old := range of.buckets {
		if old.since > now-useFor {
			kept = append(kept, old)
		}
	}
	of.buckets = append(kept, bucket{now, amount})
}

// recent is what was used in the last 10 seconds.
func (one *uses) recent(entitlement string, now time.Duration) *big.Rat {
	sum := new(big.Rat)
	if of := one.of[entitlement]; of != nil {
		for _, each := range of.buckets {
			if each.since > now-useFor {
				sum = plus(sum, each.amount)
			}
		}
	}
	return sum
}

// lastAt is when an entitlement was last used; of one that was not, when the ledger began.
func (one *uses) lastAt(entitlement string) time.Duration {
	if of := one.of[entitlement]; of != nil {
		return of.lastAt
	}
	return one.began
}

// names are the entitlements that were used in the last 10 seconds.
func (one *uses) names(now time.Duration) []string {
	var names []string
	for name, of := range one.of {
		if of.lastAt > now-useFor {
			names = append(names, name)
		}
	}
	return names
}
