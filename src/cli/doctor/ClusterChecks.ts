/** Checks a Citus cluster: how the tables are stored, and its nodes. Reports nothing on plain PostgreSQL. */
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { citusVersion, readNodes, readPlacement } from "../../infra/database/ClusterState.ts"
import type { ClusterNode } from "../../infra/database/ClusterState.ts"
import { isMigrated } from "../../infra/database/Migrations.ts"
import { failed, ok, warning } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"
import { commandLine } from "../../infra/PackageFiles.ts"

const PART = "citus"

const listed = (names: ReadonlyArray<string>) =>
  `${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`

const ofNode = ({ answers, forgotten, maxPrepared, name }: ClusterNode): ReadonlyArray<Finding> => {
  if (!answers) {
    return [
      failed(PART, `${name} does not respond: requests of the organizations on it fail. Start it, or restore it.`),
    ]
  }
  return [
    ...(maxPrepared === 0
      ? [failed(PART, `${name} cannot prepare transactions: set max_prepared_transactions to max_connections or more.`)]
      : []),
    ...(forgotten > 0
      ? [
          warning(
            PART,
            `${name} has ${forgotten} transactions that were prepared more than 5 minutes ago and hold their locks. Citus' maintenance daemon on the coordinator ends them; see its log.`,
          ),
        ]
      : []),
  ]
}

const placement = Effect.gen(function* () {
  const { apart, misplaced, partitions, unguarded, withLocalTrigger } = yield* readPlacement
  const checks: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
    [misplaced, `not distributed. Stop the service and run \`${commandLine("migrate")}\`.`],
    [
      apart,
      "distributed in a group of their own, so statements fail. Restore a backup: Keyshelf distributes in one group.",
    ],
    [partitions, "partitions that are not distributed, so statements on them fail. Restore a backup."],
    [
      unguarded,
      "without the trigger commits_in_two_phases: a crash of the coordinator could lose events. Restore a backup.",
    ],
    [
      withLocalTrigger,
      "with a trigger that only works on one server: drop the triggers that call catalog_changed or instance_deleted.",
    ],
  ]
  return checks.flatMap(([tables, what]) =>
    tables.length === 0 ? [] : [failed(PART, `${tables.length} tables (${listed(tables)}) are ${what}`)],
  )
})

/** Checks the cluster. */
export const cluster: Check<SqlClient.SqlClient> = Effect.gen(function* () {
  const version = yield* citusVersion
  if (Option.isNone(version)) return []
  const nodes = yield* readNodes
  const hasTables = yield* isMigrated
  const findings = [...nodes.flatMap(ofNode), ...(hasTables ? yield* placement : [])]
  if (findings.length > 0) return findings
  const tables = hasTables ? "all tables are distributed as planned" : "there are no tables to distribute yet"
  return [ok(PART, `Citus ${version.value}: ${nodes.length} nodes respond, and ${tables}`)]
}).pipe(Effect.orDie)
