/**
 * What all tests in a browser share: one browser, and one installation of the service for tests of the console. The first test file
 * that needs one of them starts it, in the process of this setup. A run without such files starts nothing.
 */
import { Effect, Exit, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { localServer } from "./LocalServer.ts"
import type { Shared } from "./shared.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The URL that starts what is shared, and returns how to use it. */
    sharedUrl: string
  }
}

// Their modules take a second to load, so a run without tests in a browser does not load them.
const starts: { readonly [Name in keyof Shared]: Effect.Effect<Shared[Name], never, Scope.Scope> } = {
  browser: Effect.flatMap(
    Effect.promise(() => import("./Browser.ts")),
    ({ serve }) => serve,
  ),
  installation: Effect.flatMap(
    Effect.promise(() => import("../console/Installation.ts")),
    ({ start }) => start,
  ),
}

const isShared = (name: string): name is keyof Shared => name in starts

export default async function setup(project: TestProject) {
  const scope = Scope.makeUnsafe()
  const started = new Map<string, Promise<unknown>>()
  const start = (name: string): Promise<unknown> => {
    const running =
      started.get(name) ??
      (isShared(name)
        ? Effect.runPromise(Scope.provide<unknown, never, Scope.Scope>(starts[name], scope))
        : Promise.reject(new Error(`Nothing shared has the name ${name}`)))
    started.set(name, running)
    return running
  }
  const server = localServer((request, response) => {
    start((request.url ?? "").slice(1)).then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  project.provide("sharedUrl", (await Effect.runPromise(Scope.provide(server, scope))).url)
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
