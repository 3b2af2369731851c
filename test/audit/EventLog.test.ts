import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import { openCheckpoint } from "../../src/domains/audit/rules/Notes.ts"
import { isConsistent, isIncluded, readProof } from "../../src/domains/audit/rules/Proofs.ts"
import { leafHash } from "../../src/domains/audit/rules/Tree.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { deliveredText } from "./delivered.ts"
import { openLog } from "./support.ts"

allowInventedEvents()

layer(TestService.layer, { excludeTestServices: true })("the event log", (it) => {
  it.effect("proves each event by the text that receivers of webhooks get", () =>
    Effect.gen(function* () {
      const { get, note, origin, post, publicKey } = yield* openLog
      yield* post("/customers", { name: 'Glöbex "one"', slug: "globex" })
      yield* post("/entitlements", { name: "Calls", slug: "calls", type: "NUMBER" })
      yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
      yield* post("/licenses/pro/entitlements", { entitlementSlug: "calls", value: 123456789 })
      yield* note
      const { items } = (yield* get("/events?limit=200")).body
      for (const event of items) {
        const response = yield* get(`/events/${event.id}/proof`)
        assert.strictEqual(response.status, 200, response.text)
        assert.match(response.headers.get("content-type") ?? "", /^text\/plain/)
        const proof = readProof(response.text)
        assert.isDefined(proof)
        const checkpoint = openCheckpoint(proof.checkpoint, origin, [yield* publicKey])
        assert.isDefined(checkpoint)
        const leaf = leafHash(deliveredText(event))
        assert.isTrue(isIncluded(leaf, proof.index, checkpoint, proof.hashes), JSON.stringify(event))
      }
    }),
  )

  it.effect("has no proof of an event that it does not contain", () =>
    Effect.gen(function* () {
      const { get } = yield* openLog
      const other = yield* openLog
      const [event] = (yield* other.get("/events")).body.items
      const unknown = yield* get(`/events/${event.id}/proof`)
      assert.deepStrictEqual([unknown.status, unknown.body.code], [404, "Event.NotFound"])
      assert.strictEqual((yield* get("/events/nonsense/proof")).status, 422)
    }),
  )

  it.effect("proves that it only grew, from every older checkpoint to every newer one", () =>
    Effect.gen(function* () {
      const { addMany, get, note, origin, publicKey } = yield* openLog
      const notes = [yield* note]
      for (const count of [1, 6, 300]) {
        yield* addMany(count)
        notes.push(yield* note)
      }
      const key = yield* publicKey
      const checkpoints = notes.map((text) => openCheckpoint(text, origin, [key])!)
      for (const [number, newer] of checkpoints.entries()) {
        for (const older of checkpoints.slice(0, number + 1)) {
          const { body, status, text } = yield* get(`/events/consistency?from=${older.size}&to=${newer.size}`)
          assert.strictEqual(status, 200, text)
          const hashes = body.hashes.map((hash: string) => Buffer.from(hash, "base64"))
          assert.isTrue(isConsistent(older, newer, hashes))
        }
      }
      const last = checkpoints.at(-1)!.size
      for (const query of ["from=3&to=2", `from=1&to=${last + 1000}`, "from=-1&to=2", "from=1", "from=1e1&to=20"]) {
        assert.strictEqual((yield* get(`/events/consistency?${query}`)).status, 422, query)
      }
      assert.deepStrictEqual((yield* get("/events/consistency?from=0&to=2")).body, { from: 0, to: 2, hashes: [] })
    }),
  )

  it.effect("returns the same checkpoint as long as nothing happens", () =>
    Effect.gen(function* () {
      const { addMany, note, sql, organizationId } = yield* openLog
      // The first checkpoint creates the key, which is an event of its own.
      yield* note
      const first = yield* note
      assert.strictEqual(yield* note, first)
      yield* addMany(1)
      assert.notStrictEqual(yield* note, first)
      const stored = yield* sql`SELECT note FROM event_checkpoints WHERE organization_id = ${organizationId}`
      assert.strictEqual(stored.length, 3)
    }),
  )

  it.effect("signs nothing over a log that was rewritten, cut off, or whose newest checkpoint is forged", () =>
    Effect.gen(function* () {
      const tamper = (change: (log: Effect.Success<typeof openLog>) => Effect.Effect<unknown, unknown>) =>
        Effect.gen(function* () {
          const log = yield* openLog
          yield* log.addMany(300)
          yield* log.note
          yield* log.note
          yield* change(log)
          for (const path of ["/events/checkpoint", `/events/${(yield* log.get("/events")).body.items[0].id}/proof`]) {
            const { body, status } = yield* log.get(path)
            assert.deepStrictEqual([status, body.code], [409, "EventCheckpoint.Inconsistent"])
          }
          yield* log.addMany(1)
          assert.strictEqual((yield* log.get("/events/checkpoint")).status, 409)
        })
      const hash = Buffer.alloc(32, 7)
      yield* tamper(
        ({ organizationId, sql }) =>
          sql`UPDATE event_hashes SET hash = ${hash} WHERE organization_id = ${organizationId}`,
      )
      yield* tamper(
        ({ organizationId, sql }) => sql`DELETE FROM event_hashes WHERE organization_id = ${organizationId}`,
      )
      for (const leaf of [hash, null]) {
        yield* tamper(
          ({ organizationId, sql }) => sql`
            UPDATE event_positions SET leaf = ${leaf} WHERE organization_id = ${organizationId} AND position = 300`,
        )
      }
      yield* tamper(
        ({ organizationId, sql }) =>
          sql`UPDATE event_checkpoints SET note = replace(note, E'\n30', E'\n29') WHERE organization_id = ${organizationId}`,
      )
      yield* tamper(({ organizationId, sql }) =>
        Effect.andThen(
          sql`DELETE FROM event_positions WHERE organization_id = ${organizationId} AND position > 290`,
          sql`UPDATE event_streams SET sealed_to = 290, head = 290 WHERE organization_id = ${organizationId}`,
        ),
      )
    }),
  )

  it.effect("goes on when its key is replaced and the old one revoked", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      const { get, note, organizationId, origin, post, publicKey, sql, token } = yield* openLog
      yield* note
      const old = yield* publicKey
      const next = (yield* post("/signing-keys", { purpose: "audit" })).body
      yield* post(`/signing-keys/${next.kid}/activate`, {})
      const [{ kid } = { kid: "" }] = yield* sql<{ kid: string }>`
        SELECT kid FROM signing_keys WHERE organization_id = ${organizationId} AND public_key = ${old}`
      assert.strictEqual((yield* core("DELETE", `/signing-keys/${kid}`, { token })).status, 204)
      const text = yield* note
      assert.isUndefined(openCheckpoint(text, origin, [old]))
      assert.isDefined(openCheckpoint(text, origin, [yield* publicKey]))
      assert.strictEqual((yield* get("/events/checkpoint")).status, 200)
    }),
  )

  it.effect("begins at the first event behind a gap that an earlier version left", () =>
    Effect.gen(function* () {
      const { addMany, get, note, organizationId, positions, size, sql, stream } = yield* openLog
      yield* addMany(20)
      yield* get("/events")
      yield* sql`UPDATE event_positions SET leaf = NULL WHERE organization_id = ${organizationId}`
      yield* sql`DELETE FROM event_positions WHERE organization_id = ${organizationId} AND (position < 4 OR position = 9)`
      yield* note
      assert.strictEqual((yield* stream).base, 9)
      assert.strictEqual(yield* size, (yield* positions).filter((position) => position > 9).length)
      const [before] = (yield* get("/events")).body.items
      const refused = yield* get(`/events/${before.id}/proof`)
      assert.deepStrictEqual([refused.status, refused.body.code], [404, "Event.NotFound"])
    }),
  )

  it.effect("can be verified by a stranger who knows RFC 6962 and Ed25519 only", () =>
    Effect.gen(function* () {
      const { addMany, get } = yield* openLog
      yield* addMany(700)
      yield* get("/events/checkpoint")
      const event = (yield* get("/events?limit=200")).body.items[137]
      const text = (yield* get(`/events/${event.id}/proof`)).text
      const [key] = (yield* get("/signing-keys")).body.items
      const sha256 = (...parts: ReadonlyArray<Uint8Array | string>) => {
        const hash = createHash("sha256")
        for (const part of parts) hash.update(part)
        return hash.digest()
      }
      // The verifier key: its name, four bytes of a hash, and the algorithm with the key.
      const [name = "", id = "", encoded = ""] = key.verifierKey.split(/\+(?=[0-9a-f]{8}\+)|(?<=\+[0-9a-f]{8})\+/)
      const raw = Buffer.from(encoded, "base64")
      assert.strictEqual(raw[0], 1)
      assert.strictEqual(sha256(name, "\n", raw).subarray(0, 4).toString("hex"), id)
      const publicKey = createPublicKey({
        key: { kty: "OKP", crv: "Ed25519", x: raw.subarray(1).toString("base64url") },
        format: "jwk",
      })
      // The proof.
      const [head = "", body = "", signatures = ""] = text.split("\n\n")
      const [version, indexLine = "", ...path] = head.split("\n")
      assert.strictEqual(version, "c2sp.org/tlog-proof@v1")
      const [origin, size, root] = body.split("\n")
      assert.strictEqual(origin, name)
      const [, signer, signature = ""] = signatures.trimEnd().split(" ")
      assert.strictEqual(signer, name)
      const bytes = Buffer.from(signature, "base64")
      assert.strictEqual(bytes.subarray(0, 4).toString("hex"), id)
      assert.isTrue(verify(null, Buffer.from(`${body}\n`), publicKey, bytes.subarray(4)))
      // RFC 9162, section 2.1.3.2.
      let fn = Number(indexLine.split(" ")[1])
      let sn = Number(size) - 1
      let r = sha256(Buffer.of(0), deliveredText(event))
      for (const step of path) {
        const p = Buffer.from(step, "base64")
        if (fn % 2 === 1 || fn === sn) {
          r = sha256(Buffer.of(1), p, r)
          while (fn % 2 === 0 && fn !== 0) {
            fn = Math.floor(fn / 2)
            sn = Math.floor(sn / 2)
          }
        } else r = sha256(Buffer.of(1), r, p)
        fn = Math.floor(fn / 2)
        sn = Math.floor(sn / 2)
      }
      assert.strictEqual(sn, 0)
      assert.strictEqual(r.toString("base64"), root)
    }),
  )
})
