/** Tags of the connections that statements of one kind share. `infra/database/DedicatedConnections.ts` opens them. */
import type { PgClient } from "@effect/sql-pg"
import { Context } from "effect"
import type { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { OrganizationId } from "../values/Identifiers.ts"

export type Ask = <A>(statement: (sql: PgClient.PgClient) => Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>

/**
 * Runs the statements of frequent requests: tokens, checks, single records. A connection runs its statements one after
 * the other, and those of the pool may be busy with lists or wait for locks. Hence a dedicated one.
 */
export class HotPath extends Context.Service<
  HotPath,
  {
    readonly ask: Ask
    /** Runs a statement of one organization. On Citus, where it takes long, in turn with those of others. */
    readonly askFor: (organizationId: OrganizationId) => Ask
  }
>()("keyshelf/kernel/HotPath") {}

/**
 * Runs changes that are a single, self-committing statement, and the reads they need. On one connection each change
 * would wait for the disk writes of those before it; several connections share a disk write.
 */
export class Commits extends Context.Service<
  Commits,
  {
    readonly ask: Ask
    /** Runs a statement of one organization, in turn with those of others. */
    readonly askFor: (organizationId: OrganizationId) => Ask
  }
>()("keyshelf/kernel/Commits") {}

/**
 * Stores the results of webhook attempts, one statement after another. They may wait for the lock of an endpoint that
 * is being changed, so the connection is not shared with other work.
 */
export class AttemptEnds extends Context.Service<AttemptEnds, { readonly ask: Ask }>()("keyshelf/kernel/AttemptEnds") {}
