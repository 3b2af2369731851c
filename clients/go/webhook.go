package keyshelf

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"keyshelf.example/keyshelf/internal/wire"
)

// webhookTolerance is how old or ahead a delivery may be. An older one may be a replay.
const webhookTolerance = 300

var timestamp = regexp.MustCompile(`^[0-9]{1,15}$`)

// WebhookEvent is the event of a delivery. Data is the record after the change; Previous is what changed, if it has it.
type WebhookEvent struct {
	ID             string          `json:"id"`
	Type           string          `json:"type"`
	Timestamp      time.Time       `json:"timestamp"`
	OrganizationID string          `json:"organizationId"`
	Actor          WebhookActor    `json:"actor"`
	Data           json.RawMessage `json:"data"`
	Previous       json.RawMessage `json:"previous"`
}

// WebhookActor is who made the change.
type WebhookActor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// WebhookError says that a request is not a genuine delivery: answer 401. Reason is MISSING_HEADER, MALFORMED_TIMESTAMP,
// TOO_OLD, TOO_NEW, BAD_SIGNATURE or MALFORMED_BODY.
type WebhookError struct{ Reason string }

func (rejected *WebhookError) Error() string { return "keyshelf: no delivery: " + rejected.Reason }

// VerifyWebhook returns the event of a delivery. The body is that of the request, byte by byte: JSON that was parsed and
// written again is another text. A secret that cannot be right is a *ConfigurationError: no delivery is the cause. Events may come more than once; the header webhook-id is the same each time.
func VerifyWebhook(secret string, header http.Header, body []byte) (*WebhookEvent, error) {
	return verifyWebhook(secret, header, body, time.Now())
}

func verifyWebhook(secret string, header http.Header, body []byte, now time.Time) (*WebhookEvent, error) {
	key, err := wire.WebhookKey(secret)
	if err != nil {
		return nil, err
	}
	id, sent, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || sent == "" || signatures == "" {
		return nil, &WebhookError{"MISSING_HEADER"}
	}
	if !timestamp.MatchString(sent) {
		return nil, &WebhookError{"MALFORMED_TIMESTAMP"}
	}
	at, _ := strconv.ParseInt(sent, 10, 64)
	if age := now.Unix() - at; age > webhookTolerance {
		return nil, &WebhookError{"TOO_OLD"}
	} else if age < -webhookTolerance {
		return nil, &WebhookError{"TOO_NEW"}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + sent + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	isGenuine := false
	for _, one := range strings.Split(signatures, " ") {
		// Each is compared in full, so that the time says nothing about them.
		isGenuine = hmac.Equal(expected, []byte(one)) || isGenuine
	}
	if !isGenuine {
		return nil, &WebhookError{"BAD_SIGNATURE"}
	}
	var event *WebhookEvent
	if !utf8.Valid(body) || json.Unmarshal(body, &event) != nil || event == nil {
		return nil, &WebhookError{"MALFORMED_BODY"}
	}
	return event, nil
}
