import { assert, layer } from "@effect/vitest"
import { Console, Duration, Effect, Redacted } from "effect"
import { Stage } from "../../src/demo/Demo.ts"
import type { Origins } from "../../src/demo/Demo.ts"
import { play } from "../../src/demo/Story.ts"
import { MaxWait } from "../../src/demo/Webhook.ts"
import { TestService } from "../support/TestService.ts"

/** Plays the story. Returns what it printed, and why it stopped if it did. */
const played = Effect.fnUntraced(function* (origins: Origins, credential: string) {
  const lines: Array<string> = []
  const recorder: Console.Console = Object.assign(Object.create(console), {
    log: (line: string) => lines.push(line),
  })
  const stopped = yield* play(Redacted.make(credential)).pipe(
    Effect.as(""),
    Effect.catchTag("DemoFailed", (error) => Effect.succeed(error.message)),
    Effect.provide(Stage.layer(origins)),
    Effect.provideService(Console.Console, recorder),
    // This service has no dispatcher. test/journeys/DemoProcess.process.test.ts receives the event.
    Effect.provideService(MaxWait, Duration.millis(50)),
  )
  return { stopped, text: lines.join("\n") }
})

const originsOf = ({ core, platform }: Omit<Origins, "webhooks">): Origins => ({ core, platform, webhooks: core })

layer(TestService.layer, { excludeTestServices: true })("the demo", (it) => {
  it.effect("plays the main story to its end, twice on the same installation", () =>
    Effect.gen(function* () {
      const { operator, origins } = yield* TestService
      for (const _ of ["first", "second"]) {
        const { stopped, text } = yield* played(originsOf(origins), operator)
        assert.strictEqual(stopped, "", text)
        assert.include(text, "LICENSE_ARCHIVED")
        assert.include(text, "CreateInstance.LicenseArchived")
        assert.include(text, '"reason": "LIMIT_REACHED"')
        assert.include(text, '"explanation": {')
        assert.include(text, "The event did not arrive within 50ms")
        assert.include(text, "every response was as expected")
      }
    }),
  )

  it.effect("prints every request, but no secret", () =>
    Effect.gen(function* () {
      const { operator, origins } = yield* TestService
      const { text } = yield* played(originsOf(origins), operator)
      assert.include(text, `→ POST ${origins.platform}/api/platform/organizations`)
      assert.match(text, /"token": "ksh_[A-Za-z0-9_-]{4}…"/)
      assert.notMatch(text, /ks[hm]_[A-Za-z0-9_-]{5}/)
    }),
  )

  it.effect("stops with a clear message if the credential is invalid", () =>
    Effect.gen(function* () {
      const { origins } = yield* TestService
      const { stopped } = yield* played(originsOf(origins), `ksm_${"A".repeat(43)}`)
      assert.match(
        stopped,
        /^The demo stopped at POST \/api\/platform\/organizations: expected 201, but the response is 401 Auth\.InvalidCredential\./,
      )
    }),
  )

  it.effect("stops with a clear message if no service responds", () =>
    Effect.gen(function* () {
      const { operator, origins } = yield* TestService
      const { stopped } = yield* played({ ...originsOf(origins), platform: "http://127.0.0.1:1" }, operator)
      assert.strictEqual(
        stopped,
        "No Keyshelf responds at http://127.0.0.1:1. Start one with `npm run keyshelf -- serve`, or pass its URL with --platform.",
      )
    }),
  )
})
