/** The layer of people and memberships. */
import { Layer } from "effect"
import { Members } from "./Members.ts"
import { Memberships } from "./Memberships.ts"
import { PeopleRepo } from "./Repo.ts"
import { SignIn } from "./SignIn.ts"
import { Users } from "./Users.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(Members.layer, SignIn.layer, Users.layer).pipe(
  Layer.provideMerge(Memberships.layer),
  Layer.provideMerge(PeopleRepo.layer),
)
