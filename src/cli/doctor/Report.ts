/** The report of `keyshelf doctor`: one line per finding, with what to do. */
import { Effect } from "effect"

/** The state of a part. A warning does not stop the service; a failure does, or will. */
type State = "ok" | "warning" | "FAILED"

/** One line of the report. It never contains a secret. */
export interface Finding {
  readonly state: State
  /** The part that was checked, such as `database`. */
  readonly part: string
  readonly text: string
}

/** A check of one part. It reports failures as findings and never fails itself. */
export type Check<R = never> = Effect.Effect<ReadonlyArray<Finding>, never, R>

export const ok = (part: string, text: string): Finding => ({ state: "ok", part, text })
export const warning = (part: string, text: string): Finding => ({ state: "warning", part, text })
export const failed = (part: string, text: string): Finding => ({ state: "FAILED", part, text })

/** Formats a finding as one line. Removes line breaks of external messages. Pure. */
export const formatFinding = ({ part, state, text }: Finding): string =>
  `${state.padEnd(7)}  ${part.padEnd(12)}  ${text.replaceAll(/\s+/g, " ").trim()}`

/** The worst state of a report. Pure. */
export const worstOf = (findings: ReadonlyArray<Finding>): State =>
  (["FAILED", "warning"] as const).find((state) => findings.some((finding) => finding.state === state)) ?? "ok"

/** Turns defects of a check into findings, so that the other checks still run. */
export const withDefectsAsFindings = <R>(part: string, check: Check<R>): Check<R> =>
  Effect.catchDefect(check, (defect) =>
    Effect.succeed([failed(part, defect instanceof Error ? defect.message : String(defect))]),
  )
