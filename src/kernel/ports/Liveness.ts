/** The sign of life of this process for the other nodes on the database. */
import { Context } from "effect"
import type { Effect } from "effect"

/**
 * A sign of life is a connection of the process: the operating system closes it when the process dies, and keeps it
 * while the process is slow or suspended. `pg_stat_activity` shows it as `applicationNameOf(id)`.
 */
export class Liveness extends Context.Service<
  Liveness,
  {
    /**
     * The id that this process has a connection for, or `null` while it has none. It is the node's id where all its
     * connections carry that. Otherwise each session has a new id, and an id that ended does not return.
     */
    readonly id: Effect.Effect<string | null>
  }
>()("keyshelf/kernel/Liveness") {}
