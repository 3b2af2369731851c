package ledger

import (
	"encoding/json"
	"math/big"
	"sort"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/vectors"
	"keyshelf.example/keyshelf/offline"
)

type vectorFile struct {
	Clock, Source string
	Claims        map[string]any
	Cases         []vectorCase
}

type vectorCase struct {
	ID    string
	Given struct {
		At, Journal, Renewed string
		Tranche              any
		Used                 [][3]any
		Waiting              [][]offline.Check
		Reserved             offline.Amounts
	}
	Expected any
}

// testNow is what the monotonic clock shows.
const testNow = 1000 * time.Second

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	millis, isTime := values.Millis(text)
	if !isTime {
		t.Fatalf("%q is no instant", text)
	}
	return time.UnixMilli(millis)
}

// claimsOf reads claims with a tranche, nil for none.
func claimsOf(t *testing.T, members map[string]any, tranche any) *offline.Claims {
	t.Helper()
	with := map[string]any{}
	for name, value := range members {
		with[name] = value
	}
	if delete(with, "tranche"); tranche != nil {
		with["tranche"] = tranche
	}
	data, err := json.Marshal(with)
	claims := new(offline.Claims)
	if err == nil {
		err = json.Unmarshal(data, claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func triples(portions []offline.Spend) []any {
	list := []any{}
	for _, one := range portions {
		list = append(list, []any{one.Entitlement, one.Period, one.Amount})
	}
	return list
}

// opened is what a case begins with; nil if its journal cannot be read.
func (file *vectorFile) opened(t *testing.T, one *vectorCase) (read *journal, isDamaged bool) {
	t.Helper()
	given := &one.Given
	read, isDamaged = journalIn([]byte(given.Journal))
	if given.Journal == "" {
		read, _ = newJournal(file.Source)
	}
	if read != nil && given.Renewed != "" {
		fresh, err := newJournal(given.Renewed)
		if err != nil {
			t.Fatal(err)
		}
		read = read.renewed(fresh)
	}
	return read, isDamaged
}

func (file *vectorFile) play(t *testing.T, one *vectorCase) any {
	t.Helper()
	given := &one.Given
	if given.At == "" {
		given.At = file.Clock
	}
	at := instantOf(t, given.At)
	read, isDamaged := file.opened(t, one)
	if read == nil {
		return "INVALID"
	}
	if isDamaged {
		return map[string]any{"isDamaged": true}
	}
	base := read.base
	view := View{Claims: claimsOf(t, file.Claims, nil), At: at}
	ledger := New(known{view: view}, Options{Clock: clocks.Clock{Read: func() clocks.Reading { return clocks.Reading{Monotonic: testNow} }}})
	for _, used := range given.Used {
		ago, _ := used[2].(float64)
		ledger.uses.add(used[0].(string), amountOf(used[1].(string)), testNow-time.Duration(ago*float64(time.Second)))
	}
	if tranche := claimsOf(t, file.Claims, given.Tranche).Tranche; tranche != nil && tranche.Source == read.source && tranche.Position == base {
		ledger.setTranche(tranche)
	}
	ledger.holdings.open(read)
	for _, reserved := range portionsOf(given.Reserved) {
		ledger.hold(reserved.Entitlement, reserved.Period, amountOf(reserved.Amount))
	}
	claims := ledger.claims(view)
	for _, checks := range given.Waiting {
		covered := claims.Cover(checks, at, &ledger.local)
		all := claims.WithTranche(nil).Cover(checks, at, &ledger.local)
		if covered.Refill != nil && all.Refill != nil {
			ledger.queue.calls = append(ledger.queue.calls, &call{lack: &lack{all.Refill, covered.Refill}})
		}
	}
	unspent := tally{}
	for _, granted := range portionsOf(ledger.granted) {
		if at.Unix() < ledger.tranche.Until {
			add(granted.Entitlement, granted.Period, ledger.unspent(granted.Entitlement, granted.Period), unspent)
		}
	}
	seen := map[string]any{
		"isDamaged": false, "position": []any{base.Lines, base.Head}, "spent": triples(portionsOf(read.spent)), "unspent": triples(portionsOf(unspent)),
	}
	returned := tally{}
	for _, before := range portionsOf(read.given) {
		add(before.Entitlement, before.Period, minus(new(big.Rat), amountOf(before.Amount)), returned)
	}
	prepared, err := ledger.prepare(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range portionsOf(read.given) {
		add(after.Entitlement, after.Period, amountOf(after.Amount), returned)
	}
	seen["given"], seen["request"] = triples(portionsOf(returned)), nil
	if prepared != nil {
		seen["request"] = prepared.body
	}
	text, err := read.text(at.UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	seen["journal"] = string(text)
	return seen
}

// known is a client that knows its snapshot, and sends no request.
type known struct {
	Owner
	view View
}

func (one known) View() View { return one.view }

// asSets sorts the lists whose order is free.
func asSets(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	var parsed any
	if err == nil {
		err = json.Unmarshal(data, &parsed)
	}
	if err != nil {
		t.Fatal(err)
	}
	members := values.Object(parsed)
	request := values.Object(members["request"])
	for _, list := range []any{members["spent"], members["unspent"], members["given"], request["tranches"]} {
		list := values.List(list)
		sort.Slice(list, func(one, other int) bool {
			first, _ := json.Marshal(list[one])
			second, _ := json.Marshal(list[other])
			return string(first) < string(second)
		})
	}
	return parsed
}

func TestVectors(t *testing.T) {
	var file vectorFile
	vectors.Read(t, "ledger", &file)
	if len(file.Cases) < 18 {
		t.Fatal("cases are missing")
	}
	for place := range file.Cases {
		one := &file.Cases[place]
		t.Run(one.ID, func(t *testing.T) {
			vectors.Equal(t, asSets(t, file.play(t, one)), asSets(t, one.Expected))
		})
	}
}

func TestWhatIsGivenBackIsHeldByNoOne(t *testing.T) {
	var file vectorFile
	vectors.Read(t, "ledger", &file)
	read, err := newJournal(file.Source)
	if err != nil {
		t.Fatal(err)
	}
	const day = "2026-01-10T00:00:00.000Z"
	held := newHoldings(func() time.Duration { return testNow })
	held.open(read)
	at := instantOf(t, file.Clock)
	held.setTranche(&offline.Tranche{
		Source: read.source, Position: read.base, Until: at.Unix() + 3600, Of: map[string]any{"exports": map[string]any{day: "20"}},
	})
	view := View{Claims: claimsOf(t, file.Claims, nil), At: at}
	remaining := func(checks ...offline.Check) string {
		return held.answers(&Wish{Checks: checks}, view, held.claims(view)).Checks[0].Remaining
	}
	// Of 100, 40 are used and 20 are held by this ledger.
	if left := remaining(offline.Check{Entitlement: "exports"}); left != "60" {
		t.Error(left)
	}
	held.hold("exports", day, amountOf("5"))
	if left := remaining(offline.Check{Entitlement: "exports"}); left != "55" {
		t.Error(left)
	}
	if err := held.write(at, givenRecord{[]offline.Spend{{Entitlement: "exports", Period: day, Amount: "15"}}}); err != nil {
		t.Fatal(err)
	}
	if left := remaining(offline.Check{Entitlement: "exports"}); left != "55" || held.unspent("exports", day).Sign() != 0 {
		t.Error(left)
	}
}
