"""Receivers of profiles for tests: HTTP servers on this machine that keep what they get, and answer as they are told.
What arrives is read by the published schemas (protos.py).
"""
import base64
import collections
import gzip
import http.server
import importlib
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import protos
from kit import free_port

ANSWER_TYPES = {"pyroscope": "application/proto", "ingest": None, "parca": "application/json",
                "otlp": "application/x-protobuf"}
PATHS = {"pyroscope": "/push.v1.PusherService/Push", "ingest": "/ingest", "parca": "/profiles/writeraw",
         "otlp": "/v1development/profiles"}
OTLP = "opentelemetry/proto/collector/profiles/v1development/profiles_service"

Request = collections.namedtuple("Request", "path query headers body time")
# What one request is answered with; closes: the connection, before an answer; wait: seconds before it.
Answer = collections.namedtuple("Answer", "status type body headers closes wait", defaults=(200, "", b"", {}, False, 0))


class Receiver:
    """At a port of 127.0.0.1; `with Receiver("otlp") as r: … r.url … r.requests`. answers: of the first requests; then
    the interface's success."""

    def __init__(self, interface, answers=(), certificate=None, port=None):
        self.interface, self.answers, self.requests = interface, list(answers), []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that does not trust it

        self.server = Server(("127.0.0.1", port or free_port()), Handler)
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.port = self.server.server_address[1]
        self.url = f"{interface}+{scheme}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        path, _, query = handler.path.partition("?")
        self.requests.append(Request(path, query, dict(handler.headers), body, time.monotonic()))
        nr = len(self.requests)
        with_type = Answer(type=ANSWER_TYPES[self.interface])
        a = self.answers[nr - 1] if nr <= len(self.answers) else with_type
        time.sleep(a.wait)
        if a.closes:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            handler.close_connection = True
            return
        handler.send_response(a.status)
        for name, value in {**a.headers, **({"Content-Type": a.type} if a.type else {})}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(a.body)))
        handler.end_headers()
        handler.wfile.write(a.body)


# A profile as it arrived. weights: {(event, unit): {stack of function names, the innermost first: weight}}; names of
# threads: {(event, unit): {comm: weight}}; labels of the profile; times in ns.
Profile = collections.namedtuple("Profile", "labels id start_ns duration_ns weights threads")


