"""The vectors of the states of a local client."""

from __future__ import annotations

import unittest

from .local_states import differences
from .vectors import read


class Vectors(unittest.TestCase):
    def test_each_case(self) -> None:
        vectors = read("local-states")
        self.assertGreater(len(vectors["cases"]), 70)
        for case in vectors["cases"]:
            with self.subTest(case["id"]):
                self.assertEqual(differences(vectors, case), [])

    def test_another_expectation_fails(self) -> None:
        vectors = read("local-states")
        case = vectors["cases"][0]
        case["steps"][-1]["expected"]["state"] = "NONE"
        self.assertEqual(len(differences(vectors, case)), 1)


if __name__ == "__main__":
    unittest.main()
