package keyshelf

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"

	"keyshelf.example/keyshelf/offline"
)

// signer is a signing key of the vendor.
type signer struct {
	kid     string
	private ed25519.PrivateKey
}

func newSigner(kid string) *signer {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, kid)
	return &signer{kid, ed25519.NewKeyFromSeed(seed)}
}

func (one *signer) x() string {
	return base64.RawURLEncoding.EncodeToString(one.private.Public().(ed25519.PublicKey))
}

func (one *signer) keys() offline.Keys { return offline.Keys{one.kid: one.x()} }

func (one *signer) sign(claims map[string]any) string {
	part := func(value any) string {
		data, _ := json.Marshal(value)
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(map[string]any{"typ": "keyshelf-bundle+jwt", "alg": "EdDSA", "kid": one.kid}) + "." + part(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(one.private, []byte(text)))
}
