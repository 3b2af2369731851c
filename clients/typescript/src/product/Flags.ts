/** Feature flags by OFREP, the OpenFeature Remote Evaluation Protocol, with `ETag`. */
import { isServiceAway } from "../Errors.ts"
import { ageMs, readClocks } from "../Clocks.ts"
import type { Reading } from "../Clocks.ts"
import { jsonOf } from "../RequestRules.ts"
import { own, readAs } from "./Wire.ts"
import type { Send } from "./Wire.ts"

/** The number of contexts whose values a client caches. */
const MAX_CONTEXTS = 100

/** The evaluation of a flag as OFREP describes it. */
export interface FlagDetails {
  readonly key: string
  readonly value?: unknown
  readonly reason?: string
  readonly variant?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly errorCode?: string
  readonly errorDetails?: string
}

/** The values of all flags for one context. A flag without a value, or with one of another type, has the default. */
export interface FlagSet {
  readonly boolean: (key: string, otherwise: boolean) => boolean
  readonly string: (key: string, otherwise: string) => string
  readonly number: (key: string, otherwise: number) => number
  readonly object: <A extends object>(key: string, otherwise: A) => A | Readonly<Record<string, unknown>>
  readonly details: (key: string) => FlagDetails | undefined
  readonly keys: () => ReadonlyArray<string>
  /** What answered: `default` if nothing is known. */
  readonly source: "service" | "lastKnown" | "default"
  /** Milliseconds since the service evaluated the flags, `null` if it never did. */
  readonly ageMs: number | null
}

type Flags = ReadonlyMap<string, FlagDetails>

const flagSet = (flags: Flags, source: FlagSet["source"], ageMs: number | null): FlagSet => {
  const valueOf =
    <A>(is: (value: unknown) => value is A) =>
    <B>(key: string, otherwise: B): A | B => {
      const value = flags.get(key)?.value
      return is(value) ? value : otherwise
    }
  return {
    boolean: valueOf((value) => typeof value === "boolean"),
    string: valueOf((value) => typeof value === "string"),
    number: valueOf((value) => typeof value === "number"),
    object: valueOf(
      (value): value is Readonly<Record<string, unknown>> =>
        typeof value === "object" && value !== null && !Array.isArray(value),
    ),
    details: (key) => flags.get(key),
    keys: () => [...flags.keys()],
    source,
    ageMs,
  }
}

const flagsIn = (text: string): Flags | undefined => {
  const flags = own(JSON.parse(text), "flags")
  if (!Array.isArray(flags)) return undefined
  return new Map(
    flags.filter((one): one is FlagDetails => typeof own(one, "key") === "string").map((one) => [one.key, one]),
  )
}

interface Known {
  readonly etag: string | null
  readonly at: Reading
  readonly flags: Flags
}

/** Options of an evaluation. */
export interface FlagOptions {
  /** The maximum age of the last values, which replace the response while the service is away. Without it, the call fails. */
  readonly maxAgeMs?: number
  readonly signal?: AbortSignal
}

/** Evaluates flags, and remembers the last values of each context. */
export const makeFlags = (send: Send) => {
  const contexts = new Map<string, Known>()

  const remember = (key: string, known: Known) => {
    contexts.delete(key)
    contexts.set(key, known)
    const [oldest] = contexts.keys()
    if (contexts.size > MAX_CONTEXTS && oldest !== undefined) contexts.delete(oldest)
  }

  return async (context: Readonly<Record<string, unknown>>, options: FlagOptions = {}): Promise<FlagSet> => {
    const key = jsonOf(Object.entries(context).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    if (options.maxAgeMs !== undefined && !(options.maxAgeMs >= 0)) throw new RangeError("maxAgeMs must be 0 or more")
    const known = contexts.get(key)
    try {
      const response = await send({
        method: "POST",
        path: "/api/ofrep/v1/evaluate/flags",
        body: jsonOf({ context }),
        // An evaluation changes nothing, so it may be sent twice.
        isIdempotent: true,
        ...(known === undefined || known.etag === null ? {} : { headers: { "if-none-match": known.etag } }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      })
      const isKnown = response.status === 304 && known !== undefined
      const flags = isKnown ? known.flags : readAs(response, "an evaluation of flags", flagsIn)
      const etag = response.headers.get("etag") ?? (isKnown ? known.etag : null)
      remember(key, { etag, at: readClocks(), flags })
      return flagSet(flags, "service", 0)
    } catch (error) {
      if (options.maxAgeMs === undefined || !isServiceAway(error)) throw error
      const age = known === undefined ? Infinity : ageMs(known.at, readClocks())
      return known === undefined || age > options.maxAgeMs
        ? flagSet(new Map(), "default", null)
        : flagSet(known.flags, "lastKnown", age)
    }
  }
}
