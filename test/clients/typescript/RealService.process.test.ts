/** A product that decides locally, by snapshots of the service itself. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createProductClient } from "../../../clients/typescript/src/product/node.ts"
import { TestService } from "../../support/TestService.ts"
import { newInstance } from "../world.ts"

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("a product with a license key", (it) => {
  it.effect("answers as the service does, without a request, and follows a change when it fetches", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { environment } = yield* newInstance
      const instance = environment.KEYSHELF_INSTANCE
      yield* Effect.promise(async () => {
        const client = createProductClient({ baseUrl: origins.core, token: environment.KEYSHELF_TOKEN })
        await client.start(instance)
        const checks = ["api-calls", "sso", { entitlement: "exports", requested: 11 }, "nowhere"]
        const [local, remote] = [
          await client.checkAll(instance, checks),
          await client.checkAll(instance, checks, { remote: true }),
        ]
        const facts = ({ checks: answers }: typeof local) =>
          answers.map(({ ageMs: _, source: __, ...answer }) => answer)
        assert.deepStrictEqual(facts(local), facts(remote))
        assert.deepStrictEqual([local.checks[0]?.source, remote.checks[0]?.source], ["snapshot", "service"])
        await client.consume(instance, "exports", { requested: 4, idempotencyKey: "job-1" })
        await client.refresh(instance)
        assert.deepInclude(await client.check(instance, "exports", { requested: 7 }), {
          allowed: false,
          reason: "LIMIT_REACHED",
          usage: "4",
          source: "snapshot",
        })
        await client.close()
      })
    }),
  )
})
