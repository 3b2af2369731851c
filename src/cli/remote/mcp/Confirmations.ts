/** Changes that were shown and wait for their confirmation. They are in memory, and end with the process. */
import { Clock, Duration, Effect, HashMap, Option, Ref } from "effect"

/** How long a change waits for its confirmation. Later its dry run may no longer be true. */
const MAX_AGE = Duration.minutes(10)

const MAX_PENDING = 100

interface Pending {
  readonly tool: string
  /** The arguments as JSON with sorted properties. */
  readonly arguments: string
  readonly until: number
}

/** Why a confirmation does not count. */
export type Refusal = "UNKNOWN" | "OTHER_ARGUMENTS"

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  )
}

/** The changes that wait for their confirmation. */
export interface Confirmations {
  /** Stores a change, and returns the handle that confirms it. */
  readonly add: (tool: string, given: unknown) => Effect.Effect<string>
  /**
   * Takes a change that was shown. A handle confirms one change once, with the arguments that were shown. Returns why it
   * does not count, or none.
   */
  readonly take: (handle: string, tool: string, given: unknown) => Effect.Effect<Option.Option<Refusal>>
  /** Puts a change back whose request had no response: it can be repeated with the same handle. */
  readonly restore: (handle: string, tool: string, given: unknown) => Effect.Effect<void>
}

export const makeConfirmations: Effect.Effect<Confirmations> = Effect.gen(function* () {
  const pending = yield* Ref.make(HashMap.empty<string, Pending>())

  const add = Effect.fnUntraced(function* (tool: string, given: unknown) {
    const now = yield* Clock.currentTimeMillis
    const handle = globalThis.crypto.randomUUID()
    const change = { tool, arguments: JSON.stringify(sorted(given)), until: now + Duration.toMillis(MAX_AGE) }
    yield* Ref.update(pending, (all) => {
      const current = HashMap.filter(all, ({ until }) => until > now)
      return HashMap.set(HashMap.size(current) < MAX_PENDING ? current : HashMap.empty(), handle, change)
    })
    return handle
  })

  const take = Effect.fnUntraced(function* (handle: string, tool: string, given: unknown) {
    const now = yield* Clock.currentTimeMillis
    const text = JSON.stringify(sorted(given))
    return yield* Ref.modify(pending, (all): readonly [Option.Option<Refusal>, HashMap.HashMap<string, Pending>] => {
      const found = Option.filter(HashMap.get(all, handle), ({ until }) => until > now)
      if (Option.isNone(found)) return [Option.some("UNKNOWN"), all]
      const isSame = found.value.tool === tool && found.value.arguments === text
      return isSame ? [Option.none(), HashMap.remove(all, handle)] : [Option.some("OTHER_ARGUMENTS"), all]
    })
  })

  const restore = Effect.fnUntraced(function* (handle: string, tool: string, given: unknown) {
    const now = yield* Clock.currentTimeMillis
    const change = { tool, arguments: JSON.stringify(sorted(given)), until: now + Duration.toMillis(MAX_AGE) }
    yield* Ref.update(pending, HashMap.set(handle, change))
  })

  return { add, take, restore }
})
