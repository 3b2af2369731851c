/** A product that decides locally: it prints what it may and why, and ends by itself, or waits until it is killed. */
import { createProductClient } from "../../../clients/typescript/src/product/node.ts"

const [url = "", directory = "", keys = "{}", issuer = "", instance = "", mode = "once"] = process.argv.slice(2)
const client = createProductClient({ baseUrl: url, token: "ksh_0123456789", directory, keys: JSON.parse(keys), issuer })
const { ageMs: _, ...answer } = await client.check(instance, "sso")
console.log(JSON.stringify({ ...answer, state: client.status(instance).state }))
if (mode === "wait") setInterval(() => undefined, 1000)
