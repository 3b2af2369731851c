import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parseCatalog } from "../../../../src/cli/remote/apply/CatalogText.ts"

const named = (name: string) => `entitlements:\n  - { slug: seats, name: ${name}, type: NUMBER }\n`

describe("a tag in a catalogue", () => {
  it.effect("that is not that of its value is refused with its place", () =>
    Effect.gen(function* () {
      for (const [text, expected] of [
        [named("!env PRODUCT_NAME"), "c.yaml:2:31: The tag !env is not evaluated. Write the value itself."],
        [named('!!js/function "x"'), "The tag !!js/function is"],
        [named("!!binary aGk="), "The tag !!binary is"],
        [named("!!timestamp 2026-01-01"), "The tag !!timestamp is"],
        [named("!!python/object:os.system x"), "The tag !!python/object:os.system is"],
        [named("!<tag:example.com,2000:x> y"), "The tag tag:example.com,2000:x is"],
        [named("!env "), "The tag !env is"],
        [named("!!int seats"), "The tag !!int is"],
        ["entitlements: !x\n  - { slug: seats, name: A, type: NUMBER }\n", "The tag !x is"],
        ["entitlements:\n  - !y { slug: seats, name: A, type: NUMBER }\n", "The tag !y is"],
        ["entitlements: !!set { a, b }\n", "The tag !!set is"],
        ["entitlements: !!omap [a: 1]\n", "The tag !!omap is"],
        ["!z\nentitlements: []\n", "The tag !z is"],
        ["!env entitlements: []\n", "A key must be a text without a tag."],
        ["entitlements: []\n---\nentitlements: []\n", "c.yaml:2:1: A second document begins here"],
      ] as const) {
        const { message } = yield* Effect.flip(parseCatalog(text, "c.yaml"))
        assert.include(message, expected, text)
      }
    }),
  )

  it.effect("that is that of its value stays, and so do anchors and merge keys", () =>
    Effect.gen(function* () {
      for (const [text, expected] of [
        [named("!!str 5"), { name: "5" }],
        [named("! Seats"), { name: "Seats" }],
        ["!!str entitlements: !!seq\n  - !!map { slug: seats, name: A, type: NUMBER }\n", { name: "A" }],
        [named("A").replace("type", "warningThresholdPercent: !!int 80, type"), { warningThresholdPercent: 80 }],
        [named("A").replace("type", "warningThresholdPercent: !!float 80, type"), { warningThresholdPercent: 80 }],
        ["entitlements:\n  - &d { slug: seats, name: A, type: NUMBER }\n  - { <<: *d, slug: chairs }\n", { name: "A" }],
      ] as const) {
        const { file } = yield* parseCatalog(text, "c.yaml")
        assert.deepInclude(file.entitlements?.at(-1), expected, text)
      }
    }),
  )
})
