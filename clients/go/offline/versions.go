package offline

import (
	"regexp"
	"strings"
)

// maxVersionLength is more than any released version has.
const maxVersionLength = 256

var (
	numberForm     = regexp.MustCompile(`^(?:0|[1-9][0-9]*)$`)
	digitsForm     = regexp.MustCompile(`^[0-9]+$`)
	identifierForm = regexp.MustCompile(`^[0-9A-Za-z-]+$`)
)

// version is a semantic version (semver.org 2.0.0) of any size, in digits. Its build does not count.
type version struct{ core, prerelease []string }

func all(texts []string, holds func(string) bool) bool {
	for _, text := range texts {
		if !holds(text) {
			return false
		}
	}
	return true
}

func isPrereleaseIdentifier(text string) bool {
	return identifierForm.MatchString(text) && (!digitsForm.MatchString(text) || numberForm.MatchString(text))
}

// parseVersion reads a version of at most 256 characters.
func parseVersion(value any) (version, bool) {
	text, isText := value.(string)
	if !isText || len(text) > maxVersionLength {
		return version{}, false
	}
	rest, build, hasBuild := strings.Cut(text, "+")
	numbers, identifiers, isPrerelease := strings.Cut(rest, "-")
	parsed := version{core: strings.Split(numbers, ".")}
	if isPrerelease {
		parsed.prerelease = strings.Split(identifiers, ".")
	}
	isValid := len(parsed.core) == 3 && all(parsed.core, numberForm.MatchString) &&
		all(parsed.prerelease, isPrereleaseIdentifier) &&
		(!hasBuild || all(strings.Split(build, "."), identifierForm.MatchString))
	return parsed, isValid
}

// byNumber orders digits without leading zeros: the longer number is the greater one.
func byNumber(one, other string) int {
	if len(one) != len(other) {
		return len(one) - len(other)
	}
	return strings.Compare(one, other)
}

// byIdentifier puts numbers before other identifiers, which are in the order of ASCII.
func byIdentifier(one, other string) int {
	isNumber, isOtherNumber := digitsForm.MatchString(one), digitsForm.MatchString(other)
	switch {
	case isNumber && isOtherNumber:
		return byNumber(one, other)
	case isNumber:
		return -1
	case isOtherNumber:
		return 1
	}
	return strings.Compare(one, other)
}

func byItems(order func(one, other string) int, items, others []string) int {
	for place := range items {
		if place == len(others) {
			return 1
		}
		if found := order(items[place], others[place]); found != 0 {
			return found
		}
	}
	return len(items) - len(others)
}

// comparePrecedence is negative if the first version is lower, positive if it is higher.
func comparePrecedence(one, other version) int {
	if byCore := byItems(byNumber, one.core, other.core); byCore != 0 {
		return byCore
	}
	// A release comes after its pre-releases.
	isRelease, isOtherRelease := len(one.prerelease) == 0, len(other.prerelease) == 0
	if isRelease || isOtherRelease {
		return truth(isRelease) - truth(isOtherRelease)
	}
	return byItems(byIdentifier, one.prerelease, other.prerelease)
}

func truth(holds bool) int {
	if holds {
		return 1
	}
	return 0
}
