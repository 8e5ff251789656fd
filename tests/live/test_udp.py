"""Links over UDP: tables as exact as over TCP; events as the network has them."""

import asyncio

import regraft
from live.conftest import Live, overlay
from regraft.net.operating import exchange, look_at


def test_an_overlay_over_udp_routes_exchanges_and_comes_back(live: Live) -> None:
    async def test() -> None:
        async with (
            overlay("a-b b-c b-d", transport="udp") as brokers,
            regraft.connect(brokers.url("a"), "p") as publisher,
            regraft.connect(brokers.url("d"), "s") as subscriber,
        ):
            assert all(
                link.address.startswith("udp://")
                for status in (await look_at(brokers.addresses)).brokers.values()
                for link in status.links
            )
            subscription = await subscriber.subscribe("number >= 0").in_force()

            async def all_come(count: int) -> None:
                for number in range(count):
                    await publisher.publish({"number": number})
                    await asyncio.sleep(0.001)
                numbers = [(await anext(subscription)).attributes["number"] for _ in range(count)]
                assert numbers == list(range(count))

            await all_come(200)
            cost = await exchange(brokers.addresses, ("b", "d"), ("c", "d"), "coordinated", "fifo", 20.0)
            assert cost.outcome == "done"
            await all_come(200)
            await brokers.kill("c")
            await brokers.start("c")
            await brokers.whole(40.0)
            await subscription.in_force()
            await all_come(200)

    live(test())
