"""A collector of OpenTelemetry on loopback: takes OTLP over HTTP, and may be slow, silent or refuse."""

import gzip
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

WAIT_S = 120


class Collector:
    """What arrived: ``requests`` have headers and raw bytes, ``spans`` are protobuf with ``resource``."""

    def __init__(self):
        self.requests, self.spans, self.resources = [], [], []
        self.status, self.hold = 200, threading.Event()
        self.hold.set()
        self.asked = 0
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.asked += 1
                collector.hold.wait(WAIT_S)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(collector.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                if collector.status == 200:
                    collector.take(self.path, self.headers, body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, path, headers, body):
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        asked = ExportTraceServiceRequest.FromString(body)
        self.requests.append((path, dict(headers), body))
        for resource in asked.resource_spans:
            self.resources.append(resource.resource)
            for scope in resource.scope_spans:
                assert scope.scope.name == "quoteway"
                self.spans += scope.spans

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()

    def traces(self):
        """The spans by trace id."""
        found = defaultdict(list)
        for each in list(self.spans):
            found[each.trace_id.hex()].append(each)
        return found

    def until(self, condition):
        """Waits until a condition on this holds, and returns its value."""
        ends_at = time.monotonic() + WAIT_S
        while not (found := condition(self)):
            assert time.monotonic() < ends_at, [each.name for each in self.spans]
            time.sleep(0.02)
        return found

    def trace_of(self, name):
        """Waits for the root span of that name. Returns it with all spans of its trace."""

        def search(_):
            for spans in self.traces().values():
                for each in spans:
                    if each.name == name and not each.parent_span_id:
                        return each, spans
            return None

        return self.until(search)


def attributes(span):
    """The attributes of a span or resource as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def check_tree(root, spans):
    """Fails unless the spans are one tree below ``root``, each within its parent."""
    by_id = {each.span_id: each for each in spans}
    assert len(by_id) == len(spans), "ids are unique"
    for each in spans:
        assert len(each.trace_id) == 16
        assert len(each.span_id) == 8
        if each is root:
            continue
        parent = by_id[each.parent_span_id]
        assert parent.start_time_unix_nano <= each.start_time_unix_nano <= each.end_time_unix_nano
        assert each.start_time_unix_nano <= parent.end_time_unix_nano
    children = {each.span_id: each.parent_span_id for each in spans if each is not root}
    for identity in children:
        seen = set()
        while identity != root.span_id:
            assert identity not in seen
            seen.add(identity)
            identity = children[identity]
