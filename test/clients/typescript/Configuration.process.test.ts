/** The vectors of configuration: what can never work fails before anything is sent, whatever a policy says. */
import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { inspect } from "node:util"
import { createProductClient, isServiceAway, verifyWebhook } from "../../../clients/typescript/src/product/node.ts"
import type { Amount, ProductClient } from "../../../clients/typescript/src/product/node.ts"
import { readVectors } from "../programs.ts"
import { failureOf } from "./answering.ts"
import {
  ADDRESS,
  assertConfiguration,
  assertFault,
  network,
  playing,
  thrownBy,
  TOKEN,
  typedClient,
} from "./unreachable.ts"

type Cases<Name extends string> = ReadonlyArray<
  { readonly id: string; readonly expected: string } & { readonly [_ in Name]: unknown }
>

const vectors = readVectors<{
  readonly addresses: Cases<"address">
  readonly tokens: Cases<"token">
  readonly idempotencyKeys: Cases<"key">
  readonly segments: Cases<"segment">
  readonly requested: Cases<"requested">
  readonly secrets: Cases<"secret">
}>("configuration")

describe("the vectors of configuration, in TypeScript", () => {
  it("an address is absolute and normalized, and any other fails when the client is made", async () => {
    for (const { address, expected, id } of vectors.addresses) {
      const { fetch, sent } = network()
      const options = { baseUrl: address as string, token: TOKEN, mode: "remote", fetch, retries: 0 } as const
      if (expected === "INVALID") {
        assertConfiguration(
          thrownBy(() => createProductClient(options)),
          "baseUrl",
          address,
          id,
        )
        assertConfiguration(
          thrownBy(() => typedClient(options)),
          "baseUrl",
          address,
          id,
        )
        continue
      }
      const answer = await createProductClient(options).check("globex-prod", "sso", { whenAway: "open" })
      assert.strictEqual(answer.source, "policy", id)
      assert.instanceOf(await failureOf(typedClient(options).getMe()), Error)
      const paths = ["/api/instances/globex-prod/check", "/api/me"]
      assert.deepStrictEqual(
        sent.map(({ url }) => url),
        paths.map((path) => expected + path),
        id,
      )
    }
    assert.isAbove(vectors.addresses.length, 60)
  })

  it("a token that a header cannot carry fails when the client is made, or each call if a function returns it", async () => {
    for (const { expected, id, token } of vectors.tokens) {
      const { fetch, sent } = network()
      const options = { baseUrl: ADDRESS, token: token as string, mode: "remote", fetch, retries: 0 } as const
      const read = playing({ token: () => token as string })
      const later = playing({ token: async () => token as string })
      const check = ({ client }: { readonly client: ProductClient }) =>
        client.check("globex-prod", "sso", { whenAway: "open" })
      if (expected === "INVALID") {
        assertConfiguration(
          thrownBy(() => createProductClient(options)),
          "token",
          token,
          id,
        )
        assertConfiguration(
          thrownBy(() => typedClient(options)),
          "token",
          token,
          id,
        )
        for (const one of [read, later, read]) {
          assertConfiguration(await failureOf(check(one)), "token", token, id)
          assert.lengthOf(one.sent, 0, id)
        }
        continue
      }
      const client = createProductClient(options)
      for (const one of [{ client, sent }, read, later]) {
        assert.strictEqual((await check(one)).source, "policy", id)
        assert.strictEqual(one.sent[0]?.headers.get("authorization"), `Bearer ${expected}`, id)
      }
      assert.notInclude(inspect(client, { depth: 10, showHidden: true }), expected, id)
    }
  })

  it("an idempotency key that the service cannot take fails the call", async () => {
    for (const { expected, id, key } of vectors.idempotencyKeys) {
      const { client, sent } = playing()
      const { fetch, sent: raw } = network()
      const core = typedClient({ baseUrl: ADDRESS, token: TOKEN, retries: 0, fetch })
      const options = { idempotencyKey: key as string, whenAway: "open" } as const
      const consume = () => client.consume("globex-prod", "exports", options)
      const consumeAll = () => client.consumeAll("globex-prod", ["exports"], options)
      const create = () => core.createCustomer({ body: { name: "Globex" }, idempotencyKey: key as string })
      if (expected === "INVALID") {
        for (const call of [consume, consumeAll, create]) assertFault(await failureOf(call()), id)
        assert.lengthOf([...sent, ...raw], 0, id)
        continue
      }
      assert.strictEqual((await consume()).source, "policy", id)
      assert.isTrue(isServiceAway(await failureOf(create())))
      for (const { headers } of [...sent, ...raw]) assert.strictEqual(headers.get("idempotency-key"), expected, id)
    }
  })

  it("a slug that cannot be in a path fails the call", async () => {
    for (const { expected, id, segment } of vectors.segments) {
      const { client, sent } = playing()
      const { fetch, sent: raw } = network()
      const core = typedClient({ baseUrl: ADDRESS, token: TOKEN, retries: 0, fetch })
      const slug = segment as string
      const calls = [
        () => client.check(slug, "sso", { whenAway: "open" }),
        () => client.consume(slug, "sso", { whenAway: "open", idempotencyKey: "job-1" }),
        () => client.report(slug, "sso"),
        () => client.report("globex-prod", slug),
        () => client.acquireSeat(slug, "editors", { holder: "anna" }),
        () => client.acquireSeat("globex-prod", slug, { holder: "anna" }),
        () => core.getInstance({ path: { instanceSlug: slug } }),
      ]
      if (expected === "INVALID") {
        // The generated client makes texts of numbers, as paths may have some.
        for (const call of typeof segment === "number" ? calls.slice(0, -1) : calls)
          assertFault(await failureOf(call()), id)
        assert.lengthOf([...sent, ...raw], 0, id)
        continue
      }
      for (const call of calls) await call().catch((error: unknown) => assert.isTrue(isServiceAway(error), id))
      assert.strictEqual(sent[0]?.url, `${ADDRESS}/api/instances/${expected}/check`, id)
      assert.strictEqual(raw[0]?.url, `${ADDRESS}/api/instances/${expected}`, id)
      assert.lengthOf(sent, calls.length - 1)
    }
  })

  it("an amount of a check that the service cannot count fails the call", async () => {
    for (const { expected, id, requested } of vectors.requested) {
      const { client, sent } = playing()
      const check = () => client.check("globex-prod", "exports", { requested: requested as Amount, whenAway: "open" })
      if (expected === "INVALID") {
        assertFault(await failureOf(check()), id)
        assert.lengthOf(sent, 0, id)
        continue
      }
      assert.strictEqual((await check()).source, "policy", id)
      assert.include(sent[0]?.body, `"requested":${expected}}`, id)
    }
  })

  it("a secret of a webhook that can be guessed is an error of configuration, and no forged delivery is genuine", async () => {
    const now = 1_769_850_000
    const body = '{"type":"CUSTOMER_CREATION"}'
    const deliveryOf = (key: Buffer) => ({
      "webhook-id": "1",
      "webhook-timestamp": String(now),
      "webhook-signature": `v1,${createHmac("sha256", key).update(`1.${now}.${body}`).digest("base64")}`,
    })
    for (const { expected, id, secret } of vectors.secrets) {
      const verify = (key: Buffer) => verifyWebhook(secret as string, deliveryOf(key), body, now * 1000)
      if (expected === "INVALID") {
        const text = String(secret).replace(/^whsec_/, "")
        for (const key of [Buffer.alloc(0), Buffer.from(text, "base64"), Buffer.from(text)]) {
          assertConfiguration(await failureOf(verify(key)), "secret", secret, id)
        }
        continue
      }
      assert.strictEqual((await verify(Buffer.from(expected, "hex")))["type"], "CUSTOMER_CREATION", id)
    }
  })
})
