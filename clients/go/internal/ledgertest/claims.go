package ledgertest

import (
	"strconv"

	"keyshelf.example/keyshelf/internal/values"
)

func (model *Model) periodStart() string { return values.TimeText(model.start) }

// Claims are those of a snapshot.
func (model *Model) Claims() map[string]any {
	model.mutex.Lock()
	defer model.mutex.Unlock()
	return model.claims(nil)
}

func (model *Model) claims(tranche map[string]any) map[string]any {
	entitlements := []any{map[string]any{"slug": "sso", "type": "BOOLEAN", "value": true}}
	for _, one := range model.sold {
		held := model.held(one.Slug, nil)
		entitlements = append(entitlements, map[string]any{
			"slug": one.Slug, "type": "NUMBER", "limit": strconv.FormatInt(one.Limit, 10), "overagePercent": "0",
			"aggregation": one.Aggregation, "used": strconv.FormatInt(model.used[one.Slug]+held, 10),
			"held": strconv.FormatInt(held, 10), "usedFrom": model.periodStart(), "period": "LIFETIME",
		})
	}
	now := model.now().Unix()
	claims := map[string]any{
		"v": 1, "iss": Issuer, "sub": "0198c2b0-5f3d-7d14-8f2e-7e0a4b9c1d33", "jti": "s-" + strconv.FormatInt(now, 10), "seq": 3,
		"iat": now, "nbf": now, "renew": now + 600, "exp": now + 7*86_400,
		"instance": map[string]any{"slug": "globex-prod", "name": "Globex"}, "customer": map[string]any{"slug": "globex", "name": "Globex"},
		"license": map[string]any{
			"slug": "pro-v2", "family": "pro", "version": "2", "name": "Pro", "type": "PAID", "start": model.periodStart(),
			"termEnd": nil, "end": nil,
		},
		"complete": true, "away": map[string]any{"then": model.away}, "entitlements": entitlements,
		"periods": map[string]any{"LIFETIME": map[string]any{"starts": []string{model.periodStart()}}},
		"flags":   map[string]any{}, "zone": nil, "release": nil, "binding": nil, "usage": map[string]any{"until": now + 8_000_000},
	}
	if tranche != nil {
		claims["tranche"] = tranche
	}
	return claims
}

// Issuer is that of the claims.
const Issuer = "urn:keyshelf:organization:0198c2b0-0a11-7d52-8a39-2f6c1e8a7054"
