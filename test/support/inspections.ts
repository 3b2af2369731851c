/** What tests must not leave in a database. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Redacted } from "effect"
import { findInvalidEvents } from "./eventScan.ts"
import type { Recorded } from "./recorded.ts"
import { findSecretColumns } from "./secretScan.ts"

const inspections = [
  {
    find: findSecretColumns,
    explain: (places: string) =>
      `Found secrets in clear text in ${places}. If a test stores such text on purpose, exempt it with exempt of test/support/issuedSecrets.ts.`,
  },
  {
    find: findInvalidEvents,
    explain: (errors: string) =>
      `Found events that differ from openapi/webhooks.json: ${errors}. If a test invents events on purpose, call allowInventedEvents of test/support/recorded.ts.`,
  },
]

/** Dies if a database contains secrets in clear text or events that differ from their documentation. Names the tests. */
export const inspect = (
  url: Redacted.Redacted,
  recorded: Recorded,
  startupParameters: Readonly<Record<string, string>> = {},
) =>
  Effect.forEach(
    inspections,
    Effect.fnUntraced(function* ({ explain, find }) {
      const found = yield* Effect.orDie(find(recorded))
      if (found.length > 0) yield* Effect.die(new Error(explain(found.join(", "))))
    }),
    { discard: true },
  ).pipe(Effect.provide(PgClient.layer({ url, maxConnections: 1, startupParameters }), { local: true }), Effect.orDie)
