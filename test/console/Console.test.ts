import { layer } from "@effect/vitest"
import * as Budgets from "./suites/Budgets.ts"
import * as Edits from "./suites/Edits.ts"
import * as Forms from "./suites/Forms.ts"
import * as Catalogue from "./suites/Catalogue.ts"
import * as Delivery from "./suites/Delivery.ts"
import * as Limits from "./suites/Limits.ts"
import * as Matrix from "./suites/Matrix.ts"
import * as Moments from "./suites/Moments.ts"
import * as Operator from "./suites/Operator.ts"
import * as Questions from "./suites/Questions.ts"
import * as Screens from "./suites/Screens.ts"
import * as SignIn from "./suites/SignIn.ts"
import * as States from "./suites/States.ts"
import * as Writing from "./suites/Writing.ts"
import { World } from "./World.ts"
import { whyNoBrowser } from "../support/Browser.ts"

// One service and one browser for all: to start both takes as long as all tests. Without a browser, neither is started.
if (whyNoBrowser === undefined) {
  layer(World.layer, { excludeTestServices: true, timeout: "90 seconds" })("the console", (it) => {
    SignIn.suite(it)
    Screens.suite(it)
    Operator.suite(it)
    Matrix.suite(it)
    Limits.suite(it)
    States.suite(it)
    Questions.suite(it)
    Writing.suite(it)
    Forms.suite(it)
    Edits.suite(it)
    Moments.suite(it)
    Catalogue.suite(it)
    Delivery.suite(it)
  })
}

Budgets.suite(whyNoBrowser)
