/**
 * Checks, consumes and reports usage with the typed client, as a product does.
 *
 * Run it on a new organization, because it creates a catalogue and a customer:
 *
 *   KEYSHELF_URL=http://127.0.0.1:8080 KEYSHELF_TOKEN=ksh_... node check-usage.ts
 */
import { Config, Console, Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { idempotent, makeCoreClient } from "@keyshelf/client/effect"

const program = Effect.gen(function* () {
  const core = yield* makeCoreClient({
    baseUrl: yield* Config.String("KEYSHELF_URL"),
    token: yield* Config.Redacted("KEYSHELF_TOKEN"),
  })

  // The catalogue: 100 API calls a month, with a hard limit.
  yield* core.entitlements.create({
    payload: { name: "API calls", slug: "api-calls", type: "NUMBER", resetPeriod: "MONTH" },
  })
  yield* core.licenses.create({ payload: { name: "Team", slug: "team", type: "PAID", isDefault: true } })
  yield* core.licenseEntitlements.assign({
    params: { licenseSlug: "team" },
    payload: { entitlementSlug: "api-calls", value: 100 },
  })

  // A customer with an instance on the current version of the license.
  yield* core.customers.create({ payload: { name: "Globex", slug: "globex" } })
  yield* core.instances.create({
    payload: {
      name: "Globex production",
      slug: "globex-prod",
      customerSlug: "globex",
      licenseFamilySlug: "team",
      startLicenseDate: new Date(Date.now() - 86_400_000),
      endLicenseDate: new Date(Date.now() + 365 * 86_400_000),
    },
  })

  // Check 40 calls. A check changes nothing.
  const checked = yield* core.check.check({
    params: { instanceSlug: "globex-prod" },
    payload: { checks: [{ entitlement: "api-calls", requested: 40 }] },
  })
  for (const { allowed, reason, remaining } of checked.checks) {
    yield* Console.log(`checked: allowed=${allowed} reason=${reason} remaining=${remaining}`)
  }

  // Consume 40 if allowed. The idempotency key makes the second request a replay, so it still consumes 40.
  const consume = core.check.check({
    params: { instanceSlug: "globex-prod" },
    headers: idempotent("job-4711"),
    payload: { checks: [{ entitlement: "api-calls", requested: 40 }], consume: true },
  })
  yield* consume
  const consumed = yield* consume
  for (const { remaining } of consumed.checks) yield* Console.log(`consumed: remaining=${remaining}`)

  // Report usage that already happened. A report over the limit fails with a tagged error.
  const report = (value: number) =>
    core.usage.report({
      params: { instanceSlug: "globex-prod", entitlementSlug: "api-calls" },
      headers: idempotent(),
      payload: { value },
    })
  const entry = yield* report(50)
  yield* Console.log(`reported: used=${entry.usageValue.value} of ${entry.licenseValue.value}`)
  yield* report(50).pipe(
    Effect.flatMap(() => Console.log("unexpected: the report over the limit succeeded")),
    Effect.catchTag("ReportUsage.ThresholdExceeded", (problem) => Console.log(`rejected: ${problem.code}`)),
  )
  yield* core.instances.get({ params: { instanceSlug: "unknown" } }).pipe(
    Effect.flatMap(() => Console.log("unexpected: the instance exists")),
    Effect.catchTag("Instance.NotFound", (problem) => Console.log(`not found: ${problem.detail}`)),
  )
})

await Effect.runPromise(program.pipe(Effect.provide(FetchHttpClient.layer)))
