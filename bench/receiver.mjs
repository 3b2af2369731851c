/** A receiver of webhooks: answers 200 at once and counts. `GET /stats` tells how many came, and when the first did (milliseconds since 1970). */
import { createServer } from "node:http"

let seen = { count: 0, first: 0 }

createServer((request, response) => {
  if (request.url === "/stats") return response.end(JSON.stringify(seen))
  if (request.url === "/reset") {
    seen = { count: 0, first: 0 }
    return response.end()
  }
  request.resume().on("end", () => {
    if (seen.count++ === 0) seen.first = Date.now()
    response.end()
  })
}).listen(Number(process.env.BENCH_PORT), "127.0.0.1", () => console.log("ready"))
