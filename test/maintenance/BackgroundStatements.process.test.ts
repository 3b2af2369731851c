/**
 * Statements in the background must not depend on statistics: their plans are made while tables are small, and kept. Each step of the roles
 * `sweeper` and `dispatcher` runs with few rows, then with 20,000 of one organization, without an analysis between. What its
 * statements then read may depend on how many rows they process, but not on how many there are.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { globSync } from "node:fs"
import { join } from "node:path"
import { LogKeeper } from "../../src/domains/audit/log/LogKeeper.ts"
import { TermNotices } from "../../src/domains/instances/terms/Service.ts"
import { Sweeper } from "../../src/domains/maintenance/Service.ts"
import { MigrationRunner } from "../../src/domains/licensemoves/Runner.ts"
import { CreditExpiry } from "../../src/domains/usage/credits/Expiry.ts"
import { Deliveries } from "../../src/domains/webhooks/delivery/Deliveries.ts"
import { WebhookProvider } from "../../src/domains/webhooks/outbox/Provider.ts"
import { isOnCitus } from "../support/Cluster.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { withReason } from "../support/skipped.ts"
import { StatementWatch, watchedSql } from "../support/StatementWatch.ts"
import type { Execution } from "../support/StatementWatch.ts"
import { TestService, testServicesOn } from "../support/TestService.ts"
import { nodeLayer, Receiver } from "../webhooks/EngineFixture.ts"
import { crowdedBy } from "./crowded.ts"
import { analyzeWithSmallOrganizations, multiplyRows, withoutAutovacuum } from "./growth.ts"
import type { Overrides } from "./growth.ts"

allowInventedEvents()

const ROWS = 20_000

/** What a step of a plan may pass over: a statement processes up to 1,000 rows. */
const MAX_ROWS = 4_000
const MAX_PAGES = 60_000

/** Statements that may read more, and why. */
const allowed: ReadonlyArray<readonly [text: string, why: string]> = [
  [
    "SELECT id FROM credentials WHERE organization_id = $1 UNION ALL",
    "reads the tokens of a removed organization, as long as it has some",
  ],
  ["FROM usage_totals t LEFT JOIN LATERAL", "looks through all totals, once a minute, and looks up one row for each"],
  [
    'DELETE FROM "webhook_attempts" WHERE organization_id',
    "removal: on PostgreSQL 15 a batch passes over 5,133 of 20,000 attempts of a removed organization, once",
  ],
  [
    "DELETE FROM webhook_queue WHERE ctid",
    "one statement without a transaction: passes over a short queue until it is vacuumed",
  ],
]

const AT = Date.UTC(2032, 0, 1)

const overrides: Overrides = {
  instances: { end_license_date: `'2031-12-01'` },
  term_schedules: { due_at: `'epoch'` },
  events: { occurred_at: `'2026-01-01'` },
  credentials: {
    expires_at: `'2030-01-01'`,
    expiry_told_at: `CASE WHEN number % 20 = 0 THEN NULL ELSE '2030-01-02'::timestamptz END`,
    revoked_at: "NULL",
  },
  license_migrations: { state: `'DONE'` },
  credits: { expires_at: `'2031-12-01'`, expiry_emitted: "number % 20 <> 0", external_id: "NULL" },
}

const whileTrue = (step: Effect.Effect<boolean>) => Effect.asVoid(Effect.repeat(step, { while: (hasMore) => hasMore }))

/** What the roles do in the background, each with the file that runs it. */
const steps = Effect.gen(function* () {
  const node = yield* Layer.build(nodeLayer)
  const { publishDue } = Context.get(node, WebhookProvider)
  const deliveries = Context.get(node, Deliveries)
  const deliver = Effect.gen(function* () {
    const claims = yield* deliveries.claim(256)
    yield* Effect.forEach(claims, (claim) => deliveries.deliver(claim), { concurrency: "unbounded", discard: true })
  })
  const all: Readonly<Record<string, Effect.Effect<void>>> = {
    "instances/terms/Worker.ts": Effect.asVoid((yield* TermNotices).emitDue),
    "usage/credits/Worker.ts": Effect.asVoid((yield* CreditExpiry).emitDue),
    "audit/Worker.ts": whileTrue((yield* LogKeeper).step),
    "licensemoves/Worker.ts": whileTrue((yield* MigrationRunner).step),
    "webhooks/delivery/Worker.ts": Effect.andThen(whileTrue(Effect.map(publishDue, (count) => count > 0)), deliver),
    "maintenance/Worker.ts": Effect.asVoid((yield* Sweeper).sweep),
  }
  return all
})

