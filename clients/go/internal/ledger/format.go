package ledger

import (
	"bytes"
	"encoding/json"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

// The file of a ledger has one record a line. The first one names the format. All clients write the same form, but no two
// languages share a directory.
//
//	{"spend":[["exports","3","<period>"]],"at":n,"key":"job-1"}     spent before the product went on; key is the caller's
//	{"given":[["exports","<period>","5"]]}                          not spendable any more: the next request gives it back
//	{"line":"<CloudEvent>","head":"<hash>","period":"<period>"}     the sum of spends before it, as it is sent
//	{"settled":9,"head":"<hash>","token":"<snapshot>"}              counted up to here; what may be spent from here on
//	{"key":"job-1","at":n,"spent":[...]}                            a key whose spends are settled

const (
	format  = "keyshelf-ledger"
	version = 1
)

// spentAs is entitlement, amount and period; portionsAs is entitlement, period and amount.
func spentAs(spends []offline.Spend) [][3]string {
	list := make([][3]string, len(spends))
	for place, one := range spends {
		list[place] = [3]string{one.Entitlement, one.Amount, one.Period}
	}
	return list
}

func portionsAs(portions []offline.Spend) [][3]string {
	list := make([][3]string, len(portions))
	for place, one := range portions {
		list[place] = [3]string{one.Entitlement, one.Period, one.Amount}
	}
	return list
}

func (one spendRecord) MarshalJSON() ([]byte, error) {
	return compact(struct {
		Spend [][3]string `json:"spend"`
		At    int64       `json:"at"`
		Key   string      `json:"key,omitempty"`
	}{spentAs(one.spend), one.at, one.key})
}

func (one givenRecord) MarshalJSON() ([]byte, error) {
	return compact(struct {
		Given [][3]string `json:"given"`
	}{portionsAs(one.given)})
}

func (one lineRecord) MarshalJSON() ([]byte, error) {
	return compact(struct {
		Line   string `json:"line"`
		Head   string `json:"head"`
		Period string `json:"period"`
	}{one.line.text, one.line.position.Head, one.line.period})
}

func (one settledRecord) MarshalJSON() ([]byte, error) {
	return compact(struct {
		Settled int64  `json:"settled"`
		Head    string `json:"head"`
		Token   string `json:"token"`
	}{one.position.Lines, one.position.Head, one.token})
}

func (one keyRecord) MarshalJSON() ([]byte, error) {
	return compact(struct {
		Key   string      `json:"key"`
		At    int64       `json:"at"`
		Spent [][3]string `json:"spent"`
	}{one.key, one.at, spentAs(one.spent)})
}

// compact writes <, > and & as they are, as other languages do.
func compact(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}

// header is the first line of a file.
type header struct {
	Format string `json:"format"`
	V      int    `json:"v"`
	Source string `json:"source"`
	offline.Position
}

func (one *journal) header() header { return header{format, version, one.source, one.base} }

// textOf writes records, a line each. Each is a value of its own, whose JSON is not escaped again.
func textOf(records ...any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, one := range records {
		if err := encoder.Encode(one); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// text is all that a journal says, in as few records as possible.
func (one *journal) text(now int64) ([]byte, error) {
	records := []any{one.header()}
	spend := func(entitlement, period, amount string) {
		at, isKnown := one.lastAt[place{entitlement, period}]
		if !isKnown {
			at = now
		}
		records = append(records, spendRecord{[]offline.Spend{{Entitlement: entitlement, Period: period, Amount: amount}}, at, ""})
	}
	if one.token != "" {
		records = append(records, settledRecord{one.base, one.token})
	}
	for _, used := range one.keys.since(now) {
		records = append(records, keyRecord{used})
	}
	for _, sent := range one.lines {
		// A line is the sum of spends before it.
		spend(sent.entitlement, sent.period, values.Text(sent.amount))
		records = append(records, lineRecord{sent})
	}
	for _, open := range portionsOf(one.open) {
		spend(open.Entitlement, open.Period, open.Amount)
	}
	if given := portionsOf(one.given); len(given) > 0 {
		records = append(records, givenRecord{given})
	}
	return textOf(records...)
}
