import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { TestSpecification } from "vitest/node"

// Set by `test/run.ts` for files that may share the modules of their worker.
const sharesModules = process.env["TEST_SHARED_MODULES"] !== undefined

// The longest files, in this order. One that began last would run alone at the end, while the other worker waits.
const LONGEST = [
  "test/maintenance/BackgroundStatements.test.ts",
  "test/console/screens/MatrixData.browser.test.ts",
  "test/console/screens/MatrixStates.browser.test.ts",
  "test/pages/Examples.test.ts",
  "test/cli/remote/Journey.test.ts",
]

/** Begins with the longest files. Vitest sorts the others: what took long before, else the largest first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    const isOf =
      (name: string) =>
      ({ moduleId }: TestSpecification): boolean =>
        moduleId.endsWith(name)
    const first = LONGEST.flatMap((name) => sorted.filter(isOf(name)))
    return [...first, ...sorted.filter((file) => !first.includes(file))]
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    isolate: !sharesModules,
    setupFiles: sharesModules ? ["test/support/sharedModules.ts"] : [],
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts", "test/support/browserSetup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
