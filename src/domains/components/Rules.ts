/** Validation of the images of a component. Pure. */
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import type { Image } from "./Model.ts"

/** Validation errors for repositories that occur earlier in the list: an image of a component is found by its repository. */
export const repeatedRepositoryErrors = (images: ReadonlyArray<Image>): ReadonlyArray<ValidationError> => {
  const repositories = images.map(({ repository }) => repository)
  return repositories.flatMap((repository, index) =>
    repositories.indexOf(repository) < index
      ? [
          {
            location: `body.images[${index}].repository`,
            message: "must not repeat the repository of an earlier image",
            value: repository,
          },
        ]
      : [],
  )
}
