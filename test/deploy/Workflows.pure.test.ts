import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { parse } from "effect/encoding/Yaml"
import { root, text } from "./manifests.ts"
import { findings, workflowOf } from "./workflowRules.ts"
import type { Job } from "./workflowRules.ts"

const FOLDER = ".github/workflows"
const files = readdirSync(join(root, FOLDER))
const read = (file: string) => text(`${FOLDER}/${file}`)
const jobs = (file: string) => workflowOf(read(file)).jobs

const jobOf = (file: string, name: string): Job => jobs(file)[name] ?? assert.fail(`${file} has no job ${name}`)

const runsOf = ({ steps }: Job) => steps.flatMap(({ run }) => (run === undefined ? [] : [run]))

/** A change of a workflow that a rule must notice. */
interface Mutant {
  readonly file: string
  readonly from: string
  readonly to: string
  readonly noticed: string
}

const CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"

const mutants: ReadonlyArray<Mutant> = [
  { file: "ci.yml", from: "pull_request:", to: "pull_request_target:", noticed: "runs on pull_request_target" },
  { file: "ci.yml", from: "contents: read", to: "contents: write", noticed: "more than read" },
  { file: "ci.yml", from: CHECKOUT, to: "actions/checkout@v7", noticed: "uses actions/checkout@v7" },
  { file: "ci.yml", from: "# v7.0.1", to: "# v7.0.2", noticed: "uses actions/checkout@" },
  {
    file: "ci.yml",
    from: CHECKOUT,
    to: "else/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1",
    noticed: "uses else/",
  },
  {
    file: "ci.yml",
    from: "persist-credentials: false",
    to: "persist-credentials: true",
    noticed: "test leaves credentials",
  },
  {
    file: "ci.yml",
    from: "helm lint deploy/chart",
    to: "helm lint ${{ github.event.pull_request.title }}",
    noticed: "inserts an expression",
  },
  { file: "ci.yml", from: "helm lint deploy/chart", to: "helm lint $GITHUB_HEAD_REF", noticed: "text of strangers" },
  { file: "ci.yml", from: "helm lint deploy/chart", to: "curl https://example.com", noticed: "neither ours" },
  { file: "ci.yml", from: "timeout-minutes: 120", to: "name: long", noticed: "test has no timeout" },
  { file: "release.yml", from: "environment: registries", to: "name: npm", noticed: "npm publishes outside" },
  { file: "release.yml", from: "needs: verify", to: "needs: draft", noticed: "npm publishes what was not verified" },
  {
    file: "release.yml",
    from: "- run: gh release create",
    to: "- run: npm ci\n      - run: gh release create",
    noticed: "draft runs packages",
  },
  {
    file: "release.yml",
    from: /@sha256:\w+/.exec(read("release.yml"))?.[0] ?? "",
    to: "",
    noticed: "without a digest",
  },
]

describe("the workflows", () => {
  it("are those that test, release and rate the project", () => {
    assert.sameMembers(files, ["ci.yml", "release.yml", "scorecard.yml"])
  })

  it.each(files)("follow the rules: %s", (file) => {
    assert.deepStrictEqual(findings(read(file)), [])
  })

  it.each(mutants)("are rejected if $file has $to", ({ file, from, noticed, to }) => {
    assert.include(read(file), from)
    assert.include(findings(read(file).replace(from, to)).join("\n"), noticed)
  })

  it("run the same tests as a maintainer", () => {
    assert.include(runsOf(jobOf("ci.yml", "test")).join(), ".ci/run")
    for (const path of [".ci/run", ".ci/chart"]) assert.isTrue(existsSync(join(root, path)))
  })

  it("write only where it is needed", () => {
    const writing = files.flatMap((file) =>
      Object.entries(jobs(file)).flatMap(([name, { permissions = {} }]) => {
        const rights = Object.entries(permissions).flatMap(([what, right]) => (right === "write" ? [what] : []))
        return rights.length === 0 ? [] : [[`${file} ${name}`, rights.join(" ")] as const]
      }),
    )
    assert.deepStrictEqual(Object.fromEntries(writing), {
      "release.yml draft": "contents id-token attestations",
      "release.yml npm": "id-token",
      "release.yml pypi": "id-token",
      "release.yml image": "packages",
      "release.yml chart": "packages",
      "release.yml go": "contents",
      "scorecard.yml scorecard": "id-token",
    })
  })

  it("build a tag twice in the same image, compare, and only then draft the release", () => {
    const [build, rebuild] = [jobOf("release.yml", "build"), jobOf("release.yml", "rebuild")]
    assert.match(build.container ?? "", /^debian:bookworm/)
    const named = JSON.stringify(rebuild).replace('"name":"rebuild"', '"name":"build"')
    assert.strictEqual(named, JSON.stringify(build))
    assert.deepStrictEqual(jobOf("release.yml", "compare").needs, ["build", "rebuild"])
    assert.include(runsOf(jobOf("release.yml", "compare")), "npm run release:check -- /tmp/build --same /tmp/rebuild")
    assert.strictEqual(jobOf("release.yml", "draft").needs, "compare")
  })

  it("verify the maintainer's signature before a registry gets anything", () => {
    const verify = runsOf(jobOf("release.yml", "verify"))
    assert.include(verify, "npm run release:check -- /tmp/release --key release/keyshelf.pub.pem")
    assert.isTrue(verify.some((run) => run.startsWith("cosign verify-blob-attestation --key")))
  })
})

describe("the updates of dependencies", () => {
  interface Update {
    readonly "package-ecosystem": string
    readonly directories?: ReadonlyArray<string>
    readonly cooldown?: Readonly<Record<string, number>>
  }
  const { updates } = parse(text(".github/dependabot.yml")) as { readonly updates: ReadonlyArray<Update> }

  it("are those of npm and of actions, a week after they were published", () => {
    assert.deepStrictEqual(
      updates.map((update) => update["package-ecosystem"]),
      ["npm", "github-actions"],
    )
    for (const { cooldown } of updates) assert.deepStrictEqual(cooldown, { "default-days": 7 })
  })

  it("include each lock file", () => {
    for (const folder of updates[0]?.directories ?? assert.fail("there are no folders")) {
      assert.isTrue(existsSync(join(root, folder, "package-lock.json")), folder)
    }
    assert.lengthOf(updates[0]?.directories ?? [], 4)
  })
})
