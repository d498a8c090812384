"""Threads, forks, Ctrl-C, the end of the interpreter, and memory that is given back."""

import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import hivegraph as hg


def python(code, timeout=60, **options):
    """What a program ends with."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)


def test_threads_share_a_graph():
    graph = hg.load("rmat:10")
    alone = [hg.bfs(graph, source).level.tolist() for source in range(8)]
    found = [None] * 8

    def search(source):
        for _ in range(5):
            found[source] = hg.bfs(graph, source).level.tolist()

    threads = [threading.Thread(target=search, args=(source,)) for source in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == alone


def test_other_threads_run_meanwhile():
    graph, ticks, done = hg.load("rmat:14"), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    hg.bc(graph, sources="first:64", devices="host:1")
    spent = time.monotonic() - begin
    done.set()
    thread.join()
    assert len(ticks) > 100 * spent


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_is_told():
    told = python(
        """
        import os, hivegraph as hg
        graph = hg.load("rmat:6")
        hg.cc(graph)
        if os.fork() == 0:
            try:
                hg.cc(graph)
            except RuntimeError as error:
                os._exit(7 if "spawn" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        """
    )
    assert told.stdout.strip() == "7", told
    # Who has not used it yet may fork.
    told = python(
        """
        import os, hivegraph as hg
        if os.fork() == 0:
            os._exit(0 if hg.cc(hg.load("rmat:6")).component.size == 64 else 1)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        """
    )
    assert told.stdout.strip() == "0", told


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_ctrl_c_ends_the_wait():
    code = """
        import hivegraph as hg, os, signal, threading, time
        # Who starts tests in the background may have it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        graph = hg.load("rmat:15")
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            hg.bc(graph, sources="all", devices="host:1")
            print("never")
        except KeyboardInterrupt:
            print(time.monotonic() - begin < 1.5)
        os._exit(0)
    """
    told = python(code)
    assert told.stdout.strip() == "True", told


def test_the_interpreter_ends_in_mid_run():
    begin = """
        import hivegraph as hg, threading, time
        graph = hg.load("rmat:15")
        run = lambda: hg.bc(graph, sources="all", devices="host:1")
        threading.Thread(target=run, daemon=True).start()
        time.sleep(0.3)
    """
    for end in ("", "raise SystemExit(3)"):
        told = python(textwrap.dedent(begin) + end)
        assert told.returncode in (0, 3) and "panic" not in told.stderr and "Fatal" not in told.stderr, told


def test_a_failed_fleet_is_opened_anew():
    graph = hg.load("rmat:8")
    text = '{"devices": "host:2", "fault": "1:0:panic", "merge": "dense"}'
    with pytest.raises(hg.FaultError, match="replica 1"):
        graph._core.run("bfs", text)
    assert hg.bfs(graph, devices="host:2", merge="dense", verify=True).verified == "yes"


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc")
def test_graphs_are_given_back():
    rng = np.random.default_rng(5)
    sources, targets = rng.integers(0, 1000, (2, 8_000))
    weights = rng.random(8_000)

    def one():
        graph = hg.Graph.from_arcs(sources, targets, weights)
        hg.sssp(graph, 0, devices="host:2")
        hg.bfs(graph, 0, devices="host:1")
        return hg.graph(graph.to_scipy())

    for _ in range(50):
        one()
    gc.collect()
    before = memory()
    for _ in range(1000):
        one()
    gc.collect()
    # A graph is some 400 KB with its layouts.
    assert memory() - before < 40e6


def test_importing_is_quick():
    code = """
        import time
        import numpy
        begin = time.perf_counter()
        import hivegraph
        print(time.perf_counter() - begin)
    """
    assert min(float(python(code).stdout) for _ in range(3)) < 0.15


def test_signals_of_others_are_left_alone():
    handler = signal.getsignal(signal.SIGINT)
    hg.cc(hg.load("rmat:5"))
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_long_call_says_what_it_is_at():
    code = """
        import hivegraph as hg, os, signal, sys, threading
        sys.stderr.isatty = lambda: True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        graph = hg.load("rmat:15")
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            hg.bc(graph, sources="all", devices="host:1")
        except KeyboardInterrupt:
            sys.stderr.flush()
            os._exit(0)
    """
    told = python(code)
    assert "hivegraph: bc runs, 1 s" in told.stderr and told.stderr.endswith("\033[K"), told
    quiet = python(code.replace("sys.stderr.isatty = lambda: True", "pass"))
    assert quiet.stderr == "", quiet
