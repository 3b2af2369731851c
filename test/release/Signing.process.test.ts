import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { createPrivateKey, generateKeyPairSync } from "node:crypto"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { checksums, sha256 } from "../../release/Files.ts"
import { makeKey, PUBLIC_KEY, PUBLIC_KEY_PEM, readKey, readPublicKey } from "../../release/Key.ts"
import { SIGNATURES, signRelease, wrongSignatures } from "../../release/Signature.ts"
import { blocksOf } from "../support/pageScript.ts"
import { withReason } from "../support/skipped.ts"

const root = resolve(import.meta.dirname, "../..")

const PASSPHRASE = "correct horse battery"

const VERSION = "0.2.0"

/** The folder of a release with one file, as a build of a tag leaves it. */
const release = (place: string, version = VERSION): string => {
  const folder = join(place, "release")
  mkdirSync(folder)
  const file = "keyshelf.tar.gz"
  const digest = sha256(Buffer.from("content"))
  const listed = { kind: "server", file, sha256: digest, sbom: `${file}.cdx.json` }
  const files: Record<string, string> = {
    [file]: "content",
    [`${file}.cdx.json`]: JSON.stringify({ metadata: { component: { hashes: [{ content: digest }] } } }),
    "release.json": JSON.stringify({ version, commit: "c0ffee", artifacts: [listed] }),
    "provenance.json": JSON.stringify({ subject: [{ name: file, digest: { sha256: digest } }] }),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const content = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }))
  writeFileSync(join(folder, "SHA256SUMS"), checksums(content))
  return folder
}

interface Signed {
  readonly place: string
  readonly folder: string
  readonly privateKey: string
}

/** A place with a release that a new key has signed. */
const inPlace = async (use: (signed: Signed) => void | Promise<void>): Promise<void> => {
  const place = mkdtempSync(join(tmpdir(), "signing-"))
  try {
    mkdirSync(join(place, "release-key/release"), { recursive: true })
    const privateKey = join(place, "private.pem")
    makeKey(privateKey, PASSPHRASE, join(place, "release-key"))
    const folder = release(place)
    signRelease(folder, await readKey(privateKey, async () => PASSPHRASE))
    await use({ place, folder, privateKey })
  } finally {
    rmSync(place, { recursive: true })
  }
}

const publicKey = (place: string, name = PUBLIC_KEY_PEM): string => join(place, "release-key", name)

const script = (name: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, ["release/run.ts", name, ...args], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, ...env },
  })

const changeByte = (file: string, at = 0.5): void => {
  const content = readFileSync(file)
  content[Math.floor(content.length * at)]! ^= 1
  writeFileSync(file, content)
}

describe("the key of releases", () => {
  it("is encrypted, readable only by its owner, and is never replaced", () =>
    inPlace(async ({ place, privateKey }) => {
      assert.strictEqual(statSync(privateKey).mode & 0o777, 0o600)
      assert.include(readFileSync(privateKey, "utf8"), "BEGIN ENCRYPTED PRIVATE KEY")
      assert.throws(() => createPrivateKey(readFileSync(privateKey, "utf8")))
      const wrong = await readKey(privateKey, async () => "wrong").catch((error: unknown) => error)
      assert.match(String(wrong), /The passphrase does not open/)
      assert.throws(() => makeKey(privateKey, PASSPHRASE, place), "exists")
      assert.throws(() => makeKey(join(place, "second.pem"), PASSPHRASE, join(place, "release-key")), "exists")
      assert.isFalse(existsSync(join(place, "second.pem")))
    }))

  it("needs a passphrase of some length", () =>
    inPlace(({ place }) => {
      const file = join(place, "short.pem")
      const { status, stderr } = script("key", [file], { KEYSHELF_RELEASE_PASSPHRASE: "short" })
      assert.strictEqual(status, 1)
      assert.include(stderr, "at least 12 characters")
      assert.isFalse(existsSync(file))
    }))
})

