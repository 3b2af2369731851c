"""The buffer of reports: what was taken is counted once, whatever happens between."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tempfile
import threading
import unittest

import keyshelf
from keyshelf.journal import Journal

from .server import Reply, Request, Server


class Counting:
    """A service that counts each event once, and loses some of its responses."""

    def __init__(self, lost: int = 0, poison: str = "") -> None:
        self.counted: list[str] = []
        self._lost = lost
        self._poison = poison
        self._lock = threading.Lock()

    def __call__(self, request: Request, number: int) -> Reply:
        events = json.loads(request.body)
        if self._poison and self._poison in request.body:
            return Reply(422, '{"code":"Request.ValidationFailed","detail":"body[0]"}')
        results = []
        with self._lock:
            for event in events:
                key = event["source"] + " " + event["id"]
                results.append({"id": event["id"], "status": "duplicate" if key in self.counted else "accepted"})
                if key not in self.counted:
                    self.counted.append(key)
        is_lost = self._lost > 0 and number % self._lost == self._lost - 1
        return Reply(None) if is_lost else Reply(200, json.dumps({"results": results}))


def report_and_die(path: str, pipe) -> None:
    """Reports until the process is killed, and says what was taken."""
    buffer = keyshelf.Client("http://127.0.0.1:1", "ksh_0").usage_buffer(path)
    while True:
        pipe.send(buffer.report("globex-prod", "api-calls"))


def stored_ids(path: str) -> list[str]:
    journal = Journal(path, None)
    journal.close()
    return [json.loads(line)["id"] for line in journal.lines]


class Buffers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "usage.jsonl")

    def buffer(self, server: Server | None = None, path: str | None = None, **options) -> keyshelf.UsageBuffer:
        url = "http://127.0.0.1:1" if server is None else server.url
        opened = keyshelf.Client(url, "ksh_0", retries=0).usage_buffer(path, **options)
        self.addCleanup(opened.close)
        return opened

    def test_events_survive_a_restart_and_leave_by_their_results(self) -> None:
        first = self.buffer(path=self.path)
        ids = [first.report("globex-prod", "api-calls", n) for n in range(3)]
        with self.assertRaises(keyshelf.FlushFailed) as failed:
            first.flush()
        self.assertTrue(failed.exception.is_away)
        source = first.source
        first.close()
        counting = Counting()
        with Server(counting) as server:
            second = self.buffer(server, self.path)
            self.assertEqual((len(second), second.source), (3, source))
            self.assertEqual(second.flush().accepted, 3)
            second.close()
            self.assertEqual(len(self.buffer(server, self.path)), 0)
        self.assertEqual(counting.counted, [f"{source} {id}" for id in ids])

    def test_what_was_taken_is_there_after_a_kill(self) -> None:
        ours, theirs = multiprocessing.Pipe(False)
        context = multiprocessing.get_context("fork")
        process = context.Process(target=report_and_die, args=(self.path, theirs))
        process.start()
        theirs.close()
        taken = [ours.recv() for _ in range(20)]
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        try:
            while ours.poll():
                taken.append(ours.recv())
        except EOFError:
            pass
        stored = stored_ids(self.path)
        self.assertEqual(stored[: len(taken)], taken)

    def test_a_line_that_was_cut_off_is_left_out_and_others_stay(self) -> None:
        buffer = self.buffer(path=self.path)
        first = buffer.report("globex-prod", "api-calls", id="first")
        buffer.close()
        with open(self.path, "ab") as file:
            file.write(b'{"specversion":"1.0","id":"cut')
        again = self.buffer(path=self.path)
        again.report("globex-prod", "api-calls", id="second")
        again.close()
        stored = stored_ids(self.path)
        self.assertEqual(stored, [first, "second"])

    def test_one_process_uses_a_file_and_no_other_file_is_overwritten(self) -> None:
        buffer = self.buffer(path=self.path)
        with self.assertRaises(keyshelf.BufferLocked):
            self.buffer(path=self.path)
        buffer.close()
        for content in (b"hello", b"hello\n", b'{"format":"x"}\n', b"[]\n"):
            with open(self.path, "wb") as file:
                file.write(content)
            with self.assertRaises(ValueError):
                self.buffer(path=self.path)
            with open(self.path, "rb") as file:
                self.assertEqual(file.read(), content)

    def test_a_full_buffer_takes_no_report(self) -> None:
        buffer = self.buffer(capacity=2)
        buffer.report("globex-prod", "api-calls")
        buffer.report("globex-prod", "api-calls")
        with self.assertRaises(keyshelf.BufferFull):
            buffer.report("globex-prod", "api-calls")
        self.assertEqual(len(buffer), 2)

    def test_lost_responses_count_nothing_twice_and_lose_nothing(self) -> None:
        counting = Counting(lost=3)
        with Server(counting) as server:
            buffer = self.buffer(server, self.path)
            ids = set()

            def report() -> None:
                for _ in range(200):
                    ids.add(buffer.report("globex-prod", "api-calls"))

            threads = [threading.Thread(target=report) for _ in range(3)]
            for thread in threads:
                thread.start()
            accepted = duplicates = 0
            while any(thread.is_alive() for thread in threads) or len(buffer) > 0:
                try:
                    result = buffer.flush()
                except keyshelf.FlushFailed as failed:
                    result = failed.result
                accepted, duplicates = accepted + result.accepted, duplicates + result.duplicates
        self.assertEqual(sorted(counting.counted), sorted(f"{buffer.source} {id}" for id in ids))
        self.assertEqual(accepted + duplicates, 600)

    def test_large_buffers_are_sent_in_batches(self) -> None:
        counting = Counting()
        with Server(counting) as server:
            buffer = self.buffer(server)
            for _ in range(1_001):
                buffer.report("globex-prod", "api-calls")
            for _ in range(1_500):
                buffer.report("x" * 255, "y" * 255, unique_key="z" * 255)
            self.assertEqual(buffer.flush().accepted, 2_501)
            sizes = [len(json.loads(request.body)) for request in server.requests]
            self.assertEqual(sizes[0], 1_000)
            self.assertLess(max(len(request.body) for request in server.requests), 1 << 20)

    def test_one_event_that_the_service_cannot_read_blocks_no_other(self) -> None:
        counting = Counting(poison="poison")
        with Server(counting) as server:
            buffer = self.buffer(server, self.path)
            for id in ("a", "b", "poison", "c", "d"):
                buffer.report("globex-prod", "api-calls", id=id)
            result = buffer.flush()
            self.assertEqual([one.event["id"] for one in result.rejected], ["poison"])
            self.assertEqual(result.rejected[0].code, "Request.ValidationFailed")
            self.assertEqual((result.accepted, len(buffer)), (4, 0))

    def test_the_background_gives_word_of_each_failure_and_goes_on(self) -> None:
        page = Reply(413, "<html>", {"content-type": "text/html"})
        counting = Counting()
        with Server(lambda request, number: page if number == 0 else counting(request, number)) as server:
            buffer = self.buffer(server)
            outcomes: list[keyshelf.FlushResult | keyshelf.FlushFailed] = []
            flushed = threading.Event()

            def on_flush(outcome: keyshelf.FlushResult | keyshelf.FlushFailed) -> None:
                outcomes.append(outcome)
                if len(outcomes) == 3:
                    flushed.set()

            remove = buffer._journal.remove
            full = [OSError("The disk is full")]
            buffer._journal.remove = lambda places: (_ for _ in ()).throw(full.pop()) if full else remove(places)
            buffer.report("globex-prod", "api-calls")
            buffer.start(0.01, on_flush)
            self.assertTrue(flushed.wait(10))
            buffer.stop()
        failed, full_disk, done = outcomes[:3]
        assert isinstance(failed, keyshelf.FlushFailed) and isinstance(full_disk, keyshelf.FlushFailed)
        self.assertEqual((failed.is_away, full_disk.is_away), (True, False))
        assert isinstance(done, keyshelf.FlushResult)
        self.assertEqual((done.duplicates, len(buffer)), (1, 0))

    def test_the_background_flushes_until_it_is_stopped(self) -> None:
        counting = Counting()
        with Server(counting) as server:
            buffer = self.buffer(server)
            flushed = threading.Event()
            buffer.report("globex-prod", "api-calls")
            buffer.start(0.01, lambda outcome: flushed.set())
            self.assertTrue(flushed.wait(10))
            buffer.stop()
            self.assertEqual((len(buffer), len(counting.counted)), (0, 1))


if __name__ == "__main__":
    unittest.main()
