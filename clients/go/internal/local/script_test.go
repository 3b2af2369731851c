package local

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/ledger"
	"keyshelf.example/keyshelf/internal/values"
	"keyshelf.example/keyshelf/internal/wire"
	"keyshelf.example/keyshelf/offline"
)

// request is one that was sent and is not answered yet.
type request struct {
	to     string
	dial   *dial
	answer chan statesStep
}

// script plays a case under its own clock, without goroutines but those of fetches, which it awaits.
type script struct {
	t         *testing.T
	file      *statesFile
	one       statesCase
	directory string
	now       time.Duration
	ahead     time.Duration
	timers    map[int]timer
	made      int
	client    *Client
	store     *Store
	dial      *dial
	open      []request
	sent      []map[string]any
	// turned says that a fetch waits for an answer, or has ended.
	turned chan struct{}
}

type timer struct {
	at   time.Duration
	work func()
}

// began is what the monotonic clock shows when a case begins.
const began = 1000 * time.Hour

func (play *script) clock() Clock {
	start, _ := values.Millis(play.file.Clock)
	random := 0.5
	if play.one.Given.Random != nil {
		random = *play.one.Given.Random
	}
	return Clock{
		Read: func() clocks.Reading {
			return clocks.Reading{Wall: time.UnixMilli(start).Add(play.now + play.ahead), Monotonic: began + play.now}
		},
		Random: func() float64 { return random },
		After: func(delay time.Duration, work func()) func() {
			play.made++
			number := play.made
			play.timers[number] = timer{play.now + delay, work}
			return func() { delete(play.timers, number) }
		},
	}
}

func seconds(duration time.Duration) float64 { return math.Round(duration.Seconds()*1000) / 1000 }

func (play *script) send(to string, members map[string]any) {
	members["at"], members["to"] = seconds(play.now), to
	play.sent = append(play.sent, members)
}

// ask sends a request of a fetch, and waits for its answer.
func (play *script) ask(ctx context.Context, to string, members map[string]any) (statesStep, error) {
	answer := make(chan statesStep, 1)
	play.send(to, members)
	play.open = append(play.open, request{to: to, answer: answer})
	play.turned <- struct{}{}
	select {
	case step := <-answer:
		return step, play.problem(step)
	case <-ctx.Done():
		return statesStep{}, ctx.Err()
	}
}

func (play *script) problem(step statesStep) error {
	if step.Status == nil {
		return &wire.ConnectionError{Origin: "here", Cause: errors.New("lost")}
	}
	if step.Code == "" {
		return nil
	}
	body, _ := json.Marshal(map[string]any{"code": step.Code, "status": *step.Status})
	header := http.Header{"Content-Type": {"application/problem+json"}}
	if strings.HasPrefix(step.Code, "HTTP.") {
		body, header = []byte("<html>"), http.Header{"Content-Type": {"text/html"}}
	}
	if step.RetryAfter > 0 {
		header.Set("retry-after", strconv.FormatFloat(step.RetryAfter, 'f', -1, 64))
	}
	return wire.NewProblem(*step.Status, header, "/api/instances/globex-prod/snapshot", body)
}

func (play *script) Snapshot(ctx context.Context, instance, etag string) (Reply, error) {
	tag := any(nil)
	if etag != "" {
		tag = etag
	}
	step, err := play.ask(ctx, "snapshot", map[string]any{"etag": tag})
	if err != nil {
		return Reply{}, err
	}
	maxAge := 30.0
	if step.MaxAge != nil {
		maxAge = *step.MaxAge
	}
	wall := play.clock().Read().Wall
	date := wall.Add(time.Duration(step.DateAhead * float64(time.Second))).Truncate(time.Second)
	reply := Reply{Unchanged: *step.Status == http.StatusNotModified, MaxAge: time.Duration(maxAge * float64(time.Second)), Date: date}
	if !reply.Unchanged {
		reply.Token, reply.ETag = play.file.Snapshots[step.Snapshot].Token, step.Snapshot
	}
	return reply, nil
}

func (play *script) Keys(ctx context.Context, organization string) (offline.Keys, error) {
	step, err := play.ask(ctx, "keys", map[string]any{})
	if err != nil {
		return nil, err
	}
	return play.keys(step.Keys), nil
}

func (play *script) keys(ids []string) offline.Keys {
	keys := offline.Keys{}
	for _, id := range ids {
		keys[id] = play.file.Keys[id]
	}
	return keys
}

