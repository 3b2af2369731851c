package wire

import (
	"context"
	"encoding/base64"
	"net"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ConfigurationError says that a setting of the client can never work, or that its credential cannot be read. Nothing was
// sent, and no policy answers. The text names the setting and never its value.
type ConfigurationError struct {
	// Setting is its name, such as token.
	Setting string
	fault   string
	cause   error
}

// NewConfigurationError says what is wrong with a setting. The cause may be nil.
func NewConfigurationError(setting, fault string, cause error) *ConfigurationError {
	return &ConfigurationError{setting, fault, cause}
}

func (wrong *ConfigurationError) Error() string {
	return "keyshelf: the " + wrong.Setting + " " + wrong.fault
}

// Unwrap returns the error of the function that reads the token, or of the file system.
func (wrong *ConfigurationError) Unwrap() error { return wrong.cause }

// IsAway is false, also if the cause is that another service is away.
func (wrong *ConfigurationError) IsAway() bool { return false }

// whitespace is ASCII only: a byte order mark and a no-break space are not white space of a setting.
const whitespace = "\t\n\v\f\r "

// minKeyBytes is the least length of Standard Webhooks. A shorter key can be guessed, and everyone knows the empty one.
const minKeyBytes = 24

var (
	address = regexp.MustCompile(`^(?i:(https?)://)(\[[0-9A-Fa-f:.]+\]|[^:/\[\]]+)(:[0-9]{1,5})?(/.*)?$`)
	name    = regexp.MustCompile(`^[\pL\pM\pN_-]{1,63}(\.[\pL\pM\pN_-]{1,63})*\.?$`)
	path    = regexp.MustCompile(`^(/([A-Za-z0-9_.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*$`)
	// Libraries resolve these segments, some of them also in their encoded form.
	dotSegment = regexp.MustCompile(`(?i)/(\.|%2e){1,2}(/|$)`)
	// A host whose last part is a number is an IPv4 address. Libraries do not agree on other forms than four decimals.
	numeric = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)\.?$`)
	visible = regexp.MustCompile(`^[!-~]+$`)
	key     = regexp.MustCompile(`^[!-~]{1,255}$`)
	method  = regexp.MustCompile(`^[A-Z]+$`)
)

// Address returns the address of a service: without a slash at its end, and without the /api that other settings name.
func Address(text string) (string, error) {
	found := address.FindStringSubmatch(strings.Trim(text, whitespace))
	if found != nil && isHost(found[2]) && isPort(found[3]) && path.MatchString(found[4]) && !dotSegment.MatchString(found[4]) {
		root := strings.ToLower(found[1]) + "://" + found[2] + found[3]
		return root + strings.TrimRight(strings.TrimSuffix(strings.TrimRight(found[4], "/"), "/api"), "/"), nil
	}
	return "", NewConfigurationError("address",
		"must be an http or https URL such as https://keyshelf.example: with a host, without a user, a query or a fragment", nil)
}

func isHost(host string) bool {
	if strings.HasPrefix(host, "[") {
		return net.ParseIP(strings.Trim(host, "[]")) != nil
	}
	if numeric.MatchString(host) {
		return net.ParseIP(host) != nil
	}
	return utf8.ValidString(host) && len(host) <= 253 && name.MatchString(host)
}

func isPort(port string) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(port, ":"))
	return port == "" || (err == nil && number >= 1 && number <= 65_535)
}

// Credential returns the token that a header can carry.
func Credential(token string) (string, error) {
	text := strings.Trim(token, whitespace)
	if text == "" {
		return "", NewConfigurationError("token", "is missing or empty", nil)
	}
	if !visible.MatchString(text) {
		return "", NewConfigurationError("token", "must be visible ASCII characters without blanks", nil)
	}
	return text, nil
}

// WebhookKey returns the key of a webhook endpoint's secret.
func WebhookKey(secret string) ([]byte, error) {
	text := strings.TrimPrefix(strings.Trim(secret, whitespace), "whsec_")
	// The library skips line feeds.
	if key, err := base64.StdEncoding.Strict().DecodeString(text); err == nil && len(key) >= minKeyBytes && visible.MatchString(text) {
		return key, nil
	}
	return nil, NewConfigurationError("secret", "must be whsec_ and at least 24 bytes in base64", nil)
}

// Check returns what can never work.
func (transport *Transport) Check() error {
	if transport.Timeout <= 0 {
		return NewConfigurationError("timeout", "must be above 0", nil)
	}
	if transport.Deadline <= 0 {
		return NewConfigurationError("deadline", "must be above 0", nil)
	}
	if transport.Retries < 0 {
		return NewConfigurationError("retries", "must be 0 or more", nil)
	}
	return nil
}

// authorization reads the credential of the next attempt. If it cannot be read, that says nothing about the service,
// whatever the function fails with.
func (transport *Transport) authorization(ctx context.Context) (string, error) {
	token, err := transport.Token(ctx)
	if err != nil {
		return "", NewConfigurationError("token", "cannot be read: "+err.Error(), err)
	}
	credential, err := Credential(token)
	return "Bearer " + credential, err
}
