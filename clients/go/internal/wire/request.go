package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name checks a slug, or another name in a path or in a check.
func Name(what, text string) error {
	if text == "" || !utf8.ValidString(text) || strings.IndexFunc(text, isASCIIControl) >= 0 {
		return fmt.Errorf("keyshelf: %s must be a text in UTF-8 that is not empty, without control characters", what)
	}
	return nil
}

func isASCIIControl(char rune) bool { return char <= unicode.MaxASCII && unicode.IsControl(char) }

// Path returns the path of an operation; each segment is encoded.
func Path(segments ...string) (string, error) {
	var path strings.Builder
	path.WriteString("/api")
	for _, segment := range segments {
		if err := Name("a slug", segment); err != nil {
			return "", err
		}
		// A proxy on the way resolves them, so that another operation would be called.
		if segment == "." || segment == ".." {
			return "", fmt.Errorf("keyshelf: a slug must not be %q", segment)
		}
		// PathEscape leaves some characters that have a meaning in paths of other software.
		path.WriteString("/" + strings.ReplaceAll(url.QueryEscape(segment), "+", "%20"))
	}
	return path.String(), nil
}

// Target checks a method, and a path with its query, as a caller writes them.
func Target(verb, target string) error {
	plain, _, _ := strings.Cut(target, "?")
	if !method.MatchString(verb) {
		return errors.New("keyshelf: a method is a word in capitals, such as GET")
	}
	if !strings.HasPrefix(plain, "/") || !visible.MatchString(target) || strings.ContainsAny(target, `#\`) || dotSegment.MatchString(plain) {
		return errors.New("keyshelf: a path begins with / and is encoded: visible ASCII characters, no fragment, no dot segments")
	}
	return nil
}

// Key checks an idempotency key, in the form that the service accepts.
func Key(text string) error {
	if !key.MatchString(text) {
		return errors.New("keyshelf: an idempotency key has 1 to 255 visible ASCII characters without blanks")
	}
	return nil
}

// Encode writes JSON. A text that is not UTF-8 is an error: the encoder would replace some of its bytes.
func Encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	if !isUTF8(reflect.ValueOf(value)) {
		return nil, errors.New("a text of the body is not UTF-8")
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// isUTF8 reports whether all texts of a value are UTF-8. The value was encoded before, so it contains itself nowhere.
func isUTF8(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.String:
		return utf8.ValidString(value.String())
	case reflect.Interface, reflect.Pointer:
		return value.IsNil() || isUTF8(value.Elem())
	case reflect.Map:
		for _, key := range value.MapKeys() {
			if !isUTF8(key) || !isUTF8(value.MapIndex(key)) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		// Bytes are not texts.
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return true
		}
		for place := 0; place < value.Len(); place++ {
			if !isUTF8(value.Index(place)) {
				return false
			}
		}
	case reflect.Struct:
		for place := 0; place < value.NumField(); place++ {
			if value.Type().Field(place).IsExported() && !isUTF8(value.Field(place)) {
				return false
			}
		}
	}
	return true
}
