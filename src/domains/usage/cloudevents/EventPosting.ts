/** Posts valid events to their accounts, in order. Pure. */
import { mayLowerUsage } from "../../../kernel/contract/Caller.ts"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import { rejectionText } from "../ledger/Acceptance.ts"
import { accountIn, accountName, setAccount } from "../ledger/Account.ts"
import type { Account, ReportedEvent } from "../ledger/Account.ts"
import { post } from "../ledger/Posting.ts"
import type { PostOptions, RejectionReason } from "../ledger/Posting.ts"
import { rejected } from "./Model.ts"
import type { Outcome } from "./Model.ts"
import type { CountableEvent } from "./Rules.ts"

export const ACCEPTED: Outcome = { status: "accepted" }

/** The codes of the problems of rejections. */
const codes: Readonly<Record<RejectionReason, string>> = {
  negative: "Request.ValidationFailed",
  "not-granted": "ReportUsage.ThresholdExceeded",
  cap: "ReportUsage.ThresholdExceeded",
  lowering: "Auth.MissingScope",
}

/** Posts events in order. Returns their outcomes, and the accounts after them. `postOne` may post another way. */
export const postEvents = (
  opened: ReadonlyMap<string, Account>,
  events: ReadonlyArray<CountableEvent>,
  caller: Pick<Caller["Service"], "actor" | "confinedTo" | "scopes">,
  postOne: (account: Account, event: ReportedEvent, options: PostOptions) => ReturnType<typeof post> = post,
): { readonly accounts: ReadonlyMap<string, Account>; readonly outcomes: ReadonlyMap<CountableEvent, Outcome> } => {
  const accounts = new Map(opened)
  const mayLower = mayLowerUsage(caller)
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
        reportedBy: caller.actor,
        transactionId: id,
        source,
      }
      const posted = postOne(accountIn(accounts, name), event, { mayLower })
      setAccount(accounts, name, posted.account)
      if (posted.rejection === undefined) return [countable, ACCEPTED]
      return [countable, rejected(codes[posted.rejection], rejectionText(posted.rejection, posted.account, timestamp))]
    }),
  )
  return { accounts, outcomes }
}
