import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { SecretBox } from "../../src/kernel/ports/SecretBox.ts"
import * as SecretBoxLive from "../../src/infra/SecretBox.ts"
import * as Secrets from "../../src/infra/KeyRing.ts"

const key = (id: string, byte: number) => ({ id, bytes: Redacted.make(new Uint8Array(32).fill(byte)) })
const under = (...keys: ReadonlyArray<ReturnType<typeof key>>) =>
  Effect.provide(SecretBoxLive.layer.pipe(Layer.provide(Secrets.layerFrom(keys))))
const place = { purpose: "connector-settings", boundTo: ["organization", "connector"] }

const seal = (text: string) => Effect.flatMap(SecretBox, (box) => box.seal(place, text))
const open = (sealed: string, at = place) => Effect.flatMap(SecretBox, (box) => box.open(at, sealed))

describe("the secret box", () => {
  it.effect("a sealed text can be opened, and sealing the same text twice differs", () =>
    Effect.gen(function* () {
      const first = yield* seal("söcret")
      assert.notStrictEqual(first, yield* seal("söcret"))
      assert.match(first, /^v1\.a\./)
      assert.strictEqual(yield* open(first), "söcret")
      assert.strictEqual(yield* open(yield* seal("")), "")
    }).pipe(under(key("a", 1))),
  )

  it.effect("sealed texts are base64, and older ones in base64url can be opened", () =>
    Effect.gen(function* () {
      const texts = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => String(index)),
        seal,
      )
      for (const [index, text] of texts.entries()) {
        assert.match(text, /^v1\.a\.[A-Za-z0-9+/]+={0,2}\.[A-Za-z0-9+/]+={0,2}$/)
        const before = text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
        assert.strictEqual(yield* open(before), String(index))
      }
    }).pipe(under(key("a", 1))),
  )

  it.effect("a rotated key opens older texts, and the first key seals new ones", () =>
    Effect.gen(function* () {
      const old = yield* seal("secret").pipe(under(key("a", 1)))
      const rotated = under(key("b", 2), key("a", 1))
      assert.strictEqual(yield* open(old).pipe(rotated), "secret")
      assert.match(yield* seal("secret").pipe(rotated), /^v1\.b\./)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(open(old).pipe(under(key("b", 2))))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(open(old).pipe(under(key("a", 2))))))
    }),
  )

  it.effect("texts that were moved or altered, or are malformed, cannot be opened", () =>
    Effect.gen(function* () {
      const sealed = yield* seal("secret")
      const parts = sealed.split(".")
      const data = Buffer.from(parts[3] ?? "", "base64url")
      data[0] = (data[0] ?? 0) ^ 1
      const attempts = [
        open(sealed, { ...place, boundTo: ["other", "connector"] }),
        open(sealed, { ...place, boundTo: ["organization", "other"] }),
        open(sealed, { ...place, boundTo: ["organizationconnector"] }),
        open(sealed, { ...place, purpose: "webhook-secret" }),
        open([...parts.slice(0, 3), data.toString("base64url")].join(".")),
        open([...parts.slice(0, 3), (parts[3] ?? "").slice(0, 10)].join(".")),
        open("v1.a"),
        open(""),
      ]
      for (const attempt of attempts) assert.isTrue(Exit.isFailure(yield* Effect.exit(attempt)))
    }).pipe(under(key("a", 1))),
  )
})
