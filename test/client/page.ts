/** Pages of a vendor that use a client in a browser. */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { rolldown } from "rolldown"

/** Bundles a module for browsers, in one file or in what a page loads when it needs it. */
const bundled = async (directory: string, module: string, isWhole: boolean) => {
  const entry = join(directory, "page.js")
  writeFileSync(entry, module)
  const bundle = await rolldown({ input: entry, platform: "browser" })
  return (await bundle.generate({ minify: true, codeSplitting: !isWhole })).output
}

/** Bundles a module for browsers, as a vendor does. */
export const bundleIn = (directory: string, module: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const [chunk] = await bundled(directory, module, true)
    return chunk.code
  })

/** The code of each file into which a bundler splits a module: first what a page loads at once. */
export const chunksIn = (directory: string, module: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () =>
    (await bundled(directory, module, false)).flatMap((output) => ("code" in output ? [output.code] : [])),
  )

/** Serves a page with a script, and returns its origin. */
export const startPage = (script: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        const isScript = request.url === "/page.js"
        response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" })
        response.end(
          isScript ? script : '<link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
        )
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    }),
    ({ server }) => Effect.sync(() => server.close()),
  ).pipe(Effect.map(({ origin }) => origin))
