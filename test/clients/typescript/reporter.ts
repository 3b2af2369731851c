/** Reports until it is killed, and prints the id of each report that was taken. */
import { createProductClient } from "../../../clients/typescript/src/product/node.ts"

const client = createProductClient({ baseUrl: "http://127.0.0.1:1", token: "ksh_0" })
const buffer = await client.usageBuffer({ path: process.argv[2] ?? "" })
for (;;) console.log(await buffer.report("globex-prod", "api-calls"))
