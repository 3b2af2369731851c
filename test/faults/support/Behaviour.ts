/** Behaviours of the test receiver, and the messages between its process and the test. */

/** Behaviour of one path of the receiver. */
export type Behaviour =
  /** Responds to the requests of an event with these statuses in order, and repeats the last. */
  | { readonly kind: "respond"; readonly statuses: ReadonlyArray<number>; readonly delayMillis?: number }
  /** Sends no response until it is released. */
  | { readonly kind: "hold" }
  /** Responds with 200 and one byte of the body per second. */
  | { readonly kind: "drip" }
  /** Resets the connection before reading the body, after reading it, or during the response. */
  | { readonly kind: "reset"; readonly when: "before" | "after" | "responding" }
  /** Responds with 200, but resets the connection of every nth request. */
  | { readonly kind: "resetEvery"; readonly nth: number }
  /** Sends bytes that are not HTTP. */
  | { readonly kind: "garbage" }
  /** Responds with 200 and a body of this size. */
  | { readonly kind: "huge"; readonly bytes: number }
  /** Responds with 200 and a small gzip body that expands to this size. */
  | { readonly kind: "bomb"; readonly bytes: number }
  /** Responds with 302. */
  | { readonly kind: "redirect"; readonly location: string }

/** Commands to the receiver's process. */
export type ReceiverCommand =
  | { readonly order: "behave"; readonly key: string; readonly behaviour: Behaviour; readonly number: number }
  /** Responds to the open requests of this path. */
  | { readonly order: "release"; readonly key: string; readonly status: number }

/** A received request. Times are milliseconds since 1970. */
export interface ReceivedRequest {
  readonly number: number
  readonly key: string
  readonly at: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Messages from the receiver's process. */
export type ReceiverMessage =
  | { readonly news: "listening"; readonly port: number; readonly mutePort: number }
  /** The command with this number has been applied. */
  | { readonly news: "obeyed"; readonly number: number }
  | { readonly news: "came"; readonly request: ReceivedRequest }
  /** The response was sent; `status` is `null` if there was none. */
  | { readonly news: "responded"; readonly number: number; readonly at: number; readonly status: number | null }
  /** The client closed the connection early, after reading `bytes` of the body. */
  | { readonly news: "gone"; readonly number: number; readonly at: number; readonly bytes: number }
  /** A connection was opened to the port that never responds. */
  | { readonly news: "connected"; readonly at: number }
