package wire

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"keyshelf.example/keyshelf/internal/values"
)

// What a response is. All clients decide by the same vectors.
//
// A proxy, a gateway or the sign-in page of a network can answer before the service does, with any status. Such a response
// says nothing about the request.

// Promise says which result an operation promises.
type Promise int

const (
	// JSON is a body: 200, 201 or 202.
	JSON Promise = iota
	// Nothing is 204.
	Nothing
	// Any is JSON or nothing.
	Any
	// Token is a signed text.
	Token
)

const (
	jsonType     = "application/json"
	problemType  = "application/problem+json"
	tokenType    = "application/jwt"
	streamType   = "text/event-stream"
	problemURN   = "urn:keyshelf:problem:"
	ofrepPath    = "/api/ofrep/"
	foreignStart = "HTTP."
)

var (
	problemCode = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*$`)
	ofrepCode   = regexp.MustCompile(`^[A-Z][A-Z_]*$`)
	// body, body.name, body[3].
	bodyLocation = regexp.MustCompile(`^body\b`)
)

func mediaType(contentType string) string {
	before, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(before))
}

// isJSON reports whether a body is JSON. Without a media type, a body that parses as JSON counts as JSON.
func isJSON(contentType string) bool {
	found := mediaType(contentType)
	return found == "" || found == jsonType
}

// isResult reports whether a response is a result that an operation promises.
func isResult(status int, contentType string, promise Promise) bool {
	switch status {
	case http.StatusNoContent:
		return promise == Nothing || promise == Any
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
		if promise == Token {
			return mediaType(contentType) == tokenType
		}
		return promise != Nothing && isJSON(contentType)
	default:
		return false
	}
}

// codeOf returns the code of a problem of the service, and HTTP.<status> if something else responded, such as a proxy.
func codeOf(status int, contentType, path string, members map[string]any) string {
	if code, ok := values.StringOf(members["code"]); ok && mediaType(contentType) == problemType && isProblem(status, members) {
		return code
	}
	// OpenFeature defines the bodies of 400 and 404 for the evaluation of flags.
	isOfrep := strings.HasPrefix(path, ofrepPath) && (status == 400 || status == 404) && isJSON(contentType)
	if code, ok := values.StringOf(members["errorCode"]); ok && isOfrep && ofrepCode.MatchString(code) {
		return code
	}
	return fmt.Sprintf("%s%d", foreignStart, status)
}

// isProblem reports whether these are a problem. Its status is the response's, unless something changed one of them on the way.
func isProblem(status int, members map[string]any) bool {
	code, _ := values.StringOf(members["code"])
	if said, exists := members["status"]; exists {
		if count, ok := values.Count(said); !ok || count != int64(status) {
			return false
		}
	}
	if said, exists := members["type"]; exists {
		if urn, ok := values.StringOf(said); !ok || !strings.HasPrefix(urn, problemURN) {
			return false
		}
	}
	return status >= 400 && problemCode.MatchString(code)
}

func isForeign(code string) bool { return strings.HasPrefix(code, foreignStart) }

// IsOfBody reports whether the service rejected a request for its body. Other problems, such as a revoked token or a header
// that a proxy added, say nothing about the body.
func IsOfBody(problem *ProblemError) bool {
	if isForeign(problem.Code) || (problem.Status != 400 && problem.Status != 413 && problem.Status != 422) {
		return false
	}
	for _, one := range problem.Errors {
		if bodyLocation.MatchString(one.Location) {
			return true
		}
	}
	return len(problem.Errors) == 0
}
