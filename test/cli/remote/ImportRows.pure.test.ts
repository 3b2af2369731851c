import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readRows } from "../../../src/cli/remote/import/ImportRows.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"

const rowsOf = Effect.fnUntraced(function* (text: string, name = "rows.csv") {
  const file = join(yield* temporaryDirectory, name)
  writeFileSync(file, text)
  return yield* Stream.runCollect(readRows(file, name.endsWith("csv") ? "csv" : "ndjson"))
}, Effect.scoped)

const propertiesOf = (text: string, name?: string) =>
  Effect.map(rowsOf(text, name), (rows) => Array.from(rows, ({ properties }) => properties))

describe("the rows of an import", () => {
  it.effect("are refused if two columns mean the same, or a row has other cells than the header", () =>
    Effect.gen(function* () {
      for (const [text, expected] of [
        ["name,name,externalCustomerId\nFirst,Second,dup-1\n", 'the header has the column "name" twice'],
        ["name, NAME \na,b\n", 'the header has the columns "name" and "NAME"'],
        ['"name",name\na,b\n', "twice"],
        ["metadata,metadata.region\n{},eu\n", 'the columns "metadata" and "metadata.region" set the same property'],
        ["metadata.region,metadata.Region\na,b", 'the columns "metadata.region" and "metadata.Region"'],
        ["name,slug;domain\na,b;c\n", "the header has commas and semicolons"],
        ["name,slug\na\n", "row 1 has 1 cells, and the header 2"],
        ["name,slug\na,b\na,b,c\n", "row 2 has 3 cells, and the header 2"],
      ] as const) {
        assert.include((yield* Effect.flip(rowsOf(text))).message, expected, text)
      }
    }),
  )

  it.effect("are separated as the header or its line `sep=` says", () =>
    Effect.gen(function* () {
      for (const text of [
        "name,slug\nA;1,b\n",
        "name;slug\nA;b\n",
        "name\tslug\nA\tb\n",
        'sep=;\r\n"name";slug\r\n"A";b\r\n',
        '"sep=\t"\nname\tslug\nA\tb\n',
        "\n\nname;slug\n;;\nA;b",
        "name;;slug\nA;;b\n",
      ]) {
        const [row] = yield* propertiesOf(text.replace(";;\n", ";\n"))
        assert.deepStrictEqual(row, { name: text.includes("A;1") ? "A;1" : "A", slug: "b" }, text)
      }
      assert.deepStrictEqual(yield* propertiesOf('name;slug\n"A;1";b\n'), [{ name: "A;1", slug: "b" }])
      assert.deepStrictEqual(yield* propertiesOf("name\tslug\tdomain\n\tx\t\n"), [{ slug: "x" }])
      for (const text of ["", "\n", "name,slug\n", "name", "sep=;\n", "sep=;\nname;slug\n"]) {
        assert.deepStrictEqual(yield* propertiesOf(text), [], text)
      }
    }),
  )

  it.effect("have the truth values, dates and numbers of spreadsheets, unless they are ambiguous", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* propertiesOf("value,startsAt,startLicenseDate\nTRUE,2026-01-01,2026-01-01\nFalse,,2026-02-31\n"),
        [
          { value: true, startsAt: "2026-01-01T00:00:00.000Z", startLicenseDate: "2026-01-01T00:00:00.000Z" },
          // The service refuses a day that does not exist.
          { value: false, startLicenseDate: "2026-02-31" },
        ],
      )
      assert.deepStrictEqual(yield* propertiesOf('{"endsAt": "2026-01-01", "name": "2026-01-01"}\n', "rows.ndjson"), [
        { endsAt: "2026-01-01T00:00:00.000Z", name: "2026-01-01" },
      ])
      const rows = yield* rowsOf("value;reason;\n1,5;a;\n1.500;b;\n1.50;c;\n1.000,5;d;\n7;e;x\n")
      assert.deepStrictEqual(
        Array.from(rows, ({ problems }) => problems.length),
        [1, 1, 0, 1, 1],
      )
    }),
  )
})
