/** Products that consume locally, by tranches of the service itself. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createProductClient } from "../../../clients/typescript/src/product/node.ts"
import type { ProductClient } from "../../../clients/typescript/src/product/node.ts"
import { TestService } from "../../support/TestService.ts"
import { newInstance } from "../world.ts"

const usedOf = async (client: ProductClient, instance: string) =>
  (await client.check(instance, "exports", { remote: true, requested: 0 })).usage

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("products with a license key", (it) => {
  it.effect("consume without passing the limit together, and settle what they consumed", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { environment } = yield* newInstance
      const instance = environment.KEYSHELF_INSTANCE
      yield* Effect.promise(async () => {
        const options = { baseUrl: origins.core, token: environment.KEYSHELF_TOKEN }
        const products = [createProductClient(options), createProductClient(options)]
        // On a slow machine a call may wait for too long; so each product asks until the limit denies it.
        const consumeAll = async (product: ProductClient) => {
          let consumed = 0
          for (;;) {
            const { allowed, reason, source } = await product.consume(instance, "exports")
            if (reason === "LIMIT_REACHED") return { consumed, source }
            if (allowed) consumed++
          }
        }
        const results = await Promise.all(products.map(consumeAll))
        assert.deepStrictEqual(
          results.map(({ source }) => source),
          ["service", "service"],
        )
        assert.strictEqual(
          results.reduce((sum, { consumed }) => sum + consumed, 0),
          10,
        )
        await Promise.all(products.map((product) => product.close()))
        const later = createProductClient({ ...options, mode: "remote" })
        assert.strictEqual(await usedOf(later, instance), "10")
        await later.close()
      })
    }),
  )

  it.effect("count each unit once over a restart, and go on with a new ledger where a directory was copied", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { environment } = yield* newInstance
      const instance = environment.KEYSHELF_INSTANCE
      const folder = mkdtempSync(join(tmpdir(), "keyshelf-real-"))
      yield* Effect.promise(async () => {
        const open = (name: string) =>
          createProductClient({
            baseUrl: origins.core,
            token: environment.KEYSHELF_TOKEN,
            directory: join(folder, name),
          })
        const first = open("a")
        assert.isTrue((await first.consume(instance, "exports", { requested: 2, idempotencyKey: "job-1" })).allowed)
        cpSync(join(folder, "a"), join(folder, "b"), { recursive: true })
        const reserved = await first.reserve(instance, "exports", 4)
        assert.isTrue(reserved.answer.allowed)
        await reserved.commit(1)
        await first.close()
        const again = open("a")
        assert.isTrue((await again.consume(instance, "exports", { requested: 2, idempotencyKey: "job-1" })).allowed)
        assert.strictEqual(await usedOf(again, instance), "3")
        await again.close()
        // The copy had not settled what it had: it is counted once more, and no unit is lost.
        const copy = open("b")
        assert.isTrue((await copy.consume(instance, "exports", { requested: 1 })).allowed)
        await copy.close()
        const later = open("c")
        assert.strictEqual(await usedOf(later, instance), "6")
        await later.close()
      }).pipe(Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true, force: true }))))
    }),
  )
})
