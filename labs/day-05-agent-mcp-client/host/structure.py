"""What a tool says only as data (`structuredContent`) is shown to the model, too.

A result may say its matter twice, in words and as data. The five files hand on the words, and the data where there
are none. But some servers put a summary into the words ("6 projects"), and which ones they are only into the data.
So the data is added where the words lack most of it. Where they hold it, in whatever form (as JSON, as a table, as
sentences), nothing is said twice: what is looked for are the single values.
"""

import json
from collections.abc import Iterator
from itertools import islice

from protocol import JSONObject

MOST_WORDS = 50_000  # characters; the loop cuts what stands behind so many
MOST_VALUES = 200  # looked for in the words; they tell enough of the rest

Value = str | int | float | bool


def with_data(result: JSONObject) -> JSONObject:
    """The result as it is, or with its data in one text more, where its words lack most of it."""
    content, data = result.get("content"), result.get("structuredContent")
    blocks = content if isinstance(content, list) else []
    words = words_of(blocks)
    has_room = 0 < len(words) < MOST_WORDS  # with no words, the loop shows the data by itself
    if data is None or not has_room or not lack(words, data):
        return result
    try:
        text = json.dumps(data, ensure_ascii=False)
    except RecursionError:  # nested too deep to be shown
        return result
    return {**result, "content": [*blocks, {"type": "text", "text": text}]}


def words_of(blocks: list[object]) -> str:
    texts = [block for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(str(block["text"]) for block in texts if block.get("text"))


def lack(words: str, data: object) -> bool:
    """Whether fewer than half of the data's values stand in the words."""
    found = [any(form in words for form in forms(value)) for value in islice(values(data), MOST_VALUES)]
    return 2 * sum(found) < len(found)


def values(data: object) -> Iterator[Value]:
    """All values in lists and objects, at any depth; null and the empty text are nothing that could be found."""
    rest = [data]
    while rest:
        item = rest.pop()
        if isinstance(item, dict | list):
            rest.extend(item.values() if isinstance(item, dict) else item)
        elif isinstance(item, str | int | float) and item != "":
            yield item


def forms(value: Value) -> set[str]:
    """How a value may stand in words: as it is, or as JSON writes it."""
    if not isinstance(value, str):
        return {json.dumps(value), str(value)}
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
