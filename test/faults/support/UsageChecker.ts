/** Checks the invariants of usage: compares what clients were told with what is stored. Pure. */
import type { Violation } from "./Checker.ts"

/** How a request is made safe to retry: by a transaction id, or by an `Idempotency-Key` on a report or a consuming check. */
export type UsageKind = "transaction" | "key" | "consume"

/** One use of a client, with all its retries. */
export interface UsageOperation {
  readonly marker: string
  readonly kind: UsageKind
  readonly instance: string
  readonly value: number
  /** `unknown`: no retry got a response that says. */
  outcome: "acknowledged" | "rejected" | "unknown"
  /** How many requests were sent. */
  attempts: number
  /** How many of them ended without a response, so that they may have been counted. */
  cut: number
  /** The usage in the response. */
  usage: number | null
  /** The response to another request after the end, through the other node. */
  replay: { readonly status: number; readonly isReplay: boolean } | null
}

/** What is stored of an instance. */
export interface StoredUsage {
  readonly instance: string
  /** The value and the number of events, as each node returns them. */
  readonly answers: ReadonlyArray<{ readonly value: number; readonly count: number }>
  /** The markers of the stored reports. A consuming check stores none. */
  readonly markers: ReadonlyArray<string>
}

/** All evidence of a run. */
export interface UsageEvidence {
  readonly cap: number
  readonly operations: ReadonlyArray<UsageOperation>
  readonly stored: ReadonlyArray<StoredUsage>
}

const valueOf = (operations: ReadonlyArray<UsageOperation>) => operations.reduce((sum, { value }) => sum + value, 0)

const hasMarker = ({ kind }: UsageOperation) => kind !== "consume"

/** Checks all invariants of usage. */
export const checkUsage = ({ cap, operations, stored }: UsageEvidence): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  const violated = (invariant: Violation["invariant"], detail: string) => violations.push({ invariant, detail })
  const byInstance = Map.groupBy(operations, ({ instance }) => instance)
  const storedInstances = new Map(stored.map((usage) => [usage.instance, usage]))

  for (const { instance, marker, usage } of operations) {
    if (usage !== null && usage > cap) violated("U1", `${marker} was told that ${instance} used ${usage} of ${cap}`)
  }
  for (const { attempts, marker, outcome } of operations) {
    if (outcome === "unknown") violated("U4", `${marker} got no response in ${attempts} requests`)
  }
  for (const { marker, outcome, replay } of operations) {
    if (outcome !== "acknowledged" || replay === null) continue
    if (replay.status !== 200)
      violated("U4", `${marker} was acknowledged, and got ${replay.status} through another node`)
    else if (!replay.isReplay) violated("U4", `${marker} was acknowledged, and ran again through another node`)
  }

  for (const [instance, ofInstance] of byInstance) {
    const usage = storedInstances.get(instance)
    if (usage === undefined) {
      violated("U2", `the usage of ${instance} is not known`)
      continue
    }
    const acknowledged = ofInstance.filter(({ outcome }) => outcome === "acknowledged")
    const unknown = ofInstance.filter(({ outcome }) => outcome === "unknown")
    const least = valueOf(acknowledged)
    const most = least + valueOf(unknown)
    for (const { count, value } of usage.answers) {
      if (value > cap) violated("U1", `${instance} used ${value} of ${cap}`)
      if (value < least) violated("U2", `${least} of ${instance} was acknowledged, and ${value} is stored`)
      if (value > most) violated("U3", `${most} of ${instance} was acknowledged, and ${value} is stored`)
      if (count < acknowledged.length) violated("U2", `${instance} has ${count} events of ${acknowledged.length}`)
      if (count > acknowledged.length + unknown.length) {
        violated("U3", `${instance} has ${count} events of ${acknowledged.length}`)
      }
    }
    const times = new Map(
      [...Map.groupBy(usage.markers, (marker) => marker)].map(([marker, all]) => [marker, all.length]),
    )
    for (const operation of ofInstance.filter(hasMarker)) {
      const { marker, outcome } = operation
      const found = times.get(marker) ?? 0
      if (outcome === "acknowledged" && found === 0) violated("U2", `${marker} was acknowledged and is not stored`)
      if (outcome === "rejected" && found > 0) violated("U3", `${marker} was rejected and is stored`)
      if (found > 1) violated("U3", `${marker} is stored ${found} times`)
    }
    const own = new Set(ofInstance.map(({ marker }) => marker))
    for (const marker of times.keys()) {
      if (!own.has(marker)) violated("U3", `${marker} is stored for ${instance}, which was never sent`)
    }
  }
  return violations
}
