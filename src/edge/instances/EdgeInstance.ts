/** One instance, as a credential sees it: its local client, and what the origin last said. */
import { randomUUID } from "node:crypto"
import { makeLocalInstance } from "../../local/index.ts"
import type { Clock, LedgerStore, LocalInstance, LocalOptions } from "../../local/index.ts"
import { makeLedger } from "../../local/ledger/Ledger.ts"
import type { Target } from "../../domains/events/changes/Model.ts"
import type { Credential } from "../credentials/Credential.ts"
import { forInstance } from "../origin/ChangeFeed.ts"
import { OriginProblem } from "../origin/Replies.ts"
import type { EdgeFolder } from "./Folder.ts"

/** How long a first use waits for the origin. */
const START_TIMEOUT_MS = 2_000

/** A token of a snapshot, as it is passed on. */
export interface SentSnapshot {
  readonly token: string
  readonly etag: string
}

/** An instance in use with a credential. */
export interface EdgeInstance {
  readonly slug: string
  readonly credential: Credential
  readonly local: LocalInstance
  /** What the origin answered last, if that was a problem. */
  readonly problem: () => OriginProblem | undefined
  /** Whether a change concerns it. */
  readonly concerns: (target: Target) => boolean
  /** Whether a change is known that the snapshot does not have yet. */
  readonly isBehind: () => boolean
  /** Whether its local client can answer and refill. */
  readonly isUsable: () => boolean
  /** The last snapshot that was fetched. Those of refills have a tranche, which is not for clients of the edge. */
  readonly plain: () => SentSnapshot | undefined
}

/** What instances of an edge share. */
export interface InstanceOptions extends Pick<LocalOptions, "keys"> {
  readonly clock: Clock
  readonly folder: EdgeFolder
  readonly onError: (error: unknown) => void
}

/** The ledger of an instance in the folder of the edge. */
interface LedgerFiles {
  readonly isStored: (instanceId: string) => boolean
  readonly open: (instanceId: string) => Promise<LedgerStore>
}

/** Makes the test whether a change concerns an instance. What is not known of it may be concerned. */
const makeConcerns = (slug: string, local: () => LocalInstance): EdgeInstance["concerns"] => {
  // Each frame asks all instances: their claims are not read for it.
  let read: { readonly token: string; readonly names: Readonly<Record<string, string | undefined>> } | undefined
  return (target) => {
    if (target.of === "all") return true
    if (target.of === "instance") return target.slug === slug
    const { snapshot } = local().view()
    if (snapshot === undefined) return true
    if (read?.token !== snapshot.token) {
      const { customer, license, zone } = snapshot.claims
      read = { token: snapshot.token, names: { customer: customer.slug, license: license.slug, zone: zone?.slug } }
    }
    return read.names[target.of] === target.slug
  }
}

/** Loads what consumes: an edge has it from the start. */
const loadLedger = async () => ({ makeLedger })

/** Opens an instance. It does nothing before it is ready. */
export const openInstance = (
  credential: Credential,
  slug: string,
  { clock, folder, keys, onError }: InstanceOptions,
  ledger: LedgerFiles,
): EdgeInstance => {
  const { calls, feed } = credential
  let problem: OriginProblem | undefined
  let plain: SentSnapshot | undefined
  let changedAt = -Infinity
  let askedAt = -Infinity
  const concerns = makeConcerns(slug, () => local)
  const service: LocalOptions["service"] = {
    snapshot: async (instance, etag) => {
      const sentAt = clock.monotonic()
      const reply = await calls.snapshot(instance, etag, local.view().snapshot === undefined)
      if (reply.type === "snapshot" || reply.type === "unchanged") askedAt = sentAt
      if (reply.type === "snapshot" && reply.etag !== null) plain = { token: reply.token, etag: reply.etag }
      if (reply.type !== "away") {
        problem = "error" in reply && reply.error instanceof OriginProblem ? reply.error : undefined
      }
      return reply
    },
    keys: calls.keys,
    changes: (_, listener) => {
      const follower = forInstance(listener, (target) => {
        const concerned = concerns(target)
        if (concerned) changedAt = clock.monotonic()
        return concerned
      })
      return feed.follow({
        ...follower,
        opened: () => {
          changedAt = clock.monotonic()
          follower.opened()
        },
      })
    },
  }
  const local: LocalInstance = makeLocalInstance(
    slug,
    {
      clock,
      keys,
      startTimeoutMs: START_TIMEOUT_MS,
      savesMemory: true,
      store: folder.storeOf(credential.id, slug),
      onEvent: (event) => {
        // What the origin answers is not an error of the edge.
        if (event.type === "error" && event.error instanceof Error && "code" in event.error) onError(event.error)
      },
      service,
      ledger: {
        id: randomUUID,
        refill: calls.refill,
        ...ledger,
      },
    },
    loadLedger,
  )
  return {
    slug,
    credential,
    local,
    problem: () => problem,
    concerns,
    isBehind: () => askedAt < changedAt,
    isUsable: () => {
      const { snapshot, state } = local.view()
      return snapshot !== undefined && state !== "CLOSED" && state !== "REVOKED" && !credential.state.isDenied
    },
    plain: () => plain,
  }
}
