/** Posts valid events to their accounts, in order. Pure. */
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import { rejectionText } from "../ledger/Acceptance.ts"
import { accountIn, accountName, post } from "../ledger/Account.ts"
import type { Account, ReportedEvent } from "../ledger/Account.ts"
import { rejected } from "./Model.ts"
import type { Outcome } from "./Model.ts"
import type { CountableEvent } from "./Rules.ts"

export const ACCEPTED: Outcome = { status: "accepted" }

/** Posts events in order. Returns their outcomes, and the accounts after them. `postOne` may post another way. */
export const postEvents = (
  opened: ReadonlyMap<string, Account>,
  events: ReadonlyArray<CountableEvent>,
  reportedBy: ActorReference,
  postOne: (account: Account, event: ReportedEvent) => ReturnType<typeof post> = post,
): { readonly accounts: ReadonlyMap<string, Account>; readonly outcomes: ReadonlyMap<CountableEvent, Outcome> } => {
  const accounts = new Map(opened)
  const outcomes = new Map(
    events.map((countable): readonly [CountableEvent, Outcome] => {
      const { id, meter, source, timestamp, uniqueKey, value } = countable
      const name = accountName({ meter, at: timestamp })
      const event = {
        timestamp,
        behavior: "append" as const,
        value,
        uniqueKey,
        metadata: null,
        reportedBy,
        transactionId: id,
        source,
      }
      const posted = postOne(accountIn(accounts, name), event)
      accounts.set(name, posted.account)
      if (posted.rejection === undefined) return [countable, ACCEPTED]
      const code = posted.rejection === "negative" ? "Request.ValidationFailed" : "ReportUsage.ThresholdExceeded"
      return [countable, rejected(code, rejectionText(posted.rejection, posted.account))]
    }),
  )
  return { accounts, outcomes }
}
