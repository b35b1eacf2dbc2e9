"""Stores of older versions, and profiles on their way between stores."""

import json
import shutil
import sqlite3
import subprocess

import support
from support import DATA, QUICK, rows, scripted

STORES = DATA / "stores"


class OlderStores(support.AmpereTest):
    def test_estimates_from_a_store_of_version_1_are_what_they_were(self):
        told = json.loads((STORES / "v1_estimates.json").read_text())
        for row in told["estimates"]:
            with self.subTest(row["arguments"]):
                shutil.copy(STORES / row["store"], self.store)
                # They are in strict float32, which was the default then.
                now = self.json_of("estimate", *row["arguments"], "--precision", "fp32")["iteration"]
                for field in ("energy_j", "energy_low_j", "energy_high_j", "time_s"):
                    self.assertAlmostEqual(now[field] / row[field], 1, places=9, msg=field)

    def test_strict_float32_is_the_default_of_a_cpu_alone(self):
        shutil.copy(STORES / "v1_cpu.db", self.store)
        asked = ("estimate", "lenet5:c1=3,f1=60", "--batch", "10")
        self.assertEqual(self.json_of(*asked)["iteration"], self.json_of(*asked, "--precision", "fp32")["iteration"])
        shutil.copy(STORES / "v1_cuda.db", self.store)
        told = json.loads((STORES / "v1_estimates.json").read_text())
        row = next(row for row in told["estimates"] if row["store"] == "v1_cuda.db")
        self.assert_refused(self.run_ampere("estimate", *row["arguments"]), 6, r"add --precision fp32, or\nrun: ampere profile")

    def test_every_surface_of_version_1_is_known(self):
        for name in ("v1_cpu.db", "v1_cuda.db"):
            shutil.copy(STORES / name, self.store)
            before = rows(self.store, "SELECT device, recipe, surface, measurement FROM point ORDER BY id")
            page = self.folder / "page.html"
            done = self.json_of("report", "-o", page)
            self.assertGreater(done["surfaces"], 5)
            self.assertIn('"unknown_surfaces":[]', page.read_text().replace(" ", "").replace("\n", ""))
            self.assertEqual(rows(self.store, "SELECT device, recipe, surface, measurement FROM point ORDER BY id"), before)
            self.assertEqual(rows(self.store, "PRAGMA user_version"), [(3,)])
            self.assert_intact()

    def test_a_newer_store_is_left_as_it_is(self):
        shutil.copy(STORES / "v1_cpu.db", self.store)
        with sqlite3.connect(self.store) as db:
            db.execute("PRAGMA user_version = 4")
        content = self.store.read_bytes()
        self.assert_refused(self.run_ampere("store", "list"), 2, "newer version")
        self.assertEqual(self.store.read_bytes(), content)


