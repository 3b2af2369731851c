/** How much a browser loads, read from the manifest of the build: no browser is needed. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { whyNoBrowser } from "../../support/Browser.ts"
import { startShared } from "../../support/shared.ts"
import { withReason } from "../../support/skipped.ts"
import { built } from "../Installation.ts"

interface Chunk {
  readonly file: string
  readonly isEntry?: boolean
  readonly imports?: ReadonlyArray<string>
  readonly css?: ReadonlyArray<string>
  readonly src?: string
}

type Manifest = Readonly<Record<string, Chunk>>

const KB = 1000

/** Files of the instance page. Each costs a request before the page is complete. */
const MAX_FILES = 9

const bytesOf = (file: string): number => gzipSync(readFileSync(join(built, file)), { level: 9 }).byteLength

/** All files that a chunk needs before it runs. */
const filesOf = (manifest: Manifest, name: string, known = new Set<string>()): ReadonlySet<string> => {
  const chunk = manifest[name]
  if (chunk === undefined || known.has(chunk.file)) return known
  known.add(chunk.file)
  for (const style of chunk.css ?? []) known.add(style)
  for (const imported of chunk.imports ?? []) filesOf(manifest, imported, known)
  return known
}

const sizeOf = (files: Iterable<string>): number => [...files].reduce((sum, file) => sum + bytesOf(file), 0)

describe("the size of the console", () => {
  const manifestFile = join(built, ".vite/manifest.json")

  // The installation of tests in a browser builds it. Without a browser there may be no build.
  beforeAll(async () => {
    if (whyNoBrowser === undefined) await Effect.runPromise(startShared("installation"))
  }, 90_000)

  it.skipIf(!existsSync(manifestFile) && whyNoBrowser !== undefined)(
    withReason("stays within its budgets", existsSync(manifestFile) ? undefined : whyNoBrowser),
    () => {
      const manifest: Manifest = JSON.parse(readFileSync(manifestFile, "utf8"))
      const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry === true) ?? ""
      const first = filesOf(manifest, entry)
      assert.isAtMost(sizeOf(first), 175 * KB, "the entry")
      const widgets = Object.values(manifest).filter(({ file }) => /\/widgets-[^/]+\.js$/.test(file))
      assert.strictEqual(widgets.length, 1)
      const shared = widgets[0]?.file ?? ""
      assert.isAtMost(bytesOf(shared), 80 * KB, "the widgets")
      assert.isFalse(first.has(shared), "the entry does not load the widgets")
      const screens = Object.keys(manifest).filter((name) => /^src\/\w+\/\w+Page\.tsx$/.test(name))
      assert.isAbove(screens.length, 20)
      for (const screen of screens) {
        const own = [...filesOf(manifest, screen)].filter((file) => !first.has(file) && file !== shared)
        assert.isAtMost(sizeOf(own), 60 * KB, screen)
      }
      const instance = new Set([...first, ...filesOf(manifest, "src/instances/InstancePage.tsx")])
      assert.isAtMost(sizeOf(instance), 300 * KB, "everything of the instance page")
      assert.isAtMost(instance.size, MAX_FILES, [...instance].join("\n"))
    },
  )

  it("has a compressed copy of each text file beside it", () => {
    if (!existsSync(manifestFile)) return
    const manifest: Manifest = JSON.parse(readFileSync(manifestFile, "utf8"))
    for (const { file } of Object.values(manifest)) {
      const large = file.endsWith(".js") && readFileSync(join(built, file)).byteLength > 1024
      if (large) assert.isTrue(existsSync(join(built, `${file}.br`)) && existsSync(join(built, `${file}.gz`)), file)
    }
  })
})
