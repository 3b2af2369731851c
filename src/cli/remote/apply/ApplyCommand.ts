/** `keyshelf apply`: makes an organization what a file says. */
import { Console, Effect, Option, Predicate, Runtime, Schema } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import { sections } from "../../../api/CatalogFile.ts"
import { CommandFailed } from "../../Failure.ts"
import { inputOf, readText } from "../../input/Input.ts"
import { EXIT_CODES } from "../connection/ExitCodes.ts"
import { RequestFailed, Service } from "../connection/Service.ts"
import { asking } from "../connection/Target.ts"
import { common } from "../Flags.ts"
import { json, lineOf } from "../Output.ts"
import { identity } from "../WhoAmI.ts"
import { planOf } from "./Catalog.ts"
import { parseCatalog } from "./CatalogText.ts"
import type { CatalogText } from "./CatalogText.ts"
import { withImpact } from "./Impact.ts"
import type { Plan, Step } from "./Plan.ts"
import { counted, doneText, failedText, nameOf, planJson, planText, refusalText } from "./PlanText.ts"
import { readStored } from "./Reader.ts"
import { commandLine } from "../../../infra/PackageFiles.ts"

/** A dry run found changes. The plan is printed already. */
class ChangesPlanned extends Schema.TaggedError<ChangesPlanned>()("ChangesPlanned", { message: Schema.String }) {
  override readonly [Runtime.errorExitCode] = EXIT_CODES.changesPlanned
}

/** The plan contains what must not be done. */
class PlanRefused extends Schema.TaggedError<PlanRefused>()("PlanRefused", { message: Schema.String }) {
  override readonly [Runtime.errorExitCode] = EXIT_CODES.rejected
}

interface Apply {
  readonly file: string
  readonly dryRun: boolean
  readonly prune: boolean
  readonly yes: boolean
  readonly isJson: boolean
}

const idOf = (me: unknown): string => {
  const who = Predicate.hasProperty(me, "identity") ? me.identity : undefined
  return Predicate.hasProperty(who, "id") ? String(who.id) : ""
}

/** Asks once for all steps. A pipeline confirms in advance with `--yes`. */
const confirm = Effect.fnUntraced(function* ({ steps }: Plan, { file, yes }: Apply) {
  if (yes) return
  if (!process.stdin.isTTY || file === "-") {
    return yield* new CommandFailed({
      message:
        "Nothing was changed: there is no terminal to confirm on. Add --yes to apply the plan without confirmation.",
    })
  }
  const message = `Make ${counted(steps.length, "change")}?`
  const isConfirmed = yield* Prompt.run(Prompt.Confirm({ message })).pipe(Effect.catch(() => Effect.succeed(false)))
  if (!isConfirmed) return yield* new CommandFailed({ message: "Nothing was changed." })
})

const CREATED_WEBHOOK = Schema.Struct({ id: Schema.String })

const makeStep = Effect.fnUntraced(function* (step: Step) {
  const { send } = yield* Service
  const response = yield* send({
    method: step.method,
    path: step.path,
    query: {},
    body: step.body === undefined ? Option.none() : Option.some(step.body as Schema.Json),
    // A retry of the request, whose response was lost, is executed once.
    idempotencyKey: step.method === "POST" ? Option.some(globalThis.crypto.randomUUID()) : Option.none(),
  })
  if (step.section !== "webhooks" || step.action !== "create") return
  const created = Schema.decodeUnknownOption(CREATED_WEBHOOK)(response)
  if (Option.isNone(created)) return
  yield* Console.error(
    `  Its signing secret is not shown. Get one with: ${commandLine(`webhooks rotate-secret ${lineOf(created.value.id)}`)}`,
  )
})

/**
 * Makes the changes one after the other. If one fails, the earlier ones remain, and the next apply makes the others.
 */
const execute = Effect.fnUntraced(function* ({ steps }: Plan, at: CatalogText["at"]) {
  let done = 0
  const stopped = Effect.suspend(() =>
    Console.error(
      `Made ${done} of ${counted(steps.length, "change")}. Correct the cause, and run the same command again: it makes the others.`,
    ),
  )
  yield* Effect.forEach(
    steps,
    Effect.fnUntraced(function* (step) {
      yield* makeStep(step).pipe(
        Effect.mapError((error) =>
          error instanceof RequestFailed
            ? new RequestFailed({
                message: `${at(step.place)}: ${failedText(step, error.message)}`,
                exitCode: error.exitCode,
                ...(error.body === undefined ? {} : { body: error.body }),
              })
            : error,
        ),
      )
      done++
      yield* Console.error(`${done}/${steps.length} ${doneText(step)}`)
    }),
    { discard: true },
  ).pipe(
    Effect.tapError(() => stopped),
    Effect.onInterrupt(() => stopped),
  )
})

const run = Effect.fnUntraced(function* (options: Apply, { at, file }: CatalogText) {
  const identityId = idOf(yield* identity)
  const stored = yield* readStored(sections.filter((section) => file[section] !== undefined))
  const planned = planOf(file, stored, { prune: options.prune, identityId, env: process.env })
  const { impacts, inUse, plan } = yield* withImpact(planned)
  if (options.isJson) {
    const inUseJson = inUse.map(({ reason, subject }) => ({ section: subject.section, name: subject.name, reason }))
    yield* Console.log(json({ ...planJson(plan, impacts, at), inUse: inUseJson }))
  } else {
    const text = planText(plan, impacts)
    if (text !== "") yield* Console.log(text)
    for (const { reason, subject } of inUse) yield* Console.log(`Kept: ${nameOf(subject)}. ${lineOf(reason)}`)
  }
  if (plan.refusals.length > 0) {
    const texts = plan.refusals.map((refusal) => refusalText(refusal, at))
    return yield* new PlanRefused({
      message: [
        ...texts,
        `Nothing was changed: ${counted(plan.refusals.length, "difference")} cannot be applied.`,
      ].join("\n"),
    })
  }
  if (plan.steps.length === 0) return yield* Console.error("Nothing to change.")
  const count = counted(plan.steps.length, "change")
  if (options.dryRun) return yield* new ChangesPlanned({ message: `Would make ${count}.` })
  yield* confirm(plan, options)
  yield* execute(plan, at)
  yield* Console.error(`Made ${count}.`)
})

const onOff = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

export const applyCommand = Command.make(
  "apply",
  {
    ...common,
    file: Argument.String("file").pipe(
      Argument.withDescription("A catalogue in YAML or JSON, or - for standard input"),
    ),
    dryRun: onOff("dry-run", "Print the plan and change nothing; exits with 7 if there are changes"),
    prune: onOff("prune", "Take away what the sections of the file do not list: delete, archive or deactivate it"),
    yes: onOff("yes", "Apply the plan without a question"),
  },
  Effect.fn(function* ({ dryRun, file, json: isJson, profile, prune, yes }) {
    const input = inputOf(file)
    const text = yield* parseCatalog(yield* readText("The catalogue", input), input.name)
    yield* asking({ profile, json: isJson }, run({ file, dryRun, prune, yes, isJson }, text), "/api")
  }),
).pipe(
  Command.withDescription(
    "Make the organization what a catalogue says: entitlements, groups, licenses, flags, metadata fields, webhook endpoints and connectors. Prints the plan and asks once. Published license versions are not changed. Exits with 2 if the plan is refused, and with 7 if a dry run finds changes.",
  ),
  Command.withShortDescription("Make the organization what a catalogue file says"),
  Command.withExamples([
    { command: "keyshelf apply catalog.yaml" },
    { command: "keyshelf apply catalog.yaml --dry-run --prune" },
  ]),
)
