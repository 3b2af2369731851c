package local

import (
	"context"
	"io"
	"sort"
	"time"

	"keyshelf.example/keyshelf/internal/backoff"
	"keyshelf.example/keyshelf/internal/wire"
)

// dial is one stream of changes, from the request on.
type dial struct {
	slugs []string
	ctx   context.Context
	end   context.CancelFunc
	// isOpen and heardAt are guarded by the mutex of the client, like all of its streaming.
	isOpen  bool
	heardAt time.Duration
	frames  frames
}

// streaming is what a client knows of its streams: there is at most one.
type streaming struct {
	current     *dial
	reconnectAt time.Duration
	failures    int
	// retry is what the last stream named.
	retry time.Duration
	// differsSince is since when the stream should be about other instances.
	differsSince time.Duration
}

func newStreaming() streaming {
	return streaming{reconnectAt: never, retry: firstRetry, differsSince: never}
}

// wanted are the instances that a stream is about: those with a snapshot. Before there is any, the stream is about all that
// may get one, so it is open before their first fetch. Who has no access has no stream.
func wanted(followers map[string]*follower) []string {
	held, others := []string{}, []string{}
	for slug, one := range followers {
		one.mutex.Lock()
		if one.facts.hasSnapshot {
			held = append(held, slug)
		} else if !one.facts.isRevoked {
			others = append(others, slug)
		}
		one.mutex.Unlock()
	}
	if len(held) == 0 {
		held = others
	}
	sort.Strings(held)
	return held
}

func areSame(one, other []string) bool {
	if len(one) != len(other) {
		return false
	}
	for place := range one {
		if one[place] != other[place] {
			return false
		}
	}
	return true
}

// restream ends a stream that is silent or about other instances than wanted, and opens the next one when it is time. It
// returns when to look again.
func (client *Client) restream() time.Duration {
	client.mutex.Lock()
	defer client.mutex.Unlock()
	streaming := &client.streaming
	now := client.options.Clock.Read().Monotonic
	slugs := wanted(client.followers)
	next := never
	if current := streaming.current; current != nil {
		silentAt := current.heardAt + maxSilence + time.Millisecond
		if current.isOpen && now >= silentAt {
			client.lose(current, nil)
		} else if current.isOpen {
			next = silentAt
		}
	}
	switch current := streaming.current; {
	case len(slugs) == 0:
		streaming.reconnectAt = never
		if current != nil {
			client.drop(current)
		}
	case current == nil && streaming.reconnectAt == never:
		streaming.reconnectAt = now
	case current != nil && !areSame(slugs, current.slugs):
		// Instances that start together are collected.
		if streaming.differsSince == never {
			streaming.differsSince = now
		}
		joinedAt := streaming.differsSince + joinWithin
		if now < joinedAt {
			return least(next, joinedAt)
		}
		client.drop(current)
		streaming.reconnectAt = now
	}
	if now >= streaming.reconnectAt {
		ctx, end := context.WithCancel(client.ctx)
		streaming.current = &dial{slugs: slugs, ctx: ctx, end: end}
		streaming.reconnectAt, streaming.differsSince = never, never
		signal(client.dialed)
	}
	return least(next, streaming.reconnectAt)
}

// followersOf are those whose changes a stream names.
func (client *Client) followersOf(current *dial) []*follower {
	found := make([]*follower, len(current.slugs))
	for place, slug := range current.slugs {
		found[place] = client.followers[slug]
	}
	return found
}

// drop ends a stream that is not wanted.
func (client *Client) drop(current *dial) {
	current.end()
	client.streaming.current, client.streaming.differsSince = nil, never
	for _, one := range client.followersOf(current) {
		one.mutex.Lock()
		one.facts.isOpen = false
		one.mutex.Unlock()
	}
}

// lose plans the next stream after one that could not be opened, or has ended.
func (client *Client) lose(current *dial, err error) {
	streaming, clock := &client.streaming, client.options.Clock
	current.end()
	streaming.current, streaming.differsSince = nil, never
	streaming.failures++
	delay := backoff.Polite(backoff.Retry(streaming.failures, streaming.retry, clock.Random()), wire.RetryAfter(err))
	streaming.reconnectAt = clock.Read().Monotonic + delay
	for _, one := range client.followersOf(current) {
		one.ended(err, delay)
	}
}

// opened says that the service follows its changes for a stream.
func (client *Client) opened(current *dial) {
	defer client.tick()
	client.mutex.Lock()
	defer client.mutex.Unlock()
	if current != client.streaming.current {
		return
	}
	current.isOpen, current.heardAt = true, client.options.Clock.Read().Monotonic
	client.streaming.failures = 0
	for _, one := range client.followersOf(current) {
		one.opened()
	}
}

// told takes what a stream sent.
func (client *Client) told(current *dial, text []byte) {
	defer client.tick()
	client.mutex.Lock()
	defer client.mutex.Unlock()
	if current != client.streaming.current {
		return
	}
	current.heardAt = client.options.Clock.Read().Monotonic
	changes := current.frames.read(text)
	if current.frames.retry > 0 {
		client.streaming.retry = current.frames.retry
	}
	for _, one := range client.followersOf(current) {
		one.told(changes)
	}
}

// lost says that a stream could not be opened, or has ended.
func (client *Client) lost(current *dial, err error) {
	defer client.tick()
	client.mutex.Lock()
	defer client.mutex.Unlock()
	if current != client.streaming.current {
		return
	}
	client.lose(current, err)
}

// follow reads one stream after the other.
func (client *Client) follow() {
	defer client.running.Done()
	for client.wakes(client.dialed) {
		client.mutex.RLock()
		current := client.streaming.current
		client.mutex.RUnlock()
		if current != nil {
			client.lost(current, client.read(current))
		}
	}
}

func (client *Client) read(current *dial) error {
	stream, err := client.options.Service.Changes(current.ctx, current.slugs)
	if err != nil {
		return err
	}
	defer stream.Close()
	client.opened(current)
	buffer := make([]byte, 4096)
	for {
		count, err := stream.Read(buffer)
		if count > 0 {
			client.told(current, buffer[:count])
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
