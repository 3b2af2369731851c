/**
 * Responses that stay open after their request was handled. A stream that rarely says something then needs no fiber: it is a
 * connection to which others write.
 */

/** An open connection to a client. */
export interface OpenConnection {
  /** Sends ASCII text. */
  readonly send: (text: string) => unknown
  /** Ends the response after what was written. */
  readonly end: () => unknown
  /** Disconnects without waiting for the client. */
  readonly destroy: () => unknown
  /** What was written and the client has not taken yet, in bytes. */
  readonly writableLength: number
  readonly once: (event: "close", listener: () => void) => unknown
}

/** The body of a response (`HttpServerResponse.raw`) that the listener hands its open connection to. */
export class HeldResponse {
  /** Called once the headers are written, unless the client has disconnected. It must not throw. */
  readonly begin: (connection: OpenConnection) => void

  constructor(begin: (connection: OpenConnection) => void) {
    this.begin = begin
  }
}
