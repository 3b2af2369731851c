package ledgertest

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/vectors"
)

// TestLocalDecisions compares the arithmetic of the model with that of the service.
func TestLocalDecisions(t *testing.T) {
	vectors.EachLocal(t, "grant", func(t *testing.T, one vectors.LocalCase) {
		var given struct {
			Limit, Usage, HeldByOthers, Unspent, Keep, Need, Want string
			Holders                                               int
		}
		if err := json.Unmarshal(one.Given, &given); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		model := New(func() time.Time { return now }, Sold{"exports", "SUM", amountOf(given.Limit)})
		model.used["exports"] = amountOf(given.Usage)
		holds := func(quantity int64) *stored {
			return &stored{rows: map[string]*row{"exports": {quantity, now.Add(spendFor), now.Add(holdFor)}}}
		}
		for other := 1; other < given.Holders; other++ {
			model.ledgers[strconv.Itoa(other)] = holds(0)
		}
		if others := amountOf(given.HeldByOthers); others > 0 {
			model.ledgers["1"] = holds(others)
		}
		of := holds(amountOf(given.Unspent))
		model.ledgers["0"] = of
		refilled := model.refillOne(of, Tranche{Entitlement: "exports", Keep: given.Keep, Need: given.Need, Want: given.Want}, false)
		kept := atMost(amountOf(given.Keep), amountOf(given.Unspent))
		granted := of.rows["exports"].quantity - kept
		vectors.Equal(t, map[string]any{
			"unspent": refilled["unspent"], "satisfied": refilled["satisfied"], "granted": strconv.FormatInt(granted, 10),
			"returned": strconv.FormatInt(amountOf(given.Unspent)-kept, 10),
		}, one.Expected)
	})
}
