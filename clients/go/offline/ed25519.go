package offline

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
)

// smallOrder are the points of small order without their sign: the library takes them as keys, Web Crypto does not.
var smallOrder = func() [][]byte {
	var points [][]byte
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		point, _ := hex.DecodeString(text)
		points = append(points, point)
	}
	return points
}()

// prime is 2^255 - 19, the first y that is not canonical, with its most significant byte first.
var prime, _ = hex.DecodeString("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed")

// isSound reports whether the encoding of a point is canonical and its order is not small.
func isSound(point []byte) bool {
	y := append([]byte{}, point...)
	y[31] &= 0x7f
	for _, one := range smallOrder {
		if bytes.Equal(y, one) {
			return false
		}
	}
	for left, right := 0, len(y)-1; left < right; left, right = left+1, right-1 {
		y[left], y[right] = y[right], y[left]
	}
	return bytes.Compare(y, prime) < 0
}

// verifySignature takes what Web Crypto takes: the library's rules, canonical forms only, and no points of small order.
func verifySignature(key, message, signature []byte) bool {
	if len(key) != ed25519.PublicKeySize || len(signature) != ed25519.SignatureSize {
		return false
	}
	return isSound(key) && isSound(signature[:32]) && ed25519.Verify(key, message, signature)
}
