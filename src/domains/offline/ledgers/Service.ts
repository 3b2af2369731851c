/** Use cases of ledgers. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Instances } from "../../instances/Service.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import { OfflineUsage } from "../../usage/offline/Service.ts"
import { UploadOfflineUsageLedgerClosed, UploadOfflineUsageLedgerGap } from "../Errors.ts"
import type { UploadOfflineUsageLedgerForked } from "../Errors.ts"
import { makeForkFailure } from "./Forks.ts"
import { makeLineCounting } from "./LineCounting.ts"
import type { OfflineLedger, OfflineUsageUpload, UploadOfflineUsage } from "./Model.ts"
import { ledgerOf, LedgersRepo } from "./Repo.ts"
import type { LedgerKey, LedgerRow } from "./Repo.ts"
import { follow, hashOf, newestOf, parseLines } from "./Rules.ts"
import type { Continuation, LedgerLine } from "./Rules.ts"

const DUPLICATE = { status: "duplicate" } as const

const gap = ({ index, next }: Extract<Continuation, { status: "GAP" }>) =>
  new UploadOfflineUsageLedgerGap({
    detail: `The line ${next} is missing before body.lines[${index}]. Upload the lines from ${next} on.`,
  })

const closed = ({ source }: LedgerRow, at: Date) =>
  new UploadOfflineUsageLedgerClosed({
    detail: `The ledger "${source}" was closed on ${at.toISOString()}. Begin a new one with a new source.`,
  })

type Refusal = UploadOfflineUsageLedgerClosed | UploadOfflineUsageLedgerForked | UploadOfflineUsageLedgerGap

/** Takes and lists the ledgers of instances. */
export class OfflineLedgers extends Context.Service<
  OfflineLedgers,
  {
    /** Stores and counts the lines that are new; all of them, or none. */
    readonly upload: (
      instanceSlug: string,
      input: UploadOfflineUsage,
    ) => Effect.Effect<OfflineUsageUpload, InstanceNotFound | MissingScope | Refusal | ValidationFailed, Caller>
    /** By source. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<OfflineLedger>, InstanceNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/offline/ledgers/OfflineLedgers") {
  static readonly layer = Layer.effect(
    OfflineLedgers,
    Effect.gen(function* () {
      const repo = yield* LedgersRepo
      const count = yield* makeLineCounting
      const failForked = yield* makeForkFailure
      const instances = yield* Instances
      const usage = yield* OfflineUsage
      const allowances = yield* Allowances
      const events = yield* Events
      const cursors = yield* Cursors
      const transactions = yield* Transactions

      /** Stores where a ledger stands after new lines, and ends allowances if it is closed now. */
      const store = Effect.fnUntraced(function* (
        stored: LedgerRow,
        key: LedgerKey,
        change: Parameters<typeof repo.update>[2],
      ) {
        const { organizationId } = yield* Caller
        if (stored.closedAt === null && change.closedAt !== null && change.bundleSequence !== null) {
          yield* allowances.endUpTo(organizationId, key.instanceId, change.bundleSequence, key.at)
        }
        return yield* repo.update(organizationId, key, change)
      })

      const take = Effect.fnUntraced(function* (
        instanceSlug: string,
        { close = false, source }: UploadOfflineUsage,
        lines: ReadonlyArray<LedgerLine>,
      ) {
        const caller = yield* Caller
        const { organizationId } = caller
        const instance = yield* instances.lockShared(instanceSlug)
        const key = { instanceId: instance.id, source, start: hashOf(source), at: yield* now }
        const stored = yield* repo.lock(organizationId, key)
        const followed = follow(stored, lines)
        if (followed.status === "FORKED") return yield* failForked(instance, source, followed.line)
        if (followed.status === "GAP") return yield* gap(followed)
        const { added, position } = followed
        if (stored.closedAt !== null && added.length > 0) return yield* closed(stored, stored.closedAt)

        const { named, outcomes } = yield* count(instance, added)
        const isNews = added.length > 0 || (close && stored.closedAt === null)
        const bundleSequence = newestOf([stored.bundleSequence, named])
        const closedAt = stored.closedAt ?? (close ? key.at : null)
        const row = isNews ? yield* store(stored, key, { ...position, bundleSequence, closedAt }) : stored
        const overAllowance = yield* usage.overAllowance(
          instance,
          lines.map(({ event }) => event),
        )
        const accepted = added.filter((line) => outcomes.get(line)?.status === "accepted").length
        if (isNews) {
          yield* events.emit(caller, "OFFLINE_USAGE_UPLOADED", {
            ...ledgerOf(row, instanceSlug),
            instanceId: instance.id,
            accepted,
            rejected: added.length - accepted,
            overAllowance,
          })
        }
        return {
          source,
          accepted,
          duplicates: lines.length - added.length,
          lines: row.lines,
          head: row.head,
          closed: row.closedAt !== null,
          overAllowance,
          results: lines.map((line) => ({
            index: line.index,
            id: String(line.number),
            ...(outcomes.get(line) ?? DUPLICATE),
          })),
        }
      })

      return OfflineLedgers.of({
        upload: Effect.fn("OfflineLedgers.upload")(function* (instanceSlug, input) {
          const { errors, lines } = parseLines(input.source, input.lines)
          yield* failWithErrors(errors)
          return yield* transactions.run(take(instanceSlug, input, lines))
        }),

        list: Effect.fn("OfflineLedgers.list")(function* (instanceSlug, request) {
          const { organizationId } = yield* Caller
          const { id } = yield* instances.get(instanceSlug)
          const page = yield* cursors.page(
            { name: `instances/${id}/offline-ledgers`, organizationId },
            request,
            (after, count) => repo.list(organizationId, id, after, count),
            ({ source }) => [source],
          )
          return { ...page, items: page.items.map((row) => ledgerOf(row, instanceSlug)) }
        }),
      })
    }),
  )
}
