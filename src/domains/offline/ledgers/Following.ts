/** Locks a ledger and finds the lines that are new: the first step of an upload and of a refill. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Instances } from "../../instances/Service.ts"
import { forkRecording, forkText } from "./Forks.ts"
import { LedgersRepo } from "./Repo.ts"
import { follow, hashOf } from "./Rules.ts"
import type { Continuation, LedgerLine } from "./Rules.ts"

/** The problems of an operation that takes lines, each from its detail. */
interface LedgerProblems<Forked, Gap, Closed> {
  readonly forked: (detail: string) => Forked
  readonly gap: (detail: string) => Gap
  readonly closed: (detail: string) => Closed
}

/** The lines of a request, and what else it asks of their ledger. */
interface LinesRequest {
  readonly instanceSlug: string
  readonly source: string
  readonly lines: ReadonlyArray<LedgerLine>
  /** How long the ledger is kept at least, in milliseconds from now. */
  readonly keepMs?: number
  /** Whether the request asks for something that a closed ledger does not get, even without new lines. */
  readonly needsOpen?: boolean
}

const gapText = ({ index, next }: Extract<Continuation, { status: "GAP" }>): string =>
  `The line ${next} is missing before body.lines[${index}]. Upload the lines from ${next} on.`

const closedText = (source: string, at: Date): string =>
  `The ledger "${source}" was closed on ${at.toISOString()}. Begin a new one with a new source.`

/** Runs in a transaction, and locks the instance against deletion and the ledger until it ends. */
export const ledgerFollowing = Effect.gen(function* () {
  const repo = yield* LedgersRepo
  const instances = yield* Instances
  const recordFork = yield* forkRecording

  return Effect.fnUntraced(function* <Forked, Gap, Closed>(
    problems: LedgerProblems<Forked, Gap, Closed>,
    { instanceSlug, keepMs = 0, lines, needsOpen = false, source }: LinesRequest,
  ) {
    const { organizationId } = yield* Caller
    const instance = yield* instances.lockShared(instanceSlug)
    const at = yield* now
    const keepUntil = new Date(at.getTime() + keepMs)
    const key = { instanceId: instance.id, source, start: hashOf(source), at, keepUntil }
    const stored = yield* repo.lock(organizationId, key)
    const followed = follow(stored, lines)
    if (followed.status === "FORKED") {
      yield* recordFork(instance, source, followed.line)
      return yield* Effect.fail(problems.forked(forkText(followed.line)))
    }
    if (followed.status === "GAP") return yield* Effect.fail(problems.gap(gapText(followed)))
    const { added, position } = followed
    if (stored.closedAt !== null && (added.length > 0 || needsOpen)) {
      return yield* Effect.fail(problems.closed(closedText(source, stored.closedAt)))
    }
    return { instance, key, stored, added, position }
  })
})
