import { assert, describe, it } from "@effect/vitest"
import { comparePrecedence, parseVersion } from "../../src/offline/values/Versions.ts"

const parsed = (text: string) => {
  const version = parseVersion(text)
  if (version === undefined) throw new Error(text)
  return version
}

// Each comes before the next.
const ascending = [
  "0.0.0-0",
  "0.0.0",
  "0.9.99",
  "0.10.0",
  "1.0.0-1",
  "1.0.0-2",
  "1.0.0-10",
  "1.0.0-9007199254740993",
  "1.0.0-9007199254740994",
  "1.0.0-99999999999999999999",
  "1.0.0-100000000000000000000",
  "1.0.0--",
  "1.0.0-A",
  "1.0.0-alpha",
  "1.0.0-alpha.1",
  "1.0.0-alpha.1.0",
  "1.0.0-alpha.beta",
  "1.0.0-alpha0",
  "1.0.0-beta",
  "1.0.0-rc.20261127183000123456",
  "1.0.0-rc.20261127183000123457",
  "1.0.0-rc.20261127183000123457a",
  "1.0.0",
  "1.0.1-20261127183000123456789",
  "1.0.1",
  "1.0.9007199254740992",
  "1.0.9007199254740993",
  "1.9999999999999999999.0",
  "1.99999999999999999999.0",
  "2.0.0",
  "99999999999999999999.0.0",
  "100000000000000000000.0.0-x",
  `1${"0".repeat(200)}.0.0`,
]

describe("semantic versions", () => {
  it("have the order of their numbers, however long, then of their pre-releases", () => {
    for (const [index, one] of ascending.entries()) {
      for (const [position, other] of ascending.entries()) {
        const expected = Math.sign(index - position)
        assert.strictEqual(Math.sign(comparePrecedence(parsed(one), parsed(other))), expected, `${one} ${other}`)
      }
    }
  })

  it("are equal with different builds", () => {
    for (const text of ["1.0.0+1", "1.0.0+001.a-b", "1.0.0+20130313144700"]) {
      assert.strictEqual(comparePrecedence(parsed(text), parsed("1.0.0")), 0, text)
    }
    assert.strictEqual(comparePrecedence(parsed("1.0.0-a+b-c"), parsed("1.0.0-a")), 0)
  })

  it("are rejected in other forms", () => {
    for (const text of [
      "",
      "1",
      "1.2",
      "1.2.3.4",
      "v1.0.0",
      "=1.0.0",
      " 1.0.0",
      "1.0.0\n",
      "01.0.0",
      "1.00.0",
      "1.0.0-",
      "1.0.0-01",
      "1.0.0-a..b",
      "1.0.0-ä",
      "1.0.0+",
      "1.0.0+a..b",
      "1.0.0+a+b",
      "1.-1.0",
      "1e3.0.0",
      "\u0661.0.0",
      `1${"0".repeat(300)}.0.0`,
    ]) {
      assert.isUndefined(parseVersion(text), text)
    }
    assert.isUndefined(parseVersion(1))
  })
})
