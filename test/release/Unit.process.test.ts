import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { withReason } from "../support/skipped.ts"

const unit = resolve(import.meta.dirname, "../../deploy/debian/keyshelf.service")

const analyze = (...args: ReadonlyArray<string>) =>
  spawnSync("systemd-analyze", args, { encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8" } })

const why = analyze("--version").error === undefined ? undefined : "there is no systemd-analyze here"

describe.skipIf(why !== undefined)(withReason("the unit of the package for Debian", why), () => {
  it("has settings that systemd knows", () => {
    const found = analyze("verify", unit)
      .stderr.split("\n")
      .filter((line) => line.includes("keyshelf.service"))
    assert.deepStrictEqual(
      found.filter((line) => !line.includes("/usr/bin/keyshelf is not executable")),
      [],
    )
  })

  it("confines the service: its exposure is at most 2.0", () => {
    const { status, stdout } = analyze("security", "--offline=true", "--threshold=20", "--no-pager", unit)
    assert.strictEqual(status, 0, stdout)
    assert.match(stdout, /Overall exposure level for keyshelf\.service: 1\.\d/)
  })
})
