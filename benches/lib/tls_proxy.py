"""Terminates TLS in front of an HTTP server: tls_proxy.py CERTIFICATE KEY HOST:PORT

Prints its port on 127.0.0.1. Each connection has a thread, so no client waits for another one."""
import select
import socket
import ssl
import sys
import threading

SIZE = 65536


def splice(client, server):
    while True:
        ready = [client] if client.pending() else select.select([client, server], [], [])[0]
        for source in ready:
            data = source.recv(SIZE)
            if not data:
                return
            (server if source is client else client).sendall(data)


def serve(raw, context, target):
    try:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(raw, server_side=True) as client, socket.create_connection(target) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            splice(client, server)
    except OSError:
        pass  # a client that was killed


def main():
    certificate, key, target = sys.argv[1:]
    host, _, port = target.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        raw, _ = listener.accept()
        threading.Thread(target=serve, args=(raw, context, (host, int(port))), daemon=True).start()


if __name__ == "__main__":
    main()
