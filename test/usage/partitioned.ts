import { isOnCitus } from "../support/Cluster.ts"

/** Why tests of the months of usage are skipped; `undefined` if they are not. */
export const whyNotPartitioned = isOnCitus ? "on Citus, usage events are not in partitions by month" : undefined
