package local

import (
	"context"
	"sort"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/ledger"
)

// Client holds the snapshots of instances. It starts two goroutines with its first instance: one reads the stream of
// changes, the other fetches snapshots. What happens by time, a timer starts. Close ends all of it.
type Client struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// start starts the goroutines. queued and dialed wake them: a fetch is due, another stream is to be opened.
	start          func()
	queued, dialed chan struct{}
	// ticks counts those who want the client to look what is due. One at a time does.
	ticks       int32
	cancelTimer func()

	mutex     sync.RWMutex
	followers map[string]*follower
	isRunning bool
	isClosed  bool
	// ended is closed when all has ended, with closeErr.
	ended     chan struct{}
	closeErr  error
	queue     []*follower
	streaming streaming
}

// NewClient makes a client. It starts nothing before its first instance.
func NewClient(options Options) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	client := &Client{
		options: options, ctx: ctx, cancel: cancel, followers: map[string]*follower{}, streaming: newStreaming(),
		queued: make(chan struct{}, 1), dialed: make(chan struct{}, 1), ended: make(chan struct{}), cancelTimer: func() {},
	}
	client.start = func() {
		client.running.Add(2)
		go client.work()
		go client.follow()
	}
	return client
}

// signal wakes the goroutine that waits, now or next.
func signal(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// wakes waits for a signal, and reports false once the client is closed.
func (client *Client) wakes(signals <-chan struct{}) bool {
	select {
	case <-client.ctx.Done():
		return false
	case <-signals:
		return true
	}
}

// View is what a client knows of an instance at a time.
type View struct {
	State State
	// Age is the time since the service confirmed the snapshot; HasAge is false without one.
	Age    time.Duration
	HasAge bool
	// At is the time of the service.
	At       time.Time
	Snapshot *Snapshot
	// Err is what the last fetch failed with.
	Err error
	// ledger knows what was spent since the snapshot.
	ledger *ledger.Ledger
}

func (one *follower) view() View {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	now := one.now()
	millis := one.base.at(now)
	view := View{State: one.facts.stateAt(now, millis), At: time.UnixMilli(millis), Snapshot: one.snapshot, Err: one.failure, ledger: one.ledger}
	view.Age, view.HasAge = one.facts.ageAt(now)
	return view
}

func (client *Client) find(slug string) (*follower, bool) {
	client.mutex.RLock()
	defer client.mutex.RUnlock()
	return client.followers[slug], client.isClosed
}

// begin returns the follower of an instance, and makes one at its first use.
func (client *Client) begin(slug string) (*follower, error) {
	one, isClosed := client.find(slug)
	if isClosed {
		return nil, ErrClosed
	}
	if one != nil {
		return one, nil
	}
	return client.make(slug)
}

func (client *Client) make(slug string) (*follower, error) {
	one, isNew, err := client.put(slug)
	if isNew {
		// A process before this one may have left what is not settled: then the first check knows it.
		one.ledger.Contact()
		client.tick()
	}
	return one, err
}

func (client *Client) put(slug string) (one *follower, isNew bool, err error) {
	client.mutex.Lock()
	defer client.mutex.Unlock()
	if client.isClosed {
		return nil, false, ErrClosed
	}
	if one := client.followers[slug]; one != nil {
		return one, false, nil
	}
	one = newFollower(slug, &client.options, func(ctx context.Context) { _ = client.Refresh(ctx, slug) })
	client.followers[slug] = one
	if !client.isRunning {
		client.isRunning = true
		client.start()
	}
	return one, true, nil
}

// Start is Look, but also waits if the access was ended before: perhaps the credential is another one now.
func (client *Client) Start(ctx context.Context, slug string) (View, error) {
	one, err := client.begin(slug)
	if err != nil {
		return View{}, err
	}
	if state := one.view().State; state != Starting && state != Revoked {
		return one.view(), nil
	}
	return client.await(ctx, one)
}

// Look is what is known of an instance. While nothing is, the first calls wait for the first fetch, at most for the timeout
// of the start.
func (client *Client) Look(ctx context.Context, slug string) (View, error) {
	one, err := client.begin(slug)
	if err != nil {
		return View{}, err
	}
	if view := one.view(); view.State != Starting {
		return view, nil
	}
	return client.await(ctx, one)
}

// await waits for the first fetch, or the end of the time for it.
func (client *Client) await(ctx context.Context, one *follower) (View, error) {
	select {
	case <-one.first:
		return one.view(), nil
	case <-ctx.Done():
		return View{}, ctx.Err()
	case <-client.ctx.Done():
		return View{}, ErrClosed
	}
}

// Glance is what is known of an instance now.
func (client *Client) Glance(slug string) (View, error) {
	one, err := client.begin(slug)
	if err != nil {
		return View{}, err
	}
	return one.view(), nil
}

// Refresh fetches the snapshot of an instance now. It fails if the service did not confirm one.
func (client *Client) Refresh(ctx context.Context, slug string) error {
	one, err := client.begin(slug)
	if err != nil {
		return err
	}
	outcome := make(chan error, 1)
	one.mutex.Lock()
	one.waiting = append(one.waiting, outcome)
	one.isChanged = true
	one.fetchAt = one.now()
	one.mutex.Unlock()
	client.tick()
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-client.ctx.Done():
		return ErrClosed
	}
}

// Instances are those in use.
func (client *Client) Instances() []string {
	client.mutex.RLock()
	defer client.mutex.RUnlock()
	return slugsOf(client.followers)
}

func slugsOf(followers map[string]*follower) []string {
	slugs := make([]string, 0, len(followers))
	for slug := range followers {
		slugs = append(slugs, slug)
	}
	sort.Strings(slugs)
	return slugs
}

// Close settles the ledgers, ends the goroutines and the timer, stores what was seen, and frees the directory. Calls fail from
// then on.
func (client *Client) Close(ctx context.Context) error {
	client.mutex.Lock()
	if !client.isClosed {
		client.isClosed = true
		// Also if the caller does not wait until the end: the timer must end, and the directory be free.
		go func() {
			failed := client.closeLedgers()
			client.cancel()
			client.running.Wait()
			if client.closeErr = client.finish(); client.closeErr == nil {
				client.closeErr = failed
			}
			close(client.ended)
		}()
	}
	client.mutex.Unlock()
	select {
	case <-client.ended:
		return client.closeErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish stores what was seen, and frees the directory. Nothing runs any more.
func (client *Client) finish() error {
	client.cancelTimer()
	for _, one := range client.all() {
		one.mutex.Lock()
		one.facts.isClosed, one.facts.isOpen = true, false
		one.mutex.Unlock()
		one.notice()
		one.store()
	}
	if client.options.Store != nil {
		return client.options.Store.Close()
	}
	return nil
}

func (client *Client) all() []*follower {
	client.mutex.RLock()
	defer client.mutex.RUnlock()
	all := make([]*follower, 0, len(client.followers))
	for _, one := range client.followers {
		all = append(all, one)
	}
	return all
}
