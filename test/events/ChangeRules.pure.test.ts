import { assert, describe, it } from "@effect/vitest"
import type { ChangeEvent, FollowRequest, Target } from "../../src/domains/events/changes/Model.ts"
import { Deliveries } from "../../src/domains/events/changes/Deliveries.ts"
import { Registry } from "../../src/domains/events/changes/Registry.ts"
import { changeOf, dataOf, merged, opening, retryMillis } from "../../src/domains/events/changes/Rules.ts"
import { eventNames } from "../../src/kernel/values/EventNames.ts"
import { acceptsStream } from "../../src/kernel/values/MediaTypes.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const nothing = {
  position: 1,
  id: null,
  slug: null,
  instance: null,
  instanceSlug: null,
  licenseSlug: null,
  combine: null,
  deploymentZoneSlug: null,
  expiresAt: null,
  revokedAt: null,
}
const eventOf = (type: string, parts: Partial<ChangeEvent> = {}): ChangeEvent => ({ ...nothing, type, ...parts })

/** A word for whom an event concerns, if each of its parts names itself. */
const wordOf = (type: string): string => {
  const named = {
    id: "id",
    slug: "slug",
    instance: "instance",
    instanceSlug: "instanceSlug",
    licenseSlug: "licenseSlug",
    deploymentZoneSlug: "zoneSlug",
  }
  const change = changeOf(eventOf(type, named))
  if (change === undefined) return "nobody"
  if (change.of === "instances") {
    return change.target.of === "all" ? "all" : `${change.target.of} ${change.target.slug}`
  }
  return change.of === "credential" ? `credential ${change.id}` : `${change.of} ${change.slug}`
}

const expectedOf = (type: string): string => {
  if (type === "INSTANCE_DELETED") return "removal slug"
  if (/^INSTANCE_(CREATION|UPDATED)$/.test(type)) return "assignment slug"
  if (/^(INSTANCE_(ENTITLEMENT|ADD_ON)|CREDIT)_/.test(type) || type.startsWith("OFFLINE_BUNDLE_"))
    return "instance instance"
  if (type.startsWith("INSTANCE_")) return "instance slug"
  if (type.startsWith("ENTITLEMENT_USAGE_") || type === "USAGE_EVENT_VOIDED") return "instance instanceSlug"
  if (type.startsWith("LICENSE_MIGRATION_")) return "nobody"
  if (type.startsWith("LICENSE_ENTITLEMENT_")) return "license licenseSlug"
  if (type.startsWith("LICENSE_")) return "license slug"
  if (type.startsWith("CUSTOMER_")) return "customer slug"
  if (type === "RELEASE_DEPLOYED") return "zone zoneSlug"
  if (type.startsWith("DEPLOYMENT_ZONE_")) return "zone slug"
  if (/^(ENTITLEMENT|FEATURE_FLAG|SIGNING_KEY)_/.test(type)) return "all"
  if (/^(TOKEN_(REVOKED|ROTATED|EXPIRED)|MEMBERSHIP_(UPDATED|REMOVED))$/.test(type)) return "credential id"
  return "nobody"
}

describe("whom an event concerns", () => {
  it("a changed grant of an add-on reaches all, because instances have it beside their license", () => {
    const event = eventOf("LICENSE_ENTITLEMENT_UPDATED", { licenseSlug: "extra", combine: "ADD" })
    assert.deepStrictEqual(changeOf(event), { of: "instances", target: { of: "all" } })
  })

  it.each(eventNames)("%s reaches those whose decisions it can change, and no others", (name) => {
    assert.strictEqual(wordOf(name), expectedOf(name))
  })

  it("an event that this version does not know, or one without its slug, concerns nobody", () => {
    assert.isUndefined(changeOf(eventOf("PLANET_CREATED", { slug: "mars" })))
    assert.isUndefined(changeOf(eventOf("toString", { slug: "mars" })))
    assert.isUndefined(changeOf(eventOf("LICENSE_UPDATED")))
    assert.isUndefined(changeOf(eventOf("TOKEN_REVOKED")))
  })

  it("a rotated token ends with its grace period, or now if it was revoked", () => {
    const id = "token"
    const expiresAt = "2026-01-31T09:00:00.000Z"
    assert.deepStrictEqual(changeOf(eventOf("TOKEN_ROTATED", { id, expiresAt })), {
      of: "credential",
      id,
      endsAt: Date.parse(expiresAt),
    })
    assert.deepStrictEqual(changeOf(eventOf("TOKEN_ROTATED", { id, expiresAt, revokedAt: expiresAt })), {
      of: "credential",
      id,
      endsAt: undefined,
    })
  })
})

