/** Process of an attacker: sends the same request on many connections, each as soon as it has the response. */
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { open, requestBytes } from "../../support/RawConnection.ts"
import type { Attack } from "./Attacker.ts"

const [plan] = (await once(process, "message")) as [Attack]
const bytes = requestBytes(plan.method, plan.path, plan.token, plan.body)

const attack = async (): Promise<never> => {
  for (;;) {
    try {
      const { send } = await open(plan.origin)
      // The service may close the connection after a refusal. An attacker comes again.
      for (;;) process.send?.(await send(bytes))
    } catch {
      await sleep(10)
    }
  }
}

await Promise.all(Array.from({ length: plan.connections }, attack))
