import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Browser from "../support/Browser.ts"
import { TestService } from "../support/TestService.ts"

const PAGES = ["/docs", "/docs/core", "/docs/platform", "/docs/webhooks"]
const SCRIPTS = ["/docs/viewer.js", "/docs/start.js"]

/** The directives of a content security policy. */
const directivesOf = (policy: string | null) =>
  Object.fromEntries(
    (policy ?? "").split(";").map((directive) => {
      const [name = "", ...sources] = directive.trim().split(" ")
      return [name, sources.join(" ")]
    }),
  )

layer(TestService.layer, { excludeTestServices: true })("the documentation", (it) => {
  it.effect("its pages and scripts have a strict policy, and their types are not guessed", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      for (const path of [...PAGES, ...SCRIPTS]) {
        const { headers, status } = yield* core("GET", path)
        assert.strictEqual(status, 200, path)
        const directives = directivesOf(headers.get("content-security-policy"))
        assert.strictEqual(directives["default-src"], "'none'")
        assert.strictEqual(directives["script-src"], "'self'")
        assert.strictEqual(directives["connect-src"], "'self'")
        assert.strictEqual(directives["frame-ancestors"], "'none'")
        assert.notMatch(headers.get("content-security-policy") ?? "", /https?:|\*|unsafe-eval/)
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
        assert.strictEqual((yield* core("HEAD", path)).headers.get("content-length"), headers.get("content-length"))
      }
    }),
  )

  it.effect("its pages contain no script and load only files of the service", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      for (const path of PAGES) {
        const { headers, text } = yield* core("GET", path)
        assert.match(headers.get("content-type") ?? "", /^text\/html/)
        assert.deepStrictEqual(
          [...text.matchAll(/<script([^>]*)>([^<]*)/g)].map(([, attributes, body]) => [attributes, body]),
          SCRIPTS.map((script) => [` src="${script}"`, ""]),
        )
        assert.notMatch(text, /\son\w+=|javascript:|<(script|link|img|iframe)[^>]+(src|href)="(https?:)?\/\//i)
        for (const page of PAGES.slice(1)) assert.include(text, `href="${page}"`)
        const document = /data-document="([^"]+)"/.exec(text)?.[1] ?? ""
        const { body, status } = yield* core("GET", document)
        assert.strictEqual(status, 200, document)
        assert.match(body.openapi, /^3\.1/)
      }
    }),
  )

  it.effect("its scripts are sent again only after they changed", () =>
    Effect.gen(function* () {
      const { core } = yield* TestService
      for (const path of SCRIPTS) {
        const first = yield* core("GET", path)
        assert.match(first.headers.get("content-type") ?? "", /^text\/javascript/)
        assert.strictEqual(first.headers.get("cache-control"), "no-cache")
        const etag = first.headers.get("etag") ?? ""
        assert.match(etag, /^"[\w-]{22}"$/)
        for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
          const again = yield* core("GET", path, { headers: { "if-none-match": known } })
          assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag])
        }
        const changed = yield* core("GET", path, { headers: { "if-none-match": '"other"' } })
        assert.deepStrictEqual([changed.status, changed.text === first.text], [200, true])
      }
    }),
  )

  it.effect.skipIf(Browser.whyNoBrowser !== undefined)(
    Browser.inBrowser("a browser shows the operations and reports no violation of the policy"),
    () =>
      Effect.gen(function* () {
        const { core, origins } = yield* TestService
        const browser = yield* Browser.launch
        for (const [page, document] of [
          ["/docs", "/openapi.json"],
          ["/docs/platform", "/openapi/platform.json"],
          ["/docs/webhooks", "/openapi/webhooks.json"],
        ] as const) {
          const tab = yield* browser.newTab()
          yield* Effect.promise(() => tab.page.goto(origins.core + page))
          const { info, tags } = (yield* core("GET", document)).body
          yield* Effect.promise(() => tab.page.getByRole("heading", { name: info.title, exact: true }).waitFor())
          for (const { name } of tags) {
            yield* Effect.promise(() => tab.page.getByRole("heading", { name }).first().waitFor({ state: "attached" }))
          }
          assert.deepStrictEqual([...tab.origins], [origins.core])
          assert.deepStrictEqual(tab.errors, [])
        }
      }),
    120_000,
  )
})
