/** The vectors of `keyshelf/offline` in a browser. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Browser from "../support/Browser.ts"
import { installed } from "./packed.ts"
import { all, runVectors } from "./vectors.ts"
import type { Checked } from "./vectors.ts"

describe("keyshelf/offline in a browser", { timeout: 120_000 }, () => {
  it.live.skipIf(Browser.whyNoBrowser !== undefined)(
    Browser.inBrowser("answers all vectors in a browser as in Node.js"),
    () =>
      Effect.gen(function* () {
        const { module } = yield* installed
        const { page } = yield* (yield* Browser.shared).newTab()
        const code = readFileSync(module, "utf8")
        const checked = yield* Effect.promise(async () => {
          // A page of an address that browsers trust. Others have no Web Crypto.
          await page.route("http://localhost/**", (route) =>
            route.fulfill(
              route.request().url().endsWith(".js")
                ? { contentType: "text/javascript", body: code }
                : { contentType: "text/html", body: '<link rel="icon" href="data:,">' },
            ),
          )
          await page.goto("http://localhost/")
          const script = `import("/offline.js").then((offline) => (${runVectors.toString()})(offline, ${JSON.stringify(all)}))`
          return page.evaluate<ReadonlyArray<Checked>>(script)
        })
        assert.isAtLeast(checked.length, 110)
        for (const { actual, expected, id } of checked) assert.deepStrictEqual(actual, expected, id)
      }).pipe(Effect.scoped),
  )
})
