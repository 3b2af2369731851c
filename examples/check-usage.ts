/**
 * What a product asks Keyshelf all day: may this instance, how much is left, and here is what it used.
 *
 * Run it on an organization of its own, since it makes the catalogue and the customer that it asks about:
 *
 *   KEYSHELF_URL=http://127.0.0.1:8080 KEYSHELF_TOKEN=ksh_... node check-usage.ts
 */
import { Config, Console, Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { idempotent, makeCoreClient } from "keyshelf/client"

const program = Effect.gen(function* () {
  const core = yield* makeCoreClient({
    baseUrl: yield* Config.String("KEYSHELF_URL"),
    token: yield* Config.Redacted("KEYSHELF_TOKEN"),
  })

  // What is sold: 100 API calls a month, hard limit.
  yield* core.entitlements.create({
    headers: {},
    payload: { name: "API calls", slug: "api-calls", type: "NUMBER", resetPeriod: "MONTH" },
  })
  yield* core.licenses.create({ headers: {}, payload: { name: "Team", slug: "team", type: "PAID", isDefault: true } })
  yield* core.licenseEntitlements.assign({
    params: { licenseSlug: "team" },
    headers: {},
    payload: { entitlementSlug: "api-calls", value: 100 },
  })

  // Who bought it.
  yield* core.customers.create({ headers: {}, payload: { name: "Globex", slug: "globex" } })
  yield* core.instances.create({
    headers: {},
    payload: {
      name: "Globex production",
      slug: "globex-prod",
      customerSlug: "globex",
      licenseFamilySlug: "team",
      startLicenseDate: new Date(Date.now() - 86_400_000),
      endLicenseDate: new Date(Date.now() + 365 * 86_400_000),
    },
  })

  // May it make 40 calls? Asking changes nothing.
  const asked = yield* core.check.check({
    params: { instanceSlug: "globex-prod" },
    headers: {},
    payload: { checks: [{ entitlement: "api-calls", requested: 40 }] },
  })
  for (const { allowed, reason, remaining } of asked.checks) {
    yield* Console.log(`asked: allowed=${allowed} reason=${reason} remaining=${remaining}`)
  }

  // Take 40, if they are there. Sent twice under one key, it still takes 40.
  const consume = core.check.check({
    params: { instanceSlug: "globex-prod" },
    headers: idempotent("job-4711"),
    payload: { checks: [{ entitlement: "api-calls", requested: 40 }], consume: true },
  })
  yield* consume
  const consumed = yield* consume
  for (const { remaining } of consumed.checks) yield* Console.log(`consumed: remaining=${remaining}`)

  // Report what was used elsewhere. A report over the limit is an error with a tag, not a status to look up.
  const report = (value: number) =>
    core.usage.report({
      params: { instanceSlug: "globex-prod", entitlementSlug: "api-calls" },
      headers: idempotent(),
      payload: { value },
    })
  const entry = yield* report(50)
  yield* Console.log(`reported: used=${entry.usageValue.value} of ${entry.licenseValue.value}`)
  yield* report(50).pipe(
    Effect.flatMap(() => Console.log("reported more than there is?")),
    Effect.catchTag("ReportUsage.ThresholdExceeded", (problem) => Console.log(`refused: ${problem.code}`)),
  )
  yield* core.instances.get({ params: { instanceSlug: "nobody" } }).pipe(
    Effect.flatMap(() => Console.log("found nobody?")),
    Effect.catchTag("Instance.NotFound", (problem) => Console.log(`unknown: ${problem.detail}`)),
  )
})

await Effect.runPromise(program.pipe(Effect.provide(FetchHttpClient.layer)))
