/** The nodes of a plan as PostgreSQL ran it. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Fragment } from "effect/sql/Statement"

interface Plan {
  readonly "Index Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly Plans?: ReadonlyArray<Plan>
}

const flat = (plan: Plan): ReadonlyArray<Plan> => [plan, ...(plan.Plans ?? []).flatMap(flat)]

/** Runs a statement. Returns which indexes were read, each as often as it was in the plan, and the most rows of a node. */
export const runPlanned = (sql: PgClient.PgClient, statement: Fragment) =>
  Effect.map(
    sql<{ "QUERY PLAN": ReadonlyArray<{ readonly Plan: Plan }> }>`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
    ([row]) => {
      const nodes = row?.["QUERY PLAN"].flatMap(({ Plan: plan }) => flat(plan)) ?? []
      return {
        /** Those that the plan has and did not need are not among them. */
        indexes: nodes.flatMap((node) => (node["Actual Loops"] > 0 ? (node["Index Name"] ?? []) : [])),
        mostRows: Math.max(...nodes.map((node) => node["Actual Rows"] * node["Actual Loops"])),
      }
    },
  )
