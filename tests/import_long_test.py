#!/usr/bin/python3
"""Trains every shipped graph for real, for a few iterations: ctest -L long.

tests/import_long_test.py ampere=PATH worker=PATH
"""
import support

GRAPHS = support.DATA / "onnx"


class TrainAllTest(support.AmpereTest):
    def test_every_graph_trains(self):
        trained = []
        for graph in sorted(GRAPHS.glob("*.onnx")):
            with self.subTest(graph=graph.name):
                # Two samples: a batch norm behind a global pool needs more than one value per channel.
                measured = self.json_of("measure", graph, "--batch", 2, "--restore-batchnorm", "--seconds", 0.1, "--windows", 2,
                                        "--target-error", 0.5, "--worker", support.real(), "--meter", "cpu-model",
                                        env={"AMPERE_WORKER_TIMEOUT": "200"})
                self.assertGreater(measured["energy_j"], 0)
                trained.append(graph.name)
                print(f"{graph.name}: {measured['time_s'] * 1e3:.1f} ms per iteration of batch 2", flush=True)
        self.assertEqual(len(trained), 43)


if __name__ == "__main__":
    support.main()