def load_otlp():
    """The module of the published definitions."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.relpath(os.path.join(at, name), protos.FOLDER)
                 for at, _, names in os.walk(f"{protos.FOLDER}/opentelemetry") for name in names if name.endswith(".proto")]
        subprocess.run(["protoc", f"--proto_path={protos.FOLDER}", f"--python_out={folder}", *files], check=True)
        sys.path.insert(0, folder)
        module = importlib.import_module(OTLP.replace("/", ".") + "_pb2")
        sys.path.remove(folder)
    return module


def check_known_otlp(data):
    done = subprocess.run(["protoc", f"--proto_path={protos.FOLDER}",
                           "--decode=opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest",
                           f"{OTLP}.proto"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
    unknown = re.findall(rb"^ *[0-9]+[: ].*", done.stdout, re.M)
    assert not unknown, (len(unknown), unknown[:5])


def read_pprof(messages, data, labels, identity=None):
    raw = gzip.decompress(data)
    protos.check_known("pprof", "Profile", raw)
    p = messages.Profile.FromString(raw)
    for table in (p.mapping, p.location, p.function):  # Parca refuses others
        assert [x.id for x in table] == list(range(1, len(table) + 1)), [x.id for x in table][:9]
    assert p.text[0] == "" and len(set(p.text)) == len(p.text)
    functions = {f.id: p.text[f.name] for f in p.function}
    names = {x.id: [functions[line.function] for line in x.line] for x in p.location}
    types = [(p.text[t.type], p.text[t.unit]) for t in p.sample_type]
    weights = {t: collections.Counter() for t in types[1::2]}
    threads = {t: collections.Counter() for t in types[1::2]}
    for s in p.sample:
        assert len(s.value) == len(types) and s.location
        kept = {p.text[x.key]: p.text[x.text] for x in s.label}
        assert set(kept) <= {"comm", "region"}, kept
        for t, v in zip(types[1::2], s.value[1::2]):
            if v:
                weights[t][tuple(n for i in s.location for n in names[i])] += v
                threads[t][kept.get("comm", "")] += v
    return Profile(labels, identity, p.time_nanos, p.duration_nanos, weights, threads)


def text_of(value):
    assert value.WhichOneof("value") == "string_value", value
    return value.string_value


def check_dictionary(d):
    """The first element of each table is empty, indices lead into the tables, and nothing is there twice."""
    for name in ("mapping_table", "location_table", "function_table", "attribute_table", "stack_table", "string_table"):
        table = getattr(d, name)
        assert table and not (table[0] if name == "string_table" else table[0].ByteSize()), name
        seen = [x if name == "string_table" else x.SerializeToString() for x in table]
        assert len(set(seen)) == len(seen), name
    assert d.link_table[0].trace_id == bytes(16) and d.link_table[0].span_id == bytes(8)
    for m in d.mapping_table[1:]:
        assert m.memory_start < m.memory_limit and d.string_table[m.filename_strindex]
    for x in d.location_table[1:]:
        m = d.mapping_table[x.mapping_index]
        assert not x.mapping_index or m.memory_start <= x.address < m.memory_limit, (hex(x.address), m)
        assert x.lines and all(0 < line.function_index < len(d.function_table) for line in x.lines)
        kinds = [text_of(d.attribute_table[i].value) for i in x.attribute_indices]
        assert kinds in (["kernel"], ["native"]), kinds
    for f in d.function_table[1:]:
        assert d.string_table[f.name_strindex]
    for s in d.stack_table[1:]:
        assert s.location_indices and all(0 < i < len(d.location_table) for i in s.location_indices)


def read_otlp(messages, data):
    check_known_otlp(data)
    r = messages.ExportProfilesServiceRequest.FromString(data)
    d = r.dictionary
    check_dictionary(d)
    (resource,) = r.resource_profiles
    (scope,) = resource.scope_profiles
    assert scope.scope.name == "cpuperf" and scope.scope.version
    labels = {x.key: text_of(x.value) for x in resource.resource.attributes}
    functions = [d.string_table[f.name_strindex] for f in d.function_table]
    names = [[functions[line.function_index] for line in x.lines] for x in d.location_table]
    weights, threads = {}, {}
    for p in scope.profiles:
        key = (d.string_table[p.sample_type.type_strindex], d.string_table[p.sample_type.unit_strindex])
        weights[key], threads[key] = collections.Counter(), collections.Counter()
        assert p.period_type == p.sample_type and p.period > 0 and len(p.profile_id) == 16
        for s in p.samples:
            assert len(s.values) == 1 and 0 < s.stack_index < len(d.stack_table)
            kept = {d.string_table[a.key_strindex]: text_of(a.value) for a in (d.attribute_table[i] for i in s.attribute_indices)}
            assert set(kept) <= {"thread.name", "cpuperf.region"}, kept
            weights[key][tuple(n for i in d.stack_table[s.stack_index].location_indices for n in names[i])] += s.values[0]
            threads[key][kept.get("thread.name", "")] += s.values[0]
    first = scope.profiles[0]
    return Profile(labels, first.profile_id, first.time_unix_nano, first.duration_nano, weights, threads)


class Reader:
    """Of the requests of an interface."""

    def __init__(self):
        self.push, self.pprof, self.otlp = protos.load("push"), protos.load("pprof"), load_otlp()
        self.parse_json = importlib.import_module("google.protobuf.json_format").Parse

    def read(self, interface, request):
        assert request.path == PATHS[interface], request.path
        return {"pyroscope": self.pyroscope, "ingest": self.ingest, "parca": self.parca,
                "otlp": self.read_otlp}[interface](request)

    def pyroscope(self, request):
        assert request.headers["Content-Type"] == "application/proto" and not request.query
        protos.check_known("push", "PushRequest", request.body)
        (series,) = self.push.PushRequest.FromString(request.body).series
        (sample,) = series.samples
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", sample.ID), sample.ID
        return read_pprof(self.pprof, sample.raw_profile, {x.name: x.value for x in series.labels}, sample.ID)

    def ingest(self, request):
        keys = dict(urllib.parse.parse_qsl(request.query, strict_parsing=True))
        assert keys["format"] == "pprof" and set(keys) == {"name", "from", "until", "format", "spyName"}, keys
        service, labels = re.fullmatch(r"([^{}]*)\{(.*)\}", keys["name"]).groups()
        p = read_pprof(self.pprof, request.body, {"service_name": service, **dict(x.split("=") for x in labels.split(","))})
        assert int(keys["from"]) * 10**9 <= p.start_ns and p.start_ns + p.duration_ns <= int(keys["until"]) * 10**9, keys
        return p

    def parca(self, request):
        assert request.headers["Content-Type"] == "application/json" and not request.query
        json.loads(request.body)
        (series,) = self.parse_json(request.body, self.push.WriteRawRequest()).series
        assert base64.b64encode(series.samples[0].raw_profile) in request.body
        return read_pprof(self.pprof, series.samples[0].raw_profile, {x.name: x.value for x in series.labels.labels})

    def read_otlp(self, request):
        assert request.headers["Content-Type"] == "application/x-protobuf" and not request.query
        assert request.headers["Content-Encoding"] == "gzip"
        return self.otlp_data(gzip.decompress(request.body))

    def otlp_data(self, data):
        return read_otlp(self.otlp, data)

    def rejection(self, nr, message):
        """An answer that rejects so many profiles."""
        answer = self.otlp.ExportProfilesServiceResponse()
        answer.partial_success.rejected_profiles = nr
        answer.partial_success.error_message = message
        return answer.SerializeToString()
