/**
 * Prints help, and errors of the command line. Help without `--help` is part of an error, so it goes to standard error.
 */
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"

/** An error of the command line as JSON, in the form of the service's problems. */
const problem = (errors: ReadonlyArray<string>) => ({
  code: "CommandLine.Invalid",
  detail: errors.length === 0 ? "A subcommand is missing. --help lists them." : errors.join(" "),
  errors: errors.map((message) => ({ location: "arguments", message })),
})

/** Swaps the streams of a console, so that all of its output goes to standard error. */
const onStandardError = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Console.Console, (console) => {
    const errors: Console.Console = Object.create(console, {
      log: { value: (...texts: ReadonlyArray<unknown>) => console.error(...texts) },
    })
    return Effect.provideService(self, Console.Console, errors)
  })

export const presenter = (isJson: boolean) =>
  CliOutput.layerPresenter({
    present: (event) => {
      const shown = CliOutput.defaultPresenter.present(event)
      if (event._tag === "Version" || (event._tag === "Help" && event.reason === "Requested")) return shown
      const errors = event._tag === "Help" ? [] : event.errors.map(({ message }) => message)
      return isJson ? Console.error(JSON.stringify(problem(errors), null, 2)) : onStandardError(shown)
    },
  })
