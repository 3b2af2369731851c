/** Reservations, for work whose cost is known only afterwards. */
import { own } from "../../../../src/offline/values/Unknown.ts"
import { NO_FIGURES } from "../../../../src/local/Answers.ts"
import type { LocalReservation } from "../../../../src/local/index.ts"
import { isProblem } from "../Errors.ts"
import { NO_BODY } from "../Responses.ts"
import type { Answer } from "./Away.ts"
import { amountOf, parseExactly } from "./Decimal.ts"
import type { Amount } from "./Decimal.ts"
import { pathOf, randomId, readAs } from "./Wire.ts"
import type { Send } from "./Wire.ts"

/** An amount that is set aside. It ends by itself after its time, and in local mode with the process. */
export interface Reservation {
  /** Whether the amount is reserved, and why it is not. */
  readonly answer: Answer
  /** Consumes what was used, at most what is reserved, and frees the rest. Fails if the reservation has ended. */
  readonly commit: (used: Amount) => Promise<void>
  /** Frees what is reserved. Fails if the reservation has ended. */
  readonly release: () => Promise<void>
}

const ended = (isOpen: boolean): void => {
  if (!isOpen) throw new Error("The reservation has ended")
}

/** A reservation of a local client. */
export const localReservation = (answer: Answer, { commit, release }: LocalReservation): Reservation => ({
  answer,
  commit: async (used) => ended(commit(amountOf(used))),
  release: async () => ended(release()),
})

/** Reserves by a request. */
export const reserveRemotely = async (
  send: Send,
  instance: string,
  entitlement: string,
  amount: string,
  ttlSeconds: number,
): Promise<Reservation> => {
  const post = (path: string, body: string) => send({ method: "POST", path, body, idempotencyKey: randomId() })
  const answerOf = (allowed: boolean): Answer => {
    const reason = allowed ? "GRANTED" : "LIMIT_REACHED"
    return { entitlement, allowed, reason, ...NO_FIGURES, source: "service", ageMs: 0 }
  }
  const path = pathOf("instances", instance, "entitlements", entitlement, "reservations")
  try {
    const response = await post(path, `{"quantity":${amount},"expiresInSeconds":${ttlSeconds}}`)
    const id = readAs(response, "a reservation", (text) => {
      const found = own(parseExactly(text), "id")
      return typeof found === "string" ? found : undefined
    })
    return {
      answer: answerOf(true),
      commit: async (used) => {
        await post(pathOf("reservations", id, "commit"), `{"quantity":${amountOf(used)}}`)
      },
      release: async () => {
        await send({ method: "DELETE", path: pathOf("reservations", id), promised: [NO_BODY] })
      },
    }
  } catch (error) {
    if (!isProblem(error, "Reserve.LimitReached")) throw error
    const fails = async () => ended(false)
    return { answer: answerOf(false), commit: fails, release: fails }
  }
}