class Damaged(support.AmpereTest):
    """One bad row does not make a store useless, and no output is written over one."""

    def damaged(self, name, *statements, opened=False):
        shutil.copy(STORES / name, self.store)
        if opened:  # of the present version
            self.output_of("store", "list")
        with sqlite3.connect(self.store) as db:
            for statement in statements:
                db.execute(statement)
        db.close()

    def test_odd_rows_of_version_1(self):
        for statement in (
                "UPDATE point SET variant = (SELECT variant FROM point WHERE surface = 'split/empty') WHERE id = 5",
                "UPDATE point SET surface = cast(x'77686f6c652fff40623130' AS text) WHERE id = 5",
                "UPDATE point SET device = 'nonesuch' WHERE id = 5",
                "UPDATE point SET surface = x'00ff00' WHERE id = 5",
                "UPDATE point SET variant = '{' WHERE id = 5",
                "DROP INDEX point_by_surface"):
            with self.subTest(statement):
                self.damaged("v1_cpu.db", statement)
                self.output_of("store", "list")
                self.json_of("estimate", "transformer", "--batch", "4")
        self.damaged("v1_cpu.db", "PRAGMA user_version = -1")
        self.assert_refused(self.run_ampere("store", "list"), 2, "damaged")

    def test_odd_rows_of_the_present_version(self):
        page = self.folder / "page.html"
        for statement in (
                "DELETE FROM surface WHERE name = 'split/hidden/linear-relu@b10'",
                "UPDATE surface SET details = '{}' WHERE name LIKE 'split/%'",
                "UPDATE surface SET purpose = 'fun', details = '['",
                """UPDATE surface SET details = replace(details, '"batch":10', '"batch":4611686018427387904')""",
                "UPDATE surface SET details = json_set(details, '$.subtracted', json_array(name, name)) "
                "WHERE name LIKE 'paper/%<%'"):
            with self.subTest(statement):
                self.damaged("v1_cpu.db", statement, opened=True)
                self.json_of("estimate", "lenet5", "--batch", "10")
                self.output_of("report", "-o", page)
        self.damaged("v1_cpu.db", "UPDATE point SET channels_in = -9223372036854775808 WHERE id = 20", opened=True)
        self.assertIn("point 20", self.run_ampere("store", "check").stdout)
        self.output_of("store", "check", "--remove")
        self.output_of("report", "-o", page)

    def test_what_is_brought_here_does_not_change_what_is_known_here(self):
        shutil.copy(STORES / "v1_cpu.db", self.store)
        page = self.folder / "friend.json"
        self.output_of("store", "export", "-o", page)
        told = json.loads(page.read_text())
        told["devices"][0]["fingerprint"]["name"] = "another"
        for surface in told["devices"][0]["surfaces"]:
            surface["details"] = {}
        page.write_text(json.dumps(told))
        before = rows(self.store, "SELECT name, details FROM surface ORDER BY name")
        self.output_of("store", "import", page)
        self.assertEqual(rows(self.store, "SELECT name, details FROM surface ORDER BY name"), before)

    def test_no_output_is_written_over_a_store(self):
        shutil.copy(STORES / "v1_cpu.db", self.store)
        content = self.store.read_bytes()
        for arguments in (["store", "export", "--store", "other.db"], ["report"], ["convert", "lenet5"]):
            shutil.copy(self.store, self.folder / "other.db")
            self.assert_refused(self.run_ampere(*arguments, "-o", self.store), 2, "a store of measurements")
        self.assertEqual(self.store.read_bytes()[100:200], content[100:200])

    def test_a_full_disk_behind_a_pipe_is_told(self):
        shutil.copy(STORES / "v1_cpu.db", self.store)
        with open("/dev/full", "w") as full:
            done = subprocess.run(self.command("store", "export"), env=self.environment(), stdout=full,
                                  stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(done.returncode, 1, done.stderr)


class Exchange(support.AmpereTest):
    def profile(self, store, model="lenet5"):
        self.output_of("profile", model, "--batch", "4", *QUICK, "--worker", scripted(), "--store", store)

    def test_profiles_travel_as_json_and_keep_where_they_came_from(self):
        self.profile(self.store)
        page = self.folder / "me.json"
        self.output_of("store", "export", "-o", page)
        told = json.loads(page.read_text())
        self.assertEqual(told["ampere_profiles"], 1)
        other = self.folder / "other.db"
        first = self.json_of("store", "import", page, "--store", other)
        count = len(rows(self.store))
        self.assertEqual((first["points_added"], first["points_known"], first["devices_added"]), (count, 0, 1))
        again = self.json_of("store", "import", page, "--store", other)
        self.assertEqual((again["points_added"], again["points_known"], again["devices_added"]), (0, count, 0))
        for (origin,) in rows(other, "SELECT origin FROM point"):
            self.assertRegex(origin, r"me\.json, exported 20\d\d-.*Z by ampere \d")
        here = self.json_of("estimate", "lenet5:c1=3", "--batch", "4")
        there = self.json_of("estimate", "lenet5:c1=3", "--batch", "4", "--store", other)
        self.assertEqual(here["iteration"], there["iteration"])
        self.assert_intact(other)

    def test_stores_are_merged(self):
        other = self.folder / "other.db"
        self.profile(self.store, "lenet5")
        self.profile(other, "cnn5")
        done = self.json_of("store", "merge", other)
        self.assertGreater(done["points_added"], 10)
        self.json_of("estimate", "cnn5", "--batch", "4")
        self.assertIn(("merged",), {(o.split()[0],) for (o,) in rows(self.store, "SELECT origin FROM point") if o})
        self.assert_refused(self.run_ampere("store", "merge", self.store), 2, "the store itself")
        self.assert_refused(self.run_ampere("store", "merge", self.folder / "no.db"), 2, "no such store")

    def test_what_was_brought_here_does_not_take_the_place_of_our_own_device(self):
        self.profile(self.store)
        page = self.folder / "friend.json"
        self.output_of("store", "export", "-o", page)
        told = json.loads(page.read_text())
        told["devices"][0]["fingerprint"]["name"] = "a friend's device"
        page.write_text(json.dumps(told))
        self.assertEqual(self.json_of("store", "import", page)["devices_added"], 1)
        self.assertEqual(self.json_of("estimate", "lenet5", "--batch", "4")["device"]["name"], "imaginary device")
        friend = next(d for d in self.json_of("store", "list")["devices"] if "friend" in d["fingerprint"]["name"])
        asked = self.json_of("estimate", "lenet5", "--batch", "4", "--device", friend["id"])
        self.assertEqual(asked["device"]["name"], "a friend's device")

    def test_a_store_that_is_not_there_is_no_empty_one(self):
        missing = self.folder / "none.db"
        for arguments in (["check"], ["export"], ["merge", missing]):
            self.assert_refused(self.run_ampere("store", *arguments, "--store", missing), 2, "no such store")
        self.assertFalse(missing.exists())
        self.assert_refused(self.run_ampere("store", "list", "--store", self.folder), 2, "a folder")

    def test_an_export_may_be_larger_than_other_files(self):
        """A card's profile is: 70 MB."""
        self.profile(self.store)
        page = self.folder / "me.json"
        self.output_of("store", "export", "-o", page)
        page.write_text(page.read_text() + " " * (80 << 20))
        told = self.json_of("store", "import", page, "--store", self.folder / "other.db")
        self.assertGreater(told["points_added"], 0)
        with page.open("r+b") as out:
            out.truncate(300 << 20)
        self.assert_refused(self.run_ampere("store", "import", page, "--store", self.folder / "other.db"), 2, "256 MiB")

    def test_a_bad_file_changes_nothing(self):
        self.profile(self.store)
        page = self.folder / "me.json"
        self.output_of("store", "export", "-o", page)
        told = json.loads(page.read_text())
        kept = rows(self.store)
        surface = told["devices"][0]["surfaces"][-1]

        def with_change(change):
            copy = json.loads(page.read_text())
            change(copy)
            bad = self.folder / "bad.json"
            bad.write_text(json.dumps(copy))
            return self.run_ampere("store", "import", bad)

        last = lambda c: c["devices"][0]["surfaces"][-1]
        self.assertTrue(surface["points"])
        for change, pattern in [
                (lambda c: c.update(ampere_profiles=2), "update ampere"),
                (lambda c: c.pop("devices"), "devices"),
                (lambda c: c["devices"][0]["fingerprint"].update(name=7), "name"),
                (lambda c: last(c).update(purpose="fun"), "purpose"),
                (lambda c: last(c)["points"][0]["measurement"].update(time_s=-1), "device 1, .*, point 1: .*time_s"),
                (lambda c: last(c)["points"][0]["channels"].update({"in": -4}), "no layer has -4 channels"),
                (lambda c: last(c)["details"].update(kind={"ops": []}), "inputs|ops"),
        ]:
            self.assert_refused(with_change(change), 2, "bad.json", pattern)
        self.assertEqual(rows(self.store), kept)
        (self.folder / "empty.json").write_text("")
        self.assert_refused(self.run_ampere("store", "import", self.folder / "empty.json"), 2, "empty.json")


if __name__ == "__main__":
    support.main()
