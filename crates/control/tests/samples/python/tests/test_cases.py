import unittest

from shapes import area, name


class Inherited:
    def test_inherited(self):
        self.assertEqual(area(self.side, self.side), 9)


class ShapeCase(Inherited, unittest.TestCase):
    side = 3

    def test_area(self):
        """The area of a rectangle."""
        self.assertEqual(area(2, 3), 6)

    def test_names(self):
        for sides in (3, 4):
            with self.subTest(sides=sides):
                self.assertNotEqual(name(sides), "shape")

    def test_expected_first(self):
        self.assertEqual("square", name(4))

    def test_returns(self):
        return self.assertEqual(area(1, 1), 1)

    def test_doc_only(self):
        """Nothing to do."""

    @unittest.skip("not yet")
    def test_skipped(self):
        self.fail()

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.assertEqual(area(1, 1), 2)

    def test_stays_green(self):
        self.assertTrue(area(1, 1))


if True:

    class NestedCase(unittest.TestCase):
        def test_area(self): self.assertEqual(area(2, 2), 4)
