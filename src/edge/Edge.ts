/** What the routes of an edge work with. */
import { Context } from "effect"
import type { CredentialBook } from "./credentials/CredentialBook.ts"
import type { Instances } from "./instances/Instances.ts"
import type { KeySets } from "./origin/KeySets.ts"
import type { OriginResult } from "./origin/Calls.ts"
import type { Origin } from "./origin/Requests.ts"

/** A running edge. */
export class Edge extends Context.Service<
  Edge,
  {
    readonly origin: Origin
    readonly credentials: CredentialBook
    readonly instances: Instances
    readonly keySets: KeySets
    /** Counts a request to the origin. */
    readonly countRequest: (result: OriginResult) => void
  }
>()("keyshelf/edge/Edge") {}
