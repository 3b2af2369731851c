package keyshelf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"keyshelf.example/keyshelf/internal/journal"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/wire"
)

const (
	defaultCapacity = 10_000
	maxBatch        = 1_000
	// The service accepts bodies of up to 1 MiB.
	maxBatchBytes = 900_000
)

// BufferOptions configure a buffer.
type BufferOptions struct {
	// Path is a file in which events survive a restart. Its folder must exist. Without it they are in memory.
	Path string
	// Capacity is how many events may wait. The default is 10,000.
	Capacity int
	// Source is the CloudEvents source of the events. The default is a random one, which stays with the file.
	Source string
}

// UsageBuffer collects reports. Goroutines may share it; one process at a time uses its file.
//
// An event leaves the buffer only when the service has answered about it. If a response is lost, the event is sent again
// with the same id, and counts once.
type UsageBuffer struct {
	transport *wire.Transport
	capacity  int
	mutex     sync.Mutex
	flushing  sync.Mutex
	journal   *journal.Journal
}

// RejectedEvent is an event that the service does not count, such as usage above the limit. It has left the buffer.
type RejectedEvent struct {
	ID string
	// Event is the CloudEvent in JSON.
	Event   json.RawMessage
	Code    string
	Message string
}

// FlushResult says what a flush did.
type FlushResult struct {
	Accepted int
	// Duplicates had been counted already: the response of an earlier flush was lost.
	Duplicates int
	Rejected   []RejectedEvent
}

type event struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Subject     string    `json:"subject"`
	Type        string    `json:"type"`
	Time        string    `json:"time"`
	Data        eventData `json:"data"`
}

type eventData struct {
	// A text, because it keeps all digits through each parser.
	Value     string `json:"value"`
	UniqueKey string `json:"uniqueKey,omitempty"`
}

// UsageBuffer opens a local buffer of reports. Close it, so that another process may use its file.
func (client *Client) UsageBuffer(options BufferOptions) (*UsageBuffer, error) {
	if options.Capacity == 0 {
		options.Capacity = defaultCapacity
	}
	if options.Source == "" {
		options.Source = "urn:keyshelf:sdk:" + wire.NewID()
	}
	if options.Capacity < 0 {
		return nil, wire.NewConfigurationError("capacity", "must be 1 or more", nil)
	}
	if !isLabel(options.Source) {
		return nil, wire.NewConfigurationError("source", "must be a text of 1 to 255 characters", nil)
	}
	if _, err := os.Stat(filepath.Dir(options.Path)); options.Path != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, wire.NewConfigurationError("path", "must be in a folder that exists: "+filepath.Dir(options.Path), err)
	}
	opened, err := journal.Open(options.Path, options.Source)
	if err != nil {
		return nil, err
	}
	return &UsageBuffer{transport: client.transport, capacity: options.Capacity, journal: opened}, nil
}

// Len returns how many events wait to be sent.
func (buffer *UsageBuffer) Len() int {
	buffer.mutex.Lock()
	defer buffer.mutex.Unlock()
	return len(buffer.journal.Lines)
}

// Report takes a report and returns its id. With a path, it is on the disk when this returns without an error.
func (buffer *UsageBuffer) Report(report Report) (string, error) {
	value, err := report.Value.countable()
	if err != nil {
		return "", err
	}
	if report.ID == "" {
		report.ID = wire.NewID()
	}
	if report.Time.IsZero() {
		report.Time = time.Now()
	}
	for _, label := range []string{report.Instance, report.Entitlement, report.ID} {
		if !isLabel(label) {
			return "", fmt.Errorf("keyshelf: %q must be a text of 1 to 255 characters", label)
		}
	}
	if report.UniqueKey != "" && !isLabel(report.UniqueKey) {
		return "", errors.New("keyshelf: the unique key must have at most 255 characters")
	}
	buffer.mutex.Lock()
	defer buffer.mutex.Unlock()
	if len(buffer.journal.Lines) >= buffer.capacity {
		return "", ErrBufferFull
	}
	line, err := json.Marshal(event{
		SpecVersion: "1.0",
		ID:          report.ID,
		Source:      buffer.journal.Source,
		Subject:     report.Instance,
		Type:        report.Entitlement,
		Time:        values.TimeText(report.Time),
		Data:        eventData{value, report.UniqueKey},
	})
	if err != nil {
		return "", err
	}
	return report.ID, buffer.journal.Append(line)
}

// Flush sends all events that wait. With an error, the result says what was done; other events are still in the buffer.
func (buffer *UsageBuffer) Flush(ctx context.Context) (FlushResult, error) {
	var result FlushResult
	buffer.flushing.Lock()
	defer buffer.flushing.Unlock()
	for waiting := buffer.Len(); waiting > 0; {
		buffer.mutex.Lock()
		batch := batchOf(buffer.journal.Lines[:waiting])
		buffer.mutex.Unlock()
		if err := buffer.send(ctx, 0, batch, &result); err != nil {
			return result, err
		}
		waiting -= len(batch)
	}
	return result, nil
}

// Run flushes at an interval until ctx ends. `onFlush`, which may be nil, receives what each flush did.
func (buffer *UsageBuffer) Run(ctx context.Context, interval time.Duration, onFlush func(FlushResult, error)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if buffer.Len() > 0 {
				result, err := buffer.Flush(ctx)
				if onFlush != nil {
					onFlush(result, err)
				}
			}
		}
	}
}

// Close closes the file. It sends nothing: events of a file wait for the next process.
func (buffer *UsageBuffer) Close() error {
	buffer.mutex.Lock()
	defer buffer.mutex.Unlock()
	return buffer.journal.Close()
}

// send sends the events of lines, which follow others, and removes those that have a result.
func (buffer *UsageBuffer) send(ctx context.Context, skip int, lines [][]byte, result *FlushResult) error {
	events := make([]json.RawMessage, len(lines))
	for place, line := range lines {
		events[place] = line
	}
	response, err := buffer.transport.Send(ctx, wire.Request{
		Method:      http.MethodPost,
		Path:        "/api/usage-events",
		Body:        events,
		ContentType: "application/cloudevents-batch+json",
		// The service counts each event once, by its source and id.
		IsRepeatable: true,
	})
	var problem *ProblemError
	if errors.As(err, &problem) && wire.IsOfBody(problem) {
		return buffer.divide(ctx, skip, lines, problem, result)
	}
	if err != nil {
		return err
	}
	var body struct {
		Results []verdict `json:"results"`
	}
	if err := buffer.transport.Decode(response, &body); err != nil {
		return err
	}
	if !areOfThese(body.Results, len(lines)) {
		return buffer.transport.Foreign(errors.New("the response has results of other events"))
	}
	settled, err := buffer.settle(skip, lines, body.Results, result)
	if err == nil && settled < len(lines) {
		return buffer.transport.Foreign(fmt.Errorf("the response has no result for %d events", len(lines)-settled))
	}
	return err
}

func isLabel(text string) bool {
	count := utf8.RuneCountInString(text)
	return count >= 1 && count <= 255 && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

func batchOf(lines [][]byte) [][]byte {
	size := 0
	for count, line := range lines {
		size += len(line) + 1
		if count == maxBatch || (count > 0 && size > maxBatchBytes) {
			return lines[:count]
		}
	}
	return lines
}
