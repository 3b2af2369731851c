package values

import (
	"regexp"
	"strconv"
	"time"
)

var instant = regexp.MustCompile(
	`^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$`)

// Millis returns the milliseconds since 1970 of an ISO 8601 text with an offset.
//
// A day up to 31 is taken in each month, and 24:00:00 as the next day's start, as in JavaScript: all verifiers agree.
func Millis(text string) (int64, bool) {
	if millis, ok := canonicalMillis(text); ok {
		return millis, true
	}
	found := instant.FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	number := func(index int) int {
		value, _ := strconv.Atoi(found[index])
		return value
	}
	millis := 0
	if found[7] != "" {
		millis, _ = strconv.Atoi((found[7] + "00")[:3])
	}
	hour, minute, second := number(4), number(5), number(6)
	isMidnight := hour == 24 && minute == 0 && second == 0 && millis == 0
	isTime := (hour <= 23 || isMidnight) && minute <= 59 && second <= 59 && number(9) <= 23 && number(10) <= 59
	if month, day := number(2), number(3); month < 1 || month > 12 || day < 1 || day > 31 || !isTime {
		return 0, false
	}
	offset := number(9)*60 + number(10)
	if found[8] == "-" {
		offset = -offset
	}
	date := time.Date(number(1), time.Month(number(2)), number(3), hour, minute-offset, second, 0, time.UTC)
	return date.Unix()*1000 + int64(millis), true
}

// canonicalForm has a 0 where an instant has a digit.
const canonicalForm = "0000-00-00T00:00:00.000Z"

// canonicalMillis reads an instant as the service writes it, without the cost of an expression. It leaves all others
// to the expression.
func canonicalMillis(text string) (int64, bool) {
	if len(text) != len(canonicalForm) {
		return 0, false
	}
	for place := range canonicalForm {
		isDigit := text[place] >= '0' && text[place] <= '9'
		if form := canonicalForm[place]; isDigit != (form == '0') || !isDigit && text[place] != form {
			return 0, false
		}
	}
	number := func(from, to int) int {
		value := 0
		for _, digit := range []byte(text[from:to]) {
			value = value*10 + int(digit-'0')
		}
		return value
	}
	month, day := number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	date := time.Date(number(0, 4), time.Month(month), day, hour, minute, second, 0, time.UTC)
	return date.Unix()*1000 + int64(number(20, 23)), true
}

// InstantText writes milliseconds since 1970 as an ISO 8601 text in UTC.
func InstantText(millis int64) string { return TimeText(time.UnixMilli(millis)) }

// TimeText writes a time as an ISO 8601 text in UTC.
func TimeText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
