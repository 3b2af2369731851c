package local

import "sync/atomic"

// tick looks what is due, and when to look again. It never waits: a caller that comes while another looks makes that one look
// again. So a function of the product that is called meanwhile may use the client.
func (client *Client) tick() {
	if atomic.AddInt32(&client.ticks, 1) != 1 || !client.enter() {
		return
	}
	defer client.running.Done()
	for {
		ticks := atomic.LoadInt32(&client.ticks)
		client.look()
		if atomic.CompareAndSwapInt32(&client.ticks, ticks, 0) {
			return
		}
	}
}

// enter reports whether the client is still open. Close waits for all that have entered.
func (client *Client) enter() bool {
	client.mutex.RLock()
	defer client.mutex.RUnlock()
	if !client.isClosed {
		client.running.Add(1)
	}
	return !client.isClosed
}

func (client *Client) look() {
	next := client.restream()
	all := client.all()
	for _, one := range all {
		if one.due() {
			client.mutex.Lock()
			client.queue = append(client.queue, one)
			client.mutex.Unlock()
			signal(client.queued)
		}
		one.notice()
	}
	now := client.options.Clock.Read().Monotonic
	next = least(next, now+longestSleep)
	for _, one := range all {
		next = least(next, one.nextAt(now))
	}
	client.cancelTimer()
	client.cancelTimer = client.options.Clock.After(next-now, client.tick)
}

// next takes a fetch from the queue, nil if there is none.
func (client *Client) next() *follower {
	client.mutex.Lock()
	defer client.mutex.Unlock()
	if len(client.queue) == 0 {
		return nil
	}
	one := client.queue[0]
	client.queue = client.queue[1:]
	return one
}

// work fetches what is due, one after the other.
func (client *Client) work() {
	defer client.running.Done()
	for client.wakes(client.queued) {
		for one := client.next(); one != nil; one = client.next() {
			one.fetch(client.ctx)
			client.tick()
		}
	}
}
