/**
 * Renders the chart with a small Go program that has the template functions of Helm, and compares the result with the committed files. After
 * a change of the chart, `KEYSHELF_WRITE_RENDERED=1 npm test -- test/deploy/Chart.process.test.ts` writes them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { goEnvironment, playWell, whyNoGo } from "../clients/programs.ts"
import { withReason } from "../support/skipped.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { documentsIn, RENDERED, RENDERED_ALL, root, text } from "./manifests.ts"

/** Where Debian has the sources of packages for Go. */
const GOCODE = "/usr/share/gocode"

const PACKAGES = {
  "golang-github-masterminds-sprig-dev": "src/github.com/Masterminds/sprig",
  "golang-k8s-sigs-yaml-dev": "src/sigs.k8s.io/yaml",
}

const missing = Object.entries(PACKAGES).find(([, folder]) => !existsSync(join(GOCODE, folder)))?.[0]
const why = whyNoGo ?? (missing === undefined ? undefined : `there is no ${missing} here`)
if (why !== undefined) console.log(`Skipped the templates of the chart: ${why}`)

const VALUES_ALL = "test/deploy/render/values-all.yaml"

const built = Effect.gen(function* () {
  const program = join(yield* temporaryDirectory, "render")
  const env = { ...goEnvironment, GOFLAGS: "", GO111MODULE: "off", GOPATH: GOCODE }
  yield* playWell("go", ["build", "-o", program, "main.go"], { cwd: join(root, "test/deploy/render"), env })
  return program
})

describe.skipIf(why !== undefined)(withReason("the templates of the chart", why), () => {
  it.live("render the committed files, and what values turn off is left out", () =>
    Effect.gen(function* () {
      const program = yield* built
      const render = (...args: ReadonlyArray<string>) => playWell(program, args, { cwd: root })
      for (const [file, args] of [
        [RENDERED, ["keyshelf", "deploy/chart"]],
        [RENDERED_ALL, ["acme", "deploy/chart", VALUES_ALL]],
      ] as const) {
        const rendered = yield* render(...args)
        if (process.env["KEYSHELF_WRITE_RENDERED"] === "1") writeFileSync(join(root, file), rendered)
        assert.strictEqual(rendered, text(file))
        assert.notMatch(rendered, /\n\s*\n/, "Helm 4 keeps other blank lines than Helm 3")
      }
      const values = join(yield* temporaryDirectory, "values.yaml")
      writeFileSync(values, "networkPolicy: {enabled: false}\nsettings: {SERVICE_LOG_LEVEL: Debug}\n")
      const changed = documentsIn(yield* render("keyshelf", "deploy/chart", values))
      assert.notInclude(
        changed.map((document) => String(document["kind"])),
        "NetworkPolicy",
      )
      assert.notStrictEqual(checksumIn(changed), checksumIn(documentsIn(text(RENDERED))), "pods get the new setting")
      writeFileSync(values, "networkPolicy: {dns: [], database: {peers: []}}\n")
      const closed = documentsIn(yield* render("keyshelf", "deploy/chart", values))
      const policies = closed.filter((document) => String(document["kind"]) === "NetworkPolicy")
      assert.lengthOf(policies, 2)
      assert.notMatch(JSON.stringify(policies), /"(to|from)":(null|\[\])/, "a rule without peers allows all")
      assert.notMatch(JSON.stringify(policies), /"port":(53|5432)\b/)
    }),
  )
})

const checksumIn = (documents: ReturnType<typeof documentsIn>) => {
  const deployment = documents.find((document) => String(document["kind"]) === "Deployment")
  return String(deployment?.["spec"]?.["template"]?.["metadata"]?.["annotations"]?.["checksum/settings"])
}
