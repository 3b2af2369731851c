/** What is wrong with the layout of a page: wider than the window, or text upon text. */
import type { Page } from "playwright-core"

interface Box {
  readonly text: string
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

/** Lines may touch; a pixel or two of their boxes is the space above and below the letters. */
const TOLERANCE = 2

const collect = `(() => {
  const boxes = []
  const walker = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.data.trim() === "" || node.parentElement.closest(".visually-hidden, .table-head, option") !== null) continue
    if (!node.parentElement.checkVisibility({ visibilityProperty: true })) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    // What a scrolling part hides is not on the page.
    const part = node.parentElement.closest(".scroll, .tab-list, pre, .impact-list")?.getBoundingClientRect()
    // A text that ends with an ellipsis has two boxes: the whole, and the part that is shown.
    const lines = new Map(Array.from(range.getClientRects(), (box) => [box.left + "," + box.top, box]))
    for (const { bottom, left, right, top } of lines.values()) {
      if (part !== undefined && (left >= part.right || top >= part.bottom || right <= part.left || bottom <= part.top)) continue
      boxes.push({ text: node.data.trim().slice(0, 40), left, top, right, bottom })
    }
  }
  return { width: document.documentElement.scrollWidth, boxes }
})()`

const isUpon = (a: Box, b: Box): boolean =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > TOLERANCE &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > TOLERANCE

/** The faults at the page's present size, as lines of text. */
export const layoutFaults = async (page: Page): Promise<ReadonlyArray<string>> => {
  const { boxes, width }: { readonly width: number; readonly boxes: ReadonlyArray<Box> } = await page.evaluate(collect)
  const window = page.viewportSize()?.width ?? 0
  const wide = width > window ? [`${width} pixels wide in a window of ${window}`] : []
  const upon = boxes.flatMap((box, index) =>
    boxes
      .slice(index + 1)
      .filter((other) => isUpon(box, other))
      .map((other) => `"${other.text}" stands upon "${box.text}" at ${window} pixels`),
  )
  return [...wide, ...upon]
}

/** The faults at each of these widths. The page keeps the last one. */
export const faultsAt = async (page: Page, widths: ReadonlyArray<number>): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    // Virtual rows are measured again in the frames after a change of the width.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found.push(...(await layoutFaults(page)))
  }
  return found
}
