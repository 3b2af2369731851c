/** What a receiver does with a request, and what it tells about it. */

/** How a path of the receiver behaves. */
export type Behaviour =
  /** Answers with the first status to the first request of an event, with the second to the next, with the last from then on. */
  | { readonly kind: "answer"; readonly statuses: ReadonlyArray<number>; readonly delayMillis?: number }
  /** Answers nothing until it is told to. */
  | { readonly kind: "hold" }
  /** Answers 200 and a byte of the body per second. */
  | { readonly kind: "drip" }
  /** Resets the connection before the body was read, when it was read, or in the midst of its own answer. */
  | { readonly kind: "reset"; readonly when: "before" | "after" | "answering" }
  /** Answers 200, but resets the connection of each request with this number. */
  | { readonly kind: "resetEvery"; readonly nth: number }
  /** Answers what is no HTTP. */
  | { readonly kind: "garbage" }
  /** Answers 200 and so many bytes. */
  | { readonly kind: "huge"; readonly bytes: number }
  /** Answers 200 and a small gzip body that is so many bytes when it is opened. */
  | { readonly kind: "bomb"; readonly bytes: number }
  /** Answers 302. */
  | { readonly kind: "redirect"; readonly location: string }

/** What the receiver is told. */
export type Order =
  | { readonly order: "behave"; readonly key: string; readonly behaviour: Behaviour; readonly number: number }
  /** Answers what it holds of this path. */
  | { readonly order: "release"; readonly key: string; readonly status: number }

/** A request as it came. Times are milliseconds since 1970. */
export interface Came {
  readonly number: number
  readonly key: string
  readonly at: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What the receiver tells. */
export type News =
  | { readonly news: "listening"; readonly port: number; readonly mutePort: number }
  /** It behaves as it was told in the order of this number. */
  | { readonly news: "obeyed"; readonly number: number }
  | { readonly news: "came"; readonly request: Came }
  /** Its answer was handed over; `status` is nothing where there was none. */
  | { readonly news: "answered"; readonly number: number; readonly at: number; readonly status: number | null }
  /** The caller closed the connection before; `bytes` were taken of the body. */
  | { readonly news: "gone"; readonly number: number; readonly at: number; readonly bytes: number }
  /** A connection to the port that never says anything. */
  | { readonly news: "connected"; readonly at: number }
