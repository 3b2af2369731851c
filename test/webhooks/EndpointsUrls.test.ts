import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { IpNetwork } from "effect/net"
import { randomUUID } from "node:crypto"
import { services } from "../../src/app/Services.ts"
import { bySystem, Caller, platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { OrganizationsRepo } from "../../src/domains/organizations/Repo.ts"
import type { AddressPolicy } from "../../src/infra/outbound/AddressPolicy.ts"
import * as OutboundHttp from "../../src/infra/outbound/OutboundHttp.ts"
import { canonicalUrl, findUrlError } from "../../src/domains/webhooks/endpoints/Rules.ts"
import { WebhookEndpoints } from "../../src/domains/webhooks/endpoints/Service.ts"
import { testSql } from "../support/TestDatabase.ts"
import { testSecrets, testSignals } from "../support/TestService.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

// Contract, part 2, section 10; some of what browsers block too.
const PORTS_OF_OTHER_PROTOCOLS = (
  "22 23 25 110 143 389 445 465 587 636 993 995 1433 1521 2049 2375 2376 2379 3306 3389 5432 5672 6379 9042 9092 9200 " +
  "10250 11211 27017 1 21 53 6000"
).split(" ")

const none = { allowInsecure: false, allowedNetworks: [] }
const urlError = (url: string, rules: AddressPolicy = none) =>
  findUrlError(url, OutboundHttp.make(rules).rejectionReason)

describe("the URL of an endpoint", () => {
  it("must use https and a host name or a public address", () => {
    for (const url of [
      "https://example.com",
      "https://example.com:8443/a/b?c=d",
      "https://bücher.example/",
      "https://8.8.8.8/",
      "https://[2606:4700::1111]/",
    ]) {
      assert.isUndefined(urlError(url), url)
    }
    for (const url of [
      "http://example.com",
      "ftp://example.com",
      "wss://example.com",
      "/events",
      "example.com",
      "https://",
    ]) {
      assert.isDefined(urlError(url), url)
    }
  })

  it("must not contain an address that is not public, in any notation", () => {
    for (const host of [
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "１２７.0.0.1",
      "0.0.0.0",
      "10.1.2.3",
      "172.16.0.1",
      "192.168.1.1",
      "100.64.0.1",
      "169.254.169.254",
      "198.18.0.1",
      "224.0.0.1",
      "[::1]",
      "[::]",
      "[::ffff:7f00:1]",
      "[::ffff:169.254.169.254]",
      "[::127.0.0.1]",
      "[64:ff9b::a9fe:a9fe]",
      "[2002:7f00:1::]",
      "[fe80::1]",
      "[fd00:ec2::254]",
    ]) {
      assert.strictEqual(urlError(`https://${host}/`), "must have a public address", host)
    }
  })

  it("must not contain a host name of this machine, unless its network is allowed", () => {
    const loopback = { allowInsecure: false, allowedNetworks: [IpNetwork.fromStringUnsafe("127.0.0.0/8")] }
    for (const host of ["localhost", "localhost.", "LOCALHOST", "ⓛocalhost", "a.localhost", "localhost:8443"]) {
      assert.strictEqual(urlError(`https://${host}/`), "must have a public address", host)
      assert.isUndefined(urlError(`https://${host}/`, loopback), host)
    }
    assert.isUndefined(urlError("https://localhost.example/"))
  })

  it("must not contain a port of another protocol, whatever else the settings allow", () => {
    const everything = [
      none,
      { allowInsecure: true, allowedNetworks: [] },
      { allowInsecure: false, allowedNetworks: ["0.0.0.0/0", "::/0"].map(IpNetwork.fromStringUnsafe) },
    ]
    for (const rules of everything) {
      for (const port of PORTS_OF_OTHER_PROTOCOLS) {
        for (const url of [
          `https://example.com:${port}/`,
          `https://10.0.0.1:${port}`,
          `https://[fd00::1]:0${port}/a`,
        ]) {
          assert.strictEqual(urlError(url, rules), "must not use a port of another protocol", url)
        }
      }
      for (const port of [80, 443, 3000, 8080, 8443, 9000, 65_535]) {
        assert.isUndefined(urlError(`https://example.com:${port}/22`, rules), String(port))
      }
    }
  })

  it("must not contain anything that parsers interpret differently", () => {
    for (const url of [
      "https:///example.com/",
      "https://user@example.com/",
      "https://user:secret@example.com/",
      "https://example.com\\@127.0.0.1/",
      "https://exa\tmple.com/",
      "https://example.com/\n",
      " https://example.com/",
      "https://example.com/a b",
      "https://example.com/#part",
    ]) {
      assert.isDefined(urlError(url), JSON.stringify(url))
    }
  })

  it("must not be longer than 2,048 characters when encoded", () => {
    const of = (length: number, letter: string) => `https://example.com/${letter.repeat(length - 20)}`
    assert.isUndefined(urlError(of(2048, "a")))
    assert.isDefined(urlError(of(2049, "a")))
    assert.isDefined(urlError(of(700, "é").concat("é".repeat(300))))
  })

  it("can contain an address of an allowed network with https, and in development any address", () => {
    const networks = { allowInsecure: false, allowedNetworks: [IpNetwork.fromStringUnsafe("10.0.0.0/8")] }
    assert.isUndefined(urlError("https://10.1.2.3/", networks))
    assert.isDefined(urlError("http://10.1.2.3/", networks))
    assert.isDefined(urlError("https://192.168.0.1/", networks))
    assert.isUndefined(urlError("http://127.0.0.1:9000/", { allowInsecure: true, allowedNetworks: [] }))
    assert.isDefined(urlError("http://me:secret@127.0.0.1/", { allowInsecure: true, allowedNetworks: [] }))
  })

  it("is stored in canonical form", () => {
    assert.strictEqual(canonicalUrl("HTTPS://EXAMPLE.com:443/a/../B?c"), "https://example.com/B?c")
    assert.strictEqual(canonicalUrl("https://134744072/"), "https://8.8.8.8/")
    assert.strictEqual(canonicalUrl("https://example.com"), "https://example.com")
  })
})

const strictServices = services.pipe(
  Layer.provideMerge(testSignals),
  Layer.provideMerge(testSql),
  Layer.provideMerge(testSecrets),
  Layer.provideMerge(OutboundHttp.layerFrom(none)),
)

layer(strictServices, { excludeTestServices: true })("an installation outside development", (it) => {
  it.effect("rejects a private address or a port of another protocol when an endpoint is created or updated", () =>
    Effect.gen(function* () {
      const endpoints = yield* WebhookEndpoints
      const organizations = yield* OrganizationsRepo
      const organizationId = organizationIdOf(randomUUID())
      const at = new Date()
      yield* organizations.insert({
        id: organizationId,
        name: "Acme",
        slug: organizationId,
        externalId: null,
        createdAt: at,
        updatedAt: at,
        createdBy: platformIdentity,
        updatedBy: platformIdentity,
      })
      yield* Effect.gen(function* () {
        const url = "https://169.254.169.254/latest"
        const rejected = yield* Effect.flip(endpoints.create({ url, eventNames: ["*"] }))
        assert.deepStrictEqual(rejected.errors, [
          { location: "body.url", message: "must have a public address", value: url },
        ])
        const port = "https://example.com:6379/"
        const byPort = yield* Effect.flip(endpoints.create({ url: port, eventNames: ["*"] }))
        assert.deepStrictEqual(byPort.errors, [
          { location: "body.url", message: "must not use a port of another protocol", value: port },
        ])
        const made = yield* endpoints.create({ url: "https://example.com", eventNames: ["*"] })
        const unchanged = yield* Effect.flip(endpoints.update(made.id, { url }))
        assert.deepStrictEqual(unchanged.errors, rejected.errors)
        const stillUnchanged = yield* Effect.flip(endpoints.update(made.id, { url: port }))
        assert.deepStrictEqual(stillUnchanged.errors, byPort.errors)
        assert.strictEqual((yield* endpoints.get(made.id, {})).url, "https://example.com")
      }).pipe(
        Effect.provideService(Caller, {
          credentialId: randomUUID(),
          organizationId,
          ...bySystem,
          scopes: ["write:webhooks"],
        }),
      )
    }),
  )
})
