// Package values reads decimals, instants and JSON without losing a digit.
package values

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

var jsonNumber = regexp.MustCompile(`^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

const (
	// maxPart are the digits of a decimal before and after its point.
	maxPart = 64
	// maxSmall are the digits that an int64 can always hold.
	maxSmall = 18
)

// IsDecimal reports whether a text is a decimal of at most 64 digits before and after its point.
func IsDecimal(text string) bool {
	whole, fraction, hasPoint := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	return areDigits(whole) && (!hasPoint || areDigits(fraction))
}

func areDigits(text string) bool {
	for _, char := range []byte(text) {
		if char < '0' || char > '9' {
			return false
		}
	}
	return len(text) >= 1 && len(text) <= maxPart
}

// Rat returns the number of a decimal, and nil if the text is none.
func Rat(text string) *big.Rat {
	if !IsDecimal(text) {
		return nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if digits := len(whole) + len(fraction); digits <= maxSmall {
		// SetString would divide by a power of ten of any size.
		number, _ := strconv.ParseInt(whole+fraction, 10, 64)
		if fraction == "" {
			return new(big.Rat).SetInt64(number)
		}
		return new(big.Rat).SetFrac64(number, powerOfTen(len(fraction)))
	}
	number, _ := new(big.Rat).SetString(text)
	return number
}

func powerOfTen(exponent int) int64 {
	power := int64(1)
	for ; exponent > 0; exponent-- {
		power *= 10
	}
	return power
}

// Plain writes a JSON number without exponent and without zeros at the end of its fraction.
func Plain(number string) (string, bool) {
	found := jsonNumber.FindStringSubmatch(number)
	if found == nil {
		return "", false
	}
	exponent := 0
	if found[4] != "" {
		exponent, _ = strconv.Atoi(found[4])
	}
	digits, point := found[2]+found[3], len(found[2])+exponent
	if point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole := strings.TrimLeft(digits[:point], "0")
	fraction := strings.TrimRight(digits[point:], "0")
	if whole == "" {
		whole = "0"
	}
	text := whole
	if fraction != "" {
		text += "." + fraction
	}
	if text != "0" {
		text = found[1] + text
	}
	return text, true
}

// Digits counts the digits of a plain decimal before and after its point.
func Digits(plain string) int {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(plain, "-"), ".")
	return len(strings.TrimLeft(whole, "0")) + len(fraction)
}

// Text writes a number whose denominator is a power of ten, as those of decimals are.
func Text(number *big.Rat) string {
	if number.IsInt() {
		return number.Num().String()
	}
	if denominator := number.Denom(); denominator.IsInt64() {
		for digits, power := 1, int64(10); digits <= maxSmall; digits, power = digits+1, power*10 {
			if power%denominator.Int64() == 0 {
				// The fraction has no zero at its end: a smaller power was no multiple.
				return number.FloatString(digits)
			}
		}
	}
	text, _ := Plain(number.FloatString(128))
	return text
}
