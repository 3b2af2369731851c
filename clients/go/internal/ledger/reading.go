package ledger

import (
	"bytes"
	"encoding/json"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

// journalIn reads a journal. A last line that was cut off was never acknowledged. Where another one is damaged, amounts may be
// missing: isDamaged is true, and its tranche must not be spent. It returns nil if the text has no journal of this version.
func journalIn(text []byte) (read *journal, isDamaged bool) {
	lines := bytes.Split(text, []byte("\n"))
	// The text after the last line feed is incomplete.
	lines = lines[:len(lines)-1]
	if len(lines) == 0 {
		return nil, false
	}
	var first header
	if json.Unmarshal(lines[0], &first) != nil || first.Format != format || first.V != version {
		return nil, false
	}
	read, err := newJournal(first.Source)
	if err != nil || first.Head == "" {
		return nil, false
	}
	_, err = offline.OpenLedger(first.Source, &first.Position, nil)
	isDamaged = err != nil
	read.base = first.Position
	for _, line := range lines[1:] {
		if one := recordIn(line); one != nil {
			one.apply(read)
		} else {
			isDamaged = true
		}
	}
	return read, isDamaged
}

// recordIn reads a record, nil if it is damaged.
func recordIn(text []byte) record {
	parsed, err := values.ParseJSON(text)
	members := values.Object(parsed)
	if err != nil || members == nil {
		return nil
	}
	at, isTimed := values.Count(members["at"])
	key, isKeyed := values.StringOf(members["key"])
	head, hasHead := values.StringOf(members["head"])
	if list, isList := spendsIn(members["spend"], false); isList && isTimed && (isKeyed || members["key"] == nil) {
		return spendRecord{list, at, key}
	}
	if list, isList := spendsIn(members["given"], true); isList {
		return givenRecord{list}
	}
	if text, isText := values.StringOf(members["line"]); isText && hasHead {
		return lineIn(text, head, members["period"])
	}
	token, hasToken := values.StringOf(members["token"])
	if settled, isCount := values.Count(members["settled"]); isCount && hasHead && hasToken {
		return settledRecord{offline.Position{Lines: settled, Head: head}, token}
	}
	if list, isList := spendsIn(members["spent"], false); isList && isKeyed && isTimed {
		return keyRecord{keyed{key, at, list}}
	}
	return nil
}

// spendsIn reads a list of entitlement, amount and period; of entitlement, period and amount, if they are portions.
func spendsIn(value any, arePortions bool) ([]offline.Spend, bool) {
	list, isList := value.([]any)
	if !isList {
		return nil, false
	}
	spends := make([]offline.Spend, len(list))
	for place, one := range list {
		parts := values.List(one)
		if len(parts) != 3 {
			return nil, false
		}
		texts := [3]string{}
		for part := range parts {
			text, isText := values.StringOf(parts[part])
			if !isText {
				return nil, false
			}
			texts[part] = text
		}
		spends[place] = offline.Spend{Entitlement: texts[0], Amount: texts[1], Period: texts[2]}
		if arePortions {
			spends[place].Period, spends[place].Amount = texts[1], texts[2]
		}
	}
	return spends, true
}

// lineIn reads a line of a ledger, as offline.Ledger writes it.
func lineIn(text, head string, period any) record {
	start, hasPeriod := values.StringOf(period)
	var event struct {
		ID   json.Number `json:"id"`
		Type string      `json:"type"`
		Data struct {
			Value json.Number `json:"value"`
		} `json:"data"`
	}
	if !hasPeriod || json.Unmarshal([]byte(text), &event) != nil {
		return nil
	}
	number, err := event.ID.Int64()
	amount, isAmount := values.Plain(event.Data.Value.String())
	if err != nil || !isAmount {
		return nil
	}
	return lineRecord{line{offline.Position{Lines: number, Head: head}, text, event.Type, start, amountOf(amount)}}
}
