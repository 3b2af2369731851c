/** Settings of the Effect client that can never work are a defect, and nothing is sent. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { inspect } from "node:util"
import { ConfigurationError, makeCoreClient, makePlatformClient } from "../../src/client/index.ts"
import type { ClientOptions } from "../../src/client/index.ts"
import { readVectors } from "../clients/programs.ts"
import { network as unreachable } from "../clients/typescript/unreachable.ts"

type Cases<Name extends string> = ReadonlyArray<
  { readonly id: string; readonly expected: string } & { readonly [_ in Name]: unknown }
>

const { addresses, tokens } = readVectors<{
  readonly addresses: Cases<"address">
  readonly tokens: Cases<"token">
}>("configuration")

/** A network in which no service responds, for Effect's client. */
const network = () => {
  const { fetch, sent } = unreachable()
  return { sent, layer: FetchHttpClient.layer.pipe(Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))) }
}

const options: ClientOptions = {
  baseUrl: "https://keyshelf.example",
  token: Redacted.make("ksh_0123456789"),
  retries: 0,
}

/** What `getMe` ends with. */
const exitOf = (changed: Partial<ClientOptions>, layer: ReturnType<typeof network>["layer"]) =>
  makeCoreClient({ ...options, ...changed }).pipe(
    Effect.flatMap((core) => core.me.me({})),
    Effect.provide(layer),
    Effect.exit,
  )

const assertConfiguration = (exit: Exit.Exit<unknown, unknown>, setting: string, id: string) => {
  assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause), id)
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  assert.instanceOf(error, ConfigurationError, id)
  assert.strictEqual(error.setting, setting, id)
}

describe("settings of the Effect client", () => {
  it.effect("follow the vectors of addresses and tokens", () =>
    Effect.gen(function* () {
      for (const { address, expected, id } of addresses) {
        const { layer, sent } = network()
        const exit = yield* exitOf({ baseUrl: address as string }, layer)
        if (expected === "INVALID") {
          assertConfiguration(exit, "baseUrl", id)
          assert.lengthOf(sent, 0, id)
        } else assert.strictEqual(sent[0]?.url, new URL(`${expected}/api/me`).href, id)
      }
      for (const { expected, id, token } of tokens) {
        const { layer, sent } = network()
        const exit = yield* exitOf({ token: Redacted.make(token as string) }, layer)
        if (expected === "INVALID") {
          assertConfiguration(exit, "token", id)
          assert.lengthOf(sent, 0, id)
        } else assert.strictEqual(sent[0]?.headers.get("authorization"), `Bearer ${expected}`, id)
      }
    }),
  )

  it.effect("name what is no setting, and an error of the network shows no token", () =>
    Effect.gen(function* () {
      const { layer, sent } = network()
      assertConfiguration(yield* exitOf({ token: "ksh_0" as never }, layer), "token", "plain")
      assertConfiguration(yield* exitOf({ retries: -1 }, layer), "retries", "retries")
      const platform = yield* makePlatformClient({ ...options, baseUrl: "" }).pipe(Effect.provide(layer), Effect.exit)
      assertConfiguration(platform, "baseUrl", "platform")
      assert.lengthOf(sent, 0)
      const unreachable = yield* exitOf({}, layer)
      assert.lengthOf(sent, 1)
      assert.notInclude(inspect(unreachable, { depth: 20, showHidden: true }), "ksh_0123456789")
    }),
  )

  it.effect("a slug that is resolved in a URL calls nothing", () =>
    Effect.gen(function* () {
      const { layer, sent } = network()
      const core = yield* makeCoreClient(options).pipe(Effect.provide(layer))
      for (const instanceSlug of [".", ".."]) {
        const exit = yield* Effect.exit(core.instances.get({ params: { instanceSlug } }))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
      assert.lengthOf(sent, 0)
    }),
  )
})
