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

// InstantText writes milliseconds since 1970 as an ISO 8601 text in UTC.
func InstantText(millis int64) string { return TimeText(time.UnixMilli(millis)) }

// TimeText writes a time as an ISO 8601 text in UTC.
func TimeText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
