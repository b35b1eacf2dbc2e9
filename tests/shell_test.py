#!/usr/bin/python3
"""What shells and man get from the program: completion in bash, zsh and fish, and the manual page.

    tests/shell_test.py ampere=build/bin/ampere
"""

import os
import pathlib
import re
import subprocess

import support
from support import AmpereTest


class Completion(AmpereTest):
    def script(self, shell):
        path = self.folder / ("_ampere" if shell == "zsh" else f"ampere.{shell}")
        path.write_text(self.output_of("completion", shell), encoding="utf-8")
        return path

    def run_shell(self, *command, **env):
        path = os.pathsep.join([str(pathlib.Path(support.PROGRAMS["ampere"]).parent), os.environ["PATH"]])
        done = subprocess.run(command, env=self.environment(PATH=path, **env), cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=support.PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def verbs(self):
        return re.findall(r"^  (\w+) {2,}", self.output_of("--help").split("Subcommands:")[1], re.MULTILINE)

    def in_bash(self, *words):
        """What bash offers for the last word."""
        line = " ".join(words)
        program = f"""source {self.script('bash')}
          COMP_WORDS=({' '.join(f"'{w}'" for w in words)}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'
          _ampere; printf '%s\\n' "${{COMPREPLY[@]}}" """
        return self.run_shell("bash", "--norc", "-uc", program).split()

    def in_fish(self, line):
        offered = self.run_shell("fish", "--no-config", "-c", f"source {self.script('fish')}; complete -C '{line}'")
        return [row.split("\t")[0] for row in offered.splitlines()]

    def test_bash(self):
        self.assertLessEqual(set(self.verbs()), set(self.in_bash("ampere", "")))
        self.assertEqual(self.in_bash("ampere", "prof"), ["profile"])
        self.assertEqual(self.in_bash("ampere", "store", "li"), ["list"])
        self.assertEqual(self.in_bash("ampere", "profile", "--optimizer", "a"), ["adam"])
        self.assertEqual(self.in_bash("ampere", "estimate", "lenet5", "--batt"), ["--battery"])
        self.assertIn("resnet18", self.in_bash("ampere", "estimate", "resnet1"))
        self.assertEqual(self.in_bash("ampere", "completion", "z"), ["zsh"])
        (self.folder / "mine.json").write_text("{}", encoding="utf-8")
        self.assertEqual(self.in_bash("ampere", "estimate", "mine"), ["mine.json"])
        self.assertEqual(self.in_bash("ampere", "report", "--results", "mi"), ["mine.json"])

    def test_fish(self):
        self.assertLessEqual(set(self.verbs()), set(self.in_fish("ampere ")))
        self.assertEqual(self.in_fish("ampere prof"), ["profile"])
        self.assertIn("list", self.in_fish("ampere store "))
        self.assertEqual(set(self.in_fish("ampere profile --optimizer ")), {"sgd", "momentum", "adam", "captured"})
        self.assertIn("--batch", self.in_fish("ampere estimate --b"))
        self.assertIn("resnet18", self.in_fish("ampere estimate resn"))

    def test_zsh(self):
        script = self.script("zsh")
        self.run_shell("zsh", "-fn", str(script))
        # Loaded by the real completion system, every verb has its function, and _arguments takes its words.
        loaded = self.run_shell("zsh", "-fc", f"""fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -D -u
          print $_comps[ampere]; source {script}; print -l ${{(k)functions[(I)_ampere_*]}}""").split()
        self.assertEqual(loaded[0], "_ampere")
        self.assertLessEqual({f"_ampere_{verb}" for verb in self.verbs()}, set(loaded[1:]))


class Manual(AmpereTest):
    def test_every_verb_and_option(self):
        page = self.output_of("man").replace("\\-", "-")
        helps = {"": self.output_of("--help")}
        for verb in re.findall(r"^  (\w+) {2,}", helps[""].split("Subcommands:")[1], re.MULTILINE):
            helps[verb] = self.output_of(verb, "--help")
            self.assertIn(f"ampere {verb}", page)
        for verb, text in helps.items():
            for option in re.findall(r"(?:^  |,)(--[\w-]+)", text, re.MULTILINE):
                self.assertIn(option, page, verb)

    def test_no_line_is_read_as_a_request(self):
        requests = {line.split()[0] for line in self.output_of("man").splitlines() if line[:1] in (".", "'")}
        self.assertEqual(requests, {".TH", ".SH", ".SS", ".TP", ".PP"})


if __name__ == "__main__":
    support.main()