describe("the text of a stream", () => {
  it("begins with the time until a reconnection, and names nothing but slugs", () => {
    assert.strictEqual(opening("a", 4200), 'retry: 4200\nid: a\ndata: {"type":"open"}\n\n')
    assert.strictEqual(dataOf({ of: "all" }), '{"type":"refetchEvaluation"}')
    assert.strictEqual(dataOf({ of: "zone", slug: "eu" }), '{"type":"refetchEvaluation","zone":"eu"}')
  })

  it.each([
    [0, 0.99, 1000],
    [10_000, 0, 1000],
    [10_000, 0.5, 6000],
    [100_000, 0.999, 60_000],
  ])("with %i streams and the random number %d a client reconnects after %i ms", (streams, random, expected) => {
    assert.strictEqual(retryMillis(streams, random), expected)
  })

  it("names many targets by none", () => {
    const targets = Array.from({ length: 9 }, (_, index): Target => ({ of: "license", slug: `pro-${index}` }))
    assert.deepStrictEqual(merged(undefined, targets), [{ of: "all" }])
    assert.deepStrictEqual(merged(targets.slice(0, 2), targets.slice(1, 3)), targets.slice(0, 3))
    assert.deepStrictEqual(merged(targets.slice(0, 2), [{ of: "all" }]), [{ of: "all" }])
  })
})

describe("the Accept header of a stream", () => {
  it.each([
    [undefined, true],
    ["text/event-stream", true],
    ["*/*", true],
    ["text/*;q=0.1", true],
    ["application/json", false],
    ["text/html, application/xml;q=0.9", false],
    ["text/event-stream;q=0, */*", false],
  ])("%s: %s", (accept, expected) => {
    assert.strictEqual(acceptsStream(accept), expected)
  })
})

const limits = {
  streamsPerProcess: 100,
  framesPerSecond: 10,
  commentSeconds: 15,
  verificationMillis: 60_000,
  maxUnreadBytes: 1000,
}

const acme = organizationIdOf("acme")
const globex = organizationIdOf("globex")

/** Open streams, what each has received, and the means to send to them. */
const hall = () => {
  const registry = new Registry()
  const received = new Map<string, Array<string>>()
  let ids = 0
  const deliveries = new Deliveries(
    limits,
    () => String(++ids),
    ({ connection }, text) => void connection?.send(text),
  )
  const open = (name: string, request: Partial<FollowRequest> = {}, organizationId = acme) => {
    const texts: Array<string> = []
    received.set(name, texts)
    const stream = registry.enter(
      {
        credential: { organizationId, id: `${name} token`, kind: "token" },
        confinedTo: undefined,
        instances: undefined,
        endsAt: Infinity,
        ...request,
      },
      15,
    )
    stream.connection = {
      send: (text) => texts.push(...Array.from(text.matchAll(/data: (.*)/g), ([, data = ""]) => data)) > 0,
      end: () => {},
      destroy: () => {},
      writableLength: 0,
      once: () => {},
    }
    return stream
  }
  const change = (targets: ReadonlyArray<Target>, at = 0, organizationId = acme) => {
    const organization = registry.organizations.get(organizationId)
    if (organization === undefined) throw new Error("The organization has no streams")
    return deliveries.add(organization, registry.concerned(organization, targets), at)
  }
  return { registry, deliveries, received, open, change }
}

