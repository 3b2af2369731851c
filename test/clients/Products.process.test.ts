/** Each client, installed into an empty project, used against a service that runs, is stopped, and loses responses. */
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { consumer, strict, tsc, whyNoPackage, withNodeTypes } from "../client/packed.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { withReason } from "../support/skipped.ts"
import { TestService } from "../support/TestService.ts"
import { playDirectly, playExample, playThroughDrops } from "./product.ts"
import type { Example, Product } from "./product.ts"
import { goEnvironment, playWell, root, whyNoGo, whyNoPip } from "./programs.ts"

/** What the tests play in one language. */
interface Installed {
  readonly product: Product
  readonly example: Example
}

const installPython = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const pip = ["-m", "pip", "install", "--no-index", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
  yield* playWell("python3", [...pip, "--target", "packages", join(root, "clients/python")], { cwd: directory })
  const program =
    (path: string) =>
    (args: ReadonlyArray<string>, env: Record<string, string>): Effect.Effect<string> => {
      const variables = { ...env, PYTHONPATH: "packages", PYTHONDONTWRITEBYTECODE: "1" }
      return playWell("python3", [join(root, path), ...args], { cwd: directory, env: variables })
    }
  const product = program("test/clients/python/product.py")
  const installed: Installed = {
    product: (mode, env) => product([mode], env),
    example: program("examples/python-product/product.py"),
  }
  return installed
})

const installGo = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const project = join(directory, "project")
  mkdirSync(project)
  copyFileSync(join(root, "test/clients/go/main.go"), join(project, "main.go"))
  const client = "keyshelf.example/keyshelf"
  const required = `require ${client} v0.1.0\nreplace ${client} => ${join(root, "clients/go")}\n`
  writeFileSync(join(project, "go.mod"), `module product\n\ngo 1.19\n\n${required}`)
  const build = (cwd: string, name: string) =>
    playWell("go", ["build", "-o", join(directory, name), "."], { cwd, env: goEnvironment })
  yield* build(project, "product")
  yield* build(join(root, "examples/go-product"), "example")
  const installed: Installed = {
    product: (mode, env) => playWell(join(directory, "product"), [mode], { cwd: directory, env }),
    example: (args, env) => playWell(join(directory, "example"), args, { cwd: directory, env }),
  }
  return installed
})

const installTypeScript = Effect.gen(function* () {
  const { directory } = yield* consumer({ effect: false })
  withNodeTypes(directory)
  const programs = { product: "test/clients/typescript/project", example: "examples/typescript-product" }
  for (const [name, path] of Object.entries(programs)) {
    copyFileSync(join(root, path, "product.ts"), join(directory, `${name}.ts`))
  }
  const checked = [tsc, ...strict, "--noUnusedLocals", "--types", "node", "product.ts", "example.ts"]
  yield* playWell(process.execPath, checked, { cwd: directory })
  const play = (name: keyof typeof programs, args: ReadonlyArray<string>, env: Record<string, string>) =>
    playWell(process.execPath, [`${name}.ts`, ...args], { cwd: directory, env })
  const installed: Installed = {
    product: (mode, env) => play("product", [mode], env),
    example: (args, env) => play("example", args, env),
  }
  return installed
})

const languages = [
  { language: "TypeScript", why: whyNoPackage, install: installTypeScript },
  { language: "Python", why: whyNoPip, install: installPython },
  { language: "Go", why: whyNoGo, install: installGo },
]

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("a product", (it) => {
  for (const { install, language, why } of languages) {
    it.effect.skipIf(why !== undefined)(
      withReason(`in ${language} counts each use once, and loses none that was taken`, why),
      () =>
        Effect.gen(function* () {
          const { example, product } = yield* install
          yield* playExample(example)
          yield* playDirectly(product)
          yield* playThroughDrops(product)
        }).pipe(Effect.scoped),
      240_000,
    )
  }
})
