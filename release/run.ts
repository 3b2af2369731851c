/** The commands `npm run release` and `npm run release:<command>`. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { fetchBase, updateBase } from "./Base.ts"
import { build } from "./Build.ts"
import { cacheFolder, fetchAll, installPackages } from "./Cache.ts"
import { differences, folderOf, isSigned, wrongIn } from "./Check.ts"
import type { Folder } from "./Check.ts"
import { readText, root } from "./Files.ts"
import { makeKey, PUBLIC_KEY, PUBLIC_KEY_PEM, readKey, readPublicKey } from "./Key.ts"
import { newPassphrase, passphrase } from "./Passphrase.ts"
import { run } from "./Programs.ts"
import { keyId, signRelease, wrongSignatures } from "./Signature.ts"
import { places, released, releasedDocuments, replaced } from "./Version.ts"

const report = (findings: ReadonlyArray<string>, good: string): void => {
  for (const finding of findings) console.error(finding)
  if (findings.length > 0) process.exitCode = 1
  else console.log(good)
}

/** The one argument of a command that has a single one. */
const onlyOne = (args: ReadonlyArray<string>, what: string): string => {
  const [argument, ...more] = args
  if (argument === undefined || more.length > 0) throw new Error(`Name one ${what}`)
  return argument
}

const buildCommand = (args: Array<string>): void => {
  const options = { out: { type: "string" }, only: { type: "string" }, "allow-untagged": { type: "boolean" } } as const
  const { values } = parseArgs({ args, options })
  build({
    ...(values.out === undefined ? {} : { out: values.out }),
    ...(values.only === undefined ? {} : { only: values.only.split(",") }),
    allowUntagged: values["allow-untagged"] === true,
  })
}

/** Builds the commit of a release again in a clone, and compares. A second build that differs is kept, to look into it. */
const rebuilt = (folder: Folder): ReadonlyArray<string> => {
  const { commit, artifacts } = JSON.parse(readFileSync(join(folder.path, "release.json"), "utf8"))
  const kinds = new Set(artifacts.map(({ kind }: { readonly kind: string }) => kind))
  const place = mkdtempSync(join(tmpdir(), "keyshelf-rebuild-"))
  try {
    const clone = join(place, "clone")
    run("git", ["clone", "--quiet", root, clone])
    run("git", ["checkout", "--quiet", commit], { cwd: clone })
    installPackages(clone, true)
    const out = join(place, "release")
    const options = ["--allow-untagged", "--only", [...kinds].join(","), "--out", out]
    const env = { ...process.env, KEYSHELF_RELEASE_CACHE: cacheFolder() }
    run("npm", ["run", "--silent", "release", "--", ...options], { cwd: clone, env, isShown: true })
    const found = differences(folder, folderOf(out))
    if (found.length > 0) return [...found, `The second build is kept in ${place}`]
  } catch (error) {
    rmSync(place, { recursive: true, force: true })
    throw error
  }
  rmSync(place, { recursive: true, force: true })
  return []
}

/** Who signed a release: what is wrong with the signatures, and what to say if nothing is. */
const signatures = (folder: Folder, key: string | undefined) => {
  if (key === undefined && !isSigned(folder)) return { wrong: [], says: "It is not signed" }
  const file = key ?? join(root, PUBLIC_KEY_PEM)
  if (!existsSync(file)) throw new Error(`There is no public key ${file}. Name one with --key`)
  const publicKey = readPublicKey(file)
  return { wrong: wrongSignatures(folder.path, publicKey), says: `The key ${keyId(publicKey)} signed it` }
}

const checkCommand = (args: Array<string>): void => {
  const options = { key: { type: "string" }, same: { type: "string" }, rebuild: { type: "boolean" } } as const
  const { positionals, values } = parseArgs({ args, options, allowPositionals: true })
  const folder = folderOf(resolve(onlyOne(positionals, "folder of a release")))
  const { says, wrong } = signatures(folder, values.key)
  const compared = values.same === undefined ? [] : differences(folder, folderOf(resolve(values.same)))
  const again = values.rebuild === true ? rebuilt(folder) : []
  report([...wrongIn(folder), ...wrong, ...compared, ...again], `${folder.path} is whole. ${says}`)
}

const keyCommand = async (args: Array<string>): Promise<void> => {
  const file = resolve(onlyOne(args, "file for the private key, outside of the checkout"))
  const id = makeKey(file, await newPassphrase(), root)
  console.log(`The private key ${id} is in ${file}: keep it offline. Commit ${PUBLIC_KEY} and ${PUBLIC_KEY_PEM}`)
}

const signCommand = async (args: Array<string>): Promise<void> => {
  const folder = folderOf(resolve(onlyOne(args, "folder of a release")))
  const file = process.env["KEYSHELF_RELEASE_KEY"]
  if (file === undefined) throw new Error("Set KEYSHELF_RELEASE_KEY to the file of the private key")
  const wrong = wrongIn(folder)
  if (wrong.length > 0) return report(wrong, "")
  const { version } = JSON.parse(readFileSync(join(folder.path, "release.json"), "utf8"))
  if (version.includes("-dev.")) throw new Error(`${version} was built without a tag, and is not signed`)
  const key = await readKey(file, () => passphrase(`Passphrase of ${file}: `))
  signRelease(folder.path, key)
  console.log(`${folder.path} is signed by the key ${keyId(key)}`)
}

const versionCommand = (args: Array<string>): void => {
  const next = onlyOne(args, "version, such as 0.2.0")
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(next)) throw new Error(`${next} is not a version such as 0.2.0`)
  for (const place of places) writeFileSync(join(root, place.file), replaced(readText(place.file), place, next))
  for (const [file, text] of Object.entries(releasedDocuments(next))) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  const day = new Date().toISOString().slice(0, 10)
  writeFileSync(join(root, "CHANGELOG.md"), released(readText("CHANGELOG.md"), next, day))
}

const fetchCommand = (args: Array<string>): void => {
  const { values } = parseArgs({ args, options: { "update-base": { type: "boolean" } } })
  fetchAll()
  if (values["update-base"] === true) updateBase()
  else fetchBase()
}

const commands: Readonly<Record<string, (args: Array<string>) => void | Promise<void>>> = {
  build: buildCommand,
  fetch: fetchCommand,
  check: checkCommand,
  key: keyCommand,
  sign: signCommand,
  version: versionCommand,
}

const [name = "", ...rest] = process.argv.slice(2)
try {
  const command = commands[name]
  if (command === undefined)
    throw new Error(`There is no command ${name}. The commands are ${Object.keys(commands).join(", ")}`)
  await command(rest)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
