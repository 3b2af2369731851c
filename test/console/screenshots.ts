/** `npm run screenshots`: makes the pictures of docs/console.md from the real console. */
import { Effect, Layer } from "effect"
import { join } from "node:path"
import * as Browser from "../support/Browser.ts"
import * as Installation from "./Installation.ts"
import { ALL, open, signIn, World } from "./World.ts"

const images = join(import.meta.dirname, "../../docs/images")

const take = Effect.gen(function* () {
  const { browser, core, furnished } = yield* World
  const { page } = yield* browser.newTab({ viewport: { width: 1280, height: 720 }, colorScheme: "light" })
  const shoot = (name: string) => page.screenshot({ path: join(images, `console-${name}.png`) })
  yield* Effect.promise(async () => {
    await signIn(page, core, furnished.token)
    await open(page, core, "/instances/globex-logistics-production")
    await page.locator(".chart canvas").waitFor()
    await shoot("instance")
    await page.getByRole("button", { name: "Why can this instance use API calls" }).click()
    await page.getByText(/^Allowed: with 1 more/).waitFor()
    await shoot("check")
    await open(page, core, "/licenses/enterprise-2")
    await page.getByRole("button", { name: "Archive" }).click()
    await page.getByText("Instances on this license").waitFor()
    await shoot("impact")
  })
})

if (Browser.whyNoBrowser !== undefined) {
  console.error(`No pictures: ${Browser.whyNoBrowser}.`)
  process.exit(1)
}
const furnished = Effect.gen(function* () {
  const browser = yield* Effect.flatMap(Browser.serve, Browser.connect)
  return World.layer(yield* Installation.start, browser, ALL)
})
await Effect.runPromise(Effect.scoped(take.pipe(Effect.provide(Layer.unwrap(furnished)))))
