/** Use cases of ledgers. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Instances } from "../../instances/Service.ts"
import type {
  UploadOfflineUsageLedgerClosed,
  UploadOfflineUsageLedgerForked,
  UploadOfflineUsageLedgerGap,
} from "../Errors.ts"
import { intake } from "./Intake.ts"
import type { OfflineLedger, OfflineUsageUpload, UploadOfflineUsage } from "./Model.ts"
import { ledgerOf, LedgersRepo } from "./Repo.ts"
import { parseLines } from "./Rules.ts"

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
    /** A page of the ledgers of an instance, by source. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<OfflineLedger>, InstanceNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/offline/ledgers/OfflineLedgers") {
  static readonly layer = Layer.suspend(() => Layer.effect(OfflineLedgers, make))
}

const make = Effect.gen(function* () {
  const repo = yield* LedgersRepo
  const take = yield* intake
  const instances = yield* Instances
  const cursors = yield* Cursors
  const transactions = yield* Transactions

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
})