func (play *script) Changes(context.Context, []string) (io.ReadCloser, error) {
	panic("the script opens streams itself")
}

func (play *script) Refill(context.Context, string, any) (ledger.Response, error) {
	panic("nothing is consumed")
}

// settle lets the client finish what it can.
func (play *script) settle() {
	if play.client == nil {
		return
	}
	play.client.mutex.RLock()
	current := play.client.streaming.current
	play.client.mutex.RUnlock()
	if current != play.dial {
		// The client has ended the stream before.
		for place, one := range play.open {
			if one.to == "stream" {
				play.open = append(play.open[:place], play.open[place+1:]...)
				break
			}
		}
		if play.dial = current; current != nil {
			play.send("stream", map[string]any{})
			play.open = append(play.open, request{to: "stream", dial: current})
		}
	}
	for one := play.client.next(); one != nil; one = play.client.next() {
		client := play.client
		go func(one *follower) {
			one.fetch(client.ctx)
			client.tick()
			play.turned <- struct{}{}
		}(one)
		<-play.turned
		play.settle()
	}
}

// move moves the time, and runs each timer at its own.
func (play *script) move(to time.Duration) {
	for {
		first := 0
		for number, one := range play.timers {
			if one.at <= to && (first == 0 || one.at < play.timers[first].at || (one.at == play.timers[first].at && number < first)) {
				first = number
			}
		}
		if first == 0 {
			play.now = to
			return
		}
		one := play.timers[first]
		delete(play.timers, first)
		if one.at > play.now {
			play.now = one.at
		}
		one.work()
		play.settle()
	}
}

func (play *script) start() {
	given := play.one.Given
	options := Options{
		Clock: play.clock(), Service: play, Families: given.Families, StartTimeout: 2 * time.Second,
		Bundle: play.file.Snapshots[given.Bundle].Token,
	}
	ids := []string{"qeDfJlhHw0_QayzjmVIfJwPp1b5dWmeEQVeqvoRzIAw"}
	if string(given.Keys) != "null" {
		if len(given.Keys) > 0 {
			_ = json.Unmarshal(given.Keys, &ids)
		}
		options.Keys, options.Issuer = play.keys(ids), play.file.Issuer
	}
	store, err := OpenStore(play.directory)
	if err != nil {
		play.t.Fatal(err)
	}
	options.Store, play.store = store, store
	play.client = NewClient(options)
	play.client.start = func() {}
	if _, err := play.client.begin(play.file.Instance); err != nil {
		play.t.Fatal(err)
	}
}

func (play *script) kill() {
	if play.client == nil {
		return
	}
	play.client.cancel()
	for _, one := range play.open {
		if one.to != "stream" {
			<-play.turned
		}
	}
	_ = play.store.Close()
	play.client, play.dial, play.open, play.timers = nil, nil, nil, map[int]timer{}
}

// take takes the oldest open request.
func (play *script) take(to string) request {
	for place, one := range play.open {
		if one.to == to {
			play.open = append(append([]request{}, play.open[:place]...), play.open[place+1:]...)
			return one
		}
	}
	play.t.Fatalf("no request to %s is open", to)
	return request{}
}

func (play *script) do(step statesStep) {
	switch step.Do {
	case "start":
		play.start()
	case "kill":
		play.kill()
	case "close":
		fetches := 0
		for _, one := range play.open {
			if one.to != "stream" {
				fetches++
			}
		}
		if err := play.client.Close(context.Background()); err != nil {
			play.t.Error(err)
		}
		for ; fetches > 0; fetches-- {
			<-play.turned
		}
		play.open = nil
	case "refresh":
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = play.client.Refresh(ended, play.file.Instance)
	case "respond":
		one := play.take(step.To)
		if one.dial == nil {
			one.answer <- step
			<-play.turned
		} else if err := play.problem(step); err != nil {
			play.client.lost(one.dial, err)
		} else {
			play.client.opened(one.dial)
		}
	case "text":
		play.client.told(play.dial, []byte(step.Text))
	case "end":
		play.client.lost(play.dial, nil)
	case "clock":
		play.ahead += time.Duration(step.By * float64(time.Second))
	case "damage":
		for _, path := range play.files() {
			data, _ := os.ReadFile(path)
			_ = os.WriteFile(path, data[:len(data)/2], 0o600)
		}
	case "wait":
	default:
		play.t.Fatalf("the step %q is unknown", step.Do)
	}
	play.settle()
}
