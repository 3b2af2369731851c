package offline

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// No condition needs more: otherwise a value of a megabyte is searched once for each value of each condition.
const (
	maxTextLength = 10_000
	maxItems      = 1_000
)

type operator func(actual any, values []any) bool

// operators compare an attribute with values. Missing attributes and wrong types never match. NOT_EQUALS and NOT_IN are
// exact opposites of EQUALS and IN.
var operators = map[string]operator{
	"EQUALS":      isOneOf,
	"NOT_EQUALS":  func(actual any, values []any) bool { return !isOneOf(actual, values) },
	"IN":          isOneOf,
	"NOT_IN":      func(actual any, values []any) bool { return !isOneOf(actual, values) },
	"CONTAINS":    containsOneOf,
	"STARTS_WITH": textTest(strings.HasPrefix),
	"ENDS_WITH":   textTest(strings.HasSuffix),
	"GT":          comparison(finite, sign[float64], func(sign int) bool { return sign > 0 }),
	"GTE":         comparison(finite, sign[float64], func(sign int) bool { return sign >= 0 }),
	"LT":          comparison(finite, sign[float64], func(sign int) bool { return sign < 0 }),
	"LTE":         comparison(finite, sign[float64], func(sign int) bool { return sign <= 0 }),
	"SEMVER_GT":   comparison(parseVersion, comparePrecedence, func(sign int) bool { return sign > 0 }),
	"SEMVER_GTE":  comparison(parseVersion, comparePrecedence, func(sign int) bool { return sign >= 0 }),
	"SEMVER_LT":   comparison(parseVersion, comparePrecedence, func(sign int) bool { return sign < 0 }),
	"SEMVER_LTE":  comparison(parseVersion, comparePrecedence, func(sign int) bool { return sign <= 0 }),
	"BEFORE":      comparison(dateTimeMillis, sign[int64], func(sign int) bool { return sign < 0 }),
	"AFTER":       comparison(dateTimeMillis, sign[int64], func(sign int) bool { return sign > 0 }),
	"EXISTS":      exists,
}

// holds says whether a condition holds for a value of its attribute. A text or a list that is too long only exists, like
// one of a wrong type. An operator of a later release never matches.
func holds(name string, values []any, actual any) bool {
	test := operators[name]
	if name != "EXISTS" && isTooLong(actual) {
		actual = nil
	}
	return test != nil && test(actual, values)
}

func isTooLong(actual any) bool {
	if text, isText := actual.(string); isText {
		length := 0
		for _, char := range text {
			// Characters beyond U+FFFF count twice, as in JavaScript.
			length += 1 + truth(char > 0xffff)
		}
		return length > maxTextLength
	}
	list, isList := listOf(actual)
	return isList && len(list) > maxItems
}

// listOf reads a list of any type. Only JSON has []any.
func listOf(value any) ([]any, bool) {
	if list, isList := value.([]any); isList {
		return list, true
	}
	read := reflect.ValueOf(value)
	if read.Kind() != reflect.Slice && read.Kind() != reflect.Array {
		return nil, false
	}
	list := make([]any, read.Len())
	for place := range list {
		list[place] = read.Index(place).Interface()
	}
	return list, true
}

// numberOf reads a number of any type, as precise as in JavaScript.
func numberOf(value any) (float64, bool) {
	if number, isNumber := value.(json.Number); isNumber {
		// Of a number that is too large, the result is infinite.
		parsed, err := strconv.ParseFloat(number.String(), 64)
		return parsed, err == nil || math.IsInf(parsed, 0)
	}
	switch read := reflect.ValueOf(value); read.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(read.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(read.Uint()), true
	case reflect.Float32, reflect.Float64:
		return read.Float(), true
	}
	return 0, false
}

func finite(value any) (float64, bool) {
	number, isNumber := numberOf(value)
	return number, isNumber && !math.IsInf(number, 0) && !math.IsNaN(number)
}

func equals(one, other any) bool {
	if text, isText := one.(string); isText {
		return other == text
	}
	if truth, isTruth := one.(bool); isTruth {
		return other == truth
	}
	number, isNumber := numberOf(one)
	otherNumber, isOtherNumber := numberOf(other)
	return isNumber && isOtherNumber && number == otherNumber
}

func isOneOf(actual any, values []any) bool {
	for _, value := range values {
		if equals(actual, value) {
			return true
		}
	}
	return false
}

func textTest(matches func(text, part string) bool) operator {
	return func(actual any, values []any) bool {
		text, isText := actual.(string)
		for _, value := range values {
			if part, isPart := value.(string); isText && isPart && matches(text, part) {
				return true
			}
		}
		return false
	}
}

func containsOneOf(actual any, values []any) bool {
	list, isList := listOf(actual)
	if !isList {
		return textTest(strings.Contains)(actual, values)
	}
	for _, value := range values {
		if isOneOf(value, list) {
			return true
		}
	}
	return false
}

func exists(actual any, values []any) bool {
	wanted := any(true)
	if len(values) > 0 {
		wanted = values[0]
	}
	return wanted == (actual != nil)
}

func comparison[A any](parse func(any) (A, bool), order func(one, other A) int, holds func(sign int) bool) operator {
	return func(actual any, values []any) bool {
		if len(values) == 0 {
			return false
		}
		left, isLeft := parse(actual)
		right, isRight := parse(values[0])
		return isLeft && isRight && holds(order(left, right))
	}
}

func sign[A int64 | float64](one, other A) int {
	if one < other {
		return -1
	}
	return truth(one > other)
}

var dateTimeForm = regexp.MustCompile(
	`^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$`)

// dateTimeMillis returns the milliseconds since 1970 of an RFC 3339 date-time in the years 1 to 9999.
func dateTimeMillis(value any) (int64, bool) {
	text, _ := value.(string)
	found := dateTimeForm.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	number := func(index int) int {
		read, _ := strconv.Atoi(found[index])
		return read
	}
	day, hour, minute, second := number(3), number(4), number(5), number(6)
	start := time.Date(number(1), time.Month(number(2)), day, hour, minute, 0, 0, time.UTC)
	// A day that its month does not have is one of the next month.
	isDay := start.Day() == day && int(start.Month()) == number(2) && hour <= 23
	if !isDay || minute > 59 || second > 60 || number(9) > 23 || number(10) > 59 {
		return 0, false
	}
	offset := time.Duration(number(9)*60+number(10)) * time.Minute
	if found[8] == "-" {
		offset = -offset
	}
	at := start.Add(time.Duration(second)*time.Second - offset)
	if second == 60 {
		// A leap second is the last one of a month in UTC. It counts as the millisecond before it ends.
		if at.Day() != 1 || at.Hour() != 0 || at.Minute() != 0 {
			return 0, false
		}
		at = at.Add(-time.Millisecond)
	} else if found[7] != "" {
		millis, _ := strconv.Atoi((found[7] + "00")[:3])
		at = at.Add(time.Duration(millis) * time.Millisecond)
	}
	return at.UnixMilli(), at.Year() >= 1 && at.Year() <= 9999
}
