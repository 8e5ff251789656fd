"""The real world: brokers and clients on sockets, driving the same brain as the simulator."""
