/** Tags of the connections that statements of one kind share. `infra/database/DedicatedConnections.ts` opens them. */
import type { PgClient } from "@effect/sql-pg"
import { Context } from "effect"
import type { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"

export type Ask = <A>(statement: (sql: PgClient.PgClient) => Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>

/**
 * What products ask for all day: tokens, checks, single records. These statements have a connection of their own beside the others,
 * which may be busy with listings and reports, or wait for somebody's lock: on a connection statements are answered one after the
 * other.
 */
export class HotPath extends Context.Service<HotPath, { readonly ask: Ask }>()("keyshelf/kernel/HotPath") {}

/**
 * Changes that are one statement and commit by themselves, and what is read for them. On a connection each waits until those before
 * it are on the disk, which takes longer than all else; on several they get there together.
 */
export class Commits extends Context.Service<Commits, { readonly ask: Ask }>()("keyshelf/kernel/Commits") {}

/**
 * What webhooks' attempts leave behind, stored by one statement after another. It may wait for the lock of an endpoint that is being
 * changed, which is why nobody else is on its connection.
 */
export class AttemptEnds extends Context.Service<AttemptEnds, { readonly ask: Ask }>()("keyshelf/kernel/AttemptEnds") {}
