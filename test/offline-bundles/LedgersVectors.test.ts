import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import vectors from "../../clients/vectors/offline/ledgers.json" with { type: "json" }
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { openSite } from "./Site.ts"

type Expected = (typeof vectors.ledgers)[number]["uploads"][number]["expected"]

/** What the service answers, as the vectors say it. */
const outcomeOf = ({ body, status }: HttpResponse): unknown => {
  if (status === 200) {
    const { accepted, duplicates, head, lines } = body
    return { outcome: "taken", duplicates, accepted, lines, head }
  }
  assert.strictEqual(status, 409, JSON.stringify(body))
  const [, number] = /line (\d+)/.exec(body.detail) ?? []
  return body.code === "UploadOfflineUsage.LedgerGap"
    ? { outcome: "gap", next: Number(number) }
    : { outcome: "forked", at: Number(number) }
}

layer(TestService.layer, { excludeTestServices: true })("the vectors of ledgers", (it) => {
  for (const { lines, source, uploads } of vectors.ledgers) {
    for (const { expected, id, lines: sent, rule, stored } of uploads) {
      it.effect(`${id}: ${rule}`, () =>
        Effect.gen(function* () {
          const { call, entitlement, instance, organizationId, sql } = yield* openSite
          yield* entitlement("api-calls")
          yield* entitlement("exports", { aggregationMethod: "COUNT" })
          const { customerSlug, licenseSlug } = instance
          const globex = { name: "Globex", slug: "globex-production", customerSlug, licenseSlug }
          const { body } = yield* call("POST", "/instances", {
            ...globex,
            startLicenseDate: "2026-01-01T00:00:00Z",
            endLicenseDate: null,
          })
          // The bundle that the lines name. It was issued in 2026, and its usage is accepted for a long time.
          yield* call("POST", "/instances/globex-production/offline-bundles")
          const { bundleid } = JSON.parse(lines[0] ?? "")
          yield* sql`
            UPDATE offline_bundles SET id = ${bundleid}, issued_at = '2026-01-10T12:00:00Z', expires_at = '2026-02-16T12:00:00Z',
              usage_until = '2126-01-01T00:00:00Z'
            WHERE organization_id = ${organizationId} AND instance_id = ${body.id}`
          const upload = (texts: ReadonlyArray<string>) =>
            call("POST", "/instances/globex-production/offline-usage", { source, lines: texts })
          if (stored.lines > 0) {
            const before = yield* upload(lines.slice(0, stored.lines))
            assert.deepStrictEqual([before.body.lines, before.body.head], [stored.lines, stored.head])
          }
          assert.deepStrictEqual(outcomeOf(yield* upload(sent)) as Expected, expected)
        }),
      )
    }
  }
})
