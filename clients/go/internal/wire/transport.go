// Package wire sends requests over HTTP, and repeats them where that is safe.
package wire

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Version of the module.
const Version = "0.1.0"

// maxBytes is the maximum size of a response. A page without an end must not fill the memory.
const maxBytes = 64 << 20

// maxProblemBytes is that of a problem which a stream is rejected with.
const maxProblemBytes = 1 << 20

// Transport sends requests of one credential. Goroutines may share it.
type Transport struct {
	BaseURL string
	// Token returns the credential. It is called for each attempt.
	Token func(context.Context) (string, error)
	// Timeout limits one attempt, Deadline a call with all its attempts and the time between them.
	Timeout  time.Duration
	Deadline time.Duration
	Retries  int
	HTTP     *http.Client
}

// Request is a request of any operation.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	// Body is written as JSON, unless it is nil.
	Body           any
	ContentType    string
	Header         map[string]string
	IdempotencyKey string
	// IsRepeatable says that the request has the same effect if it is sent twice, although it is a POST without a key.
	IsRepeatable bool
	// Promise says which result the operation promises. The default is JSON.
	Promise Promise
}

// encoded is the body as it is sent, nil if there is none.
func (request *Request) encoded() ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	body, err := Encode(request.Body)
	if err != nil {
		return nil, fmt.Errorf("keyshelf: %w", err)
	}
	return body, nil
}

// Response is a result of the service, or 304.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Send sends a request. It fails with a *ProblemError, a *ConnectionError, or the error of ctx; before anything is sent
// with a *ConfigurationError, or with another error for a fault of the request.
func (transport *Transport) Send(ctx context.Context, request Request) (*Response, error) {
	body, err := request.encoded()
	if err != nil {
		return nil, err
	}
	if request.IdempotencyKey != "" {
		if err := Key(request.IdempotencyKey); err != nil {
			return nil, err
		}
	}
	isIdempotent := request.Method != http.MethodPost || request.IdempotencyKey != "" || request.IsRepeatable
	bounded, cancel := context.WithTimeout(ctx, transport.Deadline)
	defer cancel()
	for attempt := 1; ; attempt++ {
		response, err := transport.exchange(bounded, request, body)
		if err == nil {
			return response, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var outcome Outcome
		var problem *ProblemError
		if errors.As(err, &problem) {
			outcome = problem.outcome()
		} else if connection := (*ConnectionError)(nil); !errors.As(err, &connection) || connection.isForeign {
			return nil, err
		}
		millis, again := outcome.Delay(attempt, transport.Retries, isIdempotent, Random())
		delay := time.Duration(millis * float64(time.Millisecond))
		ends, _ := bounded.Deadline()
		if !again || time.Until(ends) <= delay {
			return nil, err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Once sends a request, and repeats nothing.
func (transport *Transport) Once(ctx context.Context, request Request) (*Response, error) {
	body, err := request.encoded()
	if err != nil {
		return nil, err
	}
	return transport.exchange(ctx, request, body)
}

// Stream opens a stream of server-sent events. It ends with its context.
func (transport *Transport) Stream(ctx context.Context, request Request) (io.ReadCloser, error) {
	attempt, cancel := context.WithCancel(ctx)
	// Only the time until it opens is bound.
	timer := time.AfterFunc(transport.Timeout, cancel)
	sent, err := transport.request(attempt, request, nil)
	if err != nil {
		timer.Stop()
		cancel()
		return nil, err
	}
	sent.Header.Set("accept", streamType)
	received, err := transport.HTTP.Do(sent)
	if !timer.Stop() && err == nil {
		received.Body.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		cancel()
		return nil, transport.Lost(err)
	}
	status, contentType := received.StatusCode, received.Header.Get("content-type")
	if status == http.StatusOK && mediaType(contentType) == streamType {
		return stream{received.Body, cancel}, nil
	}
	defer cancel()
	defer received.Body.Close()
	if status < http.StatusMultipleChoices {
		return nil, transport.Foreign(fmt.Errorf("the response of the type %q is no stream", contentType))
	}
	content, _ := io.ReadAll(io.LimitReader(received.Body, maxProblemBytes))
	return nil, NewProblem(status, received.Header, request.Path, content)
}

// stream frees what its request has when it is closed.
type stream struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (stream stream) Close() error {
	stream.cancel()
	return stream.ReadCloser.Close()
}

// request makes a request with what each has.
func (transport *Transport) request(ctx context.Context, request Request, body []byte) (*http.Request, error) {
	authorization, err := transport.authorization(ctx)
	if err != nil {
		return nil, err
	}
	target := transport.BaseURL + request.Path
	if len(request.Query) > 0 {
		target += "?" + request.Query.Encode()
	}
	sent, err := http.NewRequestWithContext(ctx, request.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("keyshelf: %w", err)
	}
	sent.Header.Set("accept", "application/json")
	sent.Header.Set("user-agent", "keyshelf-go/"+Version)
	sent.Header.Set("authorization", authorization)
	return sent, nil
}

func (transport *Transport) exchange(ctx context.Context, request Request, body []byte) (*Response, error) {
	attempt, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	sent, err := transport.request(attempt, request, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		sent.Header.Set("content-type", "application/json")
		if request.ContentType != "" {
			sent.Header.Set("content-type", request.ContentType)
		}
	}
	if request.IdempotencyKey != "" {
		sent.Header.Set("idempotency-key", request.IdempotencyKey)
	}
	for name, value := range request.Header {
		sent.Header.Set(name, value)
	}
	received, err := transport.HTTP.Do(sent)
	if err != nil {
		return nil, transport.Lost(err)
	}
	defer received.Body.Close()
	content, err := io.ReadAll(io.LimitReader(received.Body, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("the response has more than %d bytes", maxBytes)
	}
	if err != nil {
		return nil, transport.Lost(err)
	}
	status, header := received.StatusCode, received.Header
	isUnchanged := status == http.StatusNotModified && sent.Header.Get("if-none-match") != ""
	if isUnchanged || isResult(status, header.Get("content-type"), request.Promise) {
		return &Response{status, header, content}, nil
	}
	if status < 300 || status == http.StatusNotModified {
		return nil, transport.Foreign(fmt.Errorf("the response with status %d is not a result", status))
	}
	return nil, NewProblem(status, header, request.Path, content)
}

// Lost is the error of a response that was lost.
func (transport *Transport) Lost(cause error) error {
	return &ConnectionError{Origin: transport.BaseURL, Cause: cause}
}

// Foreign is the error of a response that is not of the service. It is not repeated.
func (transport *Transport) Foreign(cause error) error {
	return &ConnectionError{Origin: transport.BaseURL, Cause: cause, isForeign: true}
}

// Decode reads the body of a result. One of another form is not of the service.
func (transport *Transport) Decode(response *Response, into any) error {
	if err := json.Unmarshal(response.Body, into); err != nil {
		return transport.Foreign(err)
	}
	return nil
}

// Random returns a number from 0 to 1 that differs between processes.
func Random() float64 {
	var data [8]byte
	if _, err := rand.Read(data[:]); err != nil {
		return 0.5
	}
	return float64(binary.BigEndian.Uint64(data[:])>>11) / (1 << 53)
}

// NewID returns a random UUID.
func NewID() string {
	var data [16]byte
	if _, err := rand.Read(data[:]); err != nil {
		// Without random numbers two ids could be the same, and usage would be lost.
		panic(err)
	}
	data[6], data[8] = data[6]&0x0f|0x40, data[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", data[:4], data[4:6], data[6:8], data[8:10], data[10:])
}
