/** `keyshelf events bridge nats`: forwards the events of organizations to NATS JetStream (docs/event-bridge.md). */
import { Effect, Option, Schedule } from "effect"
import { Command, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { DurationText } from "../../../infra/SettingFormats.ts"
import * as Logging from "../../../infra/telemetry/Logging.ts"
import { CommandFailed } from "../../Failure.ts"
import { Service } from "../connection/Service.ts"
import { bridge, isPermanent } from "./bridge/Bridge.ts"
import type { BridgeState } from "./bridge/Bridge.ts"
import type { Broker } from "./bridge/Broker.ts"
import { loadJetStream } from "./bridge/Client.ts"
import { serveHealth } from "./bridge/Health.ts"
import type { Report } from "./bridge/Health.ts"
import { readLogin, readOrganization, readServers, readTargets } from "./bridge/Sources.ts"

const backOff = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("15 seconds")])

const logged = (error: { readonly message: string }) =>
  Effect.logWarning("The bridge cannot start yet; it tries again").pipe(Effect.annotateLogs({ reason: error.message }))

/** The organizations of the tokens. Waits for a service that does not respond; a token that it rejects ends the command. */
const readOrganizations = Effect.gen(function* () {
  const found = yield* Effect.forEach(yield* readTargets, (target) =>
    readOrganization.pipe(
      Effect.provide(Service.layer(target)),
      Effect.tapError((error) => (error._tag === "RequestFailed" && !isPermanent(error) ? logged(error) : Effect.void)),
      Effect.retry({
        schedule: backOff,
        while: (error) => error._tag === "RequestFailed" && !isPermanent(error),
      }),
      Effect.map((organization) => ({ organization, target })),
    ),
  )
  const twice = found.find(
    ({ organization }, at) => found.findIndex((one) => one.organization.id === organization.id) < at,
  )
  if (twice === undefined) return found
  return yield* new CommandFailed({
    message: `Two tokens belong to the organization "${twice.organization.slug}". Give the bridge one for each.`,
  })
})

const name = (flag: string, value: string, about: string) =>
  Flag.String(flag).pipe(
    Flag.withDescription(`${about}; default: ${value}`),
    Flag.filter(
      (text) => /^[\w-]+$/.test(text),
      () => "Expected letters, digits, dashes and underscores",
    ),
    Flag.withDefault(value),
  )

const whole = (flag: string, max: number, about: string) =>
  Flag.Int(flag).pipe(
    Flag.withDescription(about),
    Flag.filter(
      (number) => number >= 1 && number <= max,
      () => `Expected a whole number, 1 to ${max}`,
    ),
  )

const duration = (flag: string, value: string, about: string) =>
  Flag.String(flag).pipe(
    Flag.withDescription(`${about}; default: ${value}`),
    Flag.withDefault(value),
    Flag.withSchema(DurationText),
  )

const nats = Command.make(
  "nats",
  {
    stream: name("stream", "keyshelf", "The JetStream stream; it is created if it is missing"),
    subjectPrefix: name("subject-prefix", "keyshelf", "First part of the subjects: PREFIX.ORGANIZATION_ID.EVENT_TYPE"),
    bucket: name("bucket", "keyshelf-positions", "The key-value bucket of positions; it is created if it is missing"),
    dedupeWindow: duration(
      "dedupe-window",
      "1h",
      "How long the stream that the bridge creates drops repeated events by their id",
    ),
    replicas: whole("replicas", 5, "On how many servers what the bridge creates is stored; default: 1").pipe(
      Flag.withDefault(1),
    ),
    takeoverAfter: duration(
      "takeover-after",
      "30s",
      "How long another bridge may be silent before this one takes over, if both have the same organization",
    ),
    healthPort: whole("health-port", 65_535, "Answer GET /health on this port").pipe(Flag.optional),
  },
  Effect.fn(function* (flags) {
    const open = yield* loadJetStream
    const login = yield* readLogin
    const served = yield* readOrganizations
    const reports = new Map<string, Report>()
    const report = (slug: string) => (state: BridgeState, published: number) =>
      Effect.sync(() => void reports.set(slug, { state, published }))
    for (const { organization } of served) yield* report(organization.slug)("starting", 0)
    if (Option.isSome(flags.healthPort)) yield* serveHealth(flags.healthPort.value, reports)

    const holder = randomUUID()
    // If one organization is rejected, the others continue. When none is left, the command ends with the first failure.
    const serveAll = (broker: Broker) =>
      Effect.forEach(
        served,
        ({ organization, target }) =>
          bridge({
            organization,
            holder,
            broker,
            takeoverAfter: flags.takeoverAfter,
            report: report(organization.slug),
          }).pipe(Effect.provide(Service.layer(target)), Effect.flip),
        { concurrency: "unbounded" },
      ).pipe(Effect.flatMap(([first]) => (first === undefined ? Effect.never : Effect.fail(first))))

    const connected = Effect.gen(function* () {
      const { broker, closed } = yield* open({ ...flags, login, servers: readServers() })
      yield* Effect.raceFirst(serveAll(broker), closed)
    }).pipe(Effect.scoped)
    yield* connected.pipe(
      Effect.tapError((error) => (error._tag === "BrokerFailed" ? logged(error) : Effect.void)),
      Effect.retry({ schedule: backOff, while: (error) => error._tag === "BrokerFailed" }),
    )
  }, Effect.scoped),
).pipe(
  Command.withDescription(
    "Forward the events of organizations to NATS JetStream until SIGTERM: in their order, at least once, with the event's id as the message's id. The service and tokens come from KEYSHELF_URL and KEYSHELF_TOKEN or KEYSHELF_TOKENS_FILE, NATS from NATS_URL and NATS_CREDENTIALS_FILE, NATS_TOKEN, or NATS_USER and NATS_PASSWORD. The position is stored in NATS after each acknowledgement, so the bridge needs no disk and can be killed.",
  ),
  Command.withShortDescription("Forward events to NATS JetStream"),
  Command.withExamples([
    {
      command: "keyshelf events bridge nats",
      description: "The organization of KEYSHELF_TOKEN, with NATS on this machine",
    },
    { command: "keyshelf events bridge nats --replicas 3 --health-port 9100", description: "In production" },
  ]),
  Command.provide(Logging.layer),
)

export const bridgeCommand = Command.make("bridge").pipe(
  Command.withDescription("Forward events to a message broker"),
  Command.withSubcommands([nats]),
)
