package local

import (
	"encoding/json"
	"time"

	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/offline"
)

const (
	storedFormat  = "keyshelf-snapshot"
	storedVersion = 1
)

// record is what is stored of an instance.
type record struct {
	Format string `json:"format"`
	V      int    `json:"v"`
	// Instance is the slug by which the product names it.
	Instance string `json:"instance"`
	// Token is null where access was ended.
	Token *string `json:"token"`
	ETag  *string `json:"etag"`
	// ConfirmedAt is when the service last confirmed the snapshot.
	ConfirmedAt string  `json:"confirmedAt"`
	Issuer      *string `json:"issuer"`
	// Keys are those that the service published; none if the product has its own.
	Keys  offline.Keys   `json:"keys"`
	State *offline.State `json:"state"`
	// RevokedAt is when the service ended the access: no restart revives the snapshot.
	RevokedAt *string `json:"revokedAt"`
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (one *record) encode() ([]byte, error) {
	one.Format, one.V = storedFormat, storedVersion
	if one.Keys == nil {
		one.Keys = offline.Keys{}
	}
	return json.Marshal(one)
}

// recordIn reads a file, and returns nil if it is damaged, or of a version that this one does not know.
func recordIn(data []byte) *record {
	var read record
	if json.Unmarshal(data, &read) != nil || read.Format != storedFormat || read.V != storedVersion || read.Instance == "" {
		return nil
	}
	_, isTime := values.Millis(read.ConfirmedAt)
	if read.RevokedAt != nil {
		_, isEnded := values.Millis(*read.RevokedAt)
		isTime = isTime && isEnded
	}
	if !isTime || (read.Token == nil && read.RevokedAt == nil) {
		return nil
	}
	return &read
}

func (one *record) confirmedAt() time.Time {
	millis, _ := values.Millis(one.ConfirmedAt)
	return time.UnixMilli(millis)
}

// saidAt is when the service said what is stored.
func (one *record) saidAt() int64 {
	said, _ := values.Millis(one.ConfirmedAt)
	if ended, isEnded := values.Millis(textOf(one.RevokedAt)); isEnded && ended > said {
		return ended
	}
	return said
}
