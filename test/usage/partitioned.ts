/** Why tests of the months of usage are skipped; `undefined` if they are not. */
export const whyNotPartitioned =
  process.env["TEST_CITUS_URL"] === undefined ? undefined : "on Citus, usage events are not in partitions by month"
