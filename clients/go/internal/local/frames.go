package local

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"keyshelf.example/keyshelf/internal/values"
)

// maxLine is the length of a line. What is longer is not of the service.
const maxLine = 65_536

// frame is what an event of a stream says: that something changed, for all that its names select.
type frame struct {
	instance, license, customer, zone string
}

// concerns reports whether a frame is about an instance. Names that it does not have select all.
func (one *frame) concerns(slug string, snapshot *Snapshot) bool {
	if one.instance != "" && one.instance != slug {
		return false
	}
	if snapshot == nil {
		return true
	}
	claims := snapshot.Claims
	zone, _ := values.StringOf(claims.Zone["slug"])
	isLicense := one.license == "" || one.license == claims.License.Slug || one.license == claims.License.Family
	return isLicense && (one.customer == "" || one.customer == claims.Customer.Slug) && (one.zone == "" || one.zone == zone)
}

// frameIn reads the data of an event, and returns nil if it says nothing about a change.
func frameIn(data string) *frame {
	var read struct {
		Type                              string
		Instance, License, Customer, Zone string
	}
	if json.Unmarshal([]byte(data), &read) != nil || read.Type != "refetchEvaluation" {
		return nil
	}
	return &frame{read.Instance, read.License, read.Customer, read.Zone}
}

// frames reads server-sent events, whose texts may break anywhere. An event ends with an empty line.
type frames struct {
	rest []byte
	data []string
	// isAfterReturn says that a line ended with a carriage return: a line feed that follows is a part of it.
	isAfterReturn bool
	// retry is what the stream named last, 0 if nothing.
	retry time.Duration
}

// read takes what a stream has sent, and returns the changes that are complete.
func (reader *frames) read(text []byte) (changes []*frame) {
	for _, char := range text {
		if char == '\n' && reader.isAfterReturn {
			reader.isAfterReturn = false
			continue
		}
		reader.isAfterReturn = char == '\r'
		if char != '\n' && char != '\r' {
			if len(reader.rest) < maxLine {
				reader.rest = append(reader.rest, char)
			}
			continue
		}
		if changed := reader.line(string(reader.rest)); changed != nil {
			changes = append(changes, changed)
		}
		reader.rest = reader.rest[:0]
	}
	return changes
}

func (reader *frames) line(line string) *frame {
	if line == "" {
		data := strings.Join(reader.data, "\n")
		reader.data = nil
		return frameIn(data)
	}
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "data":
		reader.data = append(reader.data, value)
	case "retry":
		if millis, err := strconv.ParseUint(value, 10, 30); err == nil {
			reader.retry = time.Duration(millis) * time.Millisecond
		}
	}
	return nil
}
