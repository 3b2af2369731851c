/** How people fill in the dialogs of records. */
import { assert } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"

export const WIDE = { viewport: { width: 1440, height: 900 } } as const

export const dialogOf = (page: Page) => page.getByRole("dialog")

export const textbox = (place: Page | Locator, name: string) => place.getByRole("textbox", { name, exact: true })
export const button = (place: Page | Locator, name: string | RegExp) => place.getByRole("button", { name, exact: true })

/** Presses a button of the open dialog. */
export const press = (page: Page, name: string) => button(dialogOf(page), name).click()

export const closed = (page: Page) => dialogOf(page).waitFor({ state: "detached" })

/** Chooses from a list of a few known values, which a button opens. */
export const select = async (page: Page, label: RegExp, option: string, within = dialogOf(page)): Promise<void> => {
  await within.getByRole("button", { name: label }).click()
  await page.getByRole("option", { name: option, exact: true }).click()
}

/** Types a part of the name of a record, and chooses it from what is offered. */
export const choose = async (page: Page, label: string, text: string, slug: string): Promise<void> => {
  await page.getByRole("combobox", { name: label }).fill(text)
  await page
    .getByRole("option")
    .filter({ has: page.getByText(slug, { exact: true }) })
    .click()
  await page.getByRole("option").first().waitFor({ state: "detached" })
  assert.strictEqual(await page.getByRole("combobox", { name: label }).inputValue(), slug)
}

export const openMenu = async (page: Page, action: string): Promise<void> => {
  await button(page, "More actions").click()
  await page.getByRole("menuitem", { name: action }).click()
}

export const errorIn = (place: Page | Locator, text: string) => place.locator(".field-error").filter({ hasText: text })

/** The message at a field, as a screen reader gets it. */
export const errorOf = async (field: Locator): Promise<string> => {
  const ids = String(await field.getAttribute("aria-describedby")).split(" ")
  const texts = await Promise.all(ids.map((id) => field.page().locator(`[id="${id}"].field-error`).allInnerTexts()))
  return texts.flat().join()
}

/** The error stands at the field, for screen readers too. */
export const assertErrorAt = async (field: Locator, message: RegExp): Promise<void> => {
  const error = field.page().locator(".field-error").filter({ hasText: message })
  await error.waitFor()
  const described = String(await field.getAttribute("aria-describedby")).split(" ")
  assert.include(described, String(await error.getAttribute("id")))
}

/** Opens a form, and waits until it has the focus: a key before that would be for the page. */
export const edit = async (page: Page, name = "Edit") => {
  await page.getByRole("main").getByRole("button", { name, exact: true }).click()
  await page.locator("[role=dialog]:focus, [role=dialog] :focus").first().waitFor()
}

/** The changes of records that a page sends from now on. Checks, which show the usage, are none. */
export const writesOf = (page: Page): ReadonlyArray<{ readonly method: string; readonly body: unknown }> => {
  const writes: Array<{ readonly method: string; readonly body: unknown }> = []
  page.on("request", (request) => {
    const method = request.method()
    if (method === "PUT" || method === "PATCH") writes.push({ method, body: request.postDataJSON() })
  })
  return writes
}
