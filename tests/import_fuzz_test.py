#!/usr/bin/python3
"""Runs the importer's libFuzzer target for a moment, from small graphs: no crash, no leak, no gigabytes.

usage: import_fuzz_test.py FUZZER [seconds]
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

GRAPHS = pathlib.Path(__file__).resolve().parent / "data" / "onnx"
LARGEST_SEED = 30000


def main():
    fuzzer, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "10"
    with tempfile.TemporaryDirectory(prefix="ampere-fuzz-") as folder:
        corpus = pathlib.Path(folder) / "corpus"
        corpus.mkdir()
        for graph in GRAPHS.glob("*.onnx"):
            if graph.stat().st_size <= LARGEST_SEED:
                shutil.copy(graph, corpus)
        done = subprocess.run([fuzzer, str(corpus), f"-max_total_time={seconds}", "-rss_limit_mb=1024", "-timeout=10",
                               "-max_len=40000", "-seed=1", f"-artifact_prefix={folder}/", "-print_final_stats=1"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                              timeout=300, check=False)
        print(done.stdout[-3000:])
        if done.returncode != 0:
            for artifact in pathlib.Path(folder).glob("*-*"):
                if artifact.is_file():
                    kept = pathlib.Path(tempfile.gettempdir()) / f"ampere-{artifact.name}"
                    shutil.copy(artifact, kept)
                    print(f"the input is kept in {kept}")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
