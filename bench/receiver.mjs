/**
 * A webhook receiver that returns 200 at once and counts requests. `GET /stats` returns their number and the time of the first,
 * in milliseconds since 1970.
 */
import { createServer } from "node:http"

let stats = { count: 0, first: 0 }

createServer((request, response) => {
  if (request.url === "/stats") return response.end(JSON.stringify(stats))
  if (request.url === "/reset") {
    stats = { count: 0, first: 0 }
    return response.end()
  }
  request.resume().on("end", () => {
    if (stats.count++ === 0) stats.first = Date.now()
    response.end()
  })
}).listen(Number(process.env.BENCH_PORT), "127.0.0.1", () => console.log("ready"))
