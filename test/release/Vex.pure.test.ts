import { assert, describe, it } from "@effect/vitest"
import { readText } from "../../release/Files.ts"
import { installedWithServer } from "../../release/Components.ts"

interface Statement {
  readonly vulnerability: { readonly name: string }
  readonly products: ReadonlyArray<{
    readonly "@id": string
    readonly subcomponents?: ReadonlyArray<{ readonly "@id": string }>
  }>
  readonly status: string
  readonly justification?: string
  readonly impact_statement?: string
  readonly action_statement?: string
}

const vex: { readonly statements: ReadonlyArray<Statement>; readonly [name: string]: unknown } = JSON.parse(
  readText("release/vex.json"),
)

/** Why a product is not affected, in the words of OpenVEX. */
const JUSTIFICATIONS = [
  "component_not_present",
  "vulnerable_code_not_present",
  "vulnerable_code_not_in_execute_path",
  "vulnerable_code_cannot_be_controlled_by_adversary",
  "inline_mitigations_already_exist",
]

describe("the answers to scanners", () => {
  it("are a document of OpenVEX 0.2.0", () => {
    assert.strictEqual(vex["@context"], "https://openvex.dev/ns/v0.2.0")
    for (const name of ["@id", "author"]) assert.isString(vex[name])
    assert.isFalse(Number.isNaN(Date.parse(String(vex["timestamp"]))))
    assert.isTrue(Number.isInteger(vex["version"]))
  })

  it("name each vulnerability once per product, with a status and its reason", () => {
    const answered = vex.statements.flatMap(({ products, vulnerability }) =>
      products.map((product) => `${vulnerability.name} ${product["@id"]}`),
    )
    assert.isNotEmpty(answered)
    assert.strictEqual(new Set(answered).size, answered.length)
    for (const statement of vex.statements) {
      assert.match(statement.vulnerability.name, /^(CVE-\d{4}-\d{4,}|GHSA(-[0-9a-z]{4}){3})$/)
      assert.include(["not_affected", "affected", "fixed", "under_investigation"], statement.status)
      if (statement.status === "affected") assert.isNotEmpty(statement.action_statement)
      if (statement.status !== "not_affected") continue
      assert.include(JUSTIFICATIONS, statement.justification)
      assert.match(statement.impact_statement ?? "", /^[A-Z].{30,}\.$/)
    }
  })

  it("are about packages that npm installs with Keyshelf, in the versions of the lock file", () => {
    const installed = installedWithServer().map(({ purl }) => purl)
    for (const { products, vulnerability } of vex.statements) {
      for (const product of products) assert.include(installed, product["@id"], vulnerability.name)
    }
  })
})
