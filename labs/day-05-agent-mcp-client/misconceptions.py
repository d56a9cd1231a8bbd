"""What a red check says: one entry per misconception, in English and in Simplified Chinese.

The judges name the entry that fits what they saw; when none fits they name none, and the report shows the
evidence without guessing. Each entry also says which checks it turns red when nothing else is wrong (its
pattern: where a check saw a symptom only, labkit.diagnose looks there for the cause), and which page of the
specification to read. `{words}` stand for values of the run. proof/ holds a wrong program for each.
"""

from labkit.lab import Misconception, Text

ALL = (1, 2, 3, 4, 5, 6, 7, 8, 9)

MESSAGES = "basic/index"
STDIO = "basic/transports/stdio"
VERSIONING = "basic/versioning"
CANCELLATION = "basic/patterns/cancellation"
DISCOVER = "server/discover"
PAGINATION = "server/utilities/pagination"
TOOLS = "server/tools"

ON_LINE = ("stdio_client.py", "_on_line")
TAKE_WAITER = ("stdio_client.py", "_take_waiter")
CLIENT_INIT = ("stdio_client.py", "__init__")
READ_STDOUT = ("stdio_client.py", "_read_stdout")
READ_STDERR = ("stdio_client.py", "_read_stderr")
SERVE = ("stdio_client.py", "_serve")
REQUEST = ("stdio_client.py", "request")
SEND = ("stdio_client.py", "_send")
CLOSE = ("stdio_client.py", "close")
ENCODE = ("protocol.py", "encode")
META = ("protocol.py", "request_meta")
DISCOVER_PLACE = ("discover_and_translate.py", "discover")
READ_PAGE = ("discover_and_translate.py", "read_page")
REFRESH = ("registry.py", "refresh")
REBUILD = ("registry.py", "_rebuild")
MODEL_TOOLS = ("registry.py", "model_tools")
CALL = ("registry.py", "call")
TO_MODEL_TOOL = ("discover_and_translate.py", "to_model_tool")
RUN_CALL = ("agent_loop.py", "run_call")
TOOL_MESSAGE = ("agent_loop.py", "tool_message")

