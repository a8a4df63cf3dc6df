#!/usr/bin/env python3
"""Writes captures of aioquic's connections, with key logs, as record.go does with quic-go.

    pip install aioquic==1.7.2 curl_cffi==0.17.0 && ./record.py FOLDER

chacha   ChaCha20-Poly1305
aes256   AES-256-GCM
py0rtt   the second connection begins with 0-RTT packets, whose key is in the log
pyupdate the client updates its keys, again and again
pyh3     HTTP/3, with entries in QPACK's dynamic table
curl     HTTP/3 of curl (ngtcp2, nghttp3, BoringSSL), over sockets: two downloads and an upload
"""
import datetime
import io
import socket
import struct
import sys
import threading

from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from aioquic.tls import CipherSuite
from curl_cffi import CurlHttpVersion, requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT, SERVER = ("192.0.2.1", 50001), ("192.0.2.2", 443)


class Wire:
    """Two endpoints in memory, with a capture of all datagrams between them."""

    def __init__(self, folder, name):
        self.base, self.frames, self.now, self.log, self.tickets = f"{folder}/q-{name}", [], 1.7e9, io.StringIO(), {}
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "quic.example")])
        day = datetime.timedelta(days=1)
        today = datetime.datetime.now(datetime.timezone.utc)
        self.certificate = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
                            .serial_number(1).not_valid_before(today - day).not_valid_after(today + day).sign(key, hashes.SHA256()))
        self.key, self.ticket = key, None

    def connect(self, suites=None, alpn=("sealane-test",), port=50001):
        def config(client):
            c = QuicConfiguration(is_client=client, alpn_protocols=list(alpn), secrets_log_file=self.log, server_name="quic.example")
            if suites:
                c.cipher_suites = suites
            return c

        mine, other = config(True), config(False)
        mine.verify_mode = 0
        mine.session_ticket = self.ticket
        other.certificate, other.private_key = self.certificate, self.key
        self.address = ("192.0.2.1", port)

        def keep(ticket):
            self.ticket = ticket

        self.client = QuicConnection(configuration=mine, session_ticket_handler=keep)
        self.client.connect(SERVER, now=self.now)
        self.server = None
        self.other = other
        return self

    def run(self, handle=None):
        """Makes both sides send all their data."""
        for _ in range(400):
            quiet = True
            for c, peer, source, destination in ((self.client, 1, self.address, SERVER), (self.server, 0, SERVER, self.address)):
                if c is None:
                    continue
                for data, _ in c.datagrams_to_send(now=self.now):
                    quiet = False
                    self.now += 1e-4
                    self.frames.append((self.now, source, destination, data))
                    if peer and self.server is None:
                        destination_id = data[6:6 + data[5]]
                        self.server = QuicConnection(
                            configuration=self.other, original_destination_connection_id=destination_id,
                            session_ticket_fetcher=self.tickets.get, session_ticket_handler=lambda t: self.tickets.update({t.ticket: t}))
                    (self.server if peer else self.client).receive_datagram(data, source, now=self.now)
                if handle:
                    event = c.next_event()
                    while event:
                        handle(c, event)
                        event = c.next_event()
            if quiet:
                return
            self.now += 0.001

    def close(self):
        self.client.close()
        self.run()
        self.now += 2

    def write(self):
        with open(self.base + ".pcap", "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1))
            for now, source, destination, data in self.frames:
                udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(data), 0) + data
                ip = bytearray(struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0,
                                           *map(int, source[0].split(".")), *map(int, destination[0].split("."))))
                total = sum(struct.unpack(">10H", ip))
                total = (total >> 16) + (total & 0xFFFF)
                struct.pack_into(">H", ip, 10, ~(total + (total >> 16)) & 0xFFFF)
                link = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1] if source != SERVER else [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2])
                frame = link + b"\x08\x00" + bytes(ip) + udp
                f.write(struct.pack("<IIII", int(now), int(now % 1 * 1e9), len(frame), len(frame)) + frame)
        with open(self.base + ".keys", "w") as f:
            f.write(self.log.getvalue())
        print(self.base, len(self.frames), "datagrams")


