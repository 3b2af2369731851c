package offline

import (
	"encoding/base64"
	"strings"

	"keyshelf.example/keyshelf/internal/values"
)

const (
	// maxSteps is how many keys may lie between a learned key and a pinned one.
	maxSteps = 8
	keyBytes = 32
)

var base64url = base64.RawURLEncoding.Strict()

// fault ends a verification early. Callers see its status.
type fault Status

func (status fault) Error() string { return string(status) }

func check(holds bool, status Status) error {
	if holds {
		return nil
	}
	return fault(status)
}

// decoded returns the bytes of canonical base64url: no padding, no other characters, spare bits zero.
func decoded(text string) ([]byte, bool) {
	// The library skips line feeds.
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	data, err := base64url.DecodeString(text)
	return data, err == nil
}

// Keys are the vendor's keys that are part of the product: the key by its id.
type Keys map[string]string

// KeySet reads a key set as the service publishes it (RFC 7517). Keys of other kinds are left out.
func KeySet(data []byte) (Keys, error) {
	parsed, err := values.ParseJSON(data)
	if err != nil {
		return nil, err
	}
	keys := Keys{}
	for _, one := range values.List(values.Object(parsed)["keys"]) {
		if kid, x, ok := keyOf(one); ok {
			keys[kid] = x
		}
	}
	return keys, nil
}

// keyOf returns id and key of a public Ed25519 key in JSON.
func keyOf(value any) (kid, x string, ok bool) {
	members := values.Object(value)
	kid, hasID := values.StringOf(members["kid"])
	x, hasKey := values.StringOf(members["x"])
	_, isKey := keyData(x)
	isOurs := members["kty"] == "OKP" && members["crv"] == "Ed25519"
	return kid, x, isOurs && hasID && hasKey && isKey
}

func keyData(x string) ([]byte, bool) {
	data, ok := decoded(x)
	return data, ok && len(data) == keyBytes
}

type trustedKey struct {
	data     []byte
	isPinned bool
}

// keyring finds trusted keys. A pinned key never counts as a learned key.
type keyring struct {
	pinned  Keys
	learned map[string]LearnedKey
}

func (ring keyring) find(kid string) (trustedKey, bool) {
	last := kid
	for step := 0; step < maxSteps; step++ {
		if _, isPinned := ring.pinned[last]; isPinned {
			break
		}
		learned, exists := ring.learned[last]
		if !exists {
			return trustedKey{}, false
		}
		last = learned.By
	}
	if _, ok := keyData(ring.pinned[last]); !ok {
		return trustedKey{}, false
	}
	isPinned := last == kid
	x := ring.pinned[kid]
	if !isPinned {
		x = ring.learned[kid].X
	}
	data, ok := keyData(x)
	return trustedKey{data, isPinned}, ok
}

type opened struct {
	kid    string
	key    trustedKey
	claims map[string]any
}

// open opens a token of a type. It checks form, key, signature and version, in this order. The payload is parsed only if
// it is signed.
func open(text, typ string, maxLength int, ring keyring) (opened, error) {
	malformed := fault(Malformed)
	token := strings.Trim(text, "\t\n\v\f\r ")
	parts := strings.SplitN(token, ".", 4)
	if len(token) > maxLength || len(parts) != 3 {
		return opened{}, malformed
	}
	var data [3][]byte
	for place, part := range parts {
		var ok bool
		if data[place], ok = decoded(part); !ok {
			return opened{}, malformed
		}
	}
	parsed, err := values.ParseBounded(data[0])
	header := values.Object(parsed)
	kid, hasID := values.StringOf(header["kid"])
	_, isCritical := header["crit"]
	isOurs := header["typ"] == typ && (header["alg"] == "EdDSA" || header["alg"] == "Ed25519") && !isCritical
	if err != nil || !isOurs || !hasID {
		return opened{}, malformed
	}
	key, isTrusted := ring.find(kid)
	if !isTrusted {
		return opened{}, fault(UnknownKey)
	}
	if !verifySignature(key.data, []byte(token[:strings.LastIndexByte(token, '.')]), data[2]) {
		return opened{}, fault(BadSignature)
	}
	parsed, err = values.ParseBounded(data[1])
	claims := values.Object(parsed)
	if err != nil || claims == nil {
		return opened{}, malformed
	}
	if version, ok := values.Count(claims["v"]); !ok || version != 1 {
		return opened{}, fault(Unsupported)
	}
	return opened{kid, key, claims}, nil
}