MISCONCEPTIONS: dict[str, Misconception] = {
    # Any check: what no server understands
    "meta_missing": Misconception(
        ALL,
        MESSAGES,
        Text(
            "A request went out without `{key}` in `params._meta`. There is no handshake in this revision: each request"
            " carries the version and the capabilities itself, and a server refuses one that lacks them.",
            "有一个请求的 `params._meta` 里没有 `{key}`。这一版协议没有握手：版本和能力由每个请求自己带上，缺了就会被服务端拒绝。",
        ),
        REQUEST,
    ),
    "meta_lost_with_params": Misconception(
        (1, 2, 3, 5, 7, 8, 9),
        MESSAGES,
        Text(
            "Requests without parameters of their own carried `_meta`, those with some did not: `{key}` is"
            " missing there. Each request needs it: put `_meta` beside what is already in `params`, not in its"
            " place.",
            "自己没有参数的请求带了 `_meta`，有参数的却没有：那里缺了 `{key}`。每个请求都要带：应当把 `_meta` 加到 `params` 已有的内容旁边，而不是二选一。",
        ),
        REQUEST,
    ),
    "wrong_version": Misconception(
        ALL,
        VERSIONING,
        Text(
            "The requests carry the version {version}, and the server does not speak it: it answers -32022 and lists in"
            " `data.supported` what it does speak.",
            "请求里写的版本是 {version}，服务端不支持：它回了 -32022，并在 `data.supported` 里列出它支持的版本。",
        ),
        META,
    ),
    "handshake_sent": Misconception(
        (1, 4, 5, 6, 7, 8, 9),
        VERSIONING,
        Text(
            "The first thing sent was `initialize`. That was the handshake of earlier revisions; a server of this one"
            " refuses it. Ask `server/discover`, or nothing at all: every request stands for itself.",
            "你先发了 `initialize`。那是旧版协议的握手，这一版的服务端会拒绝。要么问 `server/discover`，要么什么都不问：每个请求都是独立的。",
        ),
        DISCOVER_PLACE,
    ),
    "request_without_id": Misconception(
        ALL,
        MESSAGES,
        Text(
            "A request went out without an `id`. A message without one is a notification, and nobody answers a"
            " notification: the caller can only wait for its deadline.",
            "有一个请求没有 `id`。没有 `id` 的消息是通知，而通知不会有人回答：调用者只能等到时限。",
        ),
        REQUEST,
    ),
    "not_one_line": Misconception(
        ALL,
        STDIO,
        Text(
            "The server could not read what you sent. On stdio one message is one line: no newline inside it, and one"
            " newline after it, or the server goes on waiting for the rest.",
            "服务端读不懂你发的内容。在 stdio 上，一条消息就是一行：中间不能有换行，末尾要有一个换行，否则服务端会一直等下去。",
        ),
        ENCODE,
    ),
    "request_refused": Misconception(
        ALL,
        MESSAGES,
        Text(
            "A server refused a request and said why: “{error}”. Compare the request below with the specification.",
            "服务端拒绝了一个请求，并说明了原因：“{error}”。请拿下面的请求和规范对照。",
        ),
        REQUEST,
    ),
    "arguments_not_an_object": Misconception(
        (5, 7, 8, 9),
        TOOLS,
        Text(
            "The `arguments` of `tools/call` must be a JSON object. What arrived at the server was something else, such as"
            " a text that holds JSON.",
            "`tools/call` 的 `arguments` 必须是 JSON 对象。服务端收到的却是别的东西，比如一段内容是 JSON 的文字。",
        ),
        CALL,
    ),
    "deadline_too_early": Misconception(
        ALL,
        CANCELLATION,
        Text(
            "A request was given up within a few milliseconds. The deadline is counted in seconds; a server also needs"
            " some time to start before its first answer.",
            "一个请求刚发出几毫秒就被放弃了。时限的单位是秒；而且服务端在第一次回答之前，还需要一点时间启动。",
        ),
        REQUEST,
    ),
    "clients_share_something": Misconception(
        (3, 5, 8, 9),
        PAGINATION,
        Text(
            "What came from one server was given to another: a cursor, or an answer. Two clients share something,"
            " such as a table that is a class attribute or a default argument; those are made once for all. Make"
            " it in `__init__`, one for each client.",
            "一个服务端给的东西（游标或者回答）到了另一个服务端那里。两个客户端共用了什么，比如写成类属性或默认参数的表：那是只创建一次、大家共用的。应当在 `__init__` 里创建，每个客户端一份。",
        ),
        CLIENT_INIT,
    ),
    # 1 discovery, and the reading of answers
    "not_discovered": Misconception(
        (1,),
        DISCOVER,
        Text(
            "The server {server} was never asked `server/discover`. It is the one question that tells versions,"
            " capabilities and instructions at once.",
            "服务端 {server} 没有收到 `server/discover`。版本、能力和使用说明，都靠这一个请求一次问清。",
        ),
    ),
    "discover_result_lost": Misconception(
        (1,),
        DISCOVER,
        Text(
            "The server {server} answered `server/discover`, but `discover` did not return that answer.",
            "服务端 {server} 回答了 `server/discover`，但 `discover` 没有把这个回答返回出来。",
        ),
    ),
    "response_written": Misconception(
        (1,),
        STDIO,
        Text(
            "The client wrote a response. The server's message had no id: it was a notification, and nobody answers"
            " those. A client of this revision writes requests and notifications only.",
            "客户端写出了一个回答。服务端的那条消息没有 id，是通知，而通知不需要回答。这一版的客户端只写请求和通知。",
        ),
        ON_LINE,
    ),
    "answer_to_wrong_request": Misconception(
        (1, 2),
        MESSAGES,
        Text(
            "Three requests were under way and the server answered the last one first. One caller got another caller's"
            " answer: answers come in any order, only the `id` says whose they are.",
            "同时有三个请求在等待，服务端先回答了最后一个，结果有调用者拿到了别人的回答。回答可以是任何顺序，只有 `id` 能说明它属于谁。",
        ),
        TAKE_WAITER,
    ),
    "id_compared_as_text": Misconception(
        (1,),
        MESSAGES,
        Text(
            'An answer with the id "7" was taken for the answer to request 7. A text and a number are two different ids:'
            " compare them as they are, without `str` or `int`.",
            "id 为 \"7\" 的回答，被当成了请求 7 的回答。文字和数字是两个不同的 id：按原样比较，不要用 `str` 或 `int` 转换。",
        ),
        TAKE_WAITER,
    ),
    "id_used_twice": Misconception(
        (1, 2, 7),
        MESSAGES,
        Text(
            "Three requests were under way, and two of them had the same id. Nobody can tell their answers apart: an id"
            " is free again only when its request has been answered.",
            "同时有三个请求在等待，其中两个的 id 相同，谁也分不清回答是给哪一个的。一个请求得到回答之后，它的 id 才能再用。",
        ),
        REQUEST,
    ),
    "one_request_at_a_time": Misconception(
        (1, 2, 7),
        MESSAGES,
        Text(
            "Three requests were to be under way at once, and the second was not sent before the first had been answered."
            " One slow answer then holds up all others: send at once, and let each request wait for its own answer.",
            "三个请求本应同时进行，可第二个要等第一个得到回答才发出。这样一个慢的回答会拖住所有请求：应当马上发出，各等各的回答。",
        ),
        REQUEST,
    ),
    "one_waiter_for_all": Misconception(
        (1, 2, 7),
        MESSAGES,
        Text(
            "Three requests were under way and the server answered them all, but not every caller was woken. Each request"
            " needs a place of its own to wait at, to be found by its id: one place for all is overwritten.",
            "同时有三个请求在等待，服务端都回答了，却有调用者没有被唤醒。每个请求都要有自己的等待处，按 id 去找；共用一个就会被覆盖。",
        ),
        REQUEST,
    ),
    "chunk_taken_for_line": Misconception(
        (1,),
        STDIO,
        Text(
            "The server's answer came in two pieces, and was not put together. What one read gives you can be half a line"
            " or three lines: collect the bytes, and cut at the newline only.",
            "服务端的回答分两次到达，却没有拼起来。读一次得到的可能是半行，也可能是三行：要把字节攒起来，只在换行处切开。",
        ),
        READ_STDOUT,
    ),
    "line_cut_at_other_characters": Misconception(
        (1,),
        STDIO,
        Text(
            "An answer that holds the character U+2028 did not arrive. `str.splitlines()` ends a line there, JSON does"
            " not: cut the bytes at `\\n` and nowhere else.",
            "含有字符 U+2028 的回答没有收到。`str.splitlines()` 会在那里断行，而 JSON 不会：只在字节 `\\n` 处切开。",
        ),
        READ_STDOUT,
    ),
    "characters_lost": Misconception(
        (1, 5, 9),
        STDIO,
        Text(
            "A text that is not plain English did not come through as it was. A line is UTF-8 in both directions: encode"
            " and decode it as that, and let nothing be ignored or replaced.",
            "一段含有中文的文字没有原样传过去。每一行在两个方向上都是 UTF-8：按 UTF-8 编码和解码，不要忽略或替换任何字符。",
        ),
        ENCODE,
    ),
    "character_cut_in_two": Misconception(
        (1,),
        STDIO,
        Text(
            "A long Chinese text came without one of its characters, or not at all. One character is up to four"
            " bytes, and what one read gives you may end in the middle of it: join the bytes, and decode whole"
            " lines only.",
            "一段长的中文里少了一个字，或者整段没有收到。一个字符最多占四个字节，读一次得到的内容可能正好断在字符中间：先把字节拼起来，凑成整行再解码。",
        ),
        READ_STDOUT,
    ),
    "reader_ended_by_noise": Misconception(
        (1,),
        STDIO,
        Text(
            "Before its answer the server wrote a banner, a blank line and a notification, and the answer was never read."
            " A line that is for nobody is passed over; it must not end the reading.",
            "服务端在回答之前写了一行标语、一个空行和一条通知，之后的回答就没人读了。不是给任何人的行跳过就好，不能让读取因此结束。",
        ),
        ON_LINE,
    ),
    "stderr_not_read": Misconception(
        (1,),
        STDIO,
        Text(
            "The server wrote a lot to its error stream before the first answer, and nobody read it. When that pipe is"
            " full the server stops and waits, and so do you: read it to the end, or send it elsewhere.",
            "服务端在第一次回答之前往 stderr 写了很多，却没有人读。这个管道一满，服务端就停下来等，你也跟着等：要么一直读，要么把它导到别处。",
        ),
        READ_STDERR,
    ),
    # 2 errors
    "error_forgotten": Misconception(
        (2,),
        MESSAGES,
        Text(
            "The server answered with error {code} within milliseconds, and the caller still waited its whole {seconds:g} s."
            " `_on_line` hands over a `result` and forgets an `error`, so nobody wakes the request: the slow kind of failure.",
            "服务端几毫秒内就回了错误 {code}，调用者却一直等满了 {seconds:g} 秒。`_on_line` 只交出 `result`、忘了 `error`，没有人唤醒那个请求。失败来得这么慢，很难查。",
        ),
    ),
    "error_as_result": Misconception(
        (2, 7),
        MESSAGES,
        Text(
            "The server answered with a JSON-RPC error, and `request` returned as if it had been a result. The caller"
            " cannot tell a failure from an answer; an `error` must be raised.",
            "服务端回的是 JSON-RPC 错误，`request` 却像拿到结果一样正常返回。调用者分不清失败和回答；`error` 必须抛出来。",
        ),
    ),
    "error_late": Misconception(
        (2,),
        MESSAGES,
        Text(
            "The right error was raised, but only after {seconds:g} s, when the deadline had passed. The answer was there"
            " at once: wake the waiter when the line with the error arrives.",
            "错误是对的，但等了 {seconds:g} 秒、过了时限才抛出。回答早就到了：收到带错误的那一行时，就该立刻唤醒等待者。",
        ),
    ),
    "error_without_code": Misconception(
        (2,),
        MESSAGES,
        Text(
            "An exception was raised, but the server's `code` is not in it. The code is what a program decides by: -32601"
            " unknown method, -32602 bad parameters, -32022 another version.",
            "异常抛出来了，但里面没有服务端给的 `code`。程序要靠这个错误码做判断：-32601 未知方法，-32602 参数不对，-32022 版本不支持。",
        ),
    ),
    "error_wrong_code": Misconception(
        (2,),
        MESSAGES,
        Text(
            "An exception was raised with another code than the server sent. Hand over `error.code` as it came, the"
            " integer with its sign.",
            "抛出的异常里的错误码和服务端发来的不一样。`error.code` 应当原样交出去：一个整数，连同它的负号。",
        ),
    ),
    "error_not_taken_out": Misconception(
        (2,),
        MESSAGES,
        Text(
            "The exception has the code 0, which the server did not send. `from_wire` wants the `error` object;"
            " it got something without a code, perhaps the whole message.",
            "异常里的错误码是 0，服务端并没有发过。`from_wire` 要的是 `error` 这个对象；它拿到的东西里没有错误码，可能是整条消息。",
        ),
    ),
    "error_data_lost": Misconception(
        (2,),
        MESSAGES,
        Text(
            "The exception has the server's code and message, but not its `data`. With -32022 that is the list of"
            " versions the server speaks: a program that wants to go on needs it.",
            "异常里有服务端给的错误码和信息，却没有 `data`。对 -32022 来说，那里是服务端支持的版本列表：程序要继续就需要它。",
        ),
    ),
    "error_for_all": Misconception(
        (2,),
        MESSAGES,
        Text(
            "One request got an error, and another one that was under way failed with it, though the server had a"
            " result for it. An error answers one request, the one with its id: all others go on waiting.",
            "一个请求得到了错误，另一个正在等待的请求也跟着失败了，而服务端本来有结果要给它。一个错误只回答一个请求，就是 id 相同的那个：其余的继续等。",
        ),
    ),
    "error_message_lost": Misconception(
        (2,),
        MESSAGES,
        Text(
            "The exception has the server's code, but not its `message`. The code is for the program; the message tells a"
            " person, or the model, what was wrong.",
            "异常里有服务端给的错误码，却没有它的 `message`。错误码是给程序看的；哪里错了，人和模型都要靠这句话才知道。",
        ),
    ),
    "result_before_error": Misconception(
        (2, 7),
        MESSAGES,
        Text(
            "The reader looked for `result` in an answer that holds an `error`, and ended with a KeyError: from then on"
            " nobody reads this server. Look which of the two is there before you take it.",
            "读取任务在一个只有 `error` 的回答里去取 `result`，抛了 KeyError 后就结束了：从此没有人再读这个服务端。取之前先看回答里有哪一个。",
        ),
    ),
    "raised_in_the_reader": Misconception(
        (2, 7),
        MESSAGES,
        Text(
            "The error was raised in the task that reads, not in the one that asked. That ends the reading and every"
            " other request with it. Hand the error to the waiter; the request that sleeps there raises it.",
            "异常在读取的任务里抛出了，而不是在发请求的任务里。这样读取就结束了，其他请求也跟着失败。应当把错误交给等待者，由睡在那里的请求来抛。",
        ),
    ),
    "dead_after_error": Misconception(
        (2, 7),
        MESSAGES,
        Text(
            "After the failure the next, correct request got no answer. One failed request must not end the connection.",
            "失败之后，下一个正确的请求得不到回答了。一个请求失败，不应该断掉整个连接。",
        ),
    ),
    "sent_again": Misconception(
        (2, 7),
        CANCELLATION,
        Text(
            "The same request was sent twice. After an error or a timeout nobody knows whether the work was done; sending"
            " `close_ticket` again does it again. Report the failure and let the model decide.",
            "同一个请求发了两次。出错或超时之后，没人知道事情办成了没有；再发一次 `close_ticket` 就是又办一次。应当报告失败，由模型决定。",
        ),
        REQUEST,
    ),
    # 3 pages
    "only_the_first_page": Misconception(
        (3,),
        PAGINATION,
        Text(
            "The server has more tools than it puts on one page, and you asked once: {count} tools arrived. Its answer"
            " held a `nextCursor`; ask again with it, until an answer comes without one.",
            "服务端的工具一页放不下，而你只问了一次：只拿到 {count} 个工具。它的回答里有 `nextCursor`；带着它接着问，直到某个回答里没有它为止。",
        ),
    ),
    "too_few_pages": Misconception(
        (3,),
        PAGINATION,
        Text(
            "You stopped after a fixed, small number of pages, though the last answer still held a `nextCursor`. How many"
            " pages there are is the server's choice; a limit against endless lists must be far higher.",
            "你问了固定的几页就停了，而最后那个回答里还有 `nextCursor`。有多少页由服务端决定；防止无限翻页的上限应当高得多。",
        ),
    ),
    "empty_page_is_the_end": Misconception(
        (3,),
        PAGINATION,
        Text(
            "You stopped at an empty page. The server decides how much a page holds, and that can be nothing; only a"
            " missing `nextCursor` ends the list.",
            "你在一个空页就停下了。一页装多少由服务端决定，可以一个都没有；只有 `nextCursor` 缺失才是结束。",
        ),
    ),
    "empty_page_refused": Misconception(
        (3,),
        PAGINATION,
        Text(
            "An empty page came, and your code raised an exception. An empty page is a page: the server decides"
            " how much it holds, and that can be nothing. Only what is not a list is wrong.",
            "收到一个空页，你的代码就抛了异常。空页也是页：一页装多少由服务端决定，可以一个都没有。不是列表的才算错。",
        ),
        READ_PAGE,
    ),
    "short_page_is_the_end": Misconception(
        (3,),
        PAGINATION,
        Text(
            "You stopped at a page that held fewer tools than others. A page need not be full: its size tells nothing"
            " about what follows, only a missing `nextCursor` ends the list.",
            "你在一个没装满的页就停下了。页不一定装满，装了多少和后面还有没有无关；只有 `nextCursor` 缺失才是结束。",
        ),
    ),
    "empty_cursor_is_the_end": Misconception(
        (3,),
        PAGINATION,
        Text(
            "The server's `nextCursor` was the empty string, and you took that for the end. An empty string is a cursor"
            ' like any other: test for "missing", not for "false".',
            "服务端给的 `nextCursor` 是空字符串，你把它当成了结束。空字符串也是游标：要判断的是“有没有”，而不是“真不真”。",
        ),
    ),
    "empty_cursor_not_sent": Misconception(
        (3,),
        PAGINATION,
        Text(
            "The server's `nextCursor` was the empty string, and the next request carried no `cursor` at all, so the first"
            ' page came again. An empty string is sent back like any other: test for "missing", not for "false".',
            "服务端给的 `nextCursor` 是空字符串，而下一个请求里根本没有 `cursor`，于是又回到第一页。空字符串也要原样发回：要判断的是“有没有”，而不是“真不真”。",
        ),
    ),
    "cursor_not_sent": Misconception(
        (3,),
        PAGINATION,
        Text(
            "You asked again, but without the cursor, and got the first page again. The server gives it as `nextCursor`;"
            " in the next request it belongs into `params.cursor`.",
            "你接着问了，却没有带上游标，于是又得到第一页。服务端给的叫 `nextCursor`；在下一个请求里要放进 `params.cursor`。",
        ),
    ),
    "null_cursor_sent": Misconception(
        (3, 4, 5, 6, 7, 8, 9),
        PAGINATION,
        Text(
            "The first request said `cursor: null`. A cursor is a string; the first page needs none, so leave the key out.",
            "第一个请求里写了 `cursor: null`。游标是字符串；第一页不需要游标，不写这个键就好。",
        ),
    ),
    "cursor_changed": Misconception(
        (3, 5, 8, 9),
        PAGINATION,
        Text(
            "The cursor you sent is not the one the server gave. A cursor is opaque: do not decode, count or trim it, send"
            " it back as it came.",
            "你发回去的游标不是服务端给的那个。游标是不透明的：不要解码、不要计数、不要裁剪，原样发回去。",
        ),
    ),
    "next_cursor_demanded": Misconception(
        (3, 4, 5, 6, 7, 8, 9),
        PAGINATION,
        Text(
            "The last page has no `nextCursor`, and your code took it with `[...]`: a KeyError. That it is missing is the"
            " normal end of the list; look for it with `.get`.",
            "最后一页没有 `nextCursor`，而你的代码用 `[...]` 去取，得到 KeyError。它缺失正是列表的正常结束；要用 `.get` 来取。",
        ),
        READ_PAGE,
    ),
    "last_page_dropped": Misconception(
        (3,),
        PAGINATION,
        Text(
            "The pages at the end are missing. The page without a `nextCursor` is the last one, but it holds tools too:"
            " take them before you stop.",
            "最后的页丢了。没有 `nextCursor` 的那一页是最后一页，但它也有工具：先收下，再停。",
        ),
    ),
    "circle_page_dropped": Misconception(
        (3,),
        PAGINATION,
        Text(
            "The page that led back into the circle holds tools too: take them before you stop. Its cursor is"
            " known, its tools are not.",
            "把你带回圈子里的那一页也有工具：先收下，再停。它的游标是见过的，它的工具却没有。",
        ),
    ),
    "memory_of_cursors_shared": Misconception(
        (3,),
        PAGINATION,
        Text(
            "A walk stopped at a cursor that this server was never asked for, but another server was: what you"
            " remember of the cursors is shared by all walks. A default value is made once, for all calls: make"
            " the set inside the function.",
            "翻页停在了一个从来没有向这个服务端发过的游标上，发过它的是另一个服务端：记录游标的集合被所有翻页共用了。默认参数只创建一次，所有调用共用：应当在函数里面创建集合。",
        ),
    ),
    "pages_overwritten": Misconception(
        (3, 5, 8, 9),
        PAGINATION,
        Text(
            "Only the tools of the last page are there: each page replaced the ones before. Add the pages up.",
            "只剩下最后一页的工具：每一页都覆盖了前一页。应当把各页加在一起。",
        ),
    ),
    "first_page_dropped": Misconception(
        (3, 5, 8, 9),
        PAGINATION,
        Text(
            "The tools of the first page are missing. The first answer, the one without a cursor in its request, is a page"
            " like the others.",
            "第一页的工具丢了。第一个请求虽然不带游标，它的回答和后面的一样也是一页。",
        ),
    ),
    "page_twice": Misconception(
        (3,),
        PAGINATION,
        Text(
            "Some tools are there twice: a page was added once more than it was asked for.",
            "有些工具出现了两次：有一页被多加了一遍。",
        ),
    ),
    "pages_out_of_order": Misconception(
        (3,),
        PAGINATION,
        Text(
            "All tools are there, but not in the server's order. Put each page behind the ones before it: a list that"
            " keeps its order can be cached, by you and by the model's provider.",
            "工具都在，但顺序和服务端的不一样。每一页应当接在前面各页之后：顺序不变的列表才便于缓存，对你和模型服务都是如此。",
        ),
    ),
    "pages_nested": Misconception(
        (3, 5, 8, 9),
        PAGINATION,
        Text(
            "A page was put into the list as one item, so the list holds a list. `append` adds one item; a page's tools"
            " are added with `extend` or `+=`.",
            "有一页被当成一个元素放进了列表，于是列表里套着列表。`append` 加的是一个元素；要加一页里的各个工具，用 `extend` 或 `+=`。",
        ),
    ),
    "endless_walk": Misconception(
        (3,),
        PAGINATION,
        Text(
            "The server gave a cursor that it had given before, and the walk went round and round. A cursor that was sent"
            " already leads nowhere new: stop there (or after a set number of pages).",
            "服务端又给出了以前给过的游标，于是翻页一直在兜圈子。发过的游标不会带来新东西：到这里就该停（或者设一个页数上限）。",
        ),
    ),
    "listing_raised": Misconception(
        (3,),
        PAGINATION,
        Text(
            "`list_all_tools` raised an exception where it should have returned the tools.",
            "`list_all_tools` 本应返回工具，却抛出了异常。",
        ),
        symptom=True,
    ),
    # 4 translation
    "tools_not_listed": Misconception(
        (4,),
        TOOLS,
        Text(
            "The table for the model does not hold all tools that the servers have.",
            "给模型的工具表里，没有列全各个服务端的工具。",
        ),
        REBUILD,
        symptom=True,
    ),
    "optional_field_demanded": Misconception(
        (4,),
        TOOLS,
        Text(
            "A tool came with a name and a schema and nothing else, and the translation raised a KeyError. The other"
            " fields are optional, the description too: take them with `.get`.",
            "有一个工具只有名字和 schema，别的什么都没有，翻译时就抛了 KeyError。其余字段都是可选的，描述也一样：要用 `.get` 来取。",
        ),
        TO_MODEL_TOOL,
    ),
    "schema_under_wrong_name": Misconception(
        (4,),
        TOOLS,
        Text(
            "The tool {tool} has no `input_schema`. What MCP calls `inputSchema` has another name at the border to the"
            " model; the schema itself stays as it is.",
            "工具 {tool} 没有 `input_schema`。MCP 叫 `inputSchema`，到模型这一侧要换个名字；schema 的内容保持不变。",
        ),
    ),
    "schema_changed": Misconception(
        (4,),
        TOOLS,
        Text(
            "The schema of {tool} is not what the server sent, at `{key}`. Parts like `$defs` look superfluous and are not:"
            " the model fills in arguments by them. Hand it on unchanged.",
            "工具 {tool} 的 schema 和服务端发来的不一样，在 `{key}` 这里。`$defs` 这类部分看着多余，其实模型要靠它们填参数。请原样交过去。",
        ),
    ),
    "schema_added_to": Misconception(
        (4,),
        TOOLS,
        Text(
            "The schema of {tool} has `{key}`, which the server did not send: something was added. What a schema"
            " leaves out is left out on purpose; what one model's provider wants more belongs into the code for"
            " that model. Hand it on unchanged.",
            "工具 {tool} 的 schema 里有 `{key}`，服务端并没有发过：是后来加上去的。schema 里没写的，是有意不写；某一家模型服务另有要求，那是对接它的代码的事。请原样交过去。",
        ),
    ),
    "definition_changed": Misconception(
        (4,),
        TOOLS,
        Text(
            "The translation changed the server's own definition of {tool}, at `{key}`. The client still needs it as it"
            " came; build a new object, and copy before you change anything inside it.",
            "翻译时改动了服务端对 {tool} 的原始定义，在 `{key}` 这里。客户端之后还要用它的原样；应当新建一个对象，里面的内容也要先复制再改。",
        ),
    ),
    "more_than_the_model_takes": Misconception(
        (4,),
        TOOLS,
        Text(
            "The model is given more than it has a place for: {leaked}. Title, annotations and output schema are for the"
            " client, which keeps the definition.",
            "交给模型的内容多出了没有位置可放的字段：{leaked}。title、annotations 和 outputSchema 是给客户端用的，由客户端保存原始定义。",
        ),
    ),
    "no_source_in_description": Misconception(
        (4,),
        TOOLS,
        Text(
            "The description of {tool} does not say which server it comes from. The model chooses by descriptions; with"
            " two `search` tools it has to guess. Name the server by your own alias.",
            "工具 {tool} 的描述没有说明它来自哪个服务端。模型靠描述选工具；有两个 `search` 时它只能猜。请用你自己配置的别名写明来源。",
        ),
    ),
    "description_replaced": Misconception(
        (4,),
        TOOLS,
        Text(
            "The server's own description of {tool} is gone, or not complete. Put the source in front of it; the words after it are the"
            " server author's, and the model needs them.",
            "工具 {tool} 原来的描述不见了，或者不完整。来源加在前面即可；后面的话是服务端作者写的，模型需要它。",
        ),
    ),
    # 5 collision
    "names_not_prefixed": Misconception(
        (5, 6),
        TOOLS,
        Text(
            "Two servers have a tool called `search`, and the model is given the name `{name}` for both: one hides the"
            " other. A tool's name is unique within its own server only; the client adds its alias.",
            "两个服务端都有叫 `search` 的工具，而模型看到的都是 `{name}`：一个盖住了另一个。工具名只在自己的服务端内唯一；前缀要由客户端用别名加上。",
        ),
    ),
    "prefix_from_server_name": Misconception(
        (4, 5, 7, 8),
        TOOLS,
        Text(
            "The names in the table are built from what the servers call themselves, and here both call themselves alike."
            " Anyone can report any name: use the alias from your own configuration.",
            "工具表里的名字用的是服务端自报的名字，而这两个服务端自报的名字一样。自报的名字谁都可以随便填：请用你自己配置里的别名。",
        ),
        REBUILD,
    ),
    "same_name_left_out": Misconception(
        (5,),
        TOOLS,
        Text(
            "Both servers have a `search`, and only one of them is in the table: a tool was taken for known because of its"
            " own name. What must be different is the model's name; the same tool name at two servers is two tools.",
            "两个服务端都有 `search`，工具表里却只有一个：按工具自己的名字，另一个被当成已经有了。该互不相同的是模型名；两个服务端的同名工具是两个工具。",
        ),
        REBUILD,
    ),
    "listed_under_other_name": Misconception(
        (5, 6, 7, 8, 9),
        TOOLS,
        Text(
            "The table for the model lists the tools under other names than `model_tool_name` gives. A model calls a tool"
            " by the name it was told, so there must be one name only.",
            "给模型的工具表里用的名字，和 `model_tool_name` 给出的不一样。模型按它看到的名字来调用，所以名字只能有一个。",
        ),
        TO_MODEL_TOOL,
    ),
    "model_name_on_the_wire": Misconception(
        (5, 6, 7, 8, 9),
        TOOLS,
        Text(
            "The server received the model's name for the tool. It knows only the name it gave itself: the prefixed one"
            " lives between client and model.",
            "服务端收到的是模型用的名字。它只认识自己起的原名：带前缀的名字只在客户端和模型之间使用。",
        ),
        CALL,
    ),
    "name_taken_apart": Misconception(
        (5, 6),
        TOOLS,
        Text(
            "A model name was taken apart to find server and tool. An alias may hold `__`, and a name that was cleaned or"
            " cut cannot be turned back at all: look it up in the table.",
            "你把模型名拆开来找服务端和工具名。别名里可以有 `__`，清理或截断过的名字更是还原不回来：要查表。",
        ),
        CALL,
    ),
    "call_to_wrong_server": Misconception(
        (5,),
        TOOLS,
        Text(
            "The call for {server} arrived at another server. The same tool name can stand for two servers: note for each"
            " model name which server it leads to.",
            "发给 {server} 的调用到了另一个服务端。同一个工具名可能属于两个服务端：每个模型名通向哪个服务端，都要记下来。",
        ),
        CALL,
    ),
    "arguments_lost": Misconception(
        (5, 8, 9),
        TOOLS,
        Text(
            "The tool was called with other arguments than the model had given, or with none. They belong into"
            " `params.arguments`, beside the name, as they are.",
            "调用工具时带的不是模型给的参数，或者根本没有带。它们应当和名字一起，原样放在 `params.arguments` 里。",
        ),
        CALL,
    ),
    "result_unwrapped": Misconception(
        (5, 7, 8, 9),
        TOOLS,
        Text(
            "`call` returned a part of the result only. `isError` stands beside `content`: whoever gets only the content"
            " cannot tell an error from an answer. Return the whole result.",
            "`call` 只返回了结果的一部分。`isError` 和 `content` 是并列的：只拿到 content 的人分不清错误和回答。请返回整个结果。",
        ),
        CALL,
    ),
    "call_not_sent": Misconception(
        (5,),
        TOOLS,
        Text(
            "A call by a name that `model_tool_name` gives did not reach its server.",
            "按 `model_tool_name` 给出的名字调用，却没有到达服务端。",
        ),
        CALL,
        symptom=True,
    ),
    # 6 names
    "names_unchanged": Misconception(
        (5, 6),
        TOOLS,
        Text(
            "The model is given the server's own names. They may hold dots and 128 characters, and two servers may use the"
            " same one: build a name that is legal and different for each pair of alias and tool.",
            "交给模型的是服务端的原名。原名里可以有点号、可以长达 128 个字符，两个服务端还可能同名：请为每一对（别名，工具名）生成一个合法且互不相同的名字。",
        ),
    ),
    "alias_not_in_name": Misconception(
        (5, 6),
        TOOLS,
        Text(
            "The same tool of two servers got the same name, `{name}`: the alias has no part in it, or was cut away.",
            "两个服务端的同名工具得到了同一个名字 `{name}`：别名没有参与，或者被截掉了。",
        ),
    ),
    "illegal_letters": Misconception(
        (6,),
        TOOLS,
        Text(
            "A model name holds `{letters}`. MCP allows more than model APIs do: there, only A-Z, a-z, 0-9, `_` and `-`"
            " are legal, and one bad name makes the whole request fail.",
            "模型名里出现了 `{letters}`。MCP 允许的字符比模型 API 多：模型那边只接受 A-Z、a-z、0-9、`_` 和 `-`，一个名字不合法，整个请求都会失败。",
        ),
    ),
    "name_too_long": Misconception(
        (6,),
        TOOLS,
        Text(
            "A model name is longer than 64 characters. MCP allows 128, model APIs 64: cut it, and add a digest of the"
            " whole name, because cutting makes equal what was different. The digest counts, too.",
            "有模型名超过了 64 个字符。MCP 允许 128，模型 API 只允许 64：截断它，再加上整个名字的摘要，因为截断会把不同的变成相同的。摘要也要算进长度。",
        ),
    ),
    "cut_without_digest": Misconception(
        (6,),
        TOOLS,
        Text(
            "Two long names are the same after the cut. Add a digest (hashlib) of the whole name, not of what is left of"
            " it.",
            "两个长名字截断之后变成了同一个。要加上整个名字的摘要（hashlib），而不是截剩部分的摘要。",
        ),
    ),
    "cleaned_without_digest": Misconception(
        (6,),
        TOOLS,
        Text(
            "Two names became one when characters were replaced or changed. Add a digest of the original whenever the"
            " clean form differs from it.",
            "替换或改动字符之后，两个名字变成了同一个。只要清理后的形式和原名不同，就要加上原名的摘要。",
        ),
    ),
    "digest_too_short": Misconception(
        (6,),
        TOOLS,
        Text(
            "Of {count} pairs that only the digest tells apart, {equal} got a name that another one has: the"
            " digest is too short. Two hexadecimal digits are 256 values, four are 65536, and a few hundred names"
            " are enough for two to meet. Take eight or more.",
            "{count} 对只能靠摘要区分的（别名，工具名）里，有 {equal} 对和别的重名了：摘要太短。两位十六进制只有 256 种值，四位也只有 65536 种，几百个名字就会撞上。至少取八位。",
        ),
    ),
    "boundary_blurred": Misconception(
        (6,),
        TOOLS,
        Text(
            "Two pairs of alias and tool became one name, because the place where the alias ends is not clear: aliases and"
            " tools may hold `_` and `__` too. Add a digest of both parts where that can happen.",
            "两对（别名，工具名）拼成了同一个名字，因为看不出别名在哪里结束：别名和工具名里也可以有 `_` 和 `__`。有这种可能时，加上对两部分一起算的摘要。",
        ),
    ),
    "name_changes_between_runs": Misconception(
        (6,),
        TOOLS,
        Text(
            "The same tool has another name in the next run. Python's `hash()` is different in every process, and a"
            " counter depends on who was asked first; a digest from hashlib does not change.",
            "同一个工具在下一次运行时换了名字。Python 的 `hash()` 每个进程都不同，计数器则取决于先问了谁；hashlib 的摘要不会变。",
        ),
    ),
    # 7 failures become results
    "failures_raised": Misconception(
        (7, 9),
        TOOLS,
        Text(
            "A call that could not be made, or was not answered, came out of `call` as an exception, and one failed tool"
            " ends the whole turn. Catch what `request` raises and return an error result that says why.",
            "调用发不出去，或者没有得到回答时，`call` 抛了异常，于是一个工具失败就结束了整轮对话。应当接住 `request` 抛出的异常，返回说明原因的错误结果。",
        ),
    ),
    "failures_look_like_answers": Misconception(
        (7, 8, 9),
        TOOLS,
        Text(
            "The results that you make for failed calls have a text, but no `isError: true`. The model cannot tell the"
            " complaint from an answer, and nobody else can either.",
            "你为失败的调用构造的结果里有文字，却没有 `isError: true`。模型分不清这是报错还是正常结果，别人也分不清。",
        ),
        ("registry.py", "error_result"),
    ),
    "is_error_is_a_text": Misconception(
        (7, 8, 9),
        TOOLS,
        Text(
            '`isError` holds a text. Any text counts as true for `if`, "false" as well, and `"true"` is not'
            " `True`: on the wire it is a boolean, so write `True`.",
            "`isError` 里放的是文字。对 `if` 来说任何文字都是真，连 \"false\" 也一样，而 `\"true\"` 不是 `True`：报文里它是布尔值，请写 `True`。",
        ),
        ("registry.py", "error_result"),
    ),
    "failed_call_marks_down": Misconception(
        (7,),
        TOOLS,
        Text(
            "One call failed and the server {server} was marked down: its other tools are lost. An error or a"
            " timeout is the end of that call only; only `ServerDown` means that the server is gone.",
            "一个调用失败，服务端 {server} 就被记成掉线：它的其他工具也都没了。出错或超时，只是这一个调用结束；只有 `ServerDown` 才表示服务端不在了。",
        ),
    ),
    "error_results_shared": Misconception(
        (7,),
        TOOLS,
        Text(
            "Two calls failed, and afterwards the first result held the text of the second: both are one object,"
            " or share a part. `copy()` copies the outside only, the list inside stays the same one. Make a new"
            " result for each failure.",
            "两个调用先后失败，之后第一个结果里的文字变成了第二个的：两个结果是同一个对象，或者共用了一部分。`copy()` 只复制外层，里面的列表还是同一个。每次失败都要新建一个结果。",
        ),
        ("registry.py", "error_result"),
    ),
    "timeout_ends_the_connection": Misconception(
        (7,),
        CANCELLATION,
        Text(
            "One request timed out, and another one that was waiting for the same server failed with it. A slow answer is"
            " no reason to give up the server: end the wait of that request only.",
            "一个请求超时，另一个正在等同一个服务端的请求也跟着失败了。一个回答慢，不等于服务端坏了：只结束这一个请求的等待。",
        ),
        REQUEST,
    ),
    "tool_error_raised": Misconception(
        (7, 9),
        TOOLS,
        Text(
            "The tool failed and said why (`isError: true`), and `call` raised. So the model never reads the sentence that"
            " would have let it try again: return the result as it came.",
            "工具失败了，也说明了原因（`isError: true`），`call` 却抛了异常。这样模型就读不到那句能让它改正的话：请原样返回结果。",
        ),
    ),
    "tool_error_dropped": Misconception(
        (7, 9),
        TOOLS,
        Text(
            "The tool failed (`isError: true`), and what `call` returned does not say so any more. The model would take"
            " the complaint for an answer.",
            "工具失败了（`isError: true`），而 `call` 返回的结果里已经看不出来。模型会把这句报错当成正常结果。",
        ),
    ),
    "error_text_lost": Misconception(
        (7, 9),
        TOOLS,
        Text(
            "The result is marked as an error, but the server's text is not in it. That text tells the model what to do"
            " better.",
            "结果标成了错误，但服务端的原话不见了。模型正是靠那段话知道该怎么改。",
        ),
    ),
    "unknown_tool_raised": Misconception(
        (7, 8, 9),
        TOOLS,
        Text(
            "The model asked for a tool that does not exist, and `call` raised. Models do that; an error result lets it"
            " choose again.",
            "模型要了一个不存在的工具，`call` 抛了异常。模型会这样做；返回一个错误结果，它就能重新选择。",
        ),
    ),
    "unknown_tool_no_result": Misconception(
        (7, 8, 9),
        TOOLS,
        Text(
            "The model asked for a tool that does not exist, and what came back is not an error result with a text.",
            "模型要了一个不存在的工具，返回的却不是带文字的错误结果。",
        ),
    ),
    "rpc_error_raised": Misconception(
        (7,),
        TOOLS,
        Text(
            "The server answered the call with a JSON-RPC error (it does not know the tool any more), and `call` raised."
            " Return an error result that says so; the turn goes on.",
            "服务端用 JSON-RPC 错误回答了这次调用（它已经没有这个工具了），`call` 抛了异常。应当返回说明情况的错误结果，对话继续。",
        ),
    ),
    "rpc_error_no_result": Misconception(
        (7,),
        TOOLS,
        Text(
            "The server answered the call with a JSON-RPC error, and what came back is not an error result with a text.",
            "服务端用 JSON-RPC 错误回答了这次调用，返回的却不是带文字的错误结果。",
        ),
        symptom=True,
    ),
    "timeout_raised": Misconception(
        (7,),
        TOOLS,
        Text(
            "The server did not answer in time, and `call` raised: one slow tool ends the whole turn. Return an error"
            " result.",
            "服务端没有按时回答，`call` 抛了异常：一个慢工具就结束了整轮对话。应当返回错误结果。",
        ),
    ),
    "timeout_no_result": Misconception(
        (7,),
        TOOLS,
        Text(
            "The server did not answer in time, and what came back is not an error result with a text.",
            "服务端没有按时回答，返回的却不是带文字的错误结果。",
        ),
    ),
    "no_deadline": Misconception(
        (7, 8),
        CANCELLATION,
        Text(
            "A server stayed silent, and long after the deadline of {seconds:g} s the request still waited. Every request"
            " needs a deadline, the client's own or the caller's: a silent server stays silent.",
            "服务端没有响应，{seconds:g} 秒的时限过了很久，请求还在等。每个请求都要有时限，用客户端的或者调用者给的：无响应的服务端会一直无响应。",
        ),
        REQUEST,
    ),
    "own_deadline_ignored": Misconception(
        (7,),
        CANCELLATION,
        Text(
            "A request was given a shorter deadline of its own (`timeout=`), and waited for the client's instead. The"
            " caller knows best how long an answer may take.",
            "一个请求带了自己的、更短的时限（`timeout=`），却按客户端的时限去等了。一个回答可以等多久，调用者最清楚。",
        ),
        REQUEST,
        symptom=True,
    ),
    "server_not_told": Misconception(
        (7,),
        CANCELLATION,
        Text(
            "A request timed out, and the server was not told, or not with the right id. It goes on working for nobody:"
            " send `notifications/cancelled` with the request's id as it was sent.",
            "请求超时了，却没有通知服务端（或者 id 不对），服务端仍在白白干活。请发送 `notifications/cancelled`，带上那个请求的 id，和发出时一样。",
        ),
        REQUEST,
    ),
    "death_raised": Misconception(
        (7, 9),
        TOOLS,
        Text(
            "The server died during the call, and `call` raised. A dead server costs its tools, not the turn: return an"
            " error result.",
            "服务端在调用中途退出，`call` 抛了异常。服务端死掉的代价是少几个工具，而不是这一轮失败：请返回错误结果。",
        ),
    ),
    "death_no_result": Misconception(
        (7, 9),
        TOOLS,
        Text(
            "The server died during the call, and what came back is not an error result with a text.",
            "服务端在调用中途退出，返回的却不是带文字的错误结果。",
        ),
    ),
    "death_unnoticed": Misconception(
        (7, 9),
        STDIO,
        Text(
            "The server died during the call, and the caller waited the whole {seconds:g} s. When its output ends, nobody"
            " will answer any more: wake all that wait.",
            "服务端在调用中途退出，调用者却等满了 {seconds:g} 秒。它的输出一结束，就再也不会有回答：要唤醒所有等待者。",
        ),
        SERVE,
    ),
    "dead_call_raised": Misconception(
        (7,),
        TOOLS,
        Text(
            "A tool of a server that is gone was called, and `call` raised. Return an error result that says so.",
            "调用了已退出的服务端的工具，`call` 抛了异常。应当返回说明情况的错误结果。",
        ),
    ),
    "dead_call_no_result": Misconception(
        (7,),
        TOOLS,
        Text(
            "A tool of a server that is gone was called, and what came back is not an error result with a text.",
            "调用了已退出的服务端的工具，返回的却不是带文字的错误结果。",
        ),
    ),
    # 8 one server down
    "refresh_raised": Misconception(
        (8,),
        TOOLS,
        Text(
            "Four of five servers cannot be used, and `refresh` raised: the healthy one is lost with them. Catch the"
            " failure of each server on its own, also of its start, note the reason in `down`, and go on.",
            "五个服务端里有四个用不了，`refresh` 就抛了异常：连健康的那个也一起丢了。应当逐个服务端捕获失败（启动失败也算），把原因记进 `down`，然后继续。",
        ),
    ),
    "timeout_not_caught": Misconception(
        (8,),
        TOOLS,
        Text(
            "`RequestTimeout` got past your `except`, and `refresh` raised it. It is an `McpError`, not Python's"
            " `TimeoutError`. What can go wrong with a server has one root: catch `McpError`.",
            "`RequestTimeout` 没有被你的 `except` 接住，`refresh` 就把它抛了出来。它是一种 `McpError`，不是 Python 的 `TimeoutError`。服务端可能出的错都有同一个根：请捕获 `McpError`。",
        ),
    ),
    "refresh_tries_again": Misconception(
        (8,),
        TOOLS,
        Text(
            "A server that cannot be used was asked again and again, and `refresh` did not come back. Note the failure in"
            " `down` and go on: trying again later is for the caller to decide.",
            "用不了的服务端被一遍又一遍地问，`refresh` 一直没有返回。应当把失败记进 `down`，然后继续：以后要不要再试，由调用者决定。",
        ),
    ),
    "first_failure_ends_all": Misconception(
        (8,),
        TOOLS,
        Text(
            "`refresh` returned, but the first failure ended it for all: the other servers are neither in `down` nor"
            " usable. Catch the failure inside the work on one server, not around the work on all.",
            "`refresh` 返回了，但第一个失败就让全部服务端的刷新结束了：其余的既不在 `down` 里，也用不了。要在处理单个服务端的地方捕获，而不是在外面套住全部。",
        ),
    ),
    "healthy_server_down": Misconception(
        (8,),
        TOOLS,
        Text(
            "The healthy server stands in `down`. Each server's failure is its own.",
            "健康的服务端也进了 `down`。每个服务端的失败只算它自己的。",
        ),
        symptom=True,
    ),
    "not_in_down": Misconception(
        (8,),
        TOOLS,
        Text(
            "The server {server} cannot be used and is not in `down`. Then neither the person nor the model learns what is"
            " missing.",
            "服务端 {server} 用不了，却不在 `down` 里。这样用户和模型都不知道少了什么。",
        ),
    ),
    "down_without_reason": Misconception(
        (8,),
        TOOLS,
        Text(
            "The server {server} is in `down`, but without a reason of its own. Afterwards you must be able to say what is"
            " missing and why: note the text of the exception.",
            "服务端 {server} 进了 `down`，但没有它自己的原因。事后要能回答少了什么、为什么少：请记下异常的文字。",
        ),
    ),
    "reason_is_no_text": Misconception(
        (8,),
        TOOLS,
        Text(
            "`down` holds an exception for {server} where a text belongs. It is shown to people and to the model,"
            " and goes into a message as JSON: note `str(error)`.",
            "`down` 里 {server} 的原因是一个异常对象，而那里应该是文字。它要给人和模型看，还要写进 JSON 消息：请记 `str(error)`。",
        ),
    ),
    "server_never_back": Misconception(
        (8,),
        TOOLS,
        Text(
            "A server that was down once can never come back: it could be started now, and the second `refresh`"
            " did not even try. Its client was thrown away, or is passed over. Keep the client of every server;"
            " each `refresh` tries again.",
            "掉线过的服务端再也回不来了：它现在已经能启动，第二次 `refresh` 却连试都没试。它的客户端被扔掉了，或者被跳过了。每个服务端的客户端都要留着；每次 `refresh` 都要再试。",
        ),
    ),
    "down_never_cleared": Misconception(
        (8,),
        TOOLS,
        Text(
            "The server has come back and is still in `down`, so its tools are not offered. The reason must be"
            " removed before each try.",
            "服务端已经恢复，却还在 `down` 里，所以它的工具没有列出来。每次尝试之前，都要先去掉旧的原因。",
        ),
    ),
    "old_tools_listed": Misconception(
        (8,),
        TOOLS,
        Text(
            "A tool is gone from its server, and after the second `refresh` it is still in the table: what was"
            " there before was never taken out. Build the table anew each time.",
            "服务端已经没有这个工具了，第二次 `refresh` 之后它还在工具表里：以前的内容从来没有清掉。每次都要重新建表。",
        ),
        REBUILD,
    ),
    "order_of_arrival": Misconception(
        (8,),
        TOOLS,
        Text(
            "The servers stand in the table in the order in which they answered. That changes from run to run,"
            " and a list that changes cannot be cached by the model's provider: keep the order of the"
            " configuration.",
            "工具表里各个服务端的顺序，是它们回答的先后。这个顺序每次运行都可能不同，而会变的列表，模型服务就无法缓存：请按配置里的顺序排列。",
        ),
        REBUILD,
    ),
    "healthy_server_lost": Misconception(
        (8,),
        TOOLS,
        Text(
            "The notes server is healthy, and its search does not work once the others are down.",
            "笔记服务端是健康的，可其他服务端掉线后它的搜索也不能用了。",
        ),
        symptom=True,
    ),
    "down_server_listed": Misconception(
        (7, 8, 9),
        TOOLS,
        Text(
            "A server is down, and the model is still offered tools of it. It would choose them and fail, again and again:"
            " the table for the model leaves out every server that is down.",
            "服务端已经用不了，模型的工具表里却还有它的工具。模型会一再选中它们，一再失败：掉线服务端的工具要从表里拿掉。",
        ),
        MODEL_TOOLS,
    ),
    "down_call_no_error_result": Misconception(
        (8,),
        TOOLS,
        Text(
            "A call to {server}, which is down, did not come back as an error result. It must neither raise nor look like"
            " an answer.",
            "调用掉线的 {server}，没有得到错误结果。它既不能抛异常，也不能看起来像个回答。",
        ),
        CALL,
        symptom=True,
    ),
    "waited_in_sequence": Misconception(
        (8,),
        TOOLS,
        Text(
            "Two servers stay silent, and the second was started only when the first one's deadline had passed. Start all"
            " at once: the wait is that of the slowest, not the sum.",
            "有两个服务端无响应，第二个要等到第一个超时之后才启动。应当同时启动：等待时间取最慢的那个，而不是总和。",
        ),
        REFRESH,
    ),
    "server_left_running": Misconception(
        (8,),
        STDIO,
        Text(
            "After `close()` a server still runs. Close its input and wait for it to exit; if it does not, end it. What is"
            " left behind uses up the machine, one process per run.",
            "`close()` 之后还有服务端在运行。应当关闭它的输入，等它退出；不退出就结束它。留下来的进程每次运行都会多一个，白白占着机器。",
        ),
        CLOSE,
    ),
    # 9 the agent loop
    "question_lost": Misconception(
        (9,),
        TOOLS,
        Text(
            "The question is not among the messages that the model was shown.",
            "给模型看的消息里没有用户的问题。",
        ),
    ),
    "tools_not_offered": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model was asked without any tools. It can call only what it is told of: hand it the registry's table with"
            " each question.",
            "询问模型时没有给它任何工具。模型只能调用告诉过它的工具：每次询问都要带上 registry 的工具表。",
        ),
    ),
    "history_not_shown": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model called tools, and the next time it was asked it did not see the results. A model remembers nothing:"
            " show it the whole conversation each time.",
            "模型调用了工具，可再次询问时没有给它看结果。模型什么都不记得：每次都要把整段对话交给它。",
        ),
    ),
    "text_taken_for_answer": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model said something and called tools in the same message, and the text was taken for its answer. Only a"
            " message without `tool_calls` is the answer.",
            "模型在同一条消息里既说了话又调用了工具，那句话却被当成了回答。没有 `tool_calls` 的消息才是回答。",
        ),
    ),
    "stopped_early": Misconception(
        (9,),
        TOOLS,
        Text(
            "The loop ended after {count} questions to the model, although the model had called tools and not answered. A"
            " failed call is no reason to stop: show the model the results and ask again.",
            "循环问了模型 {count} 次就结束了，而模型那时是在调用工具，还没有回答。调用失败不是停下的理由：把结果给模型看，再问。",
        ),
    ),
    "no_answer": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model gave its answer in the fifth message, and the loop did not return it then.",
            "模型在第五条消息里给出了回答，但循环没有在那时把它返回。",
        ),
        symptom=True,
    ),
    "call_without_result": Misconception(
        (9,),
        TOOLS,
        Text(
            "After a message with tool calls, a call has no result. Each one needs exactly one, the failed ones too: a"
            " provider refuses a history with a gap, then and in every later turn.",
            "带工具调用的消息之后，有一个调用没有结果。每个调用都要有一个结果，失败的也一样：历史里有缺口，模型服务会拒绝，之后每一轮都会。",
        ),
    ),
    "results_out_of_order": Misconception(
        (9,),
        TOOLS,
        Text(
            "The results stand in another order than the calls. The first call was the slower one here: calls may run at"
            " the same time, but their results belong into the history in the order of the calls.",
            "结果的顺序和调用的顺序不一样。这里第一个调用比较慢：可以同时运行几个调用，但结果要按调用的顺序写进历史。",
        ),
    ),
    "results_without_their_calls": Misconception(
        (9,),
        TOOLS,
        Text(
            "There is a result in the history whose call does not stand before it. The model's own message, with its"
            " `tool_calls`, belongs into the history first; then exactly one result per call.",
            "历史里有一个结果，它前面却没有对应的调用。模型自己那条带 `tool_calls` 的消息要先写进历史，然后每个调用恰好一个结果。",
        ),
    ),
    "result_lost": Misconception(
        (9,),
        TOOLS,
        Text(
            "The server's result did not reach the model as the tool message of its call.",
            "服务端的结果没有作为该调用的工具消息交给模型。",
        ),
        TOOL_MESSAGE,
        symptom=True,
    ),
    "error_result_lost": Misconception(
        (9,),
        TOOLS,
        Text(
            "What the model was told of a call does not say rightly whether it failed: `is_error` must be true for a"
            " failed call, with the reason as its text, and false for all others.",
            "模型看到的工具消息没有正确说明调用是否失败：失败的调用 `is_error` 应为 true，文字写明原因；其他的应为 false。",
        ),
        TOOL_MESSAGE,
        symptom=True,
    ),
    "result_of_another_call": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model called one tool twice in one step, with different arguments, and was told the same result"
            " for both. A result belongs to its call: keep it by the id of the call, or write it down at once,"
            " not by the name of the tool.",
            "模型在一步里用不同的参数调用了同一个工具两次，看到的却是同一个结果。结果属于它的那个调用：按调用的 id 保存，或者当场写下来，不要按工具名保存。",
        ),
        ("agent_loop.py", "run_agent"),
    ),
    "repeated_call_not_sent": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model called `{tool}` a second time with the same arguments, and the call did not reach the"
            " server. In between it had closed the ticket: the answer of before is wrong now. Make every call"
            " that the model asks for.",
            "模型用同样的参数第二次调用 `{tool}`，这个调用却没有到达服务端。它在中间关闭了工单：之前的回答已经不对了。模型要的每一个调用都要真的去做。",
        ),
    ),
    "falsy_arguments_dropped": Misconception(
        (9,),
        TOOLS,
        Text(
            'The model gave arguments that are 0, false, "" and null, and some did not reach the server. They are'
            " nothing to `if`, and something to the tool: page 0 is a page. Hand the arguments on as they are.",
            "模型给的参数里有 0、false、\"\" 和 null，其中有的没有到达服务端。对 `if` 来说它们是假，对工具来说却有意义：第 0 页也是一页。参数要原样交过去。",
        ),
        RUN_CALL,
    ),
    "tools_asked_once": Misconception(
        (9,),
        TOOLS,
        Text(
            "A server died during the turn, and at the next step the model was still offered its tools, though"
            " the registry had taken them out. The table can change between two steps: ask `model_tools()` for it"
            " at each step.",
            "有一个服务端在这一轮中途退出，下一步询问模型时仍然给了它的工具，而 registry 已经把它们去掉了。工具表在两步之间会变：每一步都要调用 `model_tools()` 重新取。",
        ),
        ("agent_loop.py", "run_agent"),
    ),
    "bad_arguments_sent": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model's arguments were no JSON object, and the tool was called with them all the same. Do not send what"
            " you know to be wrong: return an error result that names the problem.",
            "模型给的参数不是 JSON 对象，工具还是带着它被调用了。明知不对的就不要发出去：应当返回说明问题的错误结果。",
        ),
        RUN_CALL,
    ),
    "bad_arguments_raised": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model's arguments were no JSON object, and that raised an exception. Models do send broken arguments: an"
            " error result lets it try again.",
            "模型给的参数不是 JSON 对象，于是抛出了异常。模型确实会给出坏的参数：返回一个错误结果，它就能重试。",
        ),
        RUN_CALL,
    ),
    "no_step_limit": Misconception(
        (9,),
        TOOLS,
        Text(
            "The model never stops calling tools, the loop was allowed {limit} steps, and it went on asking. A model can"
            " go back and forth for ever: count the questions, and stop at `max_steps`.",
            "模型一直在调用工具，循环只允许 {limit} 步，却还在继续问。模型可能永远来回下去：要数询问的次数，到 `max_steps` 就停。",
        ),
    ),
    "step_limit_off_by_one": Misconception(
        (9,),
        TOOLS,
        Text(
            "The loop was allowed {limit} steps and asked the model {count} times. `max_steps` counts the questions to the"
            " model, the first one included.",
            "循环只允许 {limit} 步，却问了模型 {count} 次。`max_steps` 数的是询问模型的次数，第一次也算。",
        ),
    ),
    "step_limit_raised": Misconception(
        (9,),
        TOOLS,
        Text(
            "At the step limit the loop raised an exception. The conversation up to there is worth keeping: return the"
            " transcript, with no answer.",
            "到了步数上限，循环抛出了异常。到此为止的对话值得保留：应当返回记录，回答为空。",
        ),
    ),
    "limit_taken_for_answer": Misconception(
        (9,),
        TOOLS,
        Text(
            "The loop stopped at its limit and returned a text as if it were the answer. The model has not answered: the"
            " answer is None, so that the caller can tell.",
            "循环到了上限停下，却把一段文字当成回答返回了。模型还没有回答：回答应为 None，这样调用者才分得清。",
        ),
    ),
}
