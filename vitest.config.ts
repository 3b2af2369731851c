import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

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

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    // Inspections of the databases that files shared run then.
    teardownTimeout: 60_000,
    projects: Object.entries(kinds).map(([name, kind]) => ({
      test: { name, setupFiles: ["test/support/setup.ts"], testTimeout: 120_000, hookTimeout: 120_000, ...kind },
    })),
  },
})
