package offline

import (
	"encoding/json"
	"time"
)

// EntitlementFlag evaluates an entitlement as a flag, as the service does for entitlement.<slug>: access, what remains in the
// period, or the configuration. It returns false if there is no such entitlement.
func (claims *Claims) EntitlementFlag(slug string, at time.Time) (Evaluation, bool) {
	var entitlement *Entitlement
	for place := range claims.Entitlements {
		if claims.Entitlements[place].Slug == slug {
			entitlement = &claims.Entitlements[place]
		}
	}
	if entitlement == nil {
		return Evaluation{}, false
	}
	answer := claims.Answer([]Check{{Entitlement: slug}}, at, nil).Checks[0]
	metadata := map[string]any{"allowed": answer.Allowed, "checkReason": answer.Reason}
	for name, amount := range map[string]string{"limit": answer.Limit, "usage": answer.Usage, "overage": answer.Overage} {
		if amount != "" {
			metadata[name] = json.Number(amount)
		}
	}
	if answer.Period != nil && answer.Period.End != "" {
		metadata["currentPeriodEnd"] = answer.Period.End
	}
	flag := Evaluation{Key: "entitlement." + slug, Reason: "TARGETING_MATCH", Metadata: metadata, HasValue: true}
	switch entitlement.Type {
	case "BOOLEAN":
		flag.Value = answer.Allowed
	case "NUMBER":
		flag.Value = json.Number("0")
		// Outside of its term, nothing remains of what a license grants.
		isWithout := answer.Reason == "NOT_GRANTED" || answer.Reason == "LICENSE_NOT_STARTED" || answer.Reason == "LICENSE_EXPIRED"
		if !isWithout && answer.Remaining != "" {
			flag.Value = json.Number(answer.Remaining)
		}
	default:
		if flag.HasValue = answer.Allowed; answer.Allowed {
			flag.Value = grantAt(entitlement, millisOrNow(at))["value"]
		}
	}
	return flag, true
}
