"""Servers to which no request comes."""

import asyncio
import queue
import select
import socket
import socketserver
import threading
import time

from job import while_others_receive


async def _serve(job):
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        await asyncio.sleep(job.left())


def asyncio_servers(job):
    """Each rank is one."""
    job.begin()
    asyncio.run(_serve(job))


def uvloop_servers(job):
    import uvloop

    job.begin()
    uvloop.run(_serve(job))


def selecting_servers(job):
    """Each rank has a loop of its own."""
    job.begin()
    with socket.create_server(("127.0.0.1", 0)) as server:
        while job.goes_on():
            select.select([server], [], [], min(5, job.left()))


@while_others_receive
def asyncio_server(job):
    asyncio.run(_serve(job))


@while_others_receive
def uvloop_server(job):
    import uvloop

    uvloop.run(_serve(job))


@while_others_receive
def trio_server(job):
    import trio

    async def serve():
        with trio.move_on_after(job.left()):
            await trio.serve_tcp(lambda _stream: trio.lowlevel.checkpoint(), 0, host="127.0.0.1")

    trio.run(serve)


@while_others_receive
def zmq_server(job):
    import zmq

    with zmq.Context() as context, context.socket(zmq.REP) as replies:
        replies.bind_to_random_port("tcp://127.0.0.1")
        replies.setsockopt(zmq.RCVTIMEO, 2000)
        while job.goes_on():
            try:
                replies.recv()
            except zmq.Again:
                continue


@while_others_receive
def zmq_asyncio_server(job):
    """As a kernel of Jupyter has it."""
    import zmq
    import zmq.asyncio

    async def serve():
        with zmq.asyncio.Context() as context, context.socket(zmq.ROUTER) as requests:
            requests.bind_to_random_port("tcp://127.0.0.1")
            await requests.poll(job.left() * 1000)

    asyncio.run(serve())


@while_others_receive
def grpc_server(job):
    from concurrent import futures

    import grpc

    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_insecure_port("127.0.0.1:0")
    server.start()
    server.wait_for_termination(job.left())
    server.stop(0).wait()


@while_others_receive
def socket_server(job):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        threading.Timer(job.left(), server.shutdown).start()
        server.serve_forever()


@while_others_receive
def queue_server(job):
    """The main thread waits for what threads put into a queue; they wait for requests."""
    requests = queue.Queue()

    def accept(server):
        server.settimeout(job.left())
        try:
            requests.put(server.accept())
        except TimeoutError:
            requests.put(None)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threads = [threading.Thread(target=accept, args=[server]) for _ in range(2)]
        for thread in threads:
            thread.start()
        requests.get()
        for thread in threads:
            thread.join()


def idle(job):
    """All ranks sleep, as those of a job that was started for somebody to log in."""
    job.begin()
    while job.goes_on():
        time.sleep(min(5, job.left()))


def idle_in_one_call(job):
    job.begin()
    threading.Event().wait(job.left())
