/**
 * Keeps callers' connections from taking the last file descriptors. Without this, a flood of connections would also cut off
 * the database, deliveries and the probes of the internal listener.
 */
import { Effect } from "effect"
import type { Context } from "effect"
import type { Server } from "node:http"
import { FileDescriptors, isExhaustion } from "../infra/FileDescriptors.ts"

/** Prepares a server before it listens. */
export type Guard = (server: Server) => void

/**
 * Handles failures to accept a connection, which would otherwise end the process, and closes connections beyond the limit.
 * Without a limit, connections may use the reserve.
 */
export const makeGuard = (isLimited: boolean): Effect.Effect<Guard> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.map(FileDescriptors, (descriptors) => (server: Server) => {
      const run = Effect.runForkWith(context)
      server.on("error", (error: NodeJS.ErrnoException) => {
        // Until then, the code that opens the listener handles the error.
        if (!server.listening) return
        if (isExhaustion(error.code)) descriptors.reportExhaustion()
        else run(Effect.logError(`A listener failed: ${error.code ?? error.message}`))
      })
      if (!isLimited) return
      server.on("connection", (socket) => {
        if (descriptors.admit()) socket.once("close", descriptors.release)
        else socket.destroy()
      })
    }),
  )
