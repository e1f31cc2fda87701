"""A network of its own, where a name leads to a public address first and then to this machine: what becomes of webhooks.

Run in new namespaces (`unshare -rmn`): libc itself asks the name server, and 93.184.216.34 is an address of the loopback
interface.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import tempfile
import threading
from itertools import cycle

import headrace as hr
from headrace.effects.effect import Item
from tests.effects.receivers import HttpReceiver

OUTSIDE, INSIDE = "93.184.216.34", "127.0.0.1"


class NameServer:
    """Answers every question for an address with the next of these answers, good for no second."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked = 0
        self._answers = cycle(answers)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((INSIDE, 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(512)
            end = query.index(b"\0", 12) + 5
            (kind,) = struct.unpack(">H", query[end - 4 : end - 2])
            found: list[str] = []
            if kind == 1:
                self.asked += 1
                found = next(self._answers)
            head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
            records = (b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address) for address in found)
            self._socket.sendto(head + query[12:end] + b"".join(records), sender)


def main() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as resolver, tempfile.NamedTemporaryFile("w") as switch:
        resolver.write(f"nameserver {INSIDE}\n")
        resolver.flush()
        switch.write("hosts: files dns\n")
        switch.flush()
        for command in (
            "ip link set lo up",
            f"ip address add {OUTSIDE}/32 dev lo",
            f"mount --bind {resolver.name} /etc/resolv.conf",
            f"mount --bind {switch.name} /etc/nsswitch.conf",
        ):
            subprocess.run(command.split(), check=True)
        names = NameServer([OUTSIDE], [INSIDE], [INSIDE, OUTSIDE])
        outside = HttpReceiver(host=OUTSIDE)
        inside = HttpReceiver(host=INSIDE, port=outside.port)
        outcomes: list[str] = []
        for n in range(6):
            sender = hr.sinks.webhook(f"http://hooks.test:{outside.port}/").sender()
            outcomes.append(repr(sender.send(Item(str(n), "{}"))))
            sender.close()
        for status in (301, 302, 303, 307, 308):
            outside.answers.append((status, {"Location": inside.url}))
            sender = hr.sinks.webhook(f"http://{OUTSIDE}:{outside.port}/").sender()
            outcomes.append(repr(sender.send(Item(str(status), "{}"))))
            sender.close()
        print(json.dumps([outcomes, names.asked, inside.connections, [got.key for got in outside.log.entries]]))


if __name__ == "__main__":
    main()
