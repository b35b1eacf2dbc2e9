#!/usr/bin/python3
"""--price and --carbon: what energy costs, wherever it is told.

    tests/price_test.py ampere=build/bin/ampere
"""

import json

import support
from support import AmpereTest, DATA, QUICK, scripted

JOB = ["lenet5", "--batch", "10", "--samples", "60000", "--epochs", "10"]
RATES = ["--price", "0.30EUR/kWh", "--carbon", "FR"]


class TariffTest(AmpereTest):
    def setUp(self):
        super().setUp()
        self.output_of("profile", "lenet5", "--batch", "10", "-q", *QUICK, env={"AMPERE_WORKER": scripted()})

    def test_an_estimate_is_priced(self):
        told = self.json_of("estimate", *JOB, *RATES)
        self.assertEqual(told["tariff"], {"price_per_kwh": 0.3, "currency": "EUR", "carbon_g_per_kwh": 56,
                                          "carbon_source": "France, 2023"})
        for scope in ("iteration", "epoch", "job"):
            figures = told[scope]
            for end in ("", "_low", "_high"):
                kwh = figures[f"energy{end}_j"] / 3.6e6
                self.assertAlmostEqual(figures[f"energy{end}_kwh"], kwh, delta=1e-9 * kwh)
                self.assertAlmostEqual(figures[f"cost{end}"], 0.3 * kwh, delta=1e-9 * kwh)
                self.assertAlmostEqual(figures[f"carbon{end}_g"], 56 * kwh, delta=1e-7 * kwh)
        text = self.output_of("estimate", *JOB, *RATES)
        self.assertRegex(text, r"the job: \S+ kWh, \S+ EUR \(\S+ EUR to \S+ EUR\), \S+ k?g CO2e")
        self.assertIn("56 g CO2e per kWh (France, 2023)", " ".join(text.split()))

    def test_without_rates_nothing_changes(self):
        told = self.json_of("estimate", *JOB)
        self.assertNotIn("tariff", told)
        self.assertNotIn("cost", told["job"])
        self.assertNotIn("EUR", self.output_of("estimate", *JOB))

    def test_a_table_of_batches_has_prices(self):
        text = self.output_of("estimate", "lenet5", "--batch", "10,20", "--samples", "60000", *RATES)
        self.assertIn("cost", text)
        self.assertEqual(text.count("EUR"), 3, text)

    def test_a_schedule_is_priced(self):
        told = self.json_of("schedule", DATA / "jobs.json", "--price", "$0.20/kWh", "--carbon", "400g/kWh")
        total = sum(job["energy_j"] for job in told["jobs"])
        self.assertAlmostEqual(told["energy_j"], total, delta=1e-9 * total)
        self.assertAlmostEqual(told["cost"], 0.2 * total / 3.6e6, delta=1e-9)
        self.assertAlmostEqual(sum(job["cost"] for job in told["jobs"]), told["cost"], delta=1e-9)
        self.assertLessEqual(told["carbon_low_g"], told["carbon_g"])
        self.assertIn("all of them: ", self.output_of("schedule", DATA / "jobs.json", "--price", "0.2/kWh"))

    def test_a_report_is_priced(self):
        self.output_of("report", "lenet5", "--batch", "10", "-o", "page.html", *RATES, "-q")
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        data = json.loads(page.split('id="data"', 1)[1].split(">", 1)[1].split("</script>")[0])
        bill, energy = data["estimates"][0]["bill"], data["estimates"][0]["energy_j"]
        self.assertAlmostEqual(bill["cost"][0], 0.3 * energy[0] * 1e6 / 3.6e6, delta=1e-2 * bill["cost"][0])
        self.assertEqual((bill["currency"], bill["carbon_source"]), ("EUR", "France, 2023"))

    def test_mistakes_are_told(self):
        for verb in (["estimate", *JOB], ["schedule", DATA / "jobs.json"], ["report"]):
            self.assert_refused(self.run_ampere(*verb, "--price", "0.30"), 2, r'--price: "0.30" cannot be read; write what a kWh costs')
            self.assert_refused(self.run_ampere(*verb, "--carbon", "XX"), 2, r'--carbon: there is no country "XX".*380g/kWh')


if __name__ == "__main__":
    support.main()
