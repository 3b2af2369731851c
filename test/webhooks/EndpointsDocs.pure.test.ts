import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { signedHeaders } from "../../src/domains/webhooks/delivery/Sender.ts"

type Verify = (secret: string, headers: Record<string, string>, body: string, now?: number) => unknown

const page = readFileSync(join(import.meta.dirname, "../../docs/webhooks.md"), "utf8")

/** The receiver of the page. */
const receiver = async (): Promise<{ readonly verify: Verify }> => {
  const code = /```js\n(\/\/ receiver\.mjs\n[\s\S]*?)```/.exec(page)?.[1] ?? ""
  return import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`)
}

const secretOf = () => Redacted.make(`whsec_${randomBytes(32).toString("base64")}`)

describe("the receiver in docs/webhooks.md", () => {
  const at = new Date("2026-01-31T09:00:00.500Z")
  const body = JSON.stringify({ id: "1", data: { name: "Łódź \u2028" } })
  const secret = secretOf()

  it("accepts a request signed with its secret, alone or with others", async () => {
    const { verify } = await receiver()
    for (const secrets of [[secret], [secretOf(), secret], [secret, secretOf()]]) {
      const headers = signedHeaders("msg", at, body, secrets)
      assert.deepStrictEqual(verify(Redacted.value(secret), headers, body, at.getTime()), JSON.parse(body))
    }
  })

  it("rejects a request that is altered, old, or signed with another secret", async () => {
    const { verify } = await receiver()
    const headers = signedHeaders("msg", at, body, [secret])
    const now = at.getTime()
    const text = Redacted.value(secret)
    const { "webhook-signature": _, ...unsigned } = headers
    assert.isUndefined(verify(text, headers, body.replace("1", "2"), now))
    assert.isUndefined(verify(text, { ...headers, "webhook-id": "other" }, body, now))
    assert.isUndefined(verify(text, { ...headers, "webhook-timestamp": "soon" }, body, now))
    assert.isUndefined(verify(text, headers, body, now + 301_000))
    assert.isUndefined(verify(text, unsigned, body, now))
    assert.isUndefined(verify(Redacted.value(secretOf()), headers, body, now))
  })
})