class Echo:
    """Answers as record.go does: each bidirectional stream in upper case, and a stream of the server's own."""

    def __init__(self):
        self.said, self.greeted = {}, False

    def __call__(self, c, event):
        if not isinstance(event, StreamDataReceived) or c._is_client or event.stream_id % 4:
            return
        self.said[event.stream_id] = self.said.get(event.stream_id, b"") + event.data
        if event.end_stream:
            c.send_stream_data(event.stream_id, b"you said: " + self.said[event.stream_id].upper(), True)
            if not self.greeted:
                self.greeted = True
                c.send_stream_data(c.get_next_available_stream_id(is_unidirectional=True), b"server " * 800, True)


def ask(w, size):
    stream = w.client.get_next_available_stream_id()
    w.client.send_stream_data(stream, (b"stream %d of this connection. " % stream) * (size // 28), True)


def plain(folder, name, suites=None, updates=0):
    w, echo = Wire(folder, name).connect(suites), Echo()
    ask(w, 5000)
    ask(w, 3000)
    w.run(echo)
    for _ in range(updates):
        w.client.request_key_update()
        ask(w, 3000)
        w.run(echo)
    w.close()
    w.write()


def early(folder):
    w, echo = Wire(folder, "py0rtt").connect(), Echo()
    ask(w, 300)
    w.run(echo)
    w.close()
    w.connect(port=50002)
    echo = Echo()
    ask(w, 3000)
    ask(w, 300)
    w.run(echo)
    w.close()
    w.write()


def pages(w, ends):
    """Answers requests as an HTTP/3 server."""
    def handle(c, event):
        if c not in ends:
            ends[c] = H3Connection(c)
        for e in ends[c].handle_event(event):
            if isinstance(e, HeadersReceived) and c is w.server:
                path = dict(e.headers)[b":path"]
                ends[c].send_headers(e.stream_id, [(b":status", b"200"), (b"server", b"aioquic of the tests"), (b"x-path", path)])
                ends[c].send_data(e.stream_id, b"you asked for " + path + b". " + b"body " * 500, True)
    return handle


def curl(folder):
    w = Wire(folder, "curl").connect(alpn=H3_ALPN)
    handle = pages(w, {})
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(0.02)
    address = "https://127.0.0.1:%d" % server.getsockname()[1]

    def ask():
        with requests.Session(http_version=CurlHttpVersion.V3ONLY, verify=False) as s:
            for n in range(2):
                assert b"body" in s.get(address + "/page/%d" % n).content
            assert s.post(address + "/upload", data=b"curl says this. " * 600).status_code == 200

    client = threading.Thread(target=ask)
    client.start()
    quiet = 0
    while client.is_alive() or quiet < 5:
        try:
            data, peer = server.recvfrom(2048)
        except TimeoutError:
            data, quiet = b"", quiet + 1
        w.now += 0.001
        if data:
            w.frames.append((w.now, CLIENT, SERVER, data))
            if w.server is None:
                w.server = QuicConnection(configuration=w.other, original_destination_connection_id=data[6:6 + data[5]])
            w.server.receive_datagram(data, CLIENT, now=w.now)
        if w.server is None:
            continue
        event = w.server.next_event()
        while event:
            handle(w.server, event)
            event = w.server.next_event()
        for data, _ in w.server.datagrams_to_send(now=w.now):
            w.now += 1e-4
            w.frames.append((w.now, SERVER, CLIENT, data))
            server.sendto(data, peer)
    client.join()
    w.write()


def http(folder):
    w = Wire(folder, "pyh3").connect(alpn=H3_ALPN)
    ends = {}
    handle = pages(w, ends)
    w.run()
    ends[w.client] = H3Connection(w.client)
    ends[w.server] = H3Connection(w.server)
    w.run(handle)
    for n in range(6):
        stream = w.client.get_next_available_stream_id()
        ends[w.client].send_headers(stream, [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"quic.example"),
                                             (b":path", b"/page/%d" % (n % 3)), (b"user-agent", b"a client with a long name")], True)
        if n % 2:
            w.run(handle)
    w.run(handle)
    w.close()
    w.write()


if __name__ == "__main__":
    to = sys.argv[1]
    plain(to, "chacha", [CipherSuite.CHACHA20_POLY1305_SHA256])
    plain(to, "aes256", [CipherSuite.AES_256_GCM_SHA384])
    plain(to, "pyupdate", updates=5)
    early(to)
    http(to)
    curl(to)
