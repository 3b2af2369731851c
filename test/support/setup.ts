/** Runs before each test file. */
import { relative } from "node:path"
import { expect } from "vitest"
import { forgetIssued } from "./issuedSecrets.ts"
import { nameTestsBy } from "./recorded.ts"

nameTestsBy(() => {
  const { currentTestName: test = "", testPath } = expect.getState()
  return { file: testPath === undefined ? "" : relative(process.cwd(), testPath), test }
})

forgetIssued()
