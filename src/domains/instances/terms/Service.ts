/**
 * Emits the events about the end of a license, each once per instance and end date. A notice and its event are stored
 * in one transaction, under the lock of the instance's schedule. So a killed process emits neither or both, and of two
 * nodes one emits.
 */
import { Array as Arr, Context, Duration, Effect, Layer } from "effect"
import { bySystem } from "../../../kernel/contract/Caller.ts"
import { transactionsByIndex } from "../../../kernel/database/RowsByKey.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Events } from "../../events/Service.ts"
import type { Instance } from "../Model.ts"
import { InstancesRepo } from "../Repo.ts"
import { CurrentTermLeads } from "./Leads.ts"
import { TermsRepo } from "./Repo.ts"
import type { TermRow } from "./Repo.ts"
import { daysLeft, noticesOf, planOf } from "./Rules.ts"
import type { Notice } from "./Rules.ts"

/** The maximum number of instances per pass, and so per transaction. */
export const TERM_BATCH = 500

// A change of an instance waits for the lock of its schedule, and each event takes about a millisecond.
const MAX_SPEAKING = 50

/** The payload of a notice: the instance, before its end with the days left. */
const payloadOf = ({ event }: Notice, instance: Instance, at: Date) =>
  event === "INSTANCE_TERM_ENDING"
    ? { ...instance, daysLeft: instance.endLicenseDate === null ? 0 : daysLeft(instance.endLicenseDate, at) }
    : instance

/** Emits the events about the ends of licenses. */
export class TermNotices extends Context.Service<
  TermNotices,
  {
    /** Processes up to {@link TERM_BATCH} due instances of all organizations. Returns how many were due. */
    readonly emitDue: Effect.Effect<number>
    /** Makes all instances due that were scheduled by other lead times than those of this process. */
    readonly applyLeads: Effect.Effect<void>
  }
>()("keyshelf/instances/terms/TermNotices") {
  static readonly layer = Layer.suspend(() => Layer.effect(TermNotices, make))
}

const make = Effect.gen(function* () {
  const repo = yield* TermsRepo
  const instances = yield* InstancesRepo
  const events = yield* Events
  const runByIndex = yield* transactionsByIndex
  const leads = yield* CurrentTermLeads
  const leadsText = leads.map(Duration.toMillis).join()

  const planFor = ({ emitted, endLicenseDate, ...term }: TermRow, at: Date) =>
    endLicenseDate === null
      ? { due: [], next: null }
      : planOf(noticesOf({ ...term, endLicenseDate }, leads), new Set(emitted), at)

  const emitFor = Effect.fnUntraced(function* (organizationId: OrganizationId, candidates: ReadonlyArray<string>) {
    const at = yield* now
    const locked = yield* repo.lockDue(organizationId, candidates, at)
    const terms = yield* repo.terms(
      organizationId,
      locked.map(({ instanceId }) => instanceId),
    )
    const plans = terms.map((term) => ({ term, plan: planFor(term, at) }))
    const speaking = plans.filter(({ plan }) => plan.due.length > 0).map(({ term }) => term.instanceId)
    const records = new Map((yield* instances.listByIds(organizationId, speaking)).map((record) => [record.id, record]))
    const emitted = plans.flatMap(({ plan, term: { endLicenseDate, instanceId } }) => {
      const instance = records.get(instanceId)
      return instance === undefined || endLicenseDate === null
        ? []
        : plan.due.map((notice) => ({ instance, instanceId, endLicenseDate, notice, key: notice.key }))
    })
    yield* repo.insertNotices(organizationId, at, emitted)
    for (const { instance, notice } of emitted)
      yield* events.emit({ ...bySystem, organizationId }, notice.event, payloadOf(notice, instance, at))
    yield* repo.schedule(
      organizationId,
      leadsText,
      plans.map(({ plan, term }) => ({ instanceId: term.instanceId, dueAt: plan.next })),
    )
  })

  /** Looks at the instances without locks first: those with notices are locked in small groups, the others only to be scheduled. */
  const groupsOf = Effect.fnUntraced(function* (organizationId: OrganizationId, candidates: ReadonlyArray<string>) {
    const at = yield* now
    const terms = yield* runByIndex(repo.terms(organizationId, candidates))
    const speaking = new Set(
      terms.filter((term) => planFor(term, at).due.length > 0).map(({ instanceId }) => instanceId),
    )
    const silent = candidates.filter((id) => !speaking.has(id))
    return [...(silent.length === 0 ? [] : [silent]), ...Arr.chunksOf([...speaking], MAX_SPEAKING)]
  })

  const emitIn = Effect.fnUntraced(function* (organizationId: OrganizationId, candidates: ReadonlyArray<string>) {
    for (const group of yield* groupsOf(organizationId, candidates)) {
      yield* runByIndex(emitFor(organizationId, group))
    }
  })

  return {
    emitDue: Effect.gen(function* () {
      const candidates = yield* runByIndex(repo.due(yield* now, TERM_BATCH))
      const byOrganization = Map.groupBy(candidates, (row) => row.organizationId)
      // One organization's failure does not keep the others waiting.
      const exits = yield* Effect.forEach(byOrganization, ([organizationId, due]) =>
        Effect.exit(
          emitIn(
            organizationId,
            due.map(({ instanceId }) => instanceId),
          ),
        ),
      )
      yield* Effect.all(exits, { discard: true })
      return candidates.length
    }).pipe(Effect.withSpan("TermNotices.emitDue")),
    applyLeads: Effect.repeat(runByIndex(repo.lookAgain(leadsText, TERM_BATCH)), {
      while: (count) => count > 0,
    }).pipe(Effect.asVoid, Effect.withSpan("TermNotices.applyLeads")),
  }
})
