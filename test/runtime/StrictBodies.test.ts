import "effect/schema/SchemaJITCompiler/enable"
import { assert, describe, it } from "@effect/vitest"
import { Exit, Predicate, Schema } from "effect"
import { getHeapStatistics } from "node:v8"
import { bodiesOf, decodeAtOnce } from "../../src/runtime/StrictBodies.ts"
import { CoreApi } from "../../src/CoreApi.ts"
import { PlatformApi } from "../../src/PlatformApi.ts"
import { WebhookApi } from "../../src/WebhookApi.ts"
import { endpoints } from "../contract/endpoints.ts"

const asEndpointsDo = { onExcessProperty: "error", errors: "all" } as const

// An annotation makes another schema of it, which is decoded as Effect does.
const interpreted = (body: Schema.Codec<unknown>) => Schema.decodeUnknownExit(body.annotate({}), asEndpointsDo)

decodeAtOnce(CoreApi)
decodeAtOnce(PlatformApi)
decodeAtOnce(WebhookApi)

const bodies = [CoreApi, PlatformApi, WebhookApi].flatMap((api) => bodiesOf(api as unknown as typeof CoreApi))

const wrong: ReadonlyArray<unknown> = [null, true, 0, -1.5, "", "no such thing", [], [null], {}, { strange: 1 }]

/** The value, and all that it becomes when one thing somewhere in it is left out, added or replaced. */
const variantsOf = (value: unknown): ReadonlyArray<unknown> => {
  const replaced = [value, ...wrong]
  if (Array.isArray(value)) {
    const inItems = value.flatMap((item, place) => variantsOf(item).map((other) => value.with(place, other)))
    return [...replaced, ...inItems, [...value, ...value]]
  }
  if (!Predicate.isObject(value)) return replaced
  const inMembers = Object.entries(value).flatMap(([name, member]) => [
    Object.fromEntries(Object.entries(value).filter(([other]) => other !== name)),
    ...variantsOf(member).map((other) => ({ ...value, [name]: other })),
  ])
  return [...replaced, ...inMembers, { ...value, strange: 1 }, JSON.parse(`{"__proto__":1}`)]
}

const told = (exit: Exit.Exit<unknown, unknown>): unknown => (Exit.isSuccess(exit) ? exit.value : String(exit.cause))

const allocatedBy = (decode: () => unknown): number => {
  for (let n = 0; n < 2000; n++) decode()
  const before = getHeapStatistics().total_allocated_bytes
  for (let n = 0; n < 2000; n++) decode()
  return getHeapStatistics().total_allocated_bytes - before
}

describe("the body of every endpoint", () => {
  it("is decoded, and refused with the same reasons, as Effect does with the options of the APIs", () => {
    let taken = 0
    let refused = 0
    for (const { body, endpoint } of bodies) {
      const decode = Schema.decodeUnknownExit(body, asEndpointsDo)
      const known = interpreted(body)
      const example = endpoints.find(({ id }) => id === endpoint)?.example
      for (const variant of variantsOf(example ?? {})) {
        const answer = decode(variant)
        if (Exit.isSuccess(answer)) taken++
        else refused++
        assert.deepStrictEqual(told(answer), told(known(variant)), `${endpoint}: ${JSON.stringify(variant)}`)
      }
    }
    assert.isAbove(taken, bodies.length)
    assert.isAbove(refused, bodies.length)
  })

  it("is decoded with less to do where Effect would interpret it", () => {
    const [check] = bodies.filter(({ endpoint }) => endpoint === "check.check")
    if (check === undefined) throw new Error("There is no check")
    const sent = { checks: Array.from({ length: 10 }, (_, n) => ({ entitlement: `entitlement-${n}` })) }
    const decode = Schema.decodeUnknownExit(check.body, asEndpointsDo)
    const known = interpreted(check.body)
    assert.isBelow(
      allocatedBy(() => decode(sent)),
      allocatedBy(() => known(sent)) / 2,
    )
  })
})
