/** Ends commands whose reader has closed the pipe, as `head` does when it has what it wants. */

const isClosedPipe = (error: Error): boolean => "code" in error && error.code === "EPIPE"

/**
 * Ends this process quietly when nothing reads its output any more. A service goes on: nobody may stop it by ending what
 * collects its log.
 */
export const endWithReader = (isService: boolean): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error) => {
      if (!isClosedPipe(error)) throw error
      if (!isService) process.exit(0)
    })
  }
}
