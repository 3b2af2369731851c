package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/ledgertest"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/vectors"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

// step is one of a client and the service.
type step struct {
	Do, Amount, ID, Need, Want, Keep, Response, Loses string
	At                                                int64
	Stored                                            *bool
}

// product is a client under a clock of the test, with the service as a model. Its ledger has no goroutine: the steps refill.
type product struct {
	t      *testing.T
	model  *ledgertest.Model
	start  time.Time
	now    time.Duration
	path   string
	ledger *Ledger
	// tokens are the claims of the snapshots that came, by their tokens.
	tokens   map[string]map[string]any
	last     *refilling
	reserved map[string]*Reservation
	spent    int64
}

var errUnknown = errors.New("it is not played")

func (one *product) ID() string { return "instance" }
func (one *product) View() View {
	return View{Claims: claimsOf(one.t, one.model.Claims(), nil), At: one.start.Add(one.now), IsConfirmed: true}
}
func (one *product) Verify(token string) *offline.Claims {
	return claimsOf(one.t, one.tokens[token], one.tokens[token]["tranche"])
}
func (one *product) Receive(_ context.Context, token, _ string, _ time.Time, _ time.Duration) (*offline.Claims, error) {
	return one.Verify(token), nil
}
func (one *product) Refetch(context.Context)    {}
func (one *product) ConfirmedAt() time.Duration { return longAgo }
func (one *product) HasEnded(error) bool        { return false }
func (one *product) Tell(Event)                 {}

func (one *product) Refill(_ context.Context, body any) (Response, error) {
	var asked ledgertest.Request
	data, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(data, &asked)
	}
	if err != nil {
		return Response{}, err
	}
	response, snapshot, problem := one.model.Refill(asked)
	if problem != "" {
		return Response{}, &wire.ProblemError{Code: problem, Status: 409}
	}
	token := "t-" + strconv.Itoa(len(one.tokens))
	one.tokens[token] = snapshot
	response["snapshot"] = token
	data, _ = json.Marshal(response)
	parsed, err := values.ParseJSON(data)
	return Response{Body: values.Object(parsed)}, err
}

// open is a start of the process.
func (one *product) open() {
	clock := clocks.Clock{
		Read:   func() clocks.Reading { return clocks.Reading{Wall: one.start.Add(one.now), Monotonic: one.now} },
		Random: func() float64 { return 0.5 },
		After:  func(time.Duration, func()) func() { return func() {} },
	}
	one.ledger = New(one, Options{Clock: clock, Path: func(string) (string, error) { return one.path, nil }})
	opened, read, err := one.ledger.read(one.ID())
	if err != nil {
		one.t.Fatal(err)
	}
	one.ledger.store = opened
	one.ledger.setTranche(one.ledger.trancheOf(read))
	one.ledger.holdings.open(read)
	one.reserved = map[string]*Reservation{}
}

func (one *product) attempt(amount string, hold func([]offline.Spend)) bool {
	wish := Wish{Checks: []offline.Check{{Entitlement: "exports", Requested: amount}}, hold: hold}
	answers, _, err := one.ledger.attempt(&wish, one.View())
	if err != nil {
		one.t.Fatal(err)
	}
	return answers != nil && answers.isAllowed()
}

// prepare writes down what a request sends, for what a step needs and wants.
func (one *product) prepare(of step) *refilling {
	held, view := &one.ledger.holdings, one.View()
	claims := held.claims(view)
	if len(held.journal.lines) == 0 {
		lines, err := linesOf(claims, held.journal, view.At)
		if err == nil {
			err = held.write(view.At, lines...)
		}
		if err != nil {
			one.t.Fatal(err)
		}
	}
	planned := one.ledger.basis(view, claims)
	planned.uses, planned.demands = newUses(0), map[string]demand{"exports": {amountOf(of.Need), amountOf(of.Want)}}
	entries, given := planned.plan()
	if err := held.write(view.At, givenRecord{given}); err != nil {
		one.t.Fatal(err)
	}
	body := request{Source: held.journal.source, Lines: []string{}, Tranches: entries}
	for _, sent := range held.journal.lines {
		body.Lines = append(body.Lines, sent.text)
	}
	return &refilling{body: body}
}

// send sends a request, and takes its response unless that is lost.
func (one *product) send(prepared *refilling, of step) map[string]any {
	one.last = prepared
	response, err := one.Refill(context.Background(), prepared.body)
	if code := codeOf(err); code != "" {
		if _, err := one.ledger.fork(code); err != nil {
			one.t.Fatal(err)
		}
		return map[string]any{"rejected": strings.TrimPrefix(code, "RefillTranches.")}
	}
	if of.Response == "lost" {
		return map[string]any{}
	}
	if of.Stored == nil || *of.Stored {
		if came, err := one.ledger.take(context.Background(), prepared, response, one.now); came != refilled || err != nil {
			one.t.Fatal(came, err)
		}
	}
	return map[string]any{"satisfied": values.Object(values.List(response.Body["tranches"])[0])["satisfied"]}
}

