import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { leafHash } from "../../src/domains/audit/rules/Tree.ts"
import { EventLog } from "../../src/domains/events/log/EventLog.ts"
import { EVENT_TEXT, eventText } from "../../src/domains/events/log/EventText.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import { arriving } from "../support/arriving.ts"
import { allowInventedEvents } from "../support/recorded.ts"
import { TestService } from "../support/TestService.ts"
import { openLog } from "./support.ts"

allowInventedEvents()

/** Texts that a column can hold: all but NUL and lone surrogates. */
const storable = (text: string) => text.toWellFormed().replaceAll("\u0000", "")

// All control characters, all that JSON escapes, and some that only some serializers escape.
const CHARACTERS = storable(
  `${Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)).join("")}\\"/\u2028\u2029\ud7ff\ue000\ufeff\uffff😀<>&'`,
)

const Event = Schema.Struct({
  type: Schema.String,
  actorId: Schema.String,
  actorName: Schema.String,
  credential: Schema.NullOr(Schema.Struct({ id: Schema.String, name: Schema.String, slug: Schema.String })),
  data: Schema.Record(Schema.String, Schema.String),
  previous: Schema.NullOr(Schema.Record(Schema.String, Schema.String)),
  // The years 1 to 9999.
  at: Schema.Int.check(Schema.isBetween({ minimum: -62_135_596_800_000, maximum: 253_402_300_799_999 })),
})

layer(TestService.layer, { excludeTestServices: true })("the text of an event in SQL", (it) => {
  const check = Effect.fnUntraced(function* (event: typeof Event.Type, micros = 0) {
    const { organizationId } = yield* openLogOnce
    const sql = yield* PgClient.PgClient
    const log = yield* EventLog
    const id = yield* newId
    const { actorId, actorName, at, credential, data, previous, type } = event
    const { id: credentialId = "", name = "", slug = "" } = credential ?? {}
    yield* arriving(
      sql,
      sql`
        INSERT INTO events (organization_id, id, type, occurred_at, actor, data, previous)
        SELECT ${organizationId}::uuid, ${id}::uuid, ${storable(type)},
          ${new Date(at).toISOString()}::timestamptz + ${micros}::int * interval '1 microsecond',
          jsonb_build_object('id', ${storable(actorId)}::text, 'name', ${storable(actorName)}::text)
            || CASE WHEN ${credential !== null}::boolean THEN jsonb_build_object('credential', jsonb_build_object(
              'id', ${storable(credentialId)}::text, 'name', ${storable(name)}::text, 'slug', ${storable(slug)}::text))
            ELSE '{}' END,
          ${JSON.stringify(data)}::text::json, ${previous === null ? null : JSON.stringify(previous)}::text::json`,
    )
    yield* log.place(organizationId)
    const position = Option.getOrThrow(yield* log.positionOf(organizationId, id))
    const [stored] = yield* log.readBetween(organizationId, position - 1, position)
    assert.isDefined(stored)
    const [row] = yield* sql<{ text: string; leaf: Uint8Array }>`
      SELECT (SELECT ${sql.literal(EVENT_TEXT)} FROM events WHERE organization_id = ${organizationId} AND id = ${id}) AS text, leaf
      FROM event_positions WHERE organization_id = ${organizationId} AND position = ${position}`
    assert.strictEqual(row?.text, eventText(stored))
    assert.deepStrictEqual(Buffer.from(row?.leaf ?? []), Buffer.from(leafHash(eventText(stored))))
  })

  const openLogOnce = Effect.runSync(Effect.cached(openLog))

  it.effect.prop("is the one of the service, byte by byte", [Event], ([event]) => check(event), {
    arbitrary: { runs: 200 },
  })

  it.effect("escapes each character as the service does, and cuts off parts of a millisecond", () =>
    Effect.gen(function* () {
      const at = Date.UTC(2026, 0, 31, 9, 0, 0, 7)
      const text = CHARACTERS
      const event = {
        type: text,
        actorId: text,
        actorName: text,
        credential: { id: text, name: text, slug: text },
        data: { [text]: text },
        previous: { [text]: text },
        at,
      }
      yield* check(event)
      for (const character of text) yield* check({ ...event, type: character, previous: null })
      for (const micros of [1, 499, 500, 999]) yield* check(event, micros)
    }),
  )
})
