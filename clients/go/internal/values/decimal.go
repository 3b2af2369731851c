// Package values reads decimals, instants and JSON without losing a digit.
package values

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

var (
	decimal    = regexp.MustCompile(`^-?[0-9]{1,64}(\.[0-9]{1,64})?$`)
	jsonNumber = regexp.MustCompile(`^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$`)
)

// IsDecimal reports whether a text is a decimal of at most 64 digits before and after its point.
func IsDecimal(text string) bool { return decimal.MatchString(text) }

// Rat returns the number of a decimal, and nil if the text is none.
func Rat(text string) *big.Rat {
	if !IsDecimal(text) {
		return nil
	}
	number, _ := new(big.Rat).SetString(text)
	return number
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
	text, _ := Plain(number.FloatString(128))
	return text
}
