package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

var (
	ledgerSource = regexp.MustCompile(`^urn:keyshelf:ledger:[0-9a-f-]{36}$`)
	lineNumber   = regexp.MustCompile(`^[1-9][0-9]{0,14}$`)
)

// Position is how many lines a ledger has, and the hash of the last one: of its source if there is none.
type Position struct {
	Lines int64  `json:"lines"`
	Head  string `json:"head"`
}

// Usage is usage of one entitlement. Add up first: a line an hour is enough.
type Usage struct {
	// Instance and Entitlement are slugs. BundleID is Claims.ID of the bundle.
	Instance, Entitlement, BundleID string
	// Value is a decimal.
	Value string
	// Time is when. The default is the clock of the machine.
	Time time.Time
	// Data are other properties of the event's data, such as uniqueKey.
	Data map[string]any
}

// LedgerError says why a ledger cannot be opened. Status is MALFORMED; GAP, if lines from Next on are missing; or FORKED,
// if the line At does not follow from the one before, or is another one than the position has.
type LedgerError struct {
	Status   string
	At, Next int64
}

func (failed *LedgerError) Error() string {
	return fmt.Sprintf("keyshelf: the ledger is %s (at %d, next %d)", failed.Status, failed.At, failed.Next)
}

// Ledger is usage without a service: one CloudEvent per line, each with the hash of the line before. You store the lines and
// upload them when you can. Goroutines may share it.
type Ledger struct {
	source     string
	duplicates int
	mutex      sync.Mutex
	position   Position
}

// OpenLedger opens a ledger: a new one, or one that is stored. The source is urn:keyshelf:ledger:<uuid>, a new uuid for
// each ledger. The position is one that is known to be right, such as the service's, and may be nil; lines before it may
// be left out. It fails with a *LedgerError.
func OpenLedger(source string, stored *Position, lines []string) (*Ledger, error) {
	if !ledgerSource.MatchString(source) {
		return nil, &LedgerError{Status: "MALFORMED"}
	}
	start := Position{0, hashOf(source)}
	ledger := &Ledger{source: source, position: start}
	if stored != nil {
		if stored.Lines < 0 || (stored.Lines == 0 && stored.Head != start.Head) {
			return nil, &LedgerError{Status: "MALFORMED"}
		}
		ledger.position = *stored
	}
	for _, line := range lines {
		if err := ledger.follow(line); err != nil {
			return nil, err
		}
	}
	return ledger, nil
}

// Position returns the position now.
func (ledger *Ledger) Position() Position {
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	return ledger.position
}

// Duplicates returns how many of the lines that were passed the stored position already had.
func (ledger *Ledger) Duplicates() int { return ledger.duplicates }

func (ledger *Ledger) follow(line string) error {
	parsed, err := values.ParseBounded([]byte(line))
	event := values.Object(parsed)
	id, _ := values.StringOf(event["id"])
	if err != nil || event["source"] != ledger.source || !lineNumber.MatchString(id) {
		return &LedgerError{Status: "MALFORMED"}
	}
	number, _ := strconv.ParseInt(id, 10, 64)
	if number > ledger.position.Lines+1 {
		return &LedgerError{Status: "GAP", Next: ledger.position.Lines + 1}
	}
	hash := hashOf(line)
	isNew := number > ledger.position.Lines
	follows := number < ledger.position.Lines || hash == ledger.position.Head
	if isNew {
		follows = event["prevhash"] == ledger.position.Head
	}
	if !follows {
		return &LedgerError{Status: "FORKED", At: number}
	}
	if isNew {
		ledger.position = Position{number, hash}
	} else {
		ledger.duplicates++
	}
	return nil
}

type lineAttributes struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Subject     string          `json:"subject"`
	Type        string          `json:"type"`
	Time        string          `json:"time"`
	BundleID    string          `json:"bundleid"`
	PrevHash    string          `json:"prevhash"`
	Data        json.RawMessage `json:"data"`
}

// Append makes the next line and returns it. Store it: if that fails, open the ledger again from what is stored. It
// changes nothing if it fails.
func (ledger *Ledger) Append(usage Usage) (string, error) {
	amount := values.Rat(usage.Value)
	if _, hasValue := usage.Data["value"]; amount == nil || hasValue {
		return "", fmt.Errorf("keyshelf: the value %q is not a decimal, or data has a value", usage.Value)
	}
	at := usage.Time
	if at.IsZero() {
		at = time.Now()
	}
	// The amount is written digit by digit: a floating point number would round it.
	data := `{"value":` + values.Text(amount)
	if len(usage.Data) > 0 {
		rest, err := compact(usage.Data)
		if err != nil {
			return "", err
		}
		data += "," + string(rest[1:])
	} else {
		data += "}"
	}
	ledger.mutex.Lock()
	defer ledger.mutex.Unlock()
	number := ledger.position.Lines + 1
	line, err := compact(lineAttributes{
		SpecVersion: "1.0",
		ID:          strconv.FormatInt(number, 10),
		Source:      ledger.source,
		Subject:     usage.Instance,
		Type:        usage.Entitlement,
		Time:        values.TimeText(at),
		BundleID:    usage.BundleID,
		PrevHash:    ledger.position.Head,
		Data:        json.RawMessage(data),
	})
	if err != nil {
		return "", err
	}
	ledger.position = Position{number, hashOf(string(line))}
	return string(line), nil
}

// compact writes JSON without spaces, and <, > and & as they are, as other languages do.
func compact(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}
