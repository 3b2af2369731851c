import "effect/schema/SchemaJITCompiler/enable"
import { assert, describe, it } from "@effect/vitest"
import { Context, Exit, Predicate, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import { getHeapStatistics } from "node:v8"
import { CoreApi } from "../../src/api/CoreApi.ts"
import { strictBodies } from "../../src/kernel/contract/Apis.ts"
import { PlatformApi } from "../../src/api/PlatformApi.ts"
import { compileBodies } from "../../src/kernel/contract/CompiledBodies.ts"
import { WebhookApi } from "../../src/api/WebhookApi.ts"
import { endpoints } from "../contract/endpoints.ts"

const asEndpointsDo = Context.get(strictBodies, HttpApi.PayloadParseOptions)

// An annotation makes another schema of it, which is decoded as Effect does.
const interpreted = (body: Schema.Codec<unknown>) => Schema.decodeUnknownExit(body.annotate({}), asEndpointsDo)

for (const api of [CoreApi, PlatformApi, WebhookApi]) {
  for (const group of Object.values(api.groups)) compileBodies(group)
}

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
    for (const { bodies, example = {}, id } of endpoints) {
      for (const body of bodies) {
        const decode = Schema.decodeUnknownExit(body, asEndpointsDo)
        const known = interpreted(body)
        for (const variant of variantsOf(example)) {
          const answer = decode(variant)
          if (Exit.isSuccess(answer)) taken++
          else refused++
          assert.deepStrictEqual(told(answer), told(known(variant)), `${id}: ${JSON.stringify(variant)}`)
        }
      }
    }
    assert.isAbove(taken, endpoints.length)
    assert.isAbove(refused, endpoints.length)
  })

  it("is decoded with less to do where Effect would interpret it", () => {
    const [body] = endpoints.find(({ id }) => id === "check.check")?.bodies ?? []
    if (body === undefined) throw new Error("There is no check")
    const sent = { checks: Array.from({ length: 10 }, (_, n) => ({ entitlement: `entitlement-${n}` })) }
    const decode = Schema.decodeUnknownExit(body, asEndpointsDo)
    const known = interpreted(body)
    assert.isBelow(
      allocatedBy(() => decode(sent)),
      allocatedBy(() => known(sent)) / 2,
    )
  })
})
