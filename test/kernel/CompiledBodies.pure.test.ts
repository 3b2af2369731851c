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

const ENDPOINT_OPTIONS = Context.get(strictBodies, HttpApi.PayloadParseOptions)

// Annotating copies the schema, so that Effect's interpreter decodes it and not the compiled decoder.
const interpreted = (body: Schema.Codec<unknown>) => Schema.decodeUnknownExit(body.annotate({}), ENDPOINT_OPTIONS)

for (const api of [CoreApi, PlatformApi, WebhookApi]) {
  for (const group of Object.values(api.groups)) compileBodies(group)
}

const INVALID_VALUES: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1.5,
  "",
  "no such thing",
  [],
  [null],
  {},
  { strange: 1 },
]

/** Returns the value and all variants with one part removed, added or replaced. */
const variantsOf = (value: unknown): ReadonlyArray<unknown> => {
  const replaced = [value, ...INVALID_VALUES]
  if (Array.isArray(value)) {
    const inItems = value.flatMap((item, place) => variantsOf(item).map((other) => value.with(place, other)))
    return [...replaced, ...inItems, [...value, ...value]]
  }
  if (!Predicate.isObject(value)) return replaced
  const inProperties = Object.entries(value).flatMap(([name, property]) => [
    Object.fromEntries(Object.entries(value).filter(([other]) => other !== name)),
    ...variantsOf(property).map((other) => ({ ...value, [name]: other })),
  ])
  return [...replaced, ...inProperties, { ...value, strange: 1 }, JSON.parse(`{"__proto__":1}`)]
}

const resultOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isSuccess(exit) ? exit.value : String(exit.cause)

const allocatedBy = (decode: () => unknown): number => {
  for (let n = 0; n < 2000; n++) decode()
  const before = getHeapStatistics().total_allocated_bytes
  for (let n = 0; n < 2000; n++) decode()
  return getHeapStatistics().total_allocated_bytes - before
}

describe("the body of every endpoint", () => {
  it("compiled decoders give the same results and errors as Effect's interpreter", () => {
    let accepted = 0
    let rejected = 0
    for (const { bodies, example = {}, id } of endpoints) {
      for (const body of bodies) {
        const decode = Schema.decodeUnknownExit(body, ENDPOINT_OPTIONS)
        const known = interpreted(body)
        for (const variant of variantsOf(example)) {
          const result = decode(variant)
          if (Exit.isSuccess(result)) accepted++
          else rejected++
          assert.deepStrictEqual(resultOf(result), resultOf(known(variant)), `${id}: ${JSON.stringify(variant)}`)
        }
      }
    }
    assert.isAbove(accepted, endpoints.length)
    assert.isAbove(rejected, endpoints.length)
  })

  it("the compiled decoder of a check allocates less than half of the interpreter", () => {
    const [body] = endpoints.find(({ id }) => id === "check.check")?.bodies ?? []
    if (body === undefined) throw new Error("The check endpoint has no body")
    const sent = { checks: Array.from({ length: 10 }, (_, n) => ({ entitlement: `entitlement-${n}` })) }
    const decode = Schema.decodeUnknownExit(body, ENDPOINT_OPTIONS)
    const known = interpreted(body)
    assert.isBelow(
      allocatedBy(() => decode(sent)),
      allocatedBy(() => known(sent)) / 2,
    )
  })
})
