/** A product that consumes locally: it prints each answer, and waits until it is killed. */
import { createProductClient } from "../../../clients/typescript/src/product/node.ts"

const [url = "", directory = "", keys = "{}", issuer = "", instance = "", calls = "1"] = process.argv.slice(2)
const client = createProductClient({ baseUrl: url, token: "ksh_0123456789", directory, keys: JSON.parse(keys), issuer })
for (let call = 0; call < Number(calls); call++) {
  const { allowed, reason } = await client.consume(instance, "large", { requested: 3 })
  process.stdout.write(`${allowed} ${reason}\n`)
}
setInterval(() => undefined, 1000)
