import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { emptyDatabase } from "../cli/database.ts"
import { withReason } from "../support/skipped.ts"
import { built, check, cloned, oddPlace, otherPlace, release, succeeds, whyNotBuilt } from "./build.ts"
import { installInDebian, whyNoDebian } from "./debian.ts"
import { emulated, served, whyNotEmulated, whyNotServed } from "./containers.ts"

const why = whyNotBuilt()
const noDebian = why ?? whyNoDebian()
const notServed = why ?? whyNotServed()
const notEmulated = why ?? whyNotEmulated()
for (const [what, reason] of Object.entries({
  "the build of a release": why,
  "the package in a fresh Debian": noDebian,
  "the image in a container": notServed,
  "the image of arm64": notEmulated,
})) {
  if (reason !== undefined) console.log(`Skipped ${what}: ${reason}`)
}

const system = { PATH: "/usr/bin:/bin" }

const oldNode = /^v(20|21)\./.test(spawnSync("node", ["--version"], { encoding: "utf8", env: system }).stdout ?? "")
const noOldNode = oldNode ? undefined : "this machine has no Node.js 20 or 21"

describe.skipIf(why !== undefined)(withReason("a release", why), { timeout: 900_000 }, () => {
  let place = ""
  let clone = ""
  let folder = ""

  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), "release-"))
    clone = cloned(join(place, "a folder of ä clone"))
    folder = built(clone, join(place, "release"), oddPlace)
  }, 600_000)

  afterAll(() => rmSync(place, { recursive: true, force: true }))

  /** The file of a kind. */
  const fileOf = (pattern: RegExp): string => {
    const [file, ...more] = readdirSync(folder).filter((name) => pattern.test(name))
    assert.isDefined(file, String(pattern))
    assert.deepStrictEqual(more, [])
    return join(folder, file ?? "")
  }

  /** The text of a file in an archive. */
  const contentOf = (archive: string, path: string): string => {
    const { status, stderr, stdout } = spawnSync("tar", ["-xOf", archive, path], { encoding: "utf8" })
    assert.strictEqual(status, 0, stderr)
    return stdout
  }

  /** A new folder with the content of an archive. */
  const unpacked = (name: string, file: string): string => {
    const out = join(place, name)
    mkdirSync(out)
    assert.isTrue(succeeds("tar", "-xzf", file, "-C", out))
    return out
  }

  it("has the same bytes in another folder, home, file mask, time zone and language", () => {
    const { status, stderr } = check(clone, otherPlace(place), folder, "--rebuild")
    assert.strictEqual(status, 0, stderr)
    assert.strictEqual(spawnSync("git", ["status", "--porcelain"], { cwd: clone, encoding: "utf8" }).stdout, "")
  })

  it("has in an inventory each product whose weaknesses release/vex.json answers", () => {
    const inventories = readdirSync(folder).filter((name) => name.endsWith(".cdx.json"))
    const purls = inventories.flatMap((name): ReadonlyArray<string> =>
      JSON.parse(readFileSync(join(folder, name), "utf8")).components.map(({ purl }: { purl: string }) => purl),
    )
    const { statements } = JSON.parse(readFileSync(join(clone, "release/vex.json"), "utf8"))
    const products = new Set<string>(
      statements.flatMap((statement: { products: ReadonlyArray<{ "@id": string }> }) =>
        statement.products.map((each) => each["@id"]),
      ),
    )
    assert.isNotEmpty([...products])
    for (const product of products) assert.include(purls, product)
  })

  it("is checked, and a changed, a missing and a further file are named", () => {
    const copy = join(place, "copy")
    const file = fileOf(/\.whl$/)
    const wheel = file.slice(folder.length + 1)
    const changes: Record<string, () => void> = {
      [`${wheel} is not the file`]: () => {
        const content = readFileSync(file)
        content[content.length >> 1]! ^= 1
        writeFileSync(join(copy, wheel), content)
      },
      "more.txt is not in SHA256SUMS": () => writeFileSync(join(copy, "more.txt"), ""),
      [`${wheel}.cdx.json is missing`]: () => rmSync(join(copy, `${wheel}.cdx.json`)),
    }
    for (const [message, change] of Object.entries(changes)) {
      cpSync(folder, copy, { recursive: true })
      change()
      const { status, stderr } = check(clone, {}, copy)
      assert.strictEqual(status, 1)
      assert.include(stderr, message)
      rmSync(copy, { recursive: true })
    }
  })

  it("is not built from a commit without its tag, or from changed files", () => {
    const out = join(place, "none")
    const untagged = release(clone, {}, "release", "--", "--out", out)
    assert.strictEqual(untagged.status, 1)
    assert.include(untagged.stderr, "does not have the tag")
    writeFileSync(join(clone, "LICENSE"), "changed")
    const changed = release(clone, {}, "release", "--", "--allow-untagged", "--out", out)
    assert.strictEqual(spawnSync("git", ["checkout", "LICENSE"], { cwd: clone }).status, 0)
    assert.strictEqual(changed.status, 1)
    assert.include(changed.stderr, "LICENSE")
    assert.isFalse(existsSync(out))
  })

  it("has a server that starts with its own Node.js, through a link, and whose doctor notices edits", () => {
    const [installed = ""] = readdirSync(unpacked("server", fileOf(/linux-x64\.tar\.gz$/)))
    const home = join(place, "server", installed)
    const verified = spawnSync("sha256sum", ["--check", "--quiet", "FILES.sha256"], { cwd: home, encoding: "utf8" })
    assert.strictEqual(verified.status, 0, verified.stdout)
    const link = join(place, "linked")
    spawnSync("ln", ["-s", join(home, "keyshelf"), link])
    const started = spawnSync(link, ["--version"], { encoding: "utf8", env: system })
    assert.strictEqual(started.status, 0)
    assert.match(started.stdout, /0\.1\.0/)
    const env = { ...system, SERVICE_DATA_DIR: join(place, "no data") }
    const run = (command: string) => spawnSync(link, [command], { encoding: "utf8", env })
    assert.match(run("doctor").stdout, /^ok +installation +All \d+ files are as released/m)
    const unknown = spawnSync(link, ["profile", "use", "none"], { encoding: "utf8", env: { ...env, HOME: place } })
    assert.include(unknown.stderr, "`keyshelf profile list`")
    writeFileSync(join(home, "LICENSE"), "changed")
    assert.match(run("doctor").stdout, /^warning +installation +Not as released: LICENSE\./m)
    const { status, stderr } = run("serve")
    assert.strictEqual(status, 1)
    assert.match(stderr, /SERVICE_DATABASE_URL.*npx keyshelf try/)
    assert.isFalse(existsSync(env.SERVICE_DATA_DIR))
  })

  it("has a chart and files for Compose that name the image of this build by its digest", () => {
    const { manifests } = JSON.parse(contentOf(fileOf(/-image\.tar$/), "index.json"))
    const digest: string = manifests[0].digest
    const [chart, compose] = [fileOf(/keyshelf-chart-.*\.tgz$/), fileOf(/keyshelf-compose-.*\.tar\.gz$/)]
    const { version } = JSON.parse(readFileSync(join(folder, "release.json"), "utf8"))
    assert.include(contentOf(chart, "keyshelf/values.yaml"), `\n  digest: ${digest}\n`)
    const described = contentOf(chart, "keyshelf/Chart.yaml")
    assert.include(described, `\nversion: ${version}\nappVersion: "${version}"\n`)
    const home = `keyshelf-compose-${version}`
    assert.include(contentOf(compose, `${home}/compose.yaml`), `:?set it in .env}@${digest}\n`)
    const files = spawnSync("tar", ["-tzf", compose], { encoding: "utf8" }).stdout.split("\n")
    for (const mounted of contentOf(compose, `${home}/compose.yaml`).matchAll(/- \.\/(\S+?):/g)) {
      assert.include(files, `${home}/${mounted[1]}`)
    }
  })

  it.skipIf(noOldNode !== undefined)(
    withReason("has a package of npm that starts on an old Node.js", noOldNode),
    () => {
      const installed = join(unpacked("npm", fileOf(/keyshelf-npm-.*\.tgz$/)), "package")
      const packaged = `node_modules/node-linux-${process.arch}`
      mkdirSync(join(installed, "node_modules"))
      cpSync(join(clone, packaged), join(installed, packaged), { recursive: true })
      const args = [join(installed, "bin/keyshelf.mjs"), "--version"]
      const { status, stderr, stdout } = spawnSync("node", args, { encoding: "utf8", env: system })
      assert.strictEqual(status, 0, stderr)
      assert.match(stdout, /0\.1\.0/)
    },
  )

  it.skipIf(noDebian !== undefined)(
    withReason("has a package that a fresh Debian installs, sets up, serves and removes", noDebian),
    () => {
      const steps = installInDebian(join(place, "debian"), fileOf(/_amd64\.deb$/))
      assert.strictEqual(steps["verify"], "")
      assert.match(steps["first setup"] ?? "", /^Created the role "keyshelf"/m)
      assert.match(steps["first setup"] ?? "", /^Created the database "keyshelf"/m)
      assert.match(steps["first setup"] ?? "", /^ {2}ksm_[\w-]{43}$/m)
      assert.match(steps["second setup"] ?? "", /^Keyshelf is set up\. Nothing was changed\.$/m)
      assert.notMatch(steps["second setup"] ?? "", /ksm_/)
      assert.strictEqual(steps["settings"], "640 root:keyshelf")
      assert.match(steps["health"] ?? "", /^200 /m)
      assert.match(steps["doctor"] ?? "", /^ok +installation /m)
      assert.match(steps["doctor"] ?? "", /^ok +database /m)
      assert.notMatch(steps["doctor"] ?? "", /^FAILED/m)
      assert.include(steps["without libatomic1"], "apt-get install libatomic1")
      assert.match(steps["purge"] ?? "", /keyshelf\.env is kept/)
      assert.strictEqual(steps["left"], "/etc/keyshelf/keyshelf.env")
    },
  )

  it.live.skipIf(notServed !== undefined)(
    withReason("has an image that serves read-only, without capabilities and not as root", notServed),
    () =>
      Effect.gen(function* () {
        const image = fileOf(/-image\.tar$/)
        const { asked, inspected, line, shell, stopped, version } = yield* served(
          join(place, "podman"),
          image,
          yield* emptyDatabase,
        )
        assert.strictEqual(inspected.Config.User, "1000:1000")
        assert.isTrue(inspected.HostConfig.ReadonlyRootfs)
        assert.match(line, /^Uid:\s+1000\s+1000\s+1000\s+1000$/m)
        assert.match(line, /^CapEff:\s+0+$/m)
        assert.match(line, /^NoNewPrivs:\s+1$/m)
        assert.notStrictEqual(shell, 0)
        assert.lengthOf(asked, 2)
        assert.match(asked[0] ?? "", /^200 /)
        assert.match(version, /0\.1\.0/)
        assert.strictEqual(stopped, 0)
      }),
  )

  it.skipIf(notEmulated !== undefined)(withReason("has an image for arm64 that starts", notEmulated), () => {
    assert.match(emulated(join(place, "arm64"), fileOf(/-image\.tar$/)), /0\.1\.0/)
  })
})
