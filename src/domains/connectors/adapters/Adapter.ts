/** The interface of adapters: the settings schema of a third-party system, and a call that verifies settings. */
import type { Effect } from "effect"
import type { OutboundError, OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import type { JsonObject } from "../Model.ts"

/** The result of a verification call. The message may contain text of the third-party system. */
export interface Verdict {
  readonly succeeded: boolean
  readonly message: string
  /** Secrets of this call that are not in the settings, such as an access token created for it. */
  readonly secrets?: ReadonlyArray<string>
}

/** A built-in connector. */
export interface Adapter {
  /** Lists are sorted by it. */
  readonly id: string
  readonly name: string
  readonly version: string
  readonly schema: JsonObject
  /** Calls the vendor's cheapest authenticated operation. The settings match the schema. */
  readonly verify: (
    settings: JsonObject,
    http: OutboundHttp["Service"],
    at: Date,
  ) => Effect.Effect<Verdict, OutboundError>
}
