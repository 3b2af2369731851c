/** The forms of a repository whose statements depend on the kind of database. */
import type { Layer } from "effect"
import { isOnCitus } from "./Cluster.ts"

/**
 * Each form that the database of this run can execute, with a name for the tests. The statements for Citus are PostgreSQL's, so one
 * server runs both; Citus refuses some of the others.
 */
export const formsOf = <A, E, R, E2, R2>(onOneServer: Layer.Layer<A, E, R>, onCitus: Layer.Layer<A, E2, R2>) => {
  const sharded = { form: "as on Citus", repository: onCitus }
  return isOnCitus ? [sharded] : [{ form: "as on one server", repository: onOneServer }, sharded]
}
