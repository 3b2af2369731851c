/** What an adapter brings: the settings of a third-party system, and a call that shows whether they work. */
import type { Effect } from "effect"
import type { OutboundError, OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import type { JsonObject } from "../Model.ts"

/** What a verification call found out. The texts may come from the other system. */
export interface Verdict {
  readonly succeeded: boolean
  readonly message: string
  /** Secrets of this call that are not in the settings, such as a token made for it. */
  readonly secrets?: ReadonlyArray<string>
}

/** A built-in connector. */
export interface Adapter {
  /** Its place in listings. */
  readonly id: string
  readonly name: string
  readonly version: string
  readonly schema: JsonObject
  /** Makes the vendor's cheapest authenticated call. The settings are valid under the schema. */
  readonly verify: (
    settings: JsonObject,
    http: OutboundHttp["Service"],
    at: Date,
  ) => Effect.Effect<Verdict, OutboundError>
}
