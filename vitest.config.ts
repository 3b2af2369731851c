import { existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { TestSpecification } from "vitest/node"

/**
 * The kind of a test is in the ending of its file (CONTRIBUTING, "Tests"). Only files of processes have modules of their own: loading
 * them takes longer than most tests.
 */
const kinds = {
  pure: { include: ["test/**/*.pure.test.ts"], isolate: false },
  service: {
    include: ["test/**/*.test.ts"],
    // Also of the generators of clients, which their test installs.
    exclude: ["**/node_modules/**", "test/**/*.{pure,process,browser}.test.ts"],
    isolate: false,
    globalSetup: ["test/support/globalSetup.ts"],
  },
  process: { include: ["test/**/*.process.test.ts"], globalSetup: ["test/support/globalSetup.ts"] },
  browser: {
    include: ["test/**/*.browser.test.ts"],
    isolate: false,
    globalSetup: ["test/support/globalSetup.ts", "test/support/browserSetup.ts"],
  },
}

/** The files of a minute or more, the longest first. One that began last would run alone at the end. */
const LONGEST = [
  "pages/Examples",
  "maintenance/BackgroundStatements",
  "cli/remote/Journey",
  "cli/remote/Bridge",
  "cli/remote/apply/Apply",
  "faults/DeliveryKills",
  "faults/DeliverySteps",
].map((name) => join(import.meta.dirname, `test/${name}.process.test.ts`))

/** Begins with the longest files of a project. Vitest orders the others: by their last duration if it is known, else by size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const missing = LONGEST.filter((file) => !existsSync(file))
    if (missing.length > 0) throw new Error(`These longest test files do not exist: ${missing.join(", ")}`)
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project.name)
    return [...byProject.values()].flatMap((own) => {
      const first = LONGEST.flatMap((file) => own.filter(({ moduleId }) => moduleId === file))
      return [...first, ...own.filter((file) => !first.includes(file))]
    })
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    maxWorkers: availableParallelism(),
    // Inspections of the databases that files shared run then.
    teardownTimeout: 60_000,
    projects: Object.entries(kinds).map(([name, kind]) => ({
      test: { name, setupFiles: ["test/support/setup.ts"], testTimeout: 120_000, hookTimeout: 120_000, ...kind },
    })),
  },
})
