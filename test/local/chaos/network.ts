/** A network between products and the service: it delays and loses requests and responses, and sometimes the service behind it is down. */
import type { Failure, LedgerOptions, RefillReply, Reply, Service, StreamListener } from "../../../src/local/index.ts"
import { current } from "../../offline/signer.ts"
import { signatureOf } from "./schedule.ts"
import { BASE } from "./service.ts"
import type { Model, RefillRequest } from "./service.ts"
import type { Schedule } from "./schedule.ts"

const COMMENT_MS = 20_000
const TIMEOUT_MS = 10_000
const LOSS = 0.02

export interface Network {
  readonly isUp: () => boolean
  /** When it last began to be up. */
  readonly upSince: () => number
  readonly stop: () => void
  readonly start: () => void
  /** Sends a frame to each open stream. */
  readonly change: () => void
  readonly connect: () => Connection
  /** Nothing is lost any more. */
  readonly mend: () => void
}

export interface Connection {
  readonly service: Service
  readonly refill: LedgerOptions["refill"]
  /** When something was last lost. */
  readonly troubleAt: () => number
  readonly openedAt: () => number | undefined
  readonly kill: () => void
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")

const HEADER = encode({ typ: "keyshelf-bundle+jwt", alg: "EdDSA", kid: current.kid })

const sign = (claims: unknown): string => {
  const signed = `${HEADER}.${encode(claims)}`
  return `${signed}.${signatureOf(Buffer.from(signed)).toString("base64url")}`
}

const away = (text: string): Failure => ({ type: "away", code: "", error: new Error(text) })

export const makeNetwork = (
  schedule: Schedule,
  random: () => number,
  model: Model,
  note: (text: string) => void,
): Network => {
  const { after, now, wait } = schedule
  const streams = new Set<{ readonly end: () => void; readonly send: (text: string) => void }>()
  let isUp = true
  let upSince = 0
  let loss = LOSS

  const connect = (): Connection => {
    let isAlive = true
    let troubleAt = -Infinity
    let openedAt: number | undefined
    const trouble = async (): Promise<Failure> => {
      troubleAt = now()
      await wait(random() < 0.5 ? TIMEOUT_MS : 50)
      troubleAt = now()
      return away("lost")
    }
    /** A request and its response, each of which can be lost. A dead client receives nothing. */
    const exchange = async <A>(answer: () => A): Promise<A | Failure> => {
      await wait(2 + 20 * random())
      if (!isUp) {
        if (random() < 0.8) return away("refused")
        return trouble()
      }
      if (random() < loss) return trouble()
      const response = answer()
      await wait(2 + 20 * random())
      if (!isAlive) return new Promise<Failure>(() => undefined)
      return random() < loss || !isUp ? trouble() : response
    }
    const dateMs = () => BASE + Math.floor(now() / 1000) * 1000
    return {
      service: {
        keys: async () => away("keys are pinned"),
        snapshot: (_, etag) =>
          exchange((): Reply => {
            const sent = model.snapshot(etag)
            const head = { maxAgeMs: 30_000, dateMs: dateMs() }
            return sent === undefined
              ? { type: "unchanged", ...head }
              : { type: "snapshot", etag: sent.etag, token: sign(sent.claims), ...head }
          }),
        changes: (_: string, listener: StreamListener) => {
          let isOpen = true
          const stream = {
            send: (text: string) => {
              if (isOpen && isAlive) after(2 + 20 * random(), () => isOpen && isAlive && listener.text(text))
            },
            end: () => {
              if (!isOpen) return
              isOpen = false
              openedAt = undefined
              if (isAlive) after(5, () => isAlive && listener.ended())
            },
          }
          after(5 + 30 * random(), () => {
            if (!isOpen || !isAlive) return
            if (!isUp) {
              isOpen = false
              return listener.ended(away("refused"))
            }
            streams.add(stream)
            openedAt = now()
            listener.opened()
          })
          return () => {
            isOpen = false
            openedAt = undefined
            streams.delete(stream)
          }
        },
      },
      refill: (_, body) =>
        exchange((): RefillReply => {
          const request = JSON.parse(body) as RefillRequest
          const response = model.refill(request)
          note(
            `refill ${request.lines.length} ${response.status} ${response.status === "ok" ? JSON.stringify(response.body["tranches"]) : response.code}`,
          )
          return response.status === "ok"
            ? { type: "refilled", body: { ...response.body, snapshot: sign(response.snapshot) }, dateMs: dateMs() }
            : { type: "problem", code: response.code, error: new Error(response.code) }
        }),
      troubleAt: () => troubleAt,
      openedAt: () => openedAt,
      kill: () => {
        isAlive = false
      },
    }
  }

  const comment = (): void => {
    for (const stream of streams) stream.send(":\n\n")
    after(COMMENT_MS, comment)
  }
  after(COMMENT_MS, comment)

  return {
    isUp: () => isUp,
    upSince: () => upSince,
    stop: () => {
      isUp = false
      for (const stream of streams) stream.end()
      streams.clear()
    },
    start: () => {
      isUp = true
      upSince = now()
    },
    change: () => {
      model.change()
      for (const stream of streams) stream.send('data: {"type":"refetchEvaluation"}\n\n')
    },
    connect,
    mend: () => {
      loss = 0
    },
  }
}
