/** Why there is no snapshot. */
import type { Failure } from "./Ports.ts"

/** Problems of the service that end the access of a product, each with the status of its own. */
export const ACCESS_ENDS: ReadonlyArray<string> = ["Auth.InvalidCredential", "Auth.MissingScope", "Instance.NotFound"]

/** What the service sent cannot be taken. The message names the status of the verification. */
export class SnapshotRejected extends Error {
  override readonly name = "SnapshotRejected"
  readonly status: string
  /** Whether a product may go on as if the service were away. */
  readonly isAway: boolean
  constructor(instance: string, status: string, isAway: boolean) {
    super(`The snapshot of ${instance} cannot be taken: ${status}`)
    this.status = status
    this.isAway = isAway
  }
}

/** The failure of a fetch whose snapshot cannot be taken. One of another family was chosen by the vendor: that must be seen. */
export const rejectionOf = (instance: string, status: string): Failure => {
  const isChosen = status === "WRONG_LICENSE"
  return {
    type: isChosen ? "problem" : "away",
    code: "",
    error: new SnapshotRejected(instance, status, !isChosen),
  }
}
