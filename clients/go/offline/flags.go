package offline

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"

	"keyshelf.example/keyshelf/internal/values"
)

// facts is the name of the attributes that are facts of the service. Those that a caller sends are ignored.
const facts = "keyshelf"

// buckets are one per thousandth of a percent, because percentages have up to three decimals.
const buckets = 100_000

// Evaluation is the result of a rule, as OFREP defines it: with a Reason, or with an ErrorCode.
type Evaluation struct {
	Key string
	// Value is of the flag's type. Without HasValue, the default in the code counts.
	Value    any
	HasValue bool
	// Variant is empty where none was served.
	Variant string
	// Reason is STATIC, TARGETING_MATCH, SPLIT or DISABLED.
	Reason   string
	Metadata map[string]any
	// ErrorCode is TARGETING_KEY_MISSING, INVALID_CONTEXT or PARSE_ERROR.
	ErrorCode, ErrorDetails string
}

// EvaluateRule evaluates a rule of a snapshot for a context. The first targeting decides whose conditions all match and
// whose percentage, if any, includes the targeting key. What cannot be read is an error of the evaluation.
func EvaluateRule(rule map[string]any, context map[string]any) Evaluation {
	key, isKey := rule["key"].(string)
	failed := func(code, details string) Evaluation {
		return Evaluation{Key: key, ErrorCode: code, ErrorDetails: details}
	}
	targetingKey, isText := context["targetingKey"].(string)
	if _, exists := context["targetingKey"]; context == nil || exists && !isText {
		return failed("INVALID_CONTEXT", "The context must be an object, and its `targetingKey` a string.")
	}
	targetings, isList := rule["targetings"].([]any)
	otherwise, metadata := values.Object(rule["otherwise"]), values.Object(rule["metadata"])
	malformed := failed("PARSE_ERROR", "The rule is malformed.")
	if !isKey || !isList || otherwise == nil {
		return malformed
	}
	serve := func(served map[string]any, reason string) Evaluation {
		value, hasValue := served["value"]
		variant, _ := served["variant"].(string)
		return Evaluation{Key: key, Value: value, HasValue: hasValue, Variant: variant, Reason: reason, Metadata: metadata}
	}
	for _, one := range targetings {
		targeting := values.Object(one)
		conditions, isList := targeting["conditions"].([]any)
		name, isName := targeting["name"].(string)
		matches, isWhole := matchAll(conditions, context)
		if !isList || !isWhole {
			return malformed
		}
		if !matches {
			continue
		}
		percentage := targeting["percentage"]
		if percentage == nil {
			return serve(targeting, "TARGETING_MATCH")
		}
		if targetingKey == "" {
			return failed("TARGETING_KEY_MISSING", `The flag "`+key+"\" needs a targeting key. Set `context.targetingKey`.")
		}
		if isName && isInPercentage(bucketOf(key, name, targetingKey), percentage) {
			return serve(targeting, "SPLIT")
		}
	}
	reason, _ := otherwise["reason"].(string)
	return serve(otherwise, reason)
}

// matchAll says whether all conditions match, and whether they can be read as far as they decide.
func matchAll(conditions []any, context map[string]any) (matches, isWhole bool) {
	for _, one := range conditions {
		condition := values.Object(one)
		attribute, isAttribute := condition["attribute"].(string)
		name, isName := condition["operator"].(string)
		list, isList := condition["values"].([]any)
		if !isAttribute || !isName || !isList {
			return false, false
		}
		var actual any
		if attribute != facts && !strings.HasPrefix(attribute, facts+".") {
			actual = readPath(context, attribute)
		}
		if !holds(name, list, actual) {
			return false, true
		}
	}
	return true, true
}

// readPath reads a property by its exact name, or else by its path of names separated by dots.
func readPath(context map[string]any, attribute string) any {
	if value, exists := context[attribute]; exists {
		return value
	}
	var value any = context
	for _, name := range strings.Split(attribute, ".") {
		value = values.Object(value)[name]
	}
	return value
}

// bucketOf returns the bucket of a targeting key, which never changes (docs/feature-flags.md).
func bucketOf(flagKey, targeting, targetingKey string) uint32 {
	sum := sha256.Sum256([]byte(flagKey + "/" + targeting + "/" + targetingKey))
	return binary.BigEndian.Uint32(sum[:4]) % buckets
}

func isInPercentage(bucket uint32, percentage any) bool {
	number, isNumber := numberOf(percentage)
	return isNumber && float64(bucket) < math.Floor(number*1000+0.5)
}
