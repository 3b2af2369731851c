/**
 * The limit of open files, and what happens at it. Every connection needs a file descriptor. Without a free one, the
 * system accepts and closes new connections without notifying Node.js, and every connection that the service opens
 * fails.
 */
import { Context, Effect, Layer } from "effect"
import { closeSync, openSync, readFileSync } from "node:fs"
import { Settings } from "./Settings.ts"

/** Logged at most once per this time, however many connections fail. */
const LOG_INTERVAL_MS = 30_000

const TOO_MANY =
  "Too many open files: new connections are closed. Raise the limit: `ulimit -n`, `LimitNOFILE=` of systemd, or `ulimits` of the container"

/** Files of Node.js, listeners, the dedicated database connections, Redis, telemetry, and connections of monitoring. */
const BASE_RESERVE = 64

/** Whether an error means that no file descriptor is free, in this process or on this machine. */
export const isExhaustion = (code: unknown): boolean => code === "EMFILE" || code === "ENFILE"

/** Returns the number of files that this process may open, if the system reports it. Node.js raises it as far as allowed. */
export const openFilesLimit = (): number | undefined => {
  try {
    const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1])
    return Number.isSafeInteger(limit) ? limit : undefined
  } catch {
    return undefined
  }
}

/** Whether no file descriptor is free. Opens one to find out. */
export const areExhausted = (): boolean => {
  try {
    closeSync(openSync("/", "r"))
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && isExhaustion(error.code)
  }
}

/** The descriptors that callers' connections may not take: for the database, deliveries and the internal listener. */
export const reserveOf = ({ databasePoolSize, roles, webhooksConcurrency }: Settings["Service"]): number =>
  BASE_RESERVE + databasePoolSize + (roles.has("dispatcher") ? webhooksConcurrency : 0)

/** The number of connections that callers may open: at least half of the limit. Pure. */
export const maxConnectionsOf = (limit: number, reserve: number): number =>
  Math.max(Math.floor(limit / 2), limit - reserve)

/** What listeners and outbound calls share. */
interface SharedDescriptors {
  /** Counts a caller's connection. Returns whether it may stay open; if so, `release` follows at its end. */
  readonly admit: () => boolean
  readonly release: () => void
  /** Logs that a connection failed or was closed because too many files are open. */
  readonly reportExhaustion: () => void
}

/** The file descriptors of this process. The default has no limit and logs nothing. */
export const FileDescriptors = Context.Reference<SharedDescriptors>("keyshelf.reference/infra/FileDescriptors", {
  defaultValue: () => ({ admit: () => true, release: () => {}, reportExhaustion: () => {} }),
})

/** Limits callers' connections to a number. `limit` is logged with it. */
export const make = (maxConnections: number, limit: number | undefined): Effect.Effect<SharedDescriptors> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const run = Effect.runForkWith(context)
    let open = 0
    let failures = 0
    let loggedAt = -Infinity
    const reportExhaustion = () => {
      failures++
      const at = performance.now()
      if (at - loggedAt < LOG_INTERVAL_MS) return
      const facts = { limit, failures, connections: open }
      loggedAt = at
      failures = 0
      run(Effect.logError(TOO_MANY).pipe(Effect.annotateLogs(facts)))
    }
    return Effect.succeed({
      admit: () => {
        if (open < maxConnections) {
          open++
          return true
        }
        reportExhaustion()
        return false
      },
      release: () => {
        open--
      },
      reportExhaustion,
    })
  })

/** Reads the limit, and checks every second whether it is reached, because the system reports no closed connections. */
export const layer = Layer.effect(
  FileDescriptors,
  Effect.gen(function* () {
    const limit = openFilesLimit()
    const max = limit === undefined ? Infinity : maxConnectionsOf(limit, reserveOf(yield* Settings))
    const descriptors = yield* make(max, limit)
    yield* Effect.sync(() => {
      if (areExhausted()) descriptors.reportExhaustion()
    }).pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)
    return descriptors
  }),
)
