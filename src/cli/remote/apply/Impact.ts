/** Shows what a plan would do to other records, by dry runs of its steps. */
import { Effect, Option, Predicate, Schema } from "effect"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import type { CommandFailed } from "../../Failure.ts"
import { RequestFailed, Service } from "../connection/Service.ts"
import { lineOf } from "../Output.ts"
import type { Plan, Refusal, Step } from "./Plan.ts"

const CONCURRENCY = 4
const MAX_NAMES = 5

const Blocked = Schema.Struct({
  impact: Schema.Struct({
    blocking: Schema.Array(
      Schema.Struct({
        kind: Schema.String,
        count: Schema.Number,
        truncated: Schema.Boolean,
        items: Schema.Array(Schema.Struct({ slug: Schema.String })),
      }),
    ),
  }),
})

const words = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** `familyResolvesTo: {before, after}` and `instances: {count, items}` as lines; nothing for what does not change. */
const linesOf = (impact: unknown): ReadonlyArray<string> =>
  Predicate.isObject(impact)
    ? Object.entries(impact).flatMap(([name, value]): ReadonlyArray<string> => {
        if (Predicate.isString(value)) return [`${words(name)}: ${lineOf(value)}`]
        if (Predicate.hasProperty(value, "before") && Predicate.hasProperty(value, "after")) {
          return value.before === value.after
            ? []
            : [`${words(name)}: ${lineOf(value.before) || "none"} -> ${lineOf(value.after) || "none"}`]
        }
        if (!Predicate.hasProperty(value, "count") || value.count === 0) return []
        const items = Predicate.hasProperty(value, "items") && Array.isArray(value.items) ? value.items : []
        const names = items.flatMap((item: unknown) => (Predicate.hasProperty(item, "slug") ? [lineOf(item.slug)] : []))
        const more = names.length > MAX_NAMES ? ", ..." : ""
        const shown = names.length === 0 ? "" : ` (${names.slice(0, MAX_NAMES).join(", ")}${more})`
        return [`${words(name)}: ${String(value.count)}${shown}`]
      })
    : []

/** The license versions that the plan takes a grant of an entitlement from, before it takes the entitlement away. */
const freedBy = ({ steps }: Plan, entitlement: string): ReadonlySet<string> =>
  new Set(
    steps
      .filter(
        ({ action, changes, section }) =>
          section === "licenseFamilies" &&
          (action === "delete" ||
            changes.some(({ after, property }) => property === `grants.${entitlement}` && after === undefined)),
      )
      .map(({ name }) => name),
  )

/** Whether the plan removes what blocks the deletion of an entitlement before the deletion. */
const isFreed = (plan: Plan, step: Step, error: RequestFailed): boolean => {
  const blocked = Schema.decodeUnknownOption(Blocked)(error.body)
  if (Option.isNone(blocked)) return false
  const freed = freedBy(plan, step.name)
  return blocked.value.impact.blocking.every(
    ({ items, kind, truncated }) => kind === "licenses" && !truncated && items.every(({ slug }) => freed.has(slug)),
  )
}

type Answer =
  | { readonly step: Step; readonly lines: ReadonlyArray<string> }
  | { readonly step: Step; readonly refusal: string; readonly isInUse: boolean }

const rehearse = Effect.fnUntraced(function* (plan: Plan, step: Step) {
  const { send } = yield* Service
  const answer = send({
    method: step.method,
    path: step.path,
    query: { dryRun: "true" },
    body: step.body === undefined ? Option.none() : Option.some(step.body as Schema.Json),
    idempotencyKey: Option.none(),
  })
  return yield* answer.pipe(
    Effect.map((response): Answer => ({
      step,
      lines: linesOf(Predicate.hasProperty(response, "impact") ? response.impact : undefined),
    })),
    Effect.catch((error): Effect.Effect<Answer, RequestFailed | CommandFailed> => {
      if (!(error instanceof RequestFailed) || error.exitCode === EXIT_CODES.unavailable) return Effect.fail(error)
      // A token with read scopes only can still show the differences.
      if (error.exitCode === EXIT_CODES.unauthorized) {
        return Effect.succeed({ step, lines: ["The impact is unknown: it needs the scope of the change."] })
      }
      const isInUse = step.section === "entitlements" && step.isRemoval
      if (isInUse && isFreed(plan, step, error)) return Effect.succeed({ step, lines: [] })
      return Effect.succeed({ step, refusal: error.message, isInUse })
    }),
  )
})

/**
 * The service's view of a plan: the impact of steps, the steps that it would reject, and entitlements that stay because
 * they are in use.
 */
export const withImpact = Effect.fn("Catalog.impact")(function* (plan: Plan) {
  const answers = yield* Effect.forEach(
    plan.steps.filter(({ hasDryRun }) => hasDryRun),
    (step) => rehearse(plan, step),
    { concurrency: CONCURRENCY },
  )
  const refused = answers.flatMap((answer) => ("refusal" in answer ? [answer] : []))
  const inUse = refused.filter(({ isInUse }) => isInUse)
  const refusals = refused
    .filter(({ isInUse }) => !isInUse)
    .map(({ refusal, step }): Refusal => ({
      ...step,
      message: `Cannot ${step.action}: the service would respond with ${refusal}`,
    }))
  const kept = new Map(inUse.map(({ refusal, step }) => [step, refusal]))
  return {
    plan: {
      steps: plan.steps.filter((step) => !kept.has(step)),
      refusals: [...plan.refusals, ...refusals],
      unlisted: plan.unlisted,
    } satisfies Plan,
    /** Entitlements that the file does not have, and why they stay. */
    inUse: [...kept].map(([step, reason]) => ({ subject: step, reason })),
    impacts: new Map(answers.flatMap((answer) => ("lines" in answer ? [[answer.step, answer.lines] as const] : []))),
  }
})
