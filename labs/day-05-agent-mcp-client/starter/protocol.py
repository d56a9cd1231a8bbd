"""The vocabulary of MCP revision 2026-07-28: what a message holds and how it can fail. No I/O.

Everything here is a fact of the specification or an exception. The camelCase names of the wire
stop in this file and in the dictionaries that are messages; the rest of the code is snake_case.
"""

import json
import reprlib
from typing import Any, TypeAlias

JSONObject: TypeAlias = dict[str, Any]  # the one place where `Any` is allowed: the edge to JSON

PROTOCOL_VERSION = "2026-07-28"
CLIENT_INFO = {"name": "day-05-client", "version": "0.1.0"}

# Error codes of the peer. A failure on our own side has no code: it must not look like an answer.
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNSUPPORTED_PROTOCOL_VERSION = -32022

_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def request_meta(version: str = PROTOCOL_VERSION) -> JSONObject:
    """What every request carries in `params._meta`; there is no handshake [basic/index, _meta]."""
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def encode(message: JSONObject) -> bytes:
    """One message as one line of ASCII, so no newline can hide inside [basic/transports/stdio].

    Raises: InvalidMessage for a value that JSON cannot hold (NaN, a set, a very deep list).
    """
    try:
        return _encoder.encode(message).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(f"this cannot be sent as JSON: {error}") from error


def decode(line: bytes) -> JSONObject | None:
    """The message on this line, or None: a banner, a blank, broken bytes, a log entry in JSON."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and message.keys() & {"jsonrpc", "id", "method"} else None


def complete_result(result: Any) -> JSONObject:
    """Let only a finished result pass; a missing `resultType` means finished [basic/index].

    Raises: InvalidMessage for `input_required` (we declare no capability for it) and unknown ones.
    """
    if not isinstance(result, dict):
        raise InvalidMessage(f"the result is not an object: {reprlib.repr(result)}")
    result_type = result.get("resultType", "complete")
    if result_type != "complete":
        raise InvalidMessage(f"this client cannot go on from a {reprlib.repr(result_type)} result")
    return result


class McpError(Exception):
    """The root: what goes wrong between this client and a server is one of the classes below."""


class RpcError(McpError):
    """Raised when the server answered a request with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} (error {code})")
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def from_wire(cls, error: Any) -> "RpcError":
        """Make one of an answer's `error`: `{"code": int, "message": str, "data": optional}`."""
        if not isinstance(error, dict):
            return cls(0, f"the server sent a malformed error: {reprlib.repr(error)}")
        return cls(error.get("code", 0), error.get("message", "no message"), error.get("data"))


class RequestTimeout(McpError):
    """Raised when no answer came within a request's deadline. The server may have done the work."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"no answer to {method} within {seconds:g} s")
        self.method = method
        self.seconds = seconds


class ServerDown(McpError):
    """Raised when the server could not be started, has exited, or has closed its pipes."""


class InvalidMessage(McpError):
    """Raised for JSON that may not stand there: ours before it leaves, theirs when it arrives."""
