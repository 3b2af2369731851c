import { defineConfig } from "vitest/config"

// Set by `test/run.ts` for files that may share the modules of their worker.
const sharesModules = process.env["TEST_SHARED_MODULES"] !== undefined

export default defineConfig({
  test: {
    isolate: !sharesModules,
    setupFiles: sharesModules ? ["test/support/sharedModules.ts"] : [],
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
