package wire

import (
	"fmt"
	"net/http"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

// ValidationError says what is wrong with a value of the request, and where: body.items[3].name.
type ValidationError struct {
	Location string
	Message  string
	// Value is what was sent, as parsed JSON; numbers are json.Number.
	Value any
}

// ProblemError says that the service rejected the request, or could not handle it (RFC 9457). Branch on Code.
type ProblemError struct {
	// Code is the kind of problem, such as Customer.NotFound; HTTP.<status> if something else responded, such as a proxy.
	Code   string
	Status int
	// Detail says what is wrong and what to do, for people.
	Detail string
	// ErrorID is the id of this occurrence. Quote it to support.
	ErrorID string
	Errors  []ValidationError
	// RetryAfter is the header Retry-After as it was sent.
	RetryAfter string
	// sent is when the response was sent.
	sent time.Time
}

func (problem *ProblemError) Error() string { return problem.Code + ": " + problem.Detail }

// IsAway reports whether the service is away: the response says nothing about the request.
func (problem *ProblemError) IsAway() bool { return problem.outcome().IsAway() }

func (problem *ProblemError) outcome() Outcome {
	return Outcome{Status: problem.Status, Code: problem.Code, RetryAfter: problem.RetryAfter, Now: problem.sent}
}

// ConnectionError says that there was no response: the service could not be reached, the time was up, or the response was
// not of the service. The request may have been executed.
type ConnectionError struct {
	Origin string
	Cause  error
	// isForeign says that something other than the service responded.
	isForeign bool
}

func (failed *ConnectionError) Error() string {
	if failed.isForeign {
		return fmt.Sprintf("%s is not the service: %v", failed.Origin, failed.Cause)
	}
	return fmt.Sprintf("%s did not respond: %v", failed.Origin, failed.Cause)
}

// Unwrap returns the error of the connection.
func (failed *ConnectionError) Unwrap() error { return failed.Cause }

// IsAway is true.
func (failed *ConnectionError) IsAway() bool { return true }

// NewProblem reads a response to a request of a path that is not a success.
func NewProblem(status int, header http.Header, path string, body []byte) *ProblemError {
	parsed, _ := values.ParseJSON(body)
	members := values.Object(parsed)
	code := codeOf(status, header.Get("content-type"), path, members)
	if isForeign(code) {
		// A proxy's text is not shown as the service's.
		members = nil
	}
	// The clocks of both machines may differ.
	sent, err := http.ParseTime(header.Get("date"))
	if err != nil {
		sent = time.Now()
	}
	text := func(otherwise string, names ...string) string {
		for _, name := range names {
			if found, ok := values.StringOf(members[name]); ok && found != "" {
				return found
			}
		}
		return otherwise
	}
	problem := &ProblemError{
		Code:       code,
		Status:     status,
		Detail:     text(fmt.Sprintf("The response has status %d.", status), "detail", "errorDetails"),
		ErrorID:    text("", "errorId"),
		RetryAfter: header.Get("retry-after"),
		sent:       sent,
	}
	for _, one := range values.List(members["errors"]) {
		location, hasLocation := values.StringOf(values.Object(one)["location"])
		message, hasMessage := values.StringOf(values.Object(one)["message"])
		if hasLocation && hasMessage {
			problem.Errors = append(problem.Errors, ValidationError{location, message, values.Object(one)["value"]})
		}
	}
	return problem
}
