/** Sign-in by token and by the OpenID provider, sign-out, expiry and the lock. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { loginOf, STRANGER } from "../OpenIdProvider.ts"
import { MANY, open, signIn, World } from "../World.ts"
import { assertClean, traces } from "../Screens.ts"
import { responseOf } from "../Problems.ts"

/** Signs in at the provider's own pages. */
const throughProvider = async (page: Page, login: string) => {
  await page.getByRole("button", { name: "Continue with your organization's account" }).click()
  await page.locator('input[name="login"]').fill(login)
  await page.locator('input[name="password"]').fill("any")
  await page.locator('button[type="submit"]').click()
  await page.getByRole("button", { name: /continue/i }).click()
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name })

describeConsole(
  "the console: sign-in",
  (it) => {
    it.effect("takes a pasted token, and leaves no trace of it", () =>
      Effect.gen(function* () {
        const { browser, core, furnished, operator } = yield* World
        const tab = yield* browser.newTab()
        const { page } = tab
        const sent: Array<string> = []
        page.on("request", (request) => sent.push(request.headers()["authorization"] ?? ""))
        yield* Effect.promise(async () => {
          await page.goto(`${core}/console/instances`)
          const field = page.getByLabel("Access token")
          await field.waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await field.fill(operator)
          await page.getByRole("button", { name: "Sign in" }).click()
          await page.getByText("It was not sent").waitFor()
          assert.isFalse(sent.some((header) => header.includes(operator)))
          assert.deepStrictEqual(await violationsIn(page), [])
          await field.fill(furnished.token)
          await page.getByRole("radio", { name: "Until I reload the page" }).check({ force: true })
          assert.deepStrictEqual(await violationsIn(page), [])
          await page.getByRole("button", { name: "Sign in" }).click()
          // The page that was asked for.
          await heading(page, "Instances").waitFor()
          assert.notInclude(await traces(page), furnished.token)
          assertClean(tab, core, "sign-in")
          // It was kept in memory alone.
          await page.reload()
          await field.waitFor()
          await field.fill(`${furnished.token.slice(0, -1)}x`)
          await page.getByRole("button", { name: "Sign in" }).click()
          await page.getByText("The service rejected this credential").waitFor()
        })
      }),
    )

    it.effect(
      "keeps a person signed in when the page is reloaded, unless they chose otherwise, and forgets the token at sign-out",
      () =>
        Effect.gen(function* () {
          const { browser, core, furnished } = yield* World
          const { page } = yield* browser.newTab()
          yield* Effect.promise(async () => {
            await signIn(page, core, furnished.token, "/console/customers")
            await heading(page, "Customers").waitFor()
            await page.reload()
            await heading(page, "Customers").waitFor()
            // Another tab has a session of its own.
            const other = await page.context().newPage()
            await other.goto(`${core}/console/customers`)
            await other.getByLabel("Access token").waitFor()
            await page.getByRole("button", { name: "Sign out" }).click()
            await page.getByText("You are signed out").waitFor()
            assert.notInclude(await traces(page), furnished.token)
            await page.reload()
            await page.getByLabel("Access token").waitFor()
          })
        }),
    )

    it.effect("signs in with the provider, renews the token, and signs out of both", () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { errors, page } = yield* browser.newTab()
        let renewals = 0
        page.on("request", (request) => {
          if (request.postData()?.includes("grant_type=refresh_token")) renewals++
        })
        yield* Effect.promise(async () => {
          await page.clock.install()
          await page.goto(`${core}/console/customers?q=globex`)
          await throughProvider(page, loginOf(furnished.organizationId))
          await heading(page, "Customers").waitFor()
          assert.strictEqual(new URL(page.url()).search, "?q=globex")
          await page.getByText("Anna Kowalska").waitFor()
          const left = await traces(page)
          assert.notMatch(left, /eyJ|code=|verifier/)
          await page.clock.fastForward("09:30")
          await page.getByRole("link", { name: "Instances" }).click()
          await heading(page, "Instances").waitFor()
          await page.getByText("200 instances").waitFor()
          assert.strictEqual(renewals, 1)
          // The provider's own pages ask for fonts of another host.
          assert.deepStrictEqual(
            errors.filter((error) => /policy|TypeError|Uncaught/.test(error)),
            [],
          )
          await page.getByRole("button", { name: "Sign out" }).click()
          await page
            .getByRole("button", { name: /yes|sign/i })
            .first()
            .click()
          await heading(page, "Sign in to Keyshelf").waitFor()
        })
      }),
    )

    it.effect("explains that a person is no member", () =>
      Effect.gen(function* () {
        const { browser, core } = yield* World
        const { page } = yield* browser.newTab()
        yield* Effect.promise(async () => {
          await page.goto(`${core}/console`)
          await throughProvider(page, STRANGER)
          await page.getByText("you are not a member of an organization here").waitFor()
          await page.getByText("Auth.NotAMember").waitFor()
        })
      }),
    )

    it.effect("says what the provider said when a sign-in is cancelled there, and tries again for the same page", () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { errors, page } = yield* browser.newTab()
        yield* Effect.promise(async () => {
          await page.goto(`${core}/console/customers?q=globex`)
          await page.getByRole("button", { name: "Continue with your organization's account" }).click()
          await page.getByRole("link", { name: /cancel/i }).click()
          await page.getByText("Sign-in failed").waitFor()
          await page.getByText("access_denied", { exact: true }).waitFor()
          await page.getByText("The provider says: End-User aborted interaction").waitFor()
          assert.strictEqual(await page.getByText("The page failed").count(), 0)
          assert.deepStrictEqual(await violationsIn(page), [])
          assert.notMatch(await traces(page), /state=|verifier/)
          await throughProvider(page, loginOf(furnished.organizationId))
          await heading(page, "Customers").waitFor()
          assert.strictEqual(new URL(page.url()).search, "?q=globex")
          assert.deepStrictEqual(
            errors.filter((error) => /TypeError|Uncaught/.test(error)),
            [],
          )
        })
      }),
    )

    it.effect("does not show an error that nobody asked for, and shows markup of a provider as text", () =>
      Effect.gen(function* () {
        const { browser, core } = yield* World
        const { page } = yield* browser.newTab()
        const answer = (state: string) =>
          `${core}/console/signed-in?error=server_error&error_description=${encodeURIComponent("<b>Call 555</b>")}&state=${state}`
        yield* Effect.promise(async () => {
          await page.goto(answer("invented"))
          await page.getByText("This tab did not start a sign-in.").waitFor()
          assert.notInclude(await page.content(), "555")
          await page.route("**/auth?*", (route) => {
            const state = new URL(route.request().url()).searchParams.get("state") ?? ""
            return route.fulfill({ status: 302, headers: { location: answer(state) } })
          })
          await page.getByRole("button", { name: "Continue with your organization's account" }).click()
          await page.getByText("The provider says: <b>Call 555</b>").waitFor()
          await page.getByText("server_error", { exact: true }).waitFor()
        })
      }),
    )

    it.effect("asks again over the page when the token is refused, and what was typed stays", () =>
      Effect.gen(function* () {
        const { browser, core, tokenWith } = yield* World
        const [first, second] = [yield* tokenWith(["write:*"]), yield* tokenWith(["write:*"])]
        const { page } = yield* browser.newTab()
        yield* Effect.promise(async () => {
          await signIn(page, core, first)
          await open(page, core, "/customers")
          await page.getByRole("button", { name: "New customer" }).click()
          await page.getByRole("textbox", { name: "Name", exact: true }).fill("Typed before")
          await page.route("**/api/customers", (route) =>
            route.request().method() === "POST"
              ? route.fulfill(responseOf({ code: "Auth.InvalidCredential", status: 401, title: "Refused" }))
              : route.fallback(),
          )
          await page.getByRole("dialog").getByRole("button", { name: "Create" }).click()
          await page.getByRole("heading", { name: "Sign in again" }).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await page.unroute("**/api/customers")
          await page.getByLabel("Access token").fill(second)
          await page.getByRole("button", { name: "Sign in", exact: true }).click()
          await page.getByRole("heading", { name: "Sign in again" }).waitFor({ state: "detached" })
          assert.strictEqual(
            await page.getByRole("textbox", { name: "Name", exact: true }).inputValue(),
            "Typed before",
          )
        })
      }),
    )

    it.effect("locks after an hour without activity, and signs out in all tabs", () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { page } = yield* browser.newTab()
        yield* Effect.promise(async () => {
          await page.clock.install()
          await signIn(page, core, furnished.token)
          await page.clock.fastForward("01:00:10")
          await page.getByText("Locked after a period of inactivity").waitFor()
          await signIn(page, core, furnished.token)
          const other = await page.context().newPage()
          await signIn(other, core, furnished.token)
          await other.getByRole("button", { name: "Sign out" }).click()
          await page.getByText("You signed out in another tab").waitFor()
          assert.notInclude(await traces(page), furnished.token)
        })
      }),
    )
  },
  MANY,
)