/** Reads that are too large, as one line each. */
const excessive = (executions: ReadonlyArray<Execution>) => [
  ...new Map(
    executions
      .filter(({ pages, rows }) => rows > MAX_ROWS || pages > MAX_PAGES)
      .filter(({ text }) => !allowed.some(([part]) => text.includes(part)))
      .map(({ pages, rows, text }) => [text, `${rows} rows in a step, ${pages} pages: ${text.slice(0, 300)}`]),
  ).values(),
]

const state = (isAnalyzed: boolean) => (isAnalyzed ? "analyzed while each organization had one row" : "never analyzed")

for (const isAnalyzed of [false, true]) {
  const measured = TestService.layerOn(testServicesOn(watchedSql("force_generic_plan")))
  layer(measured, { excludeTestServices: true, timeout: 600_000 })(
    `work in the background, ${state(isAnalyzed)}`,
    (it) => {
      it.effect.skipIf(isOnCitus)(
        withReason(
          "reads no more rows when an organization has 20,000",
          isOnCitus ? "Citus plans on its workers" : undefined,
        ),
        () =>
          Effect.gen(function* () {
            const { during } = yield* StatementWatch
            const { core, operator, platform } = yield* TestService
            const all = yield* steps
            yield* withoutAutovacuum
            const { fixture, organizationId, token } = yield* crowdedBy(1)
            const migrate = Effect.fnUntraced(function* (from: string, toLicenseSlug: string) {
              const { status } = yield* core("POST", `/licenses/${from}/migrations`, { token, body: { toLicenseSlug } })
              assert.strictEqual(status, 202)
            })
            const run = (step: Effect.Effect<void>) =>
              Effect.andThen(TestClock.setTime(AT), step).pipe(Effect.provide(TestClock.layer()))
            if (isAnalyzed) yield* analyzeWithSmallOrganizations(organizationId, overrides)
            else yield* multiplyRows(organizationId, { from: 1, to: 60, overrides })
            yield* migrate(fixture.license, fixture.draft)
            for (const work of Object.values(all)) yield* run(work)
            yield* multiplyRows(organizationId, { from: 1_001, to: 1_000 + ROWS, overrides })
            yield* migrate(fixture.draft, fixture.license)
            const removal = Effect.gen(function* () {
              const path = `/platform/organizations/${organizationId}`
              const { body } = yield* platform("GET", path, { token: operator })
              yield* platform("DELETE", `${path}?confirm=${body.slug}`, { token: operator })
              yield* all["maintenance/Worker.ts"] ?? Effect.void
            })
            const found: Record<string, ReadonlyArray<string>> = {}
            for (const [file, work] of Object.entries({ ...all, removal })) {
              const executions = yield* during(run(work))
              assert.isNotEmpty(executions, file)
              found[file] = excessive(executions)
            }
            assert.deepStrictEqual(
              Object.entries(found).filter(([, lines]) => lines.length > 0),
              [],
            )
          }).pipe(Effect.provide(Receiver.layer)),
        600_000,
      )

      it.effect("is all work of the roles", () =>
        Effect.gen(function* () {
          const directory = join(import.meta.dirname, "../../src/domains")
          assert.deepStrictEqual(
            Object.keys(yield* steps).toSorted(),
            globSync("**/Worker.ts", { cwd: directory }).toSorted(),
          )
        }).pipe(Effect.provide(Receiver.layer)),
      )
    },
  )
}
