/** What a local client knows. */
import type { Failure } from "./Ports.ts"
import type { Snapshot } from "./Snapshots.ts"
import type { LocalState } from "./States.ts"

/** What a local client knows at a time. */
export interface View {
  readonly state: LocalState
  /** Milliseconds since the service confirmed the snapshot; `null` without one. */
  readonly ageMs: number | null
  /** The time of the service, in milliseconds since 1970. */
  readonly time: number
  readonly snapshot: Snapshot | undefined
  /** Why there is no snapshot, if that is known. */
  readonly failure: Failure | undefined
}
