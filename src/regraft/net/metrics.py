"""What Prometheus asks for: a broker's counters, over HTTP."""

import contextlib
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from regraft.errors import RegraftError
from regraft.net.host import Host
from regraft.net.settings import split_address


@contextlib.contextmanager
def metrics(address: str, host: Host) -> Iterator[None]:
    """Given from a thread of its own."""
    name, port = split_address(address)
    registry = CollectorRegistry()
    registry.register(_Figures(host))
    try:
        server, thread = start_http_server(port, name, registry)
    except OSError as error:
        raise RegraftError(f"{address}: cannot give metrics there: {error.strerror or error}") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Figures(Collector):
    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        host = self._host
        for name, count in sorted(host.all_counters().items()):
            yield CounterMetricFamily(f"regraft_{name}", name.replace("_", " "), count)
        yield GaugeMetricFamily("regraft_clients", "clients that are connected", len(host.guests.present))
        yield GaugeMetricFamily("regraft_links", "links that work", len(host.links.up))
