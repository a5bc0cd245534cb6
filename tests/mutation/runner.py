"""Run the collected tests once as they are, and then once for every mutant."""

from __future__ import annotations

import importlib
import itertools
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict

import coverage

from . import swap
from .operators import mutated
from .suites import SECONDS

#: Bytes that a mutant may take: one that asks for the memory of the whole machine gets an error.
MEMORY = 6 << 30
#: Seconds of tests that a mutant which nothing notices is given, the most telling tests first.
BUDGET = 8.0
#: Tests that may fail without a mutant, and are then left out and named.
MOST_FAILING = 5
#: Examples of a property that are tried.
EXAMPLES = 15
#: Status of a process in which a test failed, no test failed, and the machinery failed.
FAILED, PASSED, MACHINERY = 10, 11, 12


class Runner:
    """A plugin of pytest that takes the place of its loop over the tests."""

    def __init__(self, paths, drawn, workers):
        self.paths, self.drawn, self.workers = paths, drawn, workers
        # Read once: somebody may edit the files while the mutants run.
        self.sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
        self.results, self.finished = [], False
        self.kills, self.tries = Counter(), Counter()

    def pytest_runtestloop(self, session):
        """Measure, then run the mutants."""
        if session.testsfailed:
            raise SystemExit("the tests cannot be collected")
        self.items = session.items
        for item in self.items:
            _fewer_examples(getattr(item, "obj", None))
        for name in self.paths:
            importlib.import_module(name)
        self.seconds, self.lines = self._measured()
        self.finished = True
        begun = time.monotonic()
        for mutant, status in self._all():
            self.results.append((mutant, status))
            if status == "survived":
                print(f"survived: {mutant}", flush=True)
            if len(self.results) % 50 == 0:
                lost = sum(status == "survived" for _, status in self.results)
                rate = (time.monotonic() - begun) / len(self.results)
                done = len(self.results)
                print(f"{done} done, {lost} survived, {rate:.2f} s for each", flush=True)
        return True

    def _measured(self):
        """Seconds of every test, and the lines of the core that it runs; in a process of its own,
        since threads and caches that tests leave behind must not reach the mutants."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "found")
            _, status = os.waitpid(_fork(lambda: self._measure(file)), 0)
            if os.waitstatus_to_exitcode(status) != PASSED:
                raise SystemExit("too many tests fail without a mutant")
            with open(file, "rb") as opened:
                seconds, lines = pickle.load(opened)
        quick = [k for k in lines if seconds[k] <= SECONDS]
        taken = sum(seconds[k] for k in quick)
        print(
            f"{len(self.items)} tests, {len(quick)} of them concern the core and take no longer "
            f"than {SECONDS} s: {taken:.0f} s in all",
            flush=True,
        )
        return seconds, {k: lines[k] for k in quick}

    def _measure(self, file):
        seconds, failing = {}, set()
        files = {str(path): name for name, path in self.paths.items()}
        tracer = coverage.Coverage(
            data_file=None, include=list(files), branch=False, config_file=False
        )
        tracer.start()
        for k, item in enumerate(self.items):
            tracer.switch_context(str(k))
            begun = time.process_time()
            passed = _passes(item)
            seconds[k] = time.process_time() - begun
            if not passed:
                print(f"left out, since it fails without a mutant: {item.nodeid}", flush=True)
                failing.add(k)
        tracer.stop()
        if len(failing) > MOST_FAILING:
            return FAILED
        lines = defaultdict(lambda: defaultdict(set))
        for path, name in files.items():
            for line, tests in tracer.get_data().contexts_by_lineno(path).items():
                for test in set(filter(None, tests)) - set(map(str, failing)):
                    lines[int(test)][name].add(line)
        with open(file, "wb") as opened:
            pickle.dump((seconds, {k: dict(found) for k, found in lines.items()}), opened)
        return PASSED

    def _order(self, mutant):
        """Tests that run the changed statement, those first that tell most in least time."""
        chosen = []
        for k, lines in self.lines.items():
            ran = lines.get(mutant.module, ())
            wanted = range(mutant.line, mutant.end + 1) if mutant.inside else ran
            if any(line in ran for line in wanted):
                chosen.append(k)
        telling = {k: (self.kills[k] + 1) / (self.tries[k] + 2) for k in chosen}
        chosen.sort(key=lambda k: (self.seconds[k] + 0.01) / telling[k])
        spent = itertools.accumulate(self.seconds[k] for k in chosen)
        return [k for k, passed in zip(chosen, spent, strict=True) if passed <= BUDGET]

    def _all(self):
        waiting, running = list(reversed(self.drawn)), {}
        while waiting or running:
            while waiting and len(running) < self.workers:
                mutant = waiting.pop()
                order = self._order(mutant)
                reader, writer = os.pipe()
                pid = _fork(lambda m=mutant, o=order, w=writer: self._try(m, o, w))
                os.close(writer)
                running[pid] = (mutant, order, reader)
            pid, status = os.waitpid(-1, 0)
            mutant, order, reader = running.pop(pid)
            with os.fdopen(reader, "rb") as opened:
                told = opened.read()
            yield mutant, self._judged(os.waitstatus_to_exitcode(status), told, order, mutant)

    def _judged(self, status, told, order, mutant):
        if status == PASSED:
            self.tries.update(order)
            return "survived"
        if status == FAILED:
            last = int(told) if told else -1
            self.tries.update(order[: last + 1])
            if last >= 0:
                self.kills[order[last]] += 1
            return "killed"
        if status == -signal.SIGPROF:
            return "ran out of time"
        if status == MACHINERY:
            raise SystemExit(f"the mutant could not be run: {mutant}")
        return "crashed"

    def _try(self, mutant, order, writer):
        """The process of one mutant."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        path = self.paths[mutant.module]
        tree = mutated(self.sources[mutant.module], mutant.number)
        try:
            swap.apply(mutant.module, path, tree, mutant.inside)
        except Exception:
            return FAILED
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for place, k in enumerate(order):
            # Seconds of the processor, so that a busy machine kills nobody.
            signal.setitimer(signal.ITIMER_PROF, 8 + 10 * self.seconds[k])
            if not _passes(self.items[k]):
                os.write(writer, str(place).encode())
                return FAILED
        return PASSED


def _fewer_examples(test):
    """A mutant that matters is noticed by few examples; they are the same for all mutants."""
    from hypothesis import settings  # pytest wants to import it itself

    test = getattr(test, "__func__", test)
    held = getattr(test, "_hypothesis_internal_use_settings", None)
    if held is not None and held.max_examples > EXAMPLES:
        test._hypothesis_internal_use_settings = settings(held, max_examples=EXAMPLES)


def _passes(item):
    from _pytest.runner import runtestprotocol

    item.session.testsfailed = 0
    reports = runtestprotocol(item, log=False, nextitem=None)
    return not any(report.failed for report in reports)


def _fork(work):
    """Process that does the work and leaves with the status that it returns."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = MACHINERY
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
