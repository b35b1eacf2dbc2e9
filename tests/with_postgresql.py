"""Runs a command beside a PostgreSQL server: with_postgresql.py COMMAND [ARGUMENT...]. AMPERE_TEST_POSTGRESQL is its
address, AMPERE_TEST_POSTGRESQL_ADMIN that of another database there."""

import os
import subprocess
import sys

from postgresql_server import Server, is_installed

if not is_installed():
    print("PostgreSQL is not installed here; scripts/setup fleet installs it", file=sys.stderr)
    sys.exit(77)  # skipped
with Server() as server:
    names = {"AMPERE_TEST_POSTGRESQL": server.address(), "AMPERE_TEST_POSTGRESQL_ADMIN": server.address("postgres")}
    code = subprocess.run(sys.argv[1:], env={**os.environ, **names}).returncode
sys.exit(code)
