/** What the doctor finds: one line each, with what to do. */
import { Effect } from "effect"

/** How a part stands. A warning does not stop the service; a failure does, or will. */
export type State = "ok" | "warning" | "FAILED"

/** One line of the report. It never holds a secret. */
export interface Finding {
  readonly state: State
  /** The part that was looked at, such as `database`. */
  readonly part: string
  readonly text: string
}

/** A look at one part. It finds faults; it does not fail. */
export type Check<R = never> = Effect.Effect<ReadonlyArray<Finding>, never, R>

export const ok = (part: string, text: string): Finding => ({ state: "ok", part, text })
export const warning = (part: string, text: string): Finding => ({ state: "warning", part, text })
export const failed = (part: string, text: string): Finding => ({ state: "FAILED", part, text })

/** The line of a finding. Line breaks of foreign messages are taken out. Pure. */
export const line = ({ part, state, text }: Finding): string =>
  `${state.padEnd(7)}  ${part.padEnd(11)}  ${text.replaceAll(/\s+/g, " ").trim()}`

/** A check whose defects are findings too, so that the rest of the report is still made. */
export const guarded = <R>(part: string, check: Check<R>): Check<R> =>
  Effect.catchDefect(check, (defect) =>
    Effect.succeed([failed(part, defect instanceof Error ? defect.message : String(defect))]),
  )
