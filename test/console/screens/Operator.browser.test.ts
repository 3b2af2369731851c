/** The operator's work: an organization from its creation to its removal, its people, and credentials. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { goTo } from "../Views.ts"
import { open, signIn, World } from "../World.ts"
import { assertClean, traces } from "../Screens.ts"

const DESKTOP = { width: 1440, height: 900 }

const dialogOf = (page: Page) => page.getByRole("dialog")

const textbox = (page: Page, name: string) => dialogOf(page).getByRole("textbox", { name, exact: true })

/** Presses a button of the dialog that is open, and waits until it closes. */
const submit = async (page: Page, name: string) => {
  await dialogOf(page).getByRole("button", { name, exact: true }).click()
  await dialogOf(page).waitFor({ state: "detached" })
}

const press = (page: Page, name: string | RegExp) =>
  page
    .getByRole("main")
    .getByRole("button", { name, ...(typeof name === "string" ? { exact: true } : {}) })
    .click()

const choose = async (page: Page, field: RegExp, choice: RegExp) => {
  await dialogOf(page).getByRole("button", { name: field }).click()
  await page.getByRole("option", { name: choice }).click()
}

/** Takes the secret out of its dialog, and closes it. */
const takeSecret = async (page: Page, title: string): Promise<string> => {
  const field = page.getByRole("textbox", { name: title })
  await field.waitFor()
  assert.deepStrictEqual(await violationsIn(page), [])
  const secret = await field.inputValue()
  await page.getByText("I have saved it").click()
  await page.getByRole("button", { name: "Done" }).click()
  return secret
}

