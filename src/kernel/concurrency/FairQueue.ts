/**
 * Bounds how much work of each key runs at once, and of all keys together. Waiting work runs round robin, one piece per
 * key, so that a key with much work delays another by one piece at most.
 */
import { Effect, Exit } from "effect"

/** Bounds of {@link makeFairQueue}, in units of weight. */
export interface FairQueueBounds {
  /** The maximum that runs for one key. */
  readonly perKey: number
  /** The maximum that runs for one key while others have work, or had some 100 ms ago; `perKey` by default. */
  readonly perSharingKey?: number
  /** The maximum that runs for all keys; unlimited by default. */
  readonly total?: number
  /**
   * How many milliseconds a piece of work counts as running; unlimited by default. Work that takes longer is waiting
   * for something other than what the queue shares.
   */
  readonly maxTurnMillis?: number
  /**
   * How many milliseconds work costs its key beyond the time that it took; 0 by default. A key that has used up
   * {@link CREDIT_MILLIS} rests after each such work for what it costs.
   */
  readonly costOf?: (work: EndedWork) => number
}

/** Work that has ended. */
export interface EndedWork {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly weight: number
  readonly millis: number
}

/** Runs work of a key once it fits the bounds. Work heavier than a bound runs alone. */
type FairQueue = <A, E, R>(key: string, weight: number, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

// Above this many, those of keys without work are forgotten.
const FEW_QUEUES = 1_000

// Single requests of another key follow each other within this time.
const SHARED_MILLIS = 100

// Single requests must not slow down a key.
const CREDIT_MILLIS = 1_000

/** Work that runs. A linked list, because a long-lived set leaks its old tables (`RequestBatcher.ts`). */
interface Turn {
  readonly queue: Queue
  readonly weight: number
  readonly startedAt: number
  isOver: boolean
  previous: Turn | undefined
  next: Turn | undefined
}

interface Waiting {
  readonly weight: number
  readonly start: (turn: Turn) => void
  turn: Turn | undefined
}

interface Queue {
  readonly key: string
  running: number
  /** Until when the costs of its work last. */
  indebtedUntil: number
  readonly waiting: Array<Waiting>
}

const isIdle = ({ indebtedUntil, running, waiting }: Queue): boolean =>
  running === 0 && waiting.length === 0 && indebtedUntil <= performance.now()

const fits = (running: number, weight: number, bound: number): boolean => running === 0 || running + weight <= bound

/** Creates a fair queue. */
export const makeFairQueue = ({
  costOf = () => 0,
  maxTurnMillis = Infinity,
  perKey,
  perSharingKey = perKey,
  total = Infinity,
}: FairQueueBounds): FairQueue => {
  // An idle queue stays until there are many: a queue that comes and goes with each request would make the map replace its table
  // again and again, and the tables that it replaced hold on to later ones (`RequestBatcher.ts`).
  const queues = new Map<string, Queue>()
  let maxQueues = FEW_QUEUES
  /** The queues in which work waits, in the order of their turns. */
  const waitingQueues = new Set<Queue>()
  let running = 0
  let newestQueue: Queue | undefined
  let sharedUntil = 0
  let oldest: Turn | undefined
  let newest: Turn | undefined
  let isGrantDue = false
  let longTurns: NodeJS.Timeout | undefined

  const forgetIdle = (): void => {
    for (const queue of queues.values()) if (isIdle(queue)) queues.delete(queue.key)
    maxQueues = Math.max(FEW_QUEUES, 2 * queues.size)
  }

  const queueOf = (key: string): Queue => {
    const known = queues.get(key)
    if (known !== undefined) return known
    if (queues.size >= maxQueues) forgetIdle()
    const queue: Queue = { key, running: 0, indebtedUntil: 0, waiting: [] }
    queues.set(key, queue)
    return queue
  }

  /** Two keys share the queue once their work alternates. */
  const noteSharing = (queue: Queue): void => {
    if (queue === newestQueue) return
    if (newestQueue !== undefined) sharedUntil = performance.now() + SHARED_MILLIS
    newestQueue = queue
  }

  const take = (queue: Queue, weight: number): Turn | undefined => {
    const startedAt = performance.now()
    const bound = startedAt < sharedUntil ? perSharingKey : perKey
    if (!fits(queue.running, weight, bound) || !fits(running, weight, total)) return undefined
    queue.running += weight
    running += weight
    const turn: Turn = {
      queue,
      weight,
      startedAt,
      isOver: false,
      previous: newest,
      next: undefined,
    }
    if (newest === undefined) oldest = turn
    else newest.next = turn
    newest = turn
    return turn
  }

  const unlink = (turn: Turn): void => {
    const { next, previous } = turn
    if (previous === undefined) oldest = next
    else previous.next = next
    if (next === undefined) newest = previous
    else next.previous = previous
    // An old turn must not retain later ones in memory.
    turn.previous = undefined
    turn.next = undefined
  }

  const release = (turn: Turn): void => {
    if (turn.isOver) return
    turn.isOver = true
    unlink(turn)
    const { queue, weight } = turn
    queue.running -= weight
    running -= weight
    grantLater()
  }

  /** Starts what fits, round robin, one piece per key. */
  const grant = (): void => {
    isGrantDue = false
    for (let passedOver = 0; passedOver < waitingQueues.size; passedOver++) {
      const [queue] = waitingQueues
      const first = queue?.waiting[0]
      if (queue === undefined || first === undefined) return
      waitingQueues.delete(queue)
      const turn = take(queue, first.weight)
      if (turn !== undefined) {
        passedOver = -1
        queue.waiting.shift()
        first.turn = turn
        first.start(turn)
      }
      if (queue.waiting.length > 0) waitingQueues.add(queue)
    }
    endLongTurnsLater()
  }

  const grantLater = (): void => {
    if (isGrantDue || waitingQueues.size === 0) return
    isGrantDue = true
    // In a later turn of the event loop, so that what other callers sent meanwhile comes first.
    setImmediate(grant)
  }

  const endLongTurnsLater = (): void => {
    if (longTurns !== undefined || waitingQueues.size === 0 || maxTurnMillis === Infinity) return
    longTurns = setTimeout(() => {
      longTurns = undefined
      const before = performance.now() - maxTurnMillis
      for (let turn = oldest; turn !== undefined && turn.startedAt <= before; turn = oldest) release(turn)
      endLongTurnsLater()
    }, maxTurnMillis)
  }

  const end = (turn: Turn, exit: Exit.Exit<unknown, unknown>): undefined => {
    const { queue, startedAt, weight } = turn
    const at = performance.now()
    const cost = costOf({ exit, weight, millis: at - startedAt })
    if (cost > 0) queue.indebtedUntil = Math.max(queue.indebtedUntil, at) + cost
    const restMillis = cost > 0 ? queue.indebtedUntil - at - CREDIT_MILLIS : 0
    if (restMillis > 0) setTimeout(() => release(turn), restMillis)
    else release(turn)
  }

  const giveUp = (queue: Queue, waiting: Waiting): void => {
    if (waiting.turn !== undefined) return release(waiting.turn)
    queue.waiting.splice(queue.waiting.indexOf(waiting), 1)
    if (queue.waiting.length === 0) waitingQueues.delete(queue)
    // The next work in the queue may fit.
    grantLater()
  }

  const waitForTurn = (queue: Queue, weight: number): Effect.Effect<Turn> =>
    Effect.suspend(() => {
      let waiting: Waiting | undefined
      return Effect.onExit(
        Effect.callback<Turn>((resume) => {
          waiting = { weight, start: (turn) => resume(Effect.succeed(turn)), turn: undefined }
          queue.waiting.push(waiting)
          waitingQueues.add(queue)
          endLongTurnsLater()
          // What ran may have ended just before.
          grantLater()
        }),
        (exit) =>
          Effect.sync(() => {
            if (Exit.isFailure(exit) && waiting !== undefined) giveUp(queue, waiting)
          }),
      )
    })

  return (key, weight, work) =>
    Effect.suspend(() => {
      const queue = queueOf(key)
      noteSharing(queue)
      const turn = queue.waiting.length === 0 ? take(queue, weight) : undefined
      if (turn !== undefined) return Effect.onExitPrimitive(work, (exit) => end(turn, exit))
      return Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(waitForTurn(queue, weight)), (granted) =>
          Effect.onExitPrimitive(restore(work), (exit) => end(granted, exit)),
        ),
      )
    })
}
