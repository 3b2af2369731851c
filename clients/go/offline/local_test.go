package offline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/vectors"
)

// skippedKinds are about more than answers by a snapshot. Other packages play what a client does.
var skippedKinds = map[string]string{
	"grant": "internal/ledgertest plays it", "ledger": "internal/ledger plays it", "state": "internal/local plays it",
	"sequence": "only the service numbers snapshots", "conditional": "only the service answers 304",
	"reduce": "only the service reduces flags",
}

type localGiven struct {
	Claims any
	Checks []Check
	At     string
	Local  *struct {
		Source          string
		Positions       [][2]any
		Spent, Reserved Amounts
	}
	Rule, Context any
}

// parsed is JSON whose numbers are texts, as claims have them.
func parsed(t *testing.T, data []byte) any {
	t.Helper()
	if len(data) == 0 {
		return nil
	}
	value, err := values.ParseJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// writtenOver writes values over others, member by member; entitlements by their slugs.
func writtenOver(base, over any, name string) any {
	if list, isList := over.([]any); isList && name == "entitlements" {
		merged := append([]any{}, values.List(base)...)
		for _, one := range list {
			place := 0
			for place < len(merged) && values.Object(merged[place])["slug"] != values.Object(one)["slug"] {
				place++
			}
			if place == len(merged) {
				merged = append(merged, one)
			} else {
				merged[place] = writtenOver(merged[place], one, "")
			}
		}
		return merged
	}
	below, above := values.Object(base), values.Object(over)
	if below == nil || above == nil {
		return over
	}
	merged := map[string]any{}
	for key, value := range below {
		merged[key] = value
	}
	for key, value := range above {
		if old, exists := below[key]; exists {
			value = writtenOver(old, value, key)
		}
		merged[key] = value
	}
	return merged
}

func (given localGiven) localUsage(t *testing.T) *Local {
	if given.Local == nil {
		return nil
	}
	local := Local{Source: given.Local.Source, Spent: given.Local.Spent, Reserved: given.Local.Reserved}
	for _, one := range given.Local.Positions {
		lines, _ := one[0].(float64)
		head, _ := one[1].(string)
		local.Positions = append(local.Positions, Position{int64(lines), head})
	}
	return &local
}

func answersJSON(answers Answers) map[string]any {
	checks := []any{}
	for _, one := range answers.Checks {
		period := Period{}
		if one.Period != nil {
			period = *one.Period
		}
		checks = append(checks, map[string]any{
			"entitlement": one.Entitlement, "allowed": one.Allowed, "reason": one.Reason, "limit": textOrNull(one.Limit),
			"usage": textOrNull(one.Usage), "remaining": textOrNull(one.Remaining), "overage": textOrNull(one.Overage),
			"currentPeriodStart": textOrNull(period.Start), "currentPeriodEnd": textOrNull(period.End),
		})
	}
	return map[string]any{
		"instance": answers.Instance, "license": answers.License, "at": answers.At,
		"graceEndsAt": textOrNull(answers.GraceEndsAt), "checks": checks,
	}
}

func coverJSON(cover Cover) map[string]any {
	if cover.Denied != "" {
		return map[string]any{"denied": cover.Denied, "entitlement": cover.Entitlement}
	}
	list := []any{}
	for _, one := range cover.Refill {
		list = append(list, map[string]any{"entitlement": one.Entitlement, "period": one.Period, "need": one.Need})
	}
	if len(list) > 0 {
		return map[string]any{"refill": list}
	}
	for _, one := range cover.Spends {
		list = append(list, map[string]any{"entitlement": one.Entitlement, "period": one.Period, "amount": one.Amount})
	}
	return map[string]any{"spends": list}
}

// evaluationJSON has only the code of an error: its text is not compared.
func evaluationJSON(evaluation Evaluation) map[string]any {
	if evaluation.ErrorCode != "" {
		return map[string]any{"key": evaluation.Key, "errorCode": evaluation.ErrorCode}
	}
	result := map[string]any{"key": evaluation.Key, "reason": evaluation.Reason, "metadata": evaluation.Metadata}
	if evaluation.HasValue {
		result["value"] = evaluation.Value
	}
	if evaluation.Variant != "" {
		result["variant"] = evaluation.Variant
	}
	return result
}

func answerTo(t *testing.T, file vectors.LocalDecisions, one vectors.LocalCase) any {
	t.Helper()
	var given localGiven
	if err := json.Unmarshal(one.Given, &given); err != nil {
		t.Fatal(err)
	}
	whole := values.Object(parsed(t, one.Given))
	if one.Kind == "rule" {
		return evaluationJSON(EvaluateRule(values.Object(whole["rule"]), values.Object(whole["context"])))
	}
	var claims Claims
	base := parsed(t, file.Base)
	if over, exists := whole["claims"]; exists {
		base = writtenOver(base, over, "")
	}
	data, _ := json.Marshal(base)
	if err := json.Unmarshal(data, &claims); err != nil {
		t.Fatal(err)
	}
	at := timeOf(t, given.At)
	switch one.Kind {
	case "answers":
		return answersJSON(claims.Answer(given.Checks, at, given.localUsage(t)))
	case "consume":
		return coverJSON(claims.Cover(given.Checks, at, given.localUsage(t)))
	}
	t.Fatalf("the kind %s is unknown", one.Kind)
	return nil
}

func TestLocalDecisions(t *testing.T) {
	file := vectors.ReadLocal(t)
	compared := 0
	for _, one := range file.Cases {
		t.Run(one.ID, func(t *testing.T) {
			if reason, isSkipped := skippedKinds[one.Kind]; isSkipped {
				t.Skipf("kind %s: %s", one.Kind, reason)
			}
			compared++
			expected := parsed(t, one.Expected)
			delete(values.Object(expected), "errorDetails")
			vectors.Equal(t, answerTo(t, file, one), expected)
		})
	}
	if compared == 0 {
		t.Fatal("no case was compared")
	}
}

func TestAnswersToAnyClaims(t *testing.T) {
	claims := Claims{Entitlements: []Entitlement{{"n", "NUMBER", nil}, {"b", "BOOLEAN", nil}, {"o", "OTHER", nil}}}
	license := License{Start: "2020-01-01T00:00:00Z"}
	for _, one := range []*Claims{{}, &claims, {Entitlements: claims.Entitlements, License: license}} {
		checks := []Check{{Entitlement: "n"}, {Entitlement: "b"}, {Entitlement: "o"}, {}}
		for _, answer := range one.Answer(checks, time.Time{}, &Local{}).Checks {
			if answer.Allowed {
				t.Error(answer)
			}
		}
		if one.Cover(checks, time.Time{}, nil).Denied == "" {
			t.Error("it must be denied")
		}
	}
}

func TestAmountsThatTheServiceRejects(t *testing.T) {
	file := vectors.ReadLocal(t)
	var claims Claims
	if err := json.Unmarshal(file.Base, &claims); err != nil {
		t.Fatal(err)
	}
	for _, requested := range []string{"-1", "x", "1e3", "1234567890123456789", "0.1234567890123456789"} {
		checks := []Check{{"exports", requested}}
		at := timeOf(t, "2026-01-10T12:00:00Z")
		if reason := claims.Answer(checks, at, nil).Checks[0].Reason; reason != "INVALID_REQUEST" {
			t.Error(requested, reason)
		}
		if denied := claims.Cover(checks, at, nil).Denied; denied != "INVALID_REQUEST" {
			t.Error(requested, denied)
		}
	}
}

func TestOperators(t *testing.T) {
	context := map[string]any{
		"n": 5, "j": json.Number("0.1"), "b": true, "s": "pro", "l": []any{"a", 1}, "g": []string{"a"}, "v": "1.10.0",
		"t": "2026-01-31T10:00:00+01:00", "o": map[string]any{"p": map[string]any{"q": "x"}}, "long": strings.Repeat("a", 10_001),
		"emoji": strings.Repeat("a", 9_999) + "\U0001f600", "keyshelf": map[string]any{"license": 1},
	}
	for _, one := range []struct {
		attribute, operator string
		expected            bool
		values              []any
	}{
		{"n", "EQUALS", true, []any{5.0}}, {"n", "EQUALS", false, []any{"5"}}, {"b", "EQUALS", false, []any{1}},
		{"j", "EQUALS", true, []any{0.1}}, {"n", "NOT_IN", false, []any{4, 5}}, {"x", "NOT_EQUALS", true, []any{"y"}},
		{"s", "CONTAINS", true, []any{"ro"}}, {"l", "CONTAINS", true, []any{1}}, {"l", "CONTAINS", false, []any{true}},
		{"g", "CONTAINS", true, []any{"a"}}, {"s", "STARTS_WITH", true, []any{"p"}}, {"s", "ENDS_WITH", false, []any{"p"}},
		{"n", "GT", true, []any{4}}, {"b", "GTE", false, []any{0}}, {"n", "LTE", true, []any{5}}, {"n", "LT", false, nil},
		{"v", "SEMVER_GT", true, []any{"1.9.0"}}, {"v", "SEMVER_LT", false, []any{"1.10.0-rc.1"}},
		{"v", "SEMVER_GTE", true, []any{"1.10.0+b"}}, {"v", "SEMVER_LTE", false, []any{"1.9.9"}},
		{"t", "BEFORE", true, []any{"2026-01-31T09:00:01Z"}}, {"t", "AFTER", true, []any{"2026-01-31t08:59:59.9999z"}},
		{"t", "AFTER", false, []any{"2026-01-00T00:00:00Z"}}, {"t", "BEFORE", false, []any{"2026-02-30T00:00:00Z"}},
		{"t", "BEFORE", false, []any{"2026-02-01T00:59:60Z"}}, {"t", "BEFORE", true, []any{"2026-02-01T00:59:60+01:00"}},
		{"s", "EXISTS", true, nil}, {"x", "EXISTS", true, []any{false}}, {"s", "MATCHES", false, []any{"pro"}},
		{"o.p.q", "EQUALS", true, []any{"x"}}, {"keyshelf.license", "EXISTS", false, nil},
		{"long", "CONTAINS", false, []any{"a"}}, {"long", "EXISTS", true, nil}, {"emoji", "CONTAINS", false, []any{"a"}},
	} {
		condition := map[string]any{"attribute": one.attribute, "operator": one.operator, "values": append([]any{}, one.values...)}
		targeting := map[string]any{"name": "t", "conditions": []any{condition}, "value": 2}
		rule := map[string]any{
			"key": "f", "metadata": map[string]any{}, "targetings": []any{targeting},
			"otherwise": map[string]any{"value": 1, "reason": "STATIC"},
		}
		if result := EvaluateRule(rule, context); (result.Value == 2) != one.expected {
			t.Errorf("%s %s %v is not %v", one.attribute, one.operator, one.values, one.expected)
		}
	}
}

func TestPercentages(t *testing.T) {
	// The bucket of the documentation: 38728.
	for percentage, expected := range map[float64]string{38.729: "SPLIT", 38.728: "STATIC", 0: "STATIC", 100: "SPLIT"} {
		rule := map[string]any{
			"key": "new-search", "targetings": []any{map[string]any{"name": "beta", "conditions": []any{}, "percentage": percentage}},
			"otherwise": map[string]any{"reason": "STATIC"},
		}
		if result := EvaluateRule(rule, map[string]any{"targetingKey": "anna"}); result.Reason != expected || result.HasValue {
			t.Error(percentage, result)
		}
		if result := EvaluateRule(rule, map[string]any{}); result.ErrorCode != "TARGETING_KEY_MISSING" {
			t.Error(result)
		}
	}
	for _, rule := range []map[string]any{nil, {}, {"key": "f"}, {"key": "f", "targetings": []any{7}, "otherwise": map[string]any{}}} {
		if result := EvaluateRule(rule, map[string]any{}); result.ErrorCode != "PARSE_ERROR" {
			t.Error(result)
		}
	}
	if result := EvaluateRule(nil, nil); result.ErrorCode != "INVALID_CONTEXT" {
		t.Error(result)
	}
}