describe("the signatures of a release", () => {
  it("are the same each time, and change no other file", () =>
    inPlace(async ({ folder, privateKey }) => {
      const before = new Map(readdirSync(folder).map((file) => [file, sha256(readFileSync(join(folder, file)))]))
      signRelease(folder, await readKey(privateKey, async () => PASSPHRASE))
      for (const [file, digest] of before) assert.strictEqual(sha256(readFileSync(join(folder, file))), digest, file)
      assert.strictEqual(readdirSync(folder).length, before.size)
    }))

  it("are wrong by name if a byte of them, or of what they sign, is another one", () =>
    inPlace(({ folder, place }) => {
      const key = readPublicKey(publicKey(place))
      assert.deepStrictEqual(wrongSignatures(folder, key), [])
      for (const file of SIGNATURES) {
        const copy = join(place, "copy")
        cpSync(folder, copy, { recursive: true })
        changeByte(join(copy, file))
        assert.match(wrongSignatures(copy, key).join(), new RegExp(`^${file} is not a signature`))
        rmSync(copy, { recursive: true })
      }
      const other = generateKeyPairSync("ed25519").publicKey
      assert.lengthOf(wrongSignatures(folder, other), SIGNATURES.length)
      changeByte(join(folder, "SHA256SUMS"))
      changeByte(join(folder, "provenance.json"))
      assert.lengthOf(wrongSignatures(folder, key), SIGNATURES.length)
    }))

  it("are added and checked by the commands", () =>
    inPlace(({ folder, place, privateKey }) => {
      for (const file of SIGNATURES) rmSync(join(folder, file))
      assert.match(script("check", [folder]).stdout, /is whole\. It is not signed$/m)
      const required = script("check", [folder, "--key", publicKey(place)])
      assert.strictEqual(required.status, 1)
      for (const file of SIGNATURES) assert.include(required.stderr, `${file} is not a signature`)
      const env = { KEYSHELF_RELEASE_KEY: privateKey, KEYSHELF_RELEASE_PASSPHRASE: PASSPHRASE }
      const signed = script("sign", [folder], env)
      assert.strictEqual(signed.status, 0, signed.stderr)
      const checked = script("check", [folder, "--key", publicKey(place)])
      assert.match(checked.stdout, /is whole\. The key [0-9A-F]{16} signed it$/m)
      changeByte(join(folder, "keyshelf.tar.gz"))
      const refused = script("sign", [folder], env)
      assert.strictEqual(refused.status, 1)
      assert.include(refused.stderr, "keyshelf.tar.gz is not the file")
    }))

  it("are refused to a build without a tag", () => {
    const place = mkdtempSync(join(tmpdir(), "signing-"))
    try {
      const folder = release(place, "0.2.0-dev.c0ffee")
      const { status, stderr } = script("sign", [folder], { KEYSHELF_RELEASE_KEY: "/nonexistent.pem" })
      assert.strictEqual(status, 1)
      assert.include(stderr, "built without a tag")
    } finally {
      rmSync(place, { recursive: true })
    }
  })
})

const missing = (program: string): string | undefined =>
  spawnSync(program, ["--version"]).error === undefined ? undefined : `there is no ${program} here`

const why = missing("minisign") ?? missing("openssl")
if (why !== undefined) console.log(`Skipped the commands of docs/verifying.md: ${why}`)

/** The commands under "Before you install". */
const commands = (): ReadonlyArray<string> => {
  const page = readFileSync(join(root, "docs/verifying.md"), "utf8")
  const [, section = ""] = /\n## Before you install\n([\s\S]*?)\n## /.exec(page) ?? []
  return blocksOf(section).flatMap(({ text }) => text.trim().split("\n"))
}

describe.skipIf(why !== undefined)(withReason("docs/verifying.md", why), () => {
  const run = (folder: string, line: string) => spawnSync("sh", ["-c", line], { cwd: folder, encoding: "utf8" })

  it("accepts a release, and each of its commands rejects a changed byte", () =>
    inPlace(({ folder, place }) => {
      for (const name of [PUBLIC_KEY, PUBLIC_KEY_PEM])
        cpSync(publicKey(place, name), join(folder, name.split("/")[1] ?? ""))
      const [sums = "", minisign = "", openssl = ""] = commands()
      assert.match(sums, /^sha256sum /)
      assert.match(minisign, /^minisign /)
      assert.match(openssl, /^openssl /)
      for (const line of commands()) {
        const { status, stderr, stdout } = run(folder, line)
        assert.strictEqual(status, 0, `${line}: ${stdout}${stderr}`)
      }
      assert.include(run(folder, minisign).stdout, `Trusted comment: keyshelf ${VERSION} c0ffee`)
      changeByte(join(folder, "keyshelf.tar.gz"))
      assert.notStrictEqual(run(folder, sums).status, 0)
      changeByte(join(folder, "SHA256SUMS"))
      for (const line of [minisign, openssl]) assert.notStrictEqual(run(folder, line).status, 0, line)
    }))
})

/** Sigstore's verifier in the npm of this machine. */
const verifier = () => {
  const { stdout } = spawnSync("npm", ["root", "--global"], { encoding: "utf8" })
  const npm = createRequire(join((stdout ?? "").trim(), "npm/package.json"))
  try {
    return { bundle: npm("@sigstore/bundle"), core: npm("@sigstore/core"), verify: npm("@sigstore/verify") }
  } catch {
    return undefined
  }
}

const sigstore = verifier()
const noSigstore = sigstore === undefined ? "the npm here has no verifier of Sigstore" : undefined
if (noSigstore !== undefined) console.log(`Skipped the bundle of Sigstore: ${noSigstore}`)

describe.skipIf(sigstore === undefined)(withReason("the bundle of Sigstore", noSigstore), () => {
  it("is accepted by its verifier with the project's key, and with no other", () =>
    inPlace(({ folder, place }) => {
      const { bundle, core, verify } = sigstore ?? {}
      const text = readFileSync(join(folder, "provenance.sigstore.json"), "utf8")
      const signed = verify.toSignedEntity(bundle.bundleFromJSON(JSON.parse(text)))
      const options = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 }
      const verifyWith = (pem: string) => {
        const keys = () => ({ publicKey: core.crypto.createPublicKey(pem), validFor: () => true })
        const material = verify.toTrustMaterial(
          { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
          keys,
        )
        return new verify.Verifier(material, options).verify(signed)
      }
      assert.doesNotThrow(() => verifyWith(readFileSync(publicKey(place), "utf8")))
      const other = generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" })
      assert.throws(() => verifyWith(other))
    }))
})
