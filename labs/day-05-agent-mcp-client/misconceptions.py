"""What a red check says: one entry per misconception, in English and in Simplified Chinese.

The judges of checks.py choose the entry from what they saw; when none fits they choose none, and the report
shows the evidence without guessing. `{words}` stand for values of the run.
"""

from labkit.lab import Text

MISCONCEPTIONS: dict[str, Text] = {
    # 1 discovery
    "meta_missing": Text(
        "A request went out without `{key}` in `params._meta`. There is no handshake in this revision: each request"
        " carries the version and the capabilities itself, and a server refuses one that lacks them.",
        "有一个请求的 `params._meta` 里没有 `{key}`。这一版协议没有握手：版本和能力由每个请求自己带上，缺了就会被服务端拒绝。",
    ),
    "not_discovered": Text(
        "The server {server} was never asked `server/discover`. It is the one question that tells versions,"
        " capabilities and instructions at once.",
        "服务端 {server} 没有收到 `server/discover`。版本、能力和使用说明，都靠这一个请求一次问清。",
    ),
    "discover_result_lost": Text(
        "The server {server} answered `server/discover`, but `discover` did not return that answer.",
        "服务端 {server} 回答了 `server/discover`，但 `discover` 没有把这个回答返回出来。",
    ),
    "answer_to_wrong_request": Text(
        "Three requests were under way and the server answered the last one first. One caller got another caller's"
        " answer: answers come in any order, only the `id` says whose they are.",
        "同时有三个请求在等待，服务端先回答了最后一个，结果有调用者拿到了别人的回答。回答可以是任何顺序，只有 `id` 能说明它属于谁。",
    ),
    # 2 errors
    "error_forgotten": Text(
        "The server answered with error {code} within milliseconds, and the caller still waited its whole {seconds:g} s."
        " `_on_line` hands over a `result` and forgets an `error`, so nobody wakes the request: the slow kind of failure.",
        "服务端几毫秒内就回了错误 {code}，调用者却一直等满了 {seconds:g} 秒。`_on_line` 只交出 `result`、忘了 `error`，没有人唤醒那个请求：这是最难查的一种慢。",
    ),
    "error_as_result": Text(
        "The server answered with a JSON-RPC error, and `request` returned as if it had been a result. The caller cannot"
        " tell a failure from an answer; an `error` must be raised.",
        "服务端回的是 JSON-RPC 错误，`request` 却像拿到结果一样正常返回。调用者分不清失败和回答；`error` 必须抛出来。",
    ),
    "error_late": Text(
        "The right error was raised, but only after {seconds:g} s, when the deadline had passed. The answer was there at"
        " once: wake the waiter when the line with the error arrives.",
        "错误是对的，但等了 {seconds:g} 秒、过了时限才抛出。回答早就到了：收到带错误的那一行时，就该立刻唤醒等待者。",
    ),
    "error_without_code": Text(
        "An exception was raised, but the server's `code` is not in it. The code is what a program decides by: -32601"
        " unknown method, -32602 bad parameters, -32022 another version.",
        "异常抛出来了，但里面没有服务端给的 `code`。程序要靠这个编号做判断：-32601 未知方法，-32602 参数不对，-32022 版本不支持。",
    ),
    "error_wrong_code": Text(
        "An exception was raised with another code than the server sent. Hand over `error.code` as it came.",
        "抛出的异常里的编号和服务端发来的不一样。`error.code` 应当原样交出去。",
    ),
    "result_before_error": Text(
        "The reader looked for `result` in an answer that holds an `error`, and ended with a KeyError: from then on nobody"
        " reads this server. Look which of the two is there before you take it.",
        "读取任务在一个只有 `error` 的回答里去取 `result`，抛了 KeyError 后就结束了：从此没有人再读这个服务端。取之前先看回答里有哪一个。",
    ),
    "dead_after_error": Text(
        "After the failure the next, correct request got no answer. One failed request must not end the connection.",
        "失败之后，下一个正确的请求得不到回答了。一个请求失败，不应该断掉整个连接。",
    ),
    # 3 pages
    "only_the_first_page": Text(
        "The server has more tools than it puts on one page, and you asked once: {count} tools arrived. Its answer held a"
        " `nextCursor`; ask again with it, until an answer comes without one.",
        "服务端的工具一页放不下，而你只问了一次：只拿到 {count} 个工具。它的回答里有 `nextCursor`；带着它接着问，直到某个回答里没有它为止。",
    ),
    "empty_page_is_the_end": Text(
        "You stopped at a page that was empty or short. The server decides how full a page is; only a missing `nextCursor`"
        " ends the list.",
        "你在一个空页（或没装满的页）就停下了。一页装多少由服务端决定；只有 `nextCursor` 缺失才是结束。",
    ),
    "empty_cursor_is_the_end": Text(
        "The server's `nextCursor` was the empty string, and you took that for the end. An empty string is a cursor like"
        ' any other: test for "missing", not for "false".',
        "服务端给的 `nextCursor` 是空字符串，你把它当成了结束。空字符串也是游标：要判断的是“有没有”，而不是“真不真”。",
    ),
    "cursor_changed": Text(
        "The cursor you sent is not the one the server gave. A cursor is opaque: do not decode, count or trim it, send"
        " it back as it came.",
        "你发回去的游标不是服务端给的那个。游标是不透明的：不要解码、不要计数、不要裁剪，原样发回去。",
    ),
    "last_page_dropped": Text(
        "The pages at the end are missing. The page without a `nextCursor` is the last one, but it holds tools too: take"
        " them before you stop.",
        "最后的页丢了。没有 `nextCursor` 的那一页是最后一页，但它也有工具：先收下，再停。",
    ),
    "pages_overwritten": Text(
        "Only the tools of the last pages are there: each page replaced the ones before. Add the pages up.",
        "只剩下后面几页的工具：每一页都覆盖了前一页。应当把各页加在一起。",
    ),
    "endless_walk": Text(
        "The server gave a cursor that it had given before, and the walk went round and round. A cursor that was sent"
        " already leads nowhere new: stop there (or after a set number of pages).",
        "服务端又给出了以前给过的游标，于是翻页一直在兜圈子。发过的游标不会带来新东西：到这里就该停（或者设一个页数上限）。",
    ),
    "listing_raised": Text(
        "`list_all_tools` raised an exception where the server had given a good answer.",
        "服务端的回答没有问题，`list_all_tools` 却抛出了异常。",
    ),
    # 4 translation
    "tools_lost": Text(
        "The table for the model does not hold one entry per tool of the server.",
        "给模型的工具表和服务端的工具不是一一对应的。",
    ),
    "schema_under_wrong_name": Text(
        "The tool {tool} has no `input_schema`. What MCP calls `inputSchema` has another name at the border to the model;"
        " the schema itself stays as it is.",
        "工具 {tool} 没有 `input_schema`。MCP 叫 `inputSchema`，到模型这一侧要换个名字；模式的内容保持不变。",
    ),
    "schema_changed": Text(
        "The schema of {tool} is not what the server sent. Parts like `$defs` look superfluous and are not: the model"
        " fills in arguments by them. Hand it on unchanged.",
        "工具 {tool} 的模式和服务端发来的不一样。`$defs` 这类部分看着多余，其实模型要靠它们填参数。请原样交过去。",
    ),
    "definition_changed": Text(
        "The translation changed the server's own definition. The client still needs it as it came; build a new object.",
        "翻译时改动了服务端的原始定义。客户端之后还要用它的原样；应当新建一个对象。",
    ),
    "more_than_the_model_takes": Text(
        "The model is given more than it has a place for: {leaked}. Title, annotations and output schema are for the"
        " client, which keeps the definition.",
        "交给模型的内容多出了没有位置可放的字段：{leaked}。title、annotations 和 outputSchema 是给客户端用的，由客户端保存原始定义。",
    ),
    "no_source_in_description": Text(
        "The description of {tool} does not say which server it comes from. The model chooses by descriptions; with two"
        " `search` tools it has to guess.",
        "工具 {tool} 的描述没有说明它来自哪个服务端。模型靠描述选工具；有两个 `search` 时它只能猜。",
    ),
    "description_replaced": Text(
        "The server's own description of {tool} is gone. Put the source in front of it; the words after it are the"
        " server author's, and the model needs them.",
        "工具 {tool} 原来的描述不见了。来源加在前面即可；后面的话是服务端作者写的，模型需要它。",
    ),
    # 5 collision
    "names_not_prefixed": Text(
        "Two servers have a tool called `search`, and the model is given the name `{name}` for both: one hides the other."
        " A tool's name is unique within its own server only; the client adds its alias.",
        "两个服务端都有叫 `search` 的工具，而模型看到的都是 `{name}`：一个盖住了另一个。工具名只在自己的服务端内唯一；前缀要由客户端用别名加上。",
    ),
    "names_collide": Text(
        "Both `search` tools got the model name `{name}`. A prefix tells them apart only if it comes from the client's own"
        " configuration: two servers may report the same name for themselves.",
        "两个 `search` 得到了同一个模型名 `{name}`。前缀必须来自客户端自己的配置才分得开：两个服务端自报的名字可能一样。",
    ),
    "search_not_listed": Text(
        "The table for the model does not hold both `search` tools under the names that `model_tool_name` gives.",
        "给模型的工具表里，没有按 `model_tool_name` 的名字同时列出两个 `search`。",
    ),
    "model_name_on_the_wire": Text(
        "The server received the model's name for the tool. It knows only the name it gave itself: the prefixed one lives"
        " between client and model.",
        "服务端收到的是模型用的名字。它只认识自己起的原名：带前缀的名字只在客户端和模型之间使用。",
    ),
    "call_to_wrong_server": Text(
        "The call for {server} did not arrive there. An alias may hold `__`, so a name cannot be split back into alias and"
        " tool: look it up in the table.",
        "发给 {server} 的调用没有到达那里。别名里可以有 `__`，所以名字拆不回别名和工具名：要查表。",
    ),
    # 6 names
    "names_unchanged": Text(
        "The model is given the server's own names. They may hold dots and 128 characters, and two servers may use the"
        " same one: build a name that is legal and different for each pair of alias and tool.",
        "交给模型的是服务端的原名。原名里可以有点号、可以长达 128 个字符，两个服务端还可能同名：请为每一对（别名，工具名）造一个合法且互不相同的名字。",
    ),
    "illegal_letters": Text(
        "A model name holds `{letters}`. MCP allows more than model APIs do: there, only letters, digits, `_` and `-` are"
        " legal, and one bad name makes the whole request fail.",
        "模型名里出现了 `{letters}`。MCP 允许的字符比模型 API 多：模型那边只接受字母、数字、`_` 和 `-`，一个名字不合法，整个请求都会失败。",
    ),
    "name_too_long": Text(
        "A model name is longer than 64 characters. MCP allows 128, model APIs 64: cut it, and add a digest of the whole"
        " name, because cutting makes equal what was different.",
        "有模型名超过了 64 个字符。MCP 允许 128，模型 API 只允许 64：截断它，再加上整个名字的摘要，因为截断会把不同的变成相同的。",
    ),
    "cut_without_digest": Text(
        "Two long names are the same after the cut. Add a digest (hashlib) of the whole name, not of what is left of it.",
        "两个长名字截断之后变成了同一个。要加上整个名字的摘要（hashlib），而不是截剩部分的摘要。",
    ),
    "cleaned_without_digest": Text(
        "Two names became one when the illegal characters were replaced. Add a digest whenever the clean form differs"
        " from the original.",
        "替换非法字符之后，两个名字变成了同一个。只要清理后的形式和原名不同，就要加上摘要。",
    ),
    "boundary_blurred": Text(
        "Two pairs of alias and tool became one name, because the place where the alias ends is not clear: aliases and"
        " tools may hold `_` and `__` too. Add a digest of both parts where that can happen.",
        "两对（别名，工具名）拼成了同一个名字，因为看不出别名在哪里结束：别名和工具名里也可以有 `_` 和 `__`。有这种可能时，加上对两部分一起算的摘要。",
    ),
    "alias_not_in_name": Text(
        "The same tool of two servers got the same name: the alias has no part in it, or was cut away.",
        "两个服务端的同名工具得到了同一个名字：别名没有参与，或者被截掉了。",
    ),
    "name_changes_between_runs": Text(
        "The same tool has another name in the next run. Python's `hash()` is different in every process; a digest from"
        " hashlib is not.",
        "同一个工具在下一次运行时换了名字。Python 的 `hash()` 每个进程都不同；hashlib 的摘要则不会变。",
    ),
    "original_name_lost": Text(
        "A tool was called by its model name, and its server did not receive the original. A cleaned or cut name cannot"
        " be turned back: look it up in the table.",
        "用模型名调用工具时，服务端没有收到原名。清理或截断过的名字还原不回来：要查表。",
    ),
    # 7 failures become results
    "tickets_raised": Text(
        "The tool failed and said why (`isError: true`), and `call` raised. So the model never reads the sentence that"
        " would have let it try again: return the result as it came.",
        "工具失败了，也说明了原因（`isError: true`），`call` 却抛了异常。这样模型就读不到那句能让它改正的话：请原样返回结果。",
    ),
    "tickets_no_error_result": Text(
        "The tool failed (`isError: true`), and what `call` returned does not say so any more. The model would take the"
        " complaint for an answer.",
        "工具失败了（`isError: true`），而 `call` 返回的结果里已经看不出来。模型会把这句抱怨当成答案。",
    ),
    "error_text_lost": Text(
        "The result is marked as an error, but the server's text is not in it. That text tells the model what to do"
        " better.",
        "结果标成了错误，但服务端的原话不见了。模型正是靠那段话知道该怎么改。",
    ),
    "unknown_raised": Text(
        "The model asked for a tool that does not exist, and `call` raised. Models do that; an error result lets it"
        " choose again.",
        "模型要了一个不存在的工具，`call` 抛了异常。模型会这样做；返回一个错误结果，它就能重新选择。",
    ),
    "unknown_no_error_result": Text(
        "The model asked for a tool that does not exist, and what came back is not an error result with a text.",
        "模型要了一个不存在的工具，返回的却不是带文字的错误结果。",
    ),
    "silent_raised": Text(
        "The server did not answer in time, and `call` raised: one slow tool ends the whole turn. Return an error result.",
        "服务端没有按时回答，`call` 抛了异常：一个慢工具就结束了整轮对话。应当返回错误结果。",
    ),
    "silent_no_error_result": Text(
        "The server did not answer in time, and what came back is not an error result with a text.",
        "服务端没有按时回答，返回的却不是带文字的错误结果。",
    ),
    "server_not_told": Text(
        "A request timed out, and the server was not told. It goes on working for nobody: send `notifications/cancelled`"
        " with the request's id.",
        "请求超时了，却没有告诉服务端，它还在为没人等的请求干活：请发送带请求 id 的 `notifications/cancelled`。",
    ),
    "dying_raised": Text(
        "The server died during the call, and `call` raised. A dead server costs its tools, not the turn: return an error"
        " result.",
        "服务端在调用中途退出，`call` 抛了异常。服务端死掉的代价是少几个工具，而不是这一轮失败：请返回错误结果。",
    ),
    "dying_no_error_result": Text(
        "The server died during the call, and what came back is not an error result with a text.",
        "服务端在调用中途退出，返回的却不是带文字的错误结果。",
    ),
    "death_unnoticed": Text(
        "The server died during the call, and the caller waited the whole {seconds:g} s. When its output ends, nobody will"
        " answer any more: wake all that wait.",
        "服务端在调用中途退出，调用者却等满了 {seconds:g} 秒。它的输出一结束，就再也不会有回答：要唤醒所有等待者。",
    ),
    "dead_raised": Text(
        "A tool of a server that is gone was called, and `call` raised. Return an error result that says so.",
        "调用了已退出的服务端的工具，`call` 抛了异常。应当返回说明情况的错误结果。",
    ),
    "dead_no_error_result": Text(
        "A tool of a server that is gone was called, and what came back is not an error result with a text.",
        "调用了已退出的服务端的工具，返回的却不是带文字的错误结果。",
    ),
    # 8 one server down
    "refresh_raised": Text(
        "Four of five servers cannot be used, and `refresh` raised: the healthy one is lost with them. Catch the failure"
        " of each server on its own, note the reason in `down`, and go on.",
        "五个服务端里有四个用不了，`refresh` 就抛了异常：连健康的那个也一起丢了。应当逐个服务端捕获失败，把原因记进 `down`，然后继续。",
    ),
    "healthy_server_down": Text(
        "The healthy server stands in `down`. Each server's failure is its own.",
        "健康的服务端也进了 `down`。每个服务端的失败只算它自己的。",
    ),
    "not_in_down": Text(
        "The server {server} cannot be used and is not in `down`. Then neither the person nor the model learns what is"
        " missing.",
        "服务端 {server} 用不了，却不在 `down` 里。这样用户和模型都不知道少了什么。",
    ),
    "down_without_reason": Text(
        "The server {server} is in `down`, but without a reason. Afterwards you must be able to say what is missing and"
        " why: note the text of the exception.",
        "服务端 {server} 进了 `down`，但没有原因。事后要能回答少了什么、为什么少：请记下异常的文字。",
    ),
    "healthy_server_lost": Text(
        "The notes server is healthy, and its search does not work once the others are down.",
        "笔记服务端是健康的，可其他服务端掉线后它的搜索也不能用了。",
    ),
    "down_server_listed": Text(
        "The model is offered tools of a server that is down. It would choose them, and fail.",
        "给模型的表里还有掉线服务端的工具。模型会选中它们，然后失败。",
    ),
    "down_call_no_error_result": Text(
        "A call to {server}, which is down, did not come back as an error result. It must neither raise nor look like"
        " an answer.",
        "调用掉线的 {server}，没有得到错误结果。它既不能抛异常，也不能看起来像个回答。",
    ),
    "waited_in_sequence": Text(
        "Two servers stay silent, and the second was started only when the first one's deadline had passed. Start all at"
        " once: the wait is that of the slowest, not the sum.",
        "有两个服务端不出声，第二个要等到第一个超时之后才启动。应当同时启动：等待时间取最慢的那个，而不是总和。",
    ),
    # 9 the agent loop
    "no_answer": Text(
        "The model gave its answer, and the loop did not return it after the third question to the model.",
        "模型已经给出回答，但循环没有在第三次询问模型之后把它返回。",
    ),
    "question_lost": Text(
        "The question is not among the messages that the model was shown.",
        "给模型看的消息里没有用户的问题。",
    ),
    "results_not_paired": Text(
        "After a message with tool calls there must be one result per call, in the order of the calls. A provider refuses"
        " a history with a gap, then and in every later turn.",
        "带工具调用的消息之后，每个调用都要有一个结果，顺序与调用相同。历史里有缺口，模型服务会拒绝，之后每一轮都会。",
    ),
    "result_lost": Text(
        "The server's result did not reach the model as the tool message of its call.",
        "服务端的结果没有作为该调用的工具消息交给模型。",
    ),
    "error_result_lost": Text(
        "A call failed, and the model was not shown a tool message with `is_error` and the reason.",
        "调用失败了，模型却没有看到带 `is_error` 和原因的工具消息。",
    ),
    "step_limit_broken": Text(
        "The model never stops calling tools, and the loop was allowed 3 steps. It must ask the model exactly that often,"
        " then stop without an answer.",
        "模型一直在调用工具，而循环只允许 3 步。它应当恰好问模型这么多次，然后在没有回答的情况下停下。",
    ),
}
