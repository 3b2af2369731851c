/** Handles lines that do not follow from the stored ones. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transaction, Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { Instances } from "../../instances/Service.ts"
import type { MeteredInstance } from "../../usage/siteusage/Model.ts"
import { ledgerOf, LedgersRepo } from "./Repo.ts"
import { hashOf } from "./Rules.ts"
import type { LedgerLine } from "./Rules.ts"

/** The detail of a rejection because of a line that does not follow. */
export const forkText = ({ index, number }: LedgerLine): string =>
  `The line ${number}, body.lines[${index}], does not follow from what is stored. The ledger was copied, restored or rewritten: begin a new one with a new source.`

/**
 * Stores that a line does not follow, for a request that fails because of it. The rejection rolls back, so the event is emitted
 * afterwards.
 */
export const forkRecording = Effect.gen(function* () {
  const repo = yield* LedgersRepo
  const instances = yield* Instances
  const events = yield* Events
  const transactions = yield* Transactions

  /** Stores that a ledger was forked, and emits the event. The same line emits one only once. */
  const record = Effect.fnUntraced(function* (slug: string, source: string, line: LedgerLine) {
    const caller = yield* Caller
    const { id: instanceId } = yield* instances.lockShared(slug)
    const key = { instanceId, source, start: hashOf(source), at: yield* now }
    const marked = yield* repo.markForked(caller.organizationId, key, line)
    if (Option.isNone(marked)) return
    const data = { ...ledgerOf(marked.value, slug), instanceId, forkedLine: line.number }
    yield* events.emit(caller, "OFFLINE_LEDGER_FORKED", data)
  })

  return Effect.fnUntraced(function* ({ slug }: MeteredInstance, source: string, line: LedgerLine) {
    const caller = yield* Caller
    const { afterRollback } = yield* Transaction
    afterRollback(
      transactions.run(record(slug, source, line)).pipe(
        Effect.provideService(Caller, caller),
        // The instance was deleted meanwhile, and its ledgers with it.
        Effect.catchTag("Instance.NotFound", () => Effect.void),
      ),
    )
  })
})
