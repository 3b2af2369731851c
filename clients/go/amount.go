package keyshelf

import (
	"bytes"
	"fmt"
	"math/big"
	"strconv"

	"keyshelf.example/keyshelf/internal/values"
)

// maxDigits are the digits of an amount before and after its point, as the service counts them.
const maxDigits = 18

// Amount is a decimal with all its digits, such as "25" or "0.5". "-1" is unlimited. The empty one is not an amount.
type Amount string

// Units is the amount of a whole number.
func Units(number int64) Amount { return Amount(strconv.FormatInt(number, 10)) }

// Rat returns the number of an amount, and nil if the text is not a decimal.
func (amount Amount) Rat() *big.Rat { return values.Rat(string(amount)) }

// MarshalJSON writes a JSON number with all digits.
func (amount Amount) MarshalJSON() ([]byte, error) {
	plain, err := amount.plain()
	return []byte(plain), err
}

// UnmarshalJSON reads a JSON number, and null as no amount.
func (amount *Amount) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*amount = ""
		return nil
	}
	plain, ok := values.Plain(string(data))
	if !ok {
		return fmt.Errorf("%s is not an amount", data)
	}
	*amount = Amount(plain)
	return nil
}

// countable returns the decimal of an amount that the service can count.
func (amount Amount) countable() (string, error) {
	plain, err := amount.plain()
	if err != nil || values.Digits(plain) > maxDigits {
		return "", fmt.Errorf("keyshelf: the amount %q is not a decimal of at most %d digits", string(amount), maxDigits)
	}
	return plain, nil
}

func (amount Amount) plain() (string, error) {
	if plain, ok := values.Plain(string(amount)); ok && values.IsDecimal(string(amount)) {
		return plain, nil
	}
	return "", fmt.Errorf("%q is not a decimal", string(amount))
}
