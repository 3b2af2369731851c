/** Feature flags: their values for a context, however they were evaluated. By request: OFREP, with `ETag`. */
import { own } from "../../../../src/offline/values/Unknown.ts"
import { isServiceAway } from "../Errors.ts"
import { jsonOf } from "../RequestRules.ts"
import type { WhenAway } from "./Away.ts"
import { readAs } from "./Wire.ts"
import type { Send } from "./Wire.ts"

/** The number of contexts whose values a client keeps, so that unchanged ones are not sent again. */
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
  /** What evaluated: `policy` if nothing is known, so that all flags have the defaults of the code. */
  readonly source: "service" | "snapshot" | "policy"
  /** Milliseconds since the service last confirmed what was evaluated, `null` if it never did. */
  readonly ageMs: number | null
}

type Flags = ReadonlyMap<string, FlagDetails>

interface Evaluations {
  readonly keys: () => ReadonlyArray<string>
  readonly evaluate: (key: string) => FlagDetails | undefined
}

/** The values that evaluations give. */
export const flagSetOf = (
  { evaluate, keys }: Evaluations,
  source: FlagSet["source"],
  ageMs: number | null,
): FlagSet => {
  const valueOf =
    <A>(is: (value: unknown) => value is A) =>
    <B>(key: string, otherwise: B): A | B => {
      const value = evaluate(key)?.value
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
    details: evaluate,
    keys,
    source,
    ageMs,
  }
}

const flagSet = (flags: Flags, source: FlagSet["source"], ageMs: number | null): FlagSet =>
  flagSetOf({ keys: () => [...flags.keys()], evaluate: (key) => flags.get(key) }, source, ageMs)

const flagsIn = (text: string): Flags | undefined => {
  const flags = own(JSON.parse(text), "flags")
  if (!Array.isArray(flags)) return undefined
  return new Map(
    flags.filter((one): one is FlagDetails => typeof own(one, "key") === "string").map((one) => [one.key, one]),
  )
}

interface Known {
  readonly etag: string | null
  readonly flags: Flags
}

/** Evaluates flags by requests. */
export const makeFlags = (send: Send) => {
  const contexts = new Map<string, Known>()

  const remember = (key: string, known: Known) => {
    contexts.delete(key)
    contexts.set(key, known)
    const [oldest] = contexts.keys()
    if (contexts.size > MAX_CONTEXTS && oldest !== undefined) contexts.delete(oldest)
  }

  return async (
    context: Readonly<Record<string, unknown>>,
    whenAway: WhenAway,
    signal: AbortSignal | undefined,
  ): Promise<FlagSet> => {
    const key = jsonOf(Object.entries(context).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    const known = contexts.get(key)
    try {
      const response = await send({
        method: "POST",
        path: "/api/ofrep/v1/evaluate/flags",
        body: jsonOf({ context }),
        // An evaluation changes nothing, so it may be sent twice.
        isIdempotent: true,
        ...(known === undefined || known.etag === null ? {} : { headers: { "if-none-match": known.etag } }),
        ...(signal === undefined ? {} : { signal }),
      })
      const isKnown = response.status === 304 && known !== undefined
      const flags = isKnown ? known.flags : readAs(response, "an evaluation of flags", flagsIn)
      const etag = response.headers.get("etag") ?? (isKnown ? known.etag : null)
      remember(key, { etag, flags })
      return flagSet(flags, "service", 0)
    } catch (error) {
      if (whenAway === "fail" || !isServiceAway(error)) throw error
      return flagSet(new Map(), "policy", null)
    }
  }
}
