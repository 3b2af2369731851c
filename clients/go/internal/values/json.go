package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
	"unicode/utf8"
)

// MaxSafe is the largest whole number that each language can hold.
const MaxSafe = 1<<53 - 1

// ParseJSON parses one JSON text in UTF-8. Numbers stay texts.
func ParseJSON(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the text is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("the text goes on after the JSON")
	}
	return value, nil
}

const (
	// maxDepth are objects and arrays within each other, the outermost included. The service issues fewer than 10.
	maxDepth = 100
	// maxNumberLength are the characters of a number. The service writes longer ones as texts.
	maxNumberLength = 100
)

// ParseBounded parses one JSON text within the bounds by which all verifiers agree.
func ParseBounded(data []byte) (any, error) {
	depth, numberLength, isInText := 0, 0, false
	for place := 0; place < len(data); place++ {
		switch char := data[place]; {
		case isInText && char == '\\':
			place++
		case char == '"':
			isInText = !isInText
		case !isInText:
			switch char {
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			}
			if bytes.IndexByte([]byte("0123456789.eE+-"), char) < 0 {
				numberLength = -1
			}
			if numberLength++; depth > maxDepth || numberLength > maxNumberLength {
				return nil, errors.New("the JSON is nested too deeply, or has a number that is too long")
			}
		}
	}
	return ParseJSON(data)
}

// Object returns a JSON object, and nil if a value is none. A nil map has no members.
func Object(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// List returns a JSON array, and nil if a value is none.
func List(value any) []any {
	list, _ := value.([]any)
	return list
}

// StringOf returns a JSON string, and whether a value is one.
func StringOf(value any) (string, bool) {
	text, ok := value.(string)
	return text, ok
}

// Count returns a whole number from 0 to MaxSafe. `7.0` is one too.
func Count(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	if small, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return small, small >= 0 && small <= MaxSafe
	}
	plain, ok := Plain(number.String())
	if !ok {
		return 0, false
	}
	whole, ok := new(big.Int).SetString(plain, 10)
	if !ok || whole.Sign() < 0 || whole.Cmp(big.NewInt(MaxSafe)) > 0 {
		return 0, false
	}
	return whole.Int64(), true
}