// refill sends requests until all is settled, as a client does that may.
func (one *product) refill(of step) map[string]any {
	result := one.send(one.prepare(of), of)
	for of.Response == "arrives" && of.Stored == nil && result["rejected"] == nil && !one.ledger.journal.isSettled() {
		result = one.send(one.prepare(of), of)
	}
	return result
}

// copySettles lets another product go on with a copy of the ledger.
func (one *product) copySettles(of step) {
	held := one.ledger.journal
	copied, err := offline.OpenLedger(held.source, &held.base, nil)
	if err != nil {
		one.t.Fatal(err)
	}
	line, err := copied.Append(offline.Usage{Instance: "globex-prod", Entitlement: "exports", BundleID: "s", Value: of.Amount, Time: one.View().At})
	if err != nil {
		one.t.Fatal(err)
	}
	period, _, _ := one.View().Claims.Spendable("exports", one.View().At, nil)
	kept := []ledgertest.Tranche{{Entitlement: "exports", PeriodStart: period.Start}}
	if _, _, problem := one.model.Refill(ledgertest.Request{Source: held.source, Lines: []string{line}, Tranches: kept}); problem != "" {
		one.t.Fatal(problem)
	}
}

func (one *product) do(of step) map[string]any {
	amount, _ := strconv.ParseInt(of.Amount, 10, 64)
	switch of.Do {
	case "refill":
		return one.refill(of)
	case "resend":
		return one.send(one.last, of)
	case "consume":
		isAllowed := one.attempt(of.Amount, nil)
		if isAllowed {
			one.spent += amount
		}
		return map[string]any{"allowed": isAllowed}
	case "reserve":
		reserved := &Reservation{ledger: one.ledger, at: one.View().At, cancel: func() {}}
		one.ledger.reservations[reserved], one.reserved[of.ID] = true, reserved
		return map[string]any{"allowed": one.attempt(of.Amount, func(spends []offline.Spend) {
			reserved.spends = spends
			reserved.holdAll(1)
		})}
	case "commit":
		isOpen, err := one.reserved[of.ID].Commit(of.Amount)
		if err != nil {
			one.t.Fatal(err)
		}
		if isOpen {
			one.spent += amount
		}
		return map[string]any{"committed": isOpen}
	case "others":
		return map[string]any{"consumed": strconv.FormatInt(one.model.Consume("exports", amount), 10)}
	case "copy-settles":
		one.copySettles(of)
		one.spent += amount
	case "crash":
		if of.Loses == "ledger" {
			if err := os.Remove(one.path); err != nil {
				one.t.Fatal(err)
			}
		}
		one.open()
	default:
		one.t.Fatal(errUnknown, of.Do)
	}
	return map[string]any{}
}

func (one *product) seen(of step) map[string]any {
	seen := one.do(of)
	seen["do"] = of.Do
	view := one.View()
	period, _, _ := view.Claims.Spendable("exports", view.At, nil)
	seen["unspent"] = one.unspent()
	seen["unsettled"] = values.Text(amountAt(one.ledger.journal.spent, "exports", period.Start))
	seen["service"] = map[string]any{
		"usage": strconv.FormatInt(one.model.Usage("exports"), 10), "held": strconv.FormatInt(one.model.Held("exports"), 10),
	}
	return seen
}

func TestLocalDecisions(t *testing.T) {
	vectors.EachLocal(t, "ledger", func(t *testing.T, one vectors.LocalCase) {
		var given struct {
			Limit string
			Steps []step
		}
		var expected struct {
			Steps      []any
			SpentInAll string
		}
		if err := json.Unmarshal(one.Given, &given); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(one.Expected, &expected); err != nil || len(expected.Steps) != len(given.Steps) {
			t.Fatal(err)
		}
		limit, _ := strconv.ParseInt(given.Limit, 10, 64)
		played := newProduct(t, limit)
		for place, of := range given.Steps {
			played.now = time.Duration(of.At) * time.Second
			vectors.Equal(t, played.seen(of), expected.Steps[place])
		}
		if spent := strconv.FormatInt(played.spent, 10); spent != expected.SpentInAll {
			t.Errorf("%s was spent in all, and not %s", spent, expected.SpentInAll)
		}
	})
}
