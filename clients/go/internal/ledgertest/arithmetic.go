package ledgertest

import "strconv"

func amountOf(text string) int64 {
	amount, _ := strconv.ParseInt(text, 10, 64)
	return amount
}

func atMost(amount, most int64) int64 {
	if amount > most {
		return most
	}
	return amount
}

func beyond(amount, part int64) int64 {
	if amount < part {
		return 0
	}
	return amount - part
}

// refillOne is the arithmetic of a refill.
func (model *Model) refillOne(of *stored, asked Tranche, isLast bool) map[string]any {
	slug := asked.Entitlement
	holds := of.rows[slug]
	if holds == nil {
		holds = &row{}
		of.rows[slug] = holds
	}
	holders := int64(1)
	for _, one := range model.ledgers {
		if other := one.rows[slug]; one != of && other != nil && other.spendUntil.After(model.now()) {
			holders++
		}
	}
	kept := atMost(amountOf(asked.Keep), holds.quantity)
	free := beyond(model.limit(slug), model.used[slug]+model.held(slug, of)+kept)
	shares := int64(20)
	if 2*holders > shares {
		shares = 2 * holders
	}
	missing := beyond(amountOf(asked.Need), kept)
	extra := atMost(beyond(amountOf(asked.Want), kept), free/shares)
	isSatisfied, reason := missing <= free, "GRANTED"
	switch {
	case isLast:
		kept, extra, isSatisfied = 0, 0, true
	case !isSatisfied:
		reason = "LIMIT_REACHED"
	case missing > extra:
		extra = missing
	}
	holds.quantity = kept + extra
	return map[string]any{
		"entitlement": slug, "periodStart": asked.PeriodStart, "unspent": strconv.FormatInt(holds.quantity, 10),
		"satisfied": isSatisfied, "reason": reason,
	}
}
