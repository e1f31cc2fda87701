"""Which addresses a webhook may go to, and that it goes to no other."""

from __future__ import annotations

import ipaddress
import json
import random
import shutil
import subprocess
import sys

import pytest

from headrace.effects import addresses

# The IANA special-purpose address registries, IPv4 and IPv6, as of 2026: the blocks that are not globally reachable, those of
# tunnels and translators (whose answer depends on what they embed) left out.
NOT_GLOBAL = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128",
    "::/128",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001:2::/48",
    "2001:10::/28",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
]
# Not in those registries: multicast, what was deprecated and has not come back, and a service of Azure's on every host.
BESIDES = ["224.0.0.0/4", "192.88.99.0/24", "168.63.129.16/32", "ff00::/8", "fec0::/10", "::/96", "2001::/32", "2002::/16"]
GLOBAL = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2000::1",
    "2606:2800:220:1::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2a00:1450:4001::1",
    "2620:4f:8000::1",
    "3ffe::1",
    "3fff:1000::1",
]
EMBEDDINGS = {
    "mapped": lambda inner: ipaddress.IPv6Address(0xFFFF << 32 | inner),
    "NAT64": lambda inner: ipaddress.IPv6Address(0x64FF9B << 96 | inner),
}


@pytest.mark.parametrize("block", NOT_GLOBAL + BESIDES)
def test_what_the_registries_do_not_call_global_is_refused_from_its_first_to_its_last_address(block: str) -> None:
    network = ipaddress.ip_network(block)
    picked = [network[0], network[-1], *(network[random.Random(block).randrange(network.num_addresses)] for _ in range(200))]
    assert [str(address) for address in picked if addresses.public(address)] == []


@pytest.mark.parametrize("address", GLOBAL)
def test_what_is_global_is_not_refused(address: str) -> None:
    assert addresses.public(ipaddress.ip_address(address))


@pytest.mark.parametrize("form", EMBEDDINGS)
def test_an_address_within_an_address_counts_as_what_it_leads_to(form: str) -> None:
    inner = [ipaddress.ip_network(block)[0] for block in NOT_GLOBAL + BESIDES if "." in block]
    assert not [str(one) for one in inner if addresses.public(EMBEDDINGS[form](int(one)))]
    assert all(addresses.public(EMBEDDINGS[form](int(ipaddress.ip_address(one)))) for one in GLOBAL if "." in one)


def test_tunnels_are_refused_wherever_they_lead() -> None:
    for address in ("2002:7f00:1::", "2002:a00:1::1", "2002:5db8:d822::1", "2001:0:5db8:d822:0:0:f5ff:fffe"):
        assert not addresses.public(ipaddress.ip_address(address))


def test_a_name_that_is_bound_anew_and_a_redirect_lead_nowhere_else() -> None:
    alone = [shutil.which("unshare") or "unshare", "-rmn"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel gives no namespaces to this user")
    done = subprocess.run(
        [*alone, sys.executable, "-m", "tests.effects.rebinding"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes, asked, inside, outside = json.loads(done.stdout)
    refused = "hooks.test leads to a private address (127.0.0.1), and private=True is not set"
    for first, second, third in (outcomes[:3], outcomes[3:6]):
        assert first == third == "Sent()"
        assert second.startswith("Away(")
        assert refused in second
    assert all(outcome.startswith("Refused(") and "redirects are not followed" in outcome for outcome in outcomes[6:])
    assert len(outcomes) == 11
    # One question for each connection: what was checked is what is connected to.
    assert asked == 6
    assert inside == 0
    assert outside == ["0", "2", "3", "5", "301", "302", "303", "307", "308"]