describe("the streams that a change reaches", () => {
  it("are those of the instance, of what it belongs to, and those without a choice", () => {
    const { change, open, received, registry } = hall()
    const { organization } = open("prod", { instances: ["prod"] })
    open("test", { instances: ["test"] })
    open("all")
    open("other", {}, globex)
    registry.assign(
      organization,
      ["prod", "test"],
      [
        { slug: "prod", license: "pro", customer: "initech", zone: "eu" },
        { slug: "test", license: "free", customer: "initech", zone: null },
      ],
    )
    change([{ of: "license", slug: "pro" }])
    change([{ of: "customer", slug: "initech" }])
    change([{ of: "instance", slug: "test" }])
    change([{ of: "zone", slug: "us" }])
    const named = (name: string, slug: string) => `{"type":"refetchEvaluation","${name}":"${slug}"}`
    assert.deepStrictEqual(received.get("prod"), [named("license", "pro"), named("customer", "initech")])
    assert.deepStrictEqual(received.get("test"), [named("customer", "initech"), named("instance", "test")])
    assert.deepStrictEqual(received.get("all"), [
      named("license", "pro"),
      named("customer", "initech"),
      named("instance", "test"),
      named("zone", "us"),
    ])
    assert.deepStrictEqual(received.get("other"), [])
  })

  it("a license key is shown its instance and nothing else", () => {
    const { change, open, received, registry } = hall()
    const { organization } = open("key", { instances: ["prod"], confinedTo: "prod" })
    registry.assign(organization, ["prod"], [{ slug: "prod", license: "pro", customer: "initech", zone: null }])
    change([
      { of: "license", slug: "pro" },
      { of: "customer", slug: "initech" },
    ])
    change([{ of: "all" }])
    assert.deepStrictEqual(received.get("key"), Array(2).fill('{"type":"refetchEvaluation","instance":"prod"}'))
  })

  it("an instance that was not read yet may belong to anything, one that does not exist to nothing", () => {
    const { change, open, received, registry } = hall()
    const { organization } = open("unread", { instances: ["prod"] })
    open("unknown", { instances: ["ghost"] })
    registry.assign(organization, ["ghost"], [])
    change([{ of: "license", slug: "pro" }])
    assert.lengthOf(received.get("unread") ?? [], 1)
    assert.lengthOf(received.get("unknown") ?? [], 0)
  })

  it("leave no trace when they end", () => {
    const { open, registry } = hall()
    const streams = [open("one", { instances: ["prod", "test"] }), open("two", { instances: ["prod"] }), open("three")]
    for (const stream of streams) registry.leave(stream)
    for (const stream of streams) registry.leave(stream)
    assert.strictEqual(registry.size, 0)
    assert.strictEqual(registry.organizations.size, 0)
    const [first] = streams
    assert.deepStrictEqual([first?.organization.instances.size, first?.organization.byCredential.size], [0, 0])
  })
})

describe("the turns of frames", () => {
  it("those of few streams leave at once, those of many at a fixed rate, single instances first", () => {
    const { change, deliveries, open, received } = hall()
    for (let index = 0; index < 25; index++) open(`s${index}`, { instances: [`i${index}`] })
    assert.strictEqual(change([{ of: "all" }], 0), 10)
    assert.strictEqual(deliveries.waiting, 15)
    // The first stream has had its frame, and comes before those that still wait.
    assert.strictEqual(change([{ of: "instance", slug: "i0" }], 100), 1)
    assert.deepStrictEqual(received.get("s0")?.at(-1), '{"type":"refetchEvaluation","instance":"i0"}')
    assert.strictEqual(deliveries.send(200), 1)
    assert.strictEqual(deliveries.send(10_000), 10)
    assert.strictEqual(deliveries.send(20_000), 4)
    assert.sameMembers(
      [...received.values()].map((texts) => texts.length),
      [...Array<number>(24).fill(1), 2],
    )
  })

  it("an organization does not wait for another one", () => {
    const { change, open } = hall()
    for (let index = 0; index < 25; index++) open(`s${index}`)
    open("other", {}, globex)
    change([{ of: "all" }], 0)
    assert.strictEqual(change([{ of: "all" }], 0, globex), 1)
  })

  it("what changes while a stream waits is one more name in its frame", () => {
    const { change, deliveries, open, received, registry } = hall()
    for (let index = 0; index < 11; index++) open(`s${index}`)
    change([{ of: "license", slug: "pro" }], 0)
    change([{ of: "license", slug: "free" }], 0)
    assert.strictEqual(deliveries.waiting, 11)
    deliveries.send(1000)
    deliveries.send(2000)
    deliveries.send(3000)
    assert.strictEqual(deliveries.waiting, 0)
    assert.isTrue([...received.values()].every((texts) => texts.length === 2))
    assert.strictEqual(registry.size, 11)
  })

  it("a stream that ends while it waits costs no turn", () => {
    const { change, deliveries, open, registry } = hall()
    const streams = Array.from({ length: 12 }, (_, index) => open(`s${index}`))
    change([{ of: "all" }], 0)
    for (const stream of streams.slice(10)) registry.leave(stream)
    assert.strictEqual(deliveries.send(1000), 0)
    assert.strictEqual(deliveries.waiting, 0)
  })
})
