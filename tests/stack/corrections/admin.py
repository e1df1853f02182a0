"""The requests that order faults: GET, POST and DELETE of /_lockstack/faults. See README.md."""
import json

from ministack import app

from . import faults

PATH = "/_lockstack/faults"


def _serving_faults(serve):
    async def wrapper(scope, receive, send):
        if scope["type"] != "http" or scope["path"] != PATH:
            return await serve(scope, receive, send)
        text, more = b"", True
        while more:
            part = await receive()
            text, more = text + part.get("body", b""), part.get("more_body", False)
        code, answer = _answer(scope["method"], text)
        body = json.dumps(answer).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": body})
    return wrapper


def _answer(method, text):
    try:
        if method == "POST":
            faults.order(json.loads(text))
        elif method == "DELETE":
            faults.clear()
        elif method != "GET":
            return 405, {"message": "GET, POST or DELETE"}
        return 200, faults.status()
    except (faults.Refused, ValueError, TypeError, AttributeError) as problem:
        return 400, {"message": str(problem)}


def apply():
    app.app = _serving_faults(app.app)