describeConsole("the console: the work of an operator", (it) => {
  it.effect(
    "creates an organization, changes it, gives it people and connectors, and removes it by its slug",
    () =>
      Effect.gen(function* () {
        const { asOperator, browser, operator, platform } = yield* World
        const tab = yield* browser.newTab({ viewport: DESKTOP })
        const { page } = tab
        const id = yield* Effect.promise(async () => {
          await signIn(page, platform, operator)
          await goTo(page, "/users")
          await press(page, "New user")
          await textbox(page, "Name").fill("Ada Lovelace")
          await textbox(page, "Email").fill("ada@example.com")
          assert.deepStrictEqual(await violationsIn(page), [])
          await textbox(page, "Issuer").fill("https://login.example.com")
          await dialogOf(page).getByRole("button", { name: "Create" }).click()
          // Issuer and subject belong together: the service says so at the field.
          await page.locator(".field-error").waitFor()
          await textbox(page, "Subject").fill("ada")
          await submit(page, "Create")
          await page.getByText("ada@example.com").waitFor()

          await goTo(page, "/organizations")
          await press(page, "New organization")
          await textbox(page, "Name").fill("Initech")
          await textbox(page, "Slug").fill("initech")
          await dialogOf(page).getByRole("button", { name: "Create" }).click()
          await page.getByRole("heading", { level: 1, name: "Initech" }).waitFor()
          await press(page, "Edit")
          await textbox(page, "Name").fill("Initech Inc.")
          await submit(page, "Save")
          await page.getByRole("heading", { level: 1, name: "Initech Inc." }).waitFor()

          await press(page, "Add a person")
          await choose(page, /Person/, /Ada Lovelace/)
          await choose(page, /Role/, /^Viewer/)
          assert.deepStrictEqual(await violationsIn(page), [])
          await submit(page, "Add a person")
          const row = page.getByRole("row", { name: /Ada Lovelace/ })
          await row.getByText("Viewer").waitFor()
          await row.getByRole("button", { name: "Change role" }).click()
          await choose(page, /Role/, /^Admin/)
          await submit(page, "Save")
          await row.getByText("Admin").waitFor()
          await row.getByRole("button", { name: "Delete" }).click()
          await submit(page, "Delete")
          await page.getByText("No members").waitFor()
          await page.getByText("Show removed members").click()
          await row.getByText("Removed").waitFor()

          await page.getByRole("tab", { name: "Connectors" }).click()
          await page.getByText("All connectors, including those").click()
          await page.getByText("service.integration.crm.hubspot").click()
          // The status of the role, which was saved before, may still be there.
          const saved = page.waitForResponse((response) => response.request().method() === "PUT" && response.ok())
          await press(page, "Save")
          await saved
          await page.getByRole("status").getByText("Saved").waitFor()
          return new URL(page.url()).pathname.split("/").at(-1) ?? ""
        })
        const included = yield* asOperator("GET", `/organizations/${id}/license`)
        assert.deepStrictEqual(included.body.connectors, ["service.integration.crm.hubspot"])
        yield* Effect.promise(async () => {
          await press(page, "Delete")
          const remove = dialogOf(page).getByRole("button", { name: "Delete" })
          const confirm = textbox(page, "Type initech to confirm")
          await confirm.fill("initec")
          assert.isTrue(await remove.isDisabled())
          assert.deepStrictEqual(await violationsIn(page), [])
          await confirm.fill("initech")
          await remove.click()
          await page.getByText('"Initech Inc." was removed.').waitFor()
          assert.strictEqual(await page.getByRole("link", { name: "Initech Inc." }).count(), 0)
          await goTo(page, "/users")
          await page
            .getByRole("row", { name: /ada@example.com/ })
            .getByRole("button", { name: "Delete" })
            .click()
          await submit(page, "Delete")
          await page.getByText("ada@example.com").waitFor({ state: "detached" })
          // The credential was in memory alone.
          await page.reload()
          await page.getByLabel("Platform credential").waitFor()
        })
        assert.strictEqual((yield* asOperator("GET", `/organizations/${id}`)).status, 404)
        assertClean(
          { ...tab, errors: tab.errors.filter((error) => !error.includes("status of 422")) },
          platform,
          "operator",
        )
      }),
    120_000,
  )

  it.effect("opens an organization with a token for an hour, which leaves no trace and stands in its events", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished, operator, platform } = yield* World
      const { page } = yield* browser.newTab({ viewport: DESKTOP })
      const token = yield* Effect.promise(async () => {
        await signIn(page, platform, operator)
        await goTo(page, `/organizations/${furnished.organizationId}?tab=tokens`)
        await press(page, "Sign in as this organization")
        await dialogOf(page).getByRole("button", { name: "Issue the token" }).click()
        const secret = await takeSecret(page, "One-hour token")
        assert.notInclude(await traces(page), secret)
        return secret
      })
      const me = (yield* call("GET", "/me", undefined, token)).body
      const left = Date.parse(me.credential.expiresAt) - Date.now()
      assert.isTrue(left > 3_500_000 && left <= 3_600_000, String(left))
      const events = yield* call("GET", "/events?type=SYSTEM_ORGANIZATION_TOKEN_ISSUED&order=desc&limit=1")
      assert.strictEqual(events.body.items[0].data.lastFour, token.slice(-4))
      const organization = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(organization.page, core, token, "/console", false)
        await open(organization.page, core, "/settings")
      })
      yield* Effect.promise(async () => {
        const row = page.getByRole("row", { name: new RegExp(`\\.\\.\\.${token.slice(-4)}`) })
        await row.getByRole("button", { name: "Revoke" }).click()
        await submit(page, "Revoke")
        await row.getByText("Revoked").waitFor()
      })
      assert.strictEqual((yield* call("GET", "/me", undefined, token)).status, 401)
    }),
  )

  it.effect(
    "creates, rotates and revokes a credential, and shows each secret once",
    () =>
      Effect.gen(function* () {
        const { browser, operator, platform } = yield* World
        const { page } = yield* browser.newTab({ viewport: DESKTOP })
        yield* Effect.promise(async () => {
          await signIn(page, platform, operator)
          await goTo(page, "/credentials")
          await press(page, "New credential")
          await textbox(page, "Name").fill("Terraform")
          await dialogOf(page).getByRole("button", { name: "Provision organizations" }).click()
          assert.isTrue(await dialogOf(page).getByRole("checkbox", { name: "Write: Memberships" }).isChecked())
          assert.deepStrictEqual(await violationsIn(page), [])
          await dialogOf(page).getByRole("button", { name: "Create" }).click()
          const first = await takeSecret(page, "The credential")
          const rowOf = (secret: string) =>
            page.getByRole("row", { name: new RegExp(`Terraform ?\\.\\.\\.${secret.slice(-4)}`) })
          await rowOf(first).getByRole("button", { name: "Rotate" }).click()
          await dialogOf(page).getByRole("button", { name: "Rotate" }).click()
          const second = await takeSecret(page, "The credential")
          assert.notStrictEqual(second, first)
          // The old one is offered for revocation, but works until then.
          await dialogOf(page).getByText("Cancel keeps the old credential").waitFor()
          await submit(page, "Revoke")
          await rowOf(first).getByText("Revoked").waitFor()
          await rowOf(second).getByText("Active").waitFor()
          const left = await traces(page)
          assert.isFalse([first, second, operator].some((secret) => left.includes(secret)))
          // It may do what its scopes say, and sees nothing else.
          await page.getByRole("button", { name: "Sign out" }).click()
          await signIn(page, platform, second)
          await goTo(page, "/credentials")
          await rowOf(second).getByText("in use here").waitFor()
          assert.isTrue(
            await page
              .getByRole("row", { name: /^bootstrap/ })
              .getByRole("button", { name: "Rotate" })
              .isVisible(),
          )
          await page
            .getByRole("row", { name: /^bootstrap/ })
            .getByRole("button", { name: "Rotate" })
            .click()
          await page.getByText("It has scopes that you do not have").waitFor()
          await page.keyboard.press("Escape")
          await rowOf(second).getByRole("button", { name: "Revoke" }).click()
          await page.getByText("You are signed in with this credential.").waitFor()
          await dialogOf(page).getByRole("button", { name: "Revoke" }).click()
          await page.getByRole("heading", { name: "Sign in again" }).waitFor()
        })
      }),
    120_000,
  )

  it.effect("registers a connector with a schema, and removes it", () =>
    Effect.gen(function* () {
      const { browser, operator, platform } = yield* World
      const { page } = yield* browser.newTab({ viewport: DESKTOP })
      const name = "service.integration.support.helpdesk"
      yield* Effect.promise(async () => {
        await signIn(page, platform, operator)
        await goTo(page, "/connectors")
        await press(page, "Register a connector")
        await textbox(page, "Name").fill("helpdesk")
        const schema = textbox(page, "Schema of the settings")
        await schema.fill("{")
        await page.getByText("This is not a JSON object.").waitFor()
        await schema.fill('{"type":"object","properties":{"apiToken":{"type":"string","writeOnly":true}}}')
        const register = dialogOf(page).getByRole("button", { name: "Register a connector" })
        await register.click()
        await page.locator(".field-error").getByText("a connector name").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await textbox(page, "Name").fill(name)
        await submit(page, "Register a connector")
        const row = page.getByRole("row", { name: new RegExp(name) })
        await row.getByRole("button", { name: "Delete" }).click()
        await submit(page, "Delete")
        await row.waitFor({ state: "detached" })
      })
    }),
  )
})
