// Package ledgertest is a model of the service in memory: terms, ledgers, tranches and usage of one instance, in whole units of
// one period without an end. Only tests use it.
package ledgertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"sync"
	"time"
)

const (
	spendFor = time.Hour
	holdFor  = 24 * time.Hour
)

// Sold is what an instance may use.
type Sold struct {
	Slug, Aggregation string
	Limit             int64
}

// Tranche is what a refill asks of an entitlement.
type Tranche struct{ Entitlement, PeriodStart, Keep, Need, Want string }

// Request is the body of a refill.
type Request struct {
	Source   string
	Lines    []string
	Close    bool
	Tranches []Tranche
}

// row is what a ledger holds of an entitlement.
type row struct {
	quantity              int64
	spendUntil, expiresAt time.Time
}

type stored struct {
	// heads are the hashes of the source and of each line.
	heads    []string
	isClosed bool
	rows     map[string]*row
}

// Model is the service. Goroutines may share it.
type Model struct {
	now     func() time.Time
	sold    []Sold
	start   time.Time
	mutex   sync.Mutex
	away    string
	ledgers map[string]*stored
	used    map[string]int64
	facts   int64
	overrun int64
	forks   int
}

// New makes a model that sells something, under a clock.
func New(now func() time.Time, sold ...Sold) *Model {
	start := now().Add(-12 * time.Hour).UTC().Truncate(time.Second)
	return &Model{now: now, sold: sold, start: start, away: "DENY", ledgers: map[string]*stored{}, used: map[string]int64{}}
}

// Allow lets products go on above their tranches while the service is away.
func (model *Model) Allow() { model.away = "ALLOW" }

// Usage is all that was counted of an entitlement.
func (model *Model) Usage(slug string) int64 {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	return model.used[slug]
}

// Held is what ledgers may still spend of an entitlement.
func (model *Model) Held(slug string) int64 {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	return model.held(slug, nil)
}

// Facts are units that were counted and of no tranche, Overrun how far usage and holds were above a limit at most.
func (model *Model) Facts() (facts, overrun int64) {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	return model.facts, model.overrun
}

// Forks are requests that were rejected because another one continued their ledger.
func (model *Model) Forks() int {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	return model.forks
}

// End closes all ledgers, as another product with a copy would.
func (model *Model) End() {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	for _, one := range model.ledgers {
		one.isClosed, one.rows = true, map[string]*row{}
	}
}

// Consume counts what fits of an amount, without a ledger.
func (model *Model) Consume(slug string, amount int64) (consumed int64) {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	if free := model.limit(slug) - model.used[slug] - model.held(slug, nil); amount > free {
		amount = free
	}
	model.used[slug] += amount
	return amount
}

func (model *Model) limit(slug string) int64 {
	for _, one := range model.sold {
		if one.Slug == slug {
			return one.Limit
		}
	}
	return 0
}

// held is what is held of an entitlement, but by one ledger.
func (model *Model) held(slug string, but *stored) (held int64) {
	for _, one := range model.ledgers {
		if of := one.rows[slug]; one != but && of != nil && of.expiresAt.After(model.now()) {
			held += of.quantity
		}
	}
	return held
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

type event struct {
	ID, Type, PrevHash string
	Data               struct{ Value json.Number }
}

func eventIn(text string) (one event) {
	_ = json.Unmarshal([]byte(text), &one)
	return one
}

// rejected is why a request cannot be executed.
func (model *Model) rejected(body Request, of *stored) string {
	previous := ""
	for _, text := range body.Lines {
		one := eventIn(text)
		number, _ := strconv.Atoi(one.ID)
		if previous == "" && number > len(of.heads) {
			return "LedgerGap"
		}
		expected, isKnown := previous, number < len(of.heads)
		if expected == "" {
			expected = of.heads[number-1]
		}
		if one.PrevHash != expected || isKnown && of.heads[number] != hashOf(text) {
			model.forks++
			return "LedgerForked"
		}
		if !isKnown && of.isClosed {
			return "LedgerClosed"
		}
		previous = hashOf(text)
	}
	if of.isClosed && !body.Close && len(body.Tranches) > 0 {
		return "LedgerClosed"
	}
	return ""
}

func (model *Model) count(of *stored, text string) {
	one := eventIn(text)
	value, _ := one.Data.Value.Int64()
	paid := int64(0)
	if holds := of.rows[one.Type]; holds != nil {
		if paid = holds.quantity; paid > value {
			paid = value
		}
		holds.quantity -= paid
	}
	model.facts += value - paid
	model.used[one.Type] += value
	of.heads = append(of.heads, hashOf(text))
}

// Refill executes a request. It returns the response and the claims of its snapshot, or the code of a problem.
func (model *Model) Refill(body Request) (response, snapshot map[string]any, problem string) {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	of := model.ledgers[body.Source]
	if of == nil {
		of = &stored{heads: []string{hashOf(body.Source)}, rows: map[string]*row{}}
	}
	if code := model.rejected(body, of); code != "" {
		return nil, nil, "RefillTranches." + code
	}
	for _, asked := range body.Tranches {
		if asked.PeriodStart != model.periodStart() {
			return nil, nil, "Request.Invalid"
		}
	}
	model.ledgers[body.Source] = of
	now := model.now()
	for _, holds := range of.rows {
		if !holds.expiresAt.After(now) {
			holds.quantity = 0
		}
	}
	before := len(of.heads)
	for _, text := range body.Lines {
		if eventIn(text).ID == strconv.Itoa(len(of.heads)) {
			model.count(of, text)
		}
	}
	tranches := []any{}
	for _, asked := range body.Tranches {
		tranches = append(tranches, model.refillOne(of, asked, body.Close))
	}
	if body.Close {
		of.isClosed, of.rows = true, map[string]*row{}
	}
	amounts := map[string]any{}
	for slug, holds := range of.rows {
		holds.spendUntil, holds.expiresAt = now.Add(spendFor), now.Add(holdFor)
		if over := model.used[slug] + model.held(slug, nil) - model.limit(slug); over > model.overrun {
			model.overrun = over
		}
		if holds.quantity > 0 {
			amounts[slug] = map[string]any{model.periodStart(): strconv.FormatInt(holds.quantity, 10)}
		}
	}
	lines, head := len(of.heads)-1, of.heads[len(of.heads)-1]
	tranche := map[string]any{"source": body.Source, "lines": lines, "head": head, "until": now.Add(spendFor).Unix(), "of": amounts}
	response = map[string]any{
		"source": body.Source, "accepted": len(of.heads) - before, "duplicates": len(body.Lines) - len(of.heads) + before,
		"lines": lines, "head": head, "closed": of.isClosed, "results": []any{}, "tranches": tranches, "etag": `"refilled.1"`,
	}
	return response, model.claims(tranche), ""
}
