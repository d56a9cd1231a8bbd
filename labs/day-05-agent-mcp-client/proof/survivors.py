"""The mutants of the solution that no check turns red, and why that is right; labkit.mutants runs them.

An equivalent one is as right as the solution. Each other one names the test of the kit that sees it, and
labkit.guards runs that test; where there is none, nothing sees it but a reader.
"""

EQUIVALENT = "equivalent"
OUT_OF_REACH = "out of the lesson's reach"
STDIO = "tests/test_stdio_client.py::test_"
LOOP = "tests/test_registry_and_loop.py::test_"
OFFICIAL = "tests/test_client_against_official_server.py::test_"

Reviewed = dict[str, tuple[str, str, str]]


def equivalent(reason: str, *names: str) -> Reviewed:
    """These mutants are as right as the solution."""
    return {name: (EQUIVALENT, reason, "") for name in names}


def beyond(reason: str, place: str, tests: dict[str, str]) -> Reviewed:
    """The mutants of a function that the checks leave alone on purpose: line and kind -> the test that sees it."""
    return {f"{place}:{name}": (OUT_OF_REACH, reason, test) for name, test in tests.items()}


REVIEWED: Reviewed = {
    **equivalent(
        "another way to build a name: it is as legal, as distinct and as stable",
        "discover_and_translate.py:model_tool_name:8:text",
        "discover_and_translate.py:model_tool_name:9:text.2",
        "discover_and_translate.py:model_tool_name:15:constant.2",
        "discover_and_translate.py:model_tool_name:16:constant",
        "discover_and_translate.py:model_tool_name:16:text",
    ),
    **equivalent(
        "every name has a digest, also where none is needed: legal, distinct and stable all the same",
        "discover_and_translate.py:model_tool_name:10:text",
        "discover_and_translate.py:model_tool_name:11:delete-statement",
        "discover_and_translate.py:model_tool_name:12:delete-statement",
    ),
    **equivalent(
        "the bound is there to be finite: one page, character or byte more or less is as good",
        "discover_and_translate.py:list_all_tools:9:compare-boundary",
        "discover_and_translate.py:MAX_PAGES:1:constant",
        "discover_and_translate.py:MAX_PAGES:1:constant.2",
        "stdio_client.py:MAX_LINE_BYTES:1:constant",
        "stdio_client.py:MAX_LINE_BYTES:1:constant.2",
        "stdio_client.py:MAX_LINE_BYTES:1:constant.3",
        "stdio_client.py:MAX_LINE_BYTES:1:constant.4",
        "stdio_client.py:MAX_LINE_BYTES:1:constant.5",
        "stdio_client.py:MAX_LINE_BYTES:1:constant.6",
        "stdio_client.py:LAST_WORDS_BYTES:1:constant",
        "stdio_client.py:LAST_WORDS_BYTES:1:constant.2",
        "agent_loop.py:MAX_RESULT_CHARACTERS:1:constant",
        "agent_loop.py:MAX_RESULT_CHARACTERS:1:constant.2",
        "stdio_client.py:StdioClient._read_stdout:5:constant",
        "stdio_client.py:StdioClient._read_stdout:5:constant.2",
        "stdio_client.py:StdioClient._read_stdout:11:constant",
        "stdio_client.py:StdioClient._read_stdout:11:constant.2",
        "stdio_client.py:StdioClient._read_stdout:14:compare-boundary",
    ),
    **equivalent(
        "the list has one message: before its end is before its beginning",
        "agent_loop.py:run_agent:8:constant.2",
    ),
    **equivalent(
        "only the words of a warning come of it",
        "discover_and_translate.py:read_page:12:drop-not",
    ),
    **equivalent(
        "a server of another revision refuses `tools/list` as well; one of the right programs does not ask either",
        "registry.py:ToolRegistry._refresh_one:8:delete-statement",
        "registry.py:ToolRegistry._refresh_one:8:drop-await",
    ),
    **equivalent(
        "it is set before anybody reads it",
        "stdio_client.py:Waiter.__init__:3:delete-statement",
        "stdio_client.py:StdioClient.__init__:26:delete-statement",
        "stdio_client.py:StdioClient.__init__:26:text",
    ),
    **equivalent(
        "any distinct integers are ids",
        "stdio_client.py:StdioClient.__init__:20:constant",
        "stdio_client.py:StdioClient.__init__:20:constant.2",
    ),
    **equivalent(
        "the same JSON, with blanks",
        "protocol.py:_encoder:1:drop-argument",
    ),
    **equivalent(
        "a process that was opened with pipes has a standard input; the type checker wants to hear it",
        "stdio_client.py:StdioClient._send:5:drop-operand.2",
    ),
    **equivalent(
        "it saves a turn of the event loop, and no more",
        "stdio_client.py:StdioClient.__init__:22:constant",
    ),
    **beyond(
        "who the client says it is: optional in the specification, and a student may write another name",
        "protocol.py:CLIENT_INFO",
        {
            "1:text": OFFICIAL + "the_client_says_its_name_and_version_in_the_official_form",
            "1:drop-item": OFFICIAL + "the_client_says_its_name_and_version_in_the_official_form",
            "1:text.2": OFFICIAL + "the_client_says_its_name_and_version_in_the_official_form",
            "1:drop-item.2": OFFICIAL + "the_client_says_its_name_and_version_in_the_official_form",
            "1:text.3": OFFICIAL + "the_client_says_its_name_and_version_in_the_official_form",
            "1:text.4": OFFICIAL + "the_client_says_its_name_and_version_in_the_official_form",
        },
    ),
    **beyond(
        "a name for the code around the client; none of the five files looks at it",
        "protocol.py:METHOD_NOT_FOUND",
        {
            "1:drop-sign": OFFICIAL + "the_error_codes_are_the_official_ones",
            "1:constant": OFFICIAL + "the_error_codes_are_the_official_ones",
            "1:constant.2": OFFICIAL + "the_error_codes_are_the_official_ones",
        },
    ),
    **beyond(
        "a name for the code around the client; none of the five files looks at it",
        "protocol.py:INVALID_PARAMS",
        {
            "1:drop-sign": OFFICIAL + "the_error_codes_are_the_official_ones",
            "1:constant": OFFICIAL + "the_error_codes_are_the_official_ones",
            "1:constant.2": OFFICIAL + "the_error_codes_are_the_official_ones",
        },
    ),
    **beyond(
        "a name for the code around the client; none of the five files looks at it",
        "protocol.py:UNSUPPORTED_PROTOCOL_VERSION",
        {
            "1:drop-sign": OFFICIAL + "the_error_codes_are_the_official_ones",
            "1:constant": OFFICIAL + "the_error_codes_are_the_official_ones",
            "1:constant.2": OFFICIAL + "the_error_codes_are_the_official_ones",
        },
    ),
    **beyond(
        "how a value is written that JSON cannot hold; the checks send plain values",
        "protocol.py:_encoder",
        {
            "1:constant": STDIO + "arguments_that_are_no_json_are_refused_before_anything_leaves",
        },
    ),
    **beyond(
        "`clientInfo` is optional in the specification",
        "protocol.py:request_meta",
        {
            "5:text": STDIO + "a_request_carries_its_method_its_params_and_the_meta_keys",
            "5:drop-item": STDIO + "a_request_carries_its_method_its_params_and_the_meta_keys",
        },
    ),
    **beyond(
        "a value that JSON cannot hold; the checks send plain values",
        "protocol.py:encode",
        {
            "8:drop-item": STDIO + "arguments_that_are_no_json_are_refused_before_anything_leaves",
            "8:drop-item.2": STDIO + "arguments_that_are_no_json_are_refused_before_anything_leaves",
            "8:drop-item.3": STDIO + "arguments_that_are_no_json_are_refused_before_anything_leaves",
            "9:delete-statement": STDIO + "arguments_that_are_no_json_are_refused_before_anything_leaves",
            "9:raise-on": STDIO + "arguments_that_are_no_json_are_refused_before_anything_leaves",
        },
    ),
    **beyond(
        "a line that is nested too deep; the mock servers send none",
        "protocol.py:decode",
        {
            "5:drop-item.2": STDIO + "a_line_that_is_no_answer_to_us_is_passed_over",
        },
    ),
    **beyond(
        "JSON that is no message: a list, a log entry, an answer without `jsonrpc`; the mock servers send none",
        "protocol.py:decode",
        {
            "7:drop-operand": STDIO + "a_line_that_is_no_answer_to_us_is_passed_over",
            "7:and-or": STDIO + "a_line_that_is_no_answer_to_us_is_passed_over",
            "7:drop-operand.2": STDIO + "what_a_server_has_logged_to_its_output_in_json_is_among_the_last_words",
            "7:text.2": STDIO + "a_character_may_be_split_over_two_writes",
            "7:text.3": STDIO + "a_character_may_be_split_over_two_writes",
        },
    ),
    **beyond(
        "an error without an id whose line holds nothing else that JSON-RPC knows but `jsonrpc`",
        "protocol.py:decode",
        {
            "7:text": "",
        },
    ),
    **beyond(
        "a result that is no object or not complete; the mock servers send complete ones",
        "protocol.py:complete_result",
        {
            "6:delete-statement": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
            "7:delete-statement": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
            "8:text": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
            "8:drop-argument": STDIO + "an_answer_is_read_whatever_surrounds_it",
            "8:text.2": STDIO + "an_answer_is_read_whatever_surrounds_it",
            "9:delete-statement": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
            "10:delete-statement": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
        },
    ),
    **beyond(
        "what an RpcError says beside its code; any wording is right that holds the server's message",
        "protocol.py:RpcError.__init__",
        {
            "2:delete-statement": STDIO + "an_error_is_raised_at_once_with_its_code_its_message_and_its_data",
            "4:delete-statement": STDIO + "an_error_is_raised_at_once_with_its_code_its_message_and_its_data",
        },
    ),
    **beyond(
        "an error with no code or message, or no object at all; the mock servers send whole ones",
        "protocol.py:RpcError.from_wire",
        {
            "3:delete-statement": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "4:delete-statement": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "4:return-none": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "4:constant": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "4:constant.2": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "4:swap-arguments": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "4:text": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "5:drop-argument": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "5:constant": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "5:constant.2": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "5:drop-argument.2": STDIO + "an_error_of_any_shape_is_raised_at_once",
            "5:text.3": STDIO + "an_error_of_any_shape_is_raised_at_once",
        },
    ),
    **beyond(
        "the wording of a timeout, and what it remembers",
        "protocol.py:RequestTimeout.__init__",
        {
            "2:delete-statement": LOOP + "servers_that_fail_in_every_way_cost_one_deadline_and_not_their_sum",
            "3:delete-statement": STDIO + "the_deadline_is_the_clients_unless_the_request_has_its_own",
            "4:delete-statement": STDIO + "the_deadline_is_the_clients_unless_the_request_has_its_own",
        },
    ),
    **beyond(
        "the default deadline; every check sets its own, and could not wait for this one",
        "stdio_client.py:REQUEST_SECONDS",
        {
            "1:constant": "",
            "1:constant.2": "",
        },
    ),
    **beyond(
        "how long a notice may take when the server does not read; the mock servers read",
        "stdio_client.py:NOTICE_SECONDS",
        {
            "1:constant.2": STDIO + "the_deadline_holds_when_the_server_does_not_read",
        },
    ),
    **beyond(
        "how long an ended server's pipes are read; the checks' servers leave nobody behind who holds them",
        "stdio_client.py:LAST_WORDS_SECONDS",
        {
            "1:constant": STDIO + "a_death_fails_all_pending_requests_at_once_with_code_and_last_words",
            "1:constant.2": STDIO + "a_crash_is_noticed_while_a_grandchild_holds_the_output",
        },
    ),
    **beyond(
        "how long close() waits for a server that does not exit; the mock servers exit at once",
        "stdio_client.py:EXIT_SECONDS",
        {
            "1:constant": STDIO + "a_polite_server_exits_at_the_end_of_its_input",
            "1:constant.2": "",
        },
    ),
    **beyond(
        "the longest line there may be; a check will not send 256 MB",
        "stdio_client.py:MAX_LINE_BYTES",
        {
            "1:arithmetic": STDIO + "an_answer_of_five_megabytes_arrives_whole",
            "1:arithmetic.2": STDIO + "an_answer_of_five_megabytes_arrives_whole",
        },
    ),
    **beyond(
        "a client that is used before its start; the checks start it",
        "stdio_client.py:StdioClient.__init__",
        {
            "24:delete-statement": STDIO + "a_cancelled_request_is_forgotten_and_its_answer_ignored",
            "25:delete-statement": STDIO + "a_client_never_started_is_down_and_can_be_closed",
            "25:text": STDIO + "a_client_never_started_is_down_and_can_be_closed",
        },
    ),
    **beyond(
        "a second start, at once, after a death or cancelled; the checks start each server once",
        "stdio_client.py:StdioClient.start",
        {
            "7:drop-with": STDIO + "a_restart_that_is_cancelled_leaves_no_process",
            "7:constant": STDIO + "a_restart_that_is_cancelled_leaves_no_process",
            "8:drop-with": STDIO + "a_close_during_a_start_closes_what_is_being_started",
            "11:delete-statement": STDIO + "a_restart_that_is_cancelled_leaves_no_process",
            "11:drop-await": STDIO + "a_restart_that_is_cancelled_leaves_no_process",
        },
    ),
    **beyond(
        "a request that its caller cancels, and a table that grows; the checks look at answers",
        "stdio_client.py:StdioClient.request",
        {
            "19:drop-item.2": STDIO + "a_request_that_its_caller_cancels_is_told_to_the_server_too",
            "24:delete-statement": STDIO + "a_cancelled_request_is_forgotten_and_its_answer_ignored",
            "24:swap-arguments": STDIO + "a_cancelled_request_is_forgotten_and_its_answer_ignored",
        },
    ),
    **beyond(
        "a notice that cannot be sent, or whose sender is cancelled; the mock servers read",
        "stdio_client.py:StdioClient._give_up",
        {
            "3:drop-with": STDIO + "a_request_that_its_caller_cancels_is_told_to_the_server_too",
            "3:constant": STDIO + "a_request_that_its_caller_cancels_is_told_to_the_server_too",
        },
    ),
    **beyond(
        "a notice to a server that has just ended",
        "stdio_client.py:StdioClient._give_up",
        {
            "3:drop-with.2": "",
            "3:drop-argument": "",
        },
    ),
    **beyond(
        "the form of a notification; the mock servers take any, as a server must not answer one",
        "stdio_client.py:StdioClient.notify",
        {
            "3:text": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
            "3:drop-item": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
            "3:text.2": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
        },
    ),
    **beyond(
        "a notification without params; all of ours have some",
        "stdio_client.py:StdioClient.notify",
        {
            "3:drop-operand.2": "",
        },
    ),
    **beyond(
        "a close that is cancelled or comes twice at once; the checks close once, in peace",
        "stdio_client.py:StdioClient.close",
        {
            "3:drop-with": STDIO + "a_close_that_is_cancelled_closes_all_the_same",
            "3:constant": STDIO + "a_close_that_is_cancelled_closes_all_the_same",
            "4:drop-with": STDIO + "a_close_during_a_start_closes_what_is_being_started",
        },
    ),
    **beyond(
        "the server's environment and directory, and programs that cannot be started in odd ways",
        "stdio_client.py:StdioClient._open",
        {
            "5:drop-argument": STDIO + "a_server_that_cannot_be_started_is_down_with_a_clear_reason",
            "6:drop-argument": STDIO + "a_server_that_cannot_be_started_is_down_with_a_clear_reason",
            "7:constant": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "9:drop-item.2": STDIO + "a_server_that_cannot_be_started_is_down_with_a_clear_reason",
            "10:delete-statement": STDIO + "a_server_that_cannot_be_started_is_down_with_a_clear_reason",
        },
    ),
    **beyond(
        "the wording of a reason: another word of the command line is named",
        "stdio_client.py:StdioClient._open",
        {
            "10:constant.2": "",
        },
    ),
    **beyond(
        "the steps by which a server ends; the checks see that none is left, and the mock servers end at the first",
        "stdio_client.py:StdioClient._close",
        {
            "5:delete-statement": STDIO + "a_polite_server_exits_at_the_end_of_its_input",
            "5:compare-negated": STDIO + "a_polite_server_exits_at_the_end_of_its_input",
            "6:delete-statement": STDIO + "a_polite_server_exits_at_the_end_of_its_input",
            "6:drop-await": STDIO + "a_polite_server_exits_at_the_end_of_its_input",
            "7:delete-statement": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
            "7:drop-not": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "7:drop-await": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
            "8:delete-statement": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "8:constant": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "9:delete-statement": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "9:drop-await": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "10:delete-statement": STDIO + "a_server_that_ignores_sigterm_is_killed",
            "10:constant": STDIO + "a_server_that_ignores_sigterm_is_killed",
        },
    ),
    **beyond(
        "tidying after the exit: without it the pipes are closed a little later, by Python itself",
        "stdio_client.py:StdioClient._close",
        {
            "11:delete-statement": "",
            "11:drop-await": "",
            "11:negate-condition": "",
            "12:drop-with": "",
            "13:delete-statement": "",
            "13:drop-await": "",
            "14:delete-statement": "",
            "14:drop-await": "",
        },
    ),
    **beyond(
        "a server that ends or closes its input while a message is on its way; no check can time that",
        "stdio_client.py:StdioClient._send",
        {
            "5:delete-statement": STDIO + "a_client_never_started_is_down_and_can_be_closed",
            "5:drop-operand": STDIO + "a_client_never_started_is_down_and_can_be_closed",
            "5:and-or": STDIO + "a_client_never_started_is_down_and_can_be_closed",
            "6:delete-statement": STDIO + "a_client_never_started_is_down_and_can_be_closed",
            "9:delete-statement": STDIO + "an_output_that_ends_is_the_end_although_the_process_lives",
            "10:delete-statement": STDIO + "an_output_that_ends_is_the_end_although_the_process_lives",
            "14:drop-item": STDIO + "an_input_that_is_closed_is_told_as_such",
            "15:drop-with": STDIO + "an_input_that_is_closed_is_told_as_such",
            "15:raise-on": STDIO + "an_input_that_is_closed_is_told_as_such",
            "16:delete-statement": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
            "16:drop-await": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
            "17:delete-statement": STDIO + "an_input_that_is_closed_is_told_as_such",
            "17:drop-not": STDIO + "an_input_that_is_closed_is_told_as_such",
            "17:negate-condition": STDIO + "an_input_that_is_closed_is_told_as_such",
            "17:and-or": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
            "17:drop-operand.2": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
            "17:compare-negated": STDIO + "an_input_that_is_closed_is_told_as_such",
            "18:delete-statement": STDIO + "an_input_that_is_closed_is_told_as_such",
            "19:delete-statement": STDIO + "an_input_that_is_closed_is_told_as_such",
            "20:delete-statement": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
            "20:drop-await": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
        },
    ),
    **beyond(
        "two messages at once: on asyncio a line enters the pipe's buffer whole, elsewhere it might not",
        "stdio_client.py:StdioClient._send",
        {
            "8:drop-with": "",
        },
    ),
    **beyond(
        "an error that a write gives on some systems only",
        "stdio_client.py:StdioClient._send",
        {
            "14:drop-item.2": "",
            "14:drop-item.3": "",
        },
    ),
    **beyond(
        "which of two reasons is given when a server ends while it is written to",
        "stdio_client.py:StdioClient._send",
        {
            "17:drop-operand": "",
            "18:text": "",
        },
    ),
    **beyond(
        "a write that fails because the server ends: the waiting request fails all the same, with the same reason",
        "stdio_client.py:StdioClient._send",
        {
            "21:delete-statement": "",
        },
    ),
    **beyond(
        "the reason that is given for a server's end, and readers held open by a grandchild",
        "stdio_client.py:StdioClient._serve",
        {
            "3:delete-statement": STDIO + "an_output_that_ends_is_the_end_although_the_process_lives",
            "3:text": STDIO + "an_output_that_ends_is_the_end_although_the_process_lives",
            "6:delete-statement": STDIO + "an_input_that_is_closed_is_told_as_such",
            "11:delete-statement": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "11:text": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "12:delete-statement": STDIO + "a_crash_is_noticed_while_a_grandchild_holds_the_output",
            "14:delete-statement": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "14:negate-condition": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "15:text.2": STDIO + "stray_lines_of_output_are_among_the_last_words_and_stay_apart",
            "16:delete-statement": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "16:assign-for-add": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "16:text": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
        },
    ),
    **beyond(
        "the wording of a reason: a letter before the last words",
        "stdio_client.py:StdioClient._serve",
        {
            "3:text.2": "",
        },
    ),
    **beyond(
        "a pipe that breaks while it is read: it happens on some systems, and no test can bring it about here",
        "stdio_client.py:StdioClient._read_stdout",
        {
            "6:drop-with": "",
            "6:drop-argument": "",
            "6:drop-argument.2": "",
        },
    ),
    **beyond(
        "a pipe that breaks while it is read, and a line of more than 256 MB",
        "stdio_client.py:StdioClient._read_stdout",
        {
            "13:delete-statement": STDIO + "a_line_that_is_too_long_ends_that_server_only",
            "13:assign-for-add": STDIO + "a_line_that_is_too_long_ends_that_server_only",
            "14:delete-statement": STDIO + "a_line_that_is_too_long_ends_that_server_only",
            "15:delete-statement": STDIO + "a_line_that_is_too_long_ends_that_server_only",
            "15:text": STDIO + "a_line_that_is_too_long_ends_that_server_only",
            "16:delete-statement": STDIO + "a_line_that_is_too_long_ends_that_server_only",
            "17:delete-statement": STDIO + "an_output_that_ends_is_the_end_although_the_process_lives",
        },
    ),
    **beyond(
        "how long an ended server's pipes are read; the checks' servers leave nobody behind who holds them",
        "stdio_client.py:StdioClient._finish_soon",
        {
            "3:drop-operand": STDIO + "a_request_stuck_in_a_full_pipe_fails_when_the_server_dies",
            "3:arithmetic": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "4:delete-statement": STDIO + "an_output_that_ends_is_the_end_although_the_process_lives",
        },
    ),
    **beyond(
        "a pipe that breaks while it is read: it happens on some systems, and no test can bring it about here",
        "stdio_client.py:StdioClient._read_stderr",
        {
            "4:drop-with": "",
            "4:drop-argument": "",
            "4:drop-argument.2": "",
        },
    ),
    **beyond(
        "a pipe that breaks while it is read, and what is kept of it",
        "stdio_client.py:StdioClient._read_stderr",
        {
            "6:delete-statement": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
        },
    ),
    **beyond(
        "a listener's notifications, answers with both or neither of result and error, stray lines as last words",
        "stdio_client.py:StdioClient._on_line",
        {
            "5:delete-statement": STDIO + "stray_lines_of_output_are_among_the_last_words_and_stay_apart",
            "5:drop-operand": STDIO + "stray_lines_of_output_are_among_the_last_words_and_stay_apart",
            "5:text": STDIO + "stray_lines_of_output_are_among_the_last_words_and_stay_apart",
            "7:delete-statement": STDIO + "an_exception_in_on_notification_reaches_the_owner_of_the_task_group",
            "7:text": STDIO + "an_exception_in_on_notification_reaches_the_owner_of_the_task_group",
            "8:delete-statement": STDIO + "an_exception_in_on_notification_reaches_the_owner_of_the_task_group",
            "9:delete-statement": STDIO + "an_exception_in_on_notification_reaches_the_owner_of_the_task_group",
            "10:delete-statement": STDIO + "the_client_writes_no_response_even_to_a_server_that_asks",
            "15:delete-statement": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
            "15:text": STDIO + "a_malformed_answer_fails_its_own_request_at_once",
        },
    ),
    **beyond(
        "an error without an id, an answer that nobody waits for: no mock server sends them where it would show",
        "stdio_client.py:StdioClient._take_waiter",
        {
            "4:delete-statement": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "4:drop-operand": STDIO + "a_second_answer_to_the_same_request_changes_nothing",
            "4:compare-negated": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "4:and-or": STDIO + "a_line_that_is_no_answer_to_us_is_passed_over",
            "4:text": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "4:drop-operand.2": STDIO + "a_line_that_is_no_answer_to_us_is_passed_over",
            "4:compare-negated.2": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "4:drop-operand.3": STDIO + "an_error_without_an_id_is_for_nobody_when_two_requests_wait",
            "4:compare-negated.3": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "4:constant": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "4:constant.2": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "5:delete-statement": STDIO + "an_error_without_an_id_is_for_the_only_request_there_is",
            "6:drop-argument": STDIO + "a_second_answer_to_the_same_request_changes_nothing",
        },
    ),
    **beyond(
        "a server's last words; any reason is right that is one",
        "stdio_client.py:StdioClient._keep",
        {
            "2:delete-statement": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "2:drop-operand": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
            "2:drop-slice": STDIO + "only_the_last_words_are_kept",
            "2:drop-sign": STDIO + "a_death_before_the_first_request_is_told_with_code_and_last_words",
        },
    ),
    **beyond(
        "a server that does not exit by itself; the mock servers do",
        "stdio_client.py:_exits",
        {
            "3:drop-with": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "4:delete-statement": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
            "4:drop-await": STDIO + "a_notification_has_no_id_and_waits_for_nothing",
            "6:constant": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
        },
    ),
    **beyond(
        "close() goes on to TERM and KILL although the server has exited: it ends nothing more",
        "stdio_client.py:_exits",
        {
            "5:delete-statement": "",
            "5:constant": "",
        },
    ),
    **beyond(
        "what a server leaves behind when it ends; the mock servers start nothing",
        "stdio_client.py:_end_tree",
        {
            "3:delete-statement": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "3:compare-negated": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "5:delete-statement": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "5:swap-arguments": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
            "5:negate-condition": STDIO + "a_server_that_stays_after_the_end_of_its_input_gets_sigterm",
        },
    ),
    **beyond(
        "the way a process is ended on Windows, which does not run here",
        "stdio_client.py:_end_tree",
        {
            "3:text": "",
            "6:compare-negated": "",
            "7:delete-statement": "",
            "7:text": "",
            "7:drop-item": "",
            "7:text.2": "",
            "7:drop-item.2": "",
            "7:text.3": "",
            "7:drop-item.3": "",
            "7:text.4": "",
            "7:drop-item.4": "",
            "7:drop-item.5": "",
            "7:constant": "",
        },
    ),
    **beyond(
        "a group that may not be signalled any more, as on macOS when its leader has ended",
        "stdio_client.py:_end_tree",
        {
            "4:drop-argument.2": "",
        },
    ),
    **beyond(
        "a name that is shorter than it may be",
        "discover_and_translate.py:MAX_NAME",
        {
            "1:constant.2": LOOP + "a_name_that_had_to_change_ends_with_a_digest",
        },
    ),
    **beyond(
        "a server of another revision; the mock servers speak ours",
        "discover_and_translate.py:discover",
        {
            "8:delete-statement": LOOP + "a_server_that_does_not_speak_our_revision_is_refused_with_both_versions",
            "8:drop-operand": LOOP + "a_server_that_does_not_speak_our_revision_is_refused_with_both_versions",
            "8:and-or": LOOP + "a_server_that_does_not_speak_our_revision_is_refused_with_both_versions",
            "8:drop-operand.2": LOOP + "a_server_that_does_not_speak_our_revision_is_refused_with_both_versions",
            "9:delete-statement": LOOP + "a_server_that_does_not_speak_our_revision_is_refused_with_both_versions",
            "10:delete-statement": LOOP + "a_server_that_does_not_speak_our_revision_is_refused_with_both_versions",
        },
    ),
    **beyond(
        "an endless list with ever new cursors: the exercise asks to stop at a circle, a limit is an extra",
        "discover_and_translate.py:list_all_tools",
        {
            "9:drop-operand.3": LOOP + "a_list_without_an_end_is_cut_short_with_a_warning",
        },
    ),
    **beyond(
        "an answer that is no page, and the warning of a tool left out; the mock servers send pages",
        "discover_and_translate.py:read_page",
        {
            "8:delete-statement": LOOP + "what_is_no_page_is_refused",
            "8:drop-operand": LOOP + "what_is_no_page_is_refused",
            "8:and-or": LOOP + "what_is_no_page_is_refused",
            "8:drop-operand.2": LOOP + "what_is_no_page_is_refused",
            "9:delete-statement": LOOP + "what_is_no_page_is_refused",
            "11:delete-statement": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "11:compare-boundary": LOOP + "all_pages_are_listed",
            "11:compare-negated": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "12:delete-statement": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "12:empty-loop": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
        },
    ),
    **beyond(
        "a tool with no name or schema; the mock servers send none",
        "discover_and_translate.py:_is_tool",
        {
            "2:delete-statement": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "3:delete-statement": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "3:constant": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "4:drop-operand": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "4:and-or": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
            "4:drop-operand.2": LOOP + "a_malformed_tool_is_left_out_with_a_warning_and_costs_no_other",
        },
    ),
    **beyond(
        "a tool without a description; the check asks for the source, and leaves the rest to the student",
        "discover_and_translate.py:to_model_tool",
        {
            "7:drop-operand.2": LOOP + "a_translation_says_where_the_tool_comes_from_and_leaks_nothing",
            "7:text.2": LOOP + "a_translation_says_where_the_tool_comes_from_and_leaks_nothing",
            "7:and-or.2": LOOP + "a_translation_says_where_the_tool_comes_from_and_leaks_nothing",
            "7:drop-operand.3": LOOP + "a_translation_says_where_the_tool_comes_from_and_leaks_nothing",
        },
    ),
    **beyond(
        "frozen guards against a slip in later code; nothing here changes one",
        "registry.py:Entry",
        {
            "0:constant": "",
        },
    ),
    **beyond(
        "a registry that is used before its first refresh",
        "registry.py:ToolRegistry.__init__",
        {
            "4:delete-statement": LOOP + "a_registry_that_was_never_refreshed_offers_nothing",
        },
    ),
    **beyond(
        "a second refresh after a failure; the checks refresh once",
        "registry.py:ToolRegistry._refresh_one",
        {
            "4:delete-statement": LOOP + "a_server_that_fails_at_a_later_refresh_loses_its_tools",
            "4:swap-arguments": LOOP + "a_server_that_fails_at_a_later_refresh_loses_its_tools",
        },
    ),
    **beyond(
        "a second refresh that finds fewer tools; the checks refresh once",
        "registry.py:ToolRegistry._rebuild",
        {
        },
    ),
    **beyond(
        "whether a server that is down is asked again: the result is an error either way",
        "registry.py:ToolRegistry.call",
        {
            "10:delete-statement": LOOP + "only_a_dead_server_goes_into_the_down_table_and_is_asked_no_more",
            "11:delete-statement": LOOP + "only_a_dead_server_goes_into_the_down_table_and_is_asked_no_more",
        },
    ),
    **beyond(
        "the punctuation of an error result",
        "registry.py:ToolRegistry._down_note",
        {
            "2:text": "",
        },
    ),
    **beyond(
        "the wording of an error result; any text is right that is one",
        "registry.py:ToolRegistry._down_note",
        {
            "2:return-none": LOOP + "an_unknown_tool_is_an_error_result_and_nothing_is_sent",
            "2:text.2": LOOP + "an_unknown_tool_is_an_error_result_and_nothing_is_sent",
            "2:empty-loop": LOOP + "an_unknown_tool_is_an_error_result_and_nothing_is_sent",
        },
    ),
    **beyond(
        "the form of our own error result: the checks ask for `isError` and a text",
        "registry.py:error_result",
        {
            "3:text.2": LOOP + "an_error_result_of_our_own_has_the_form_of_a_servers",
            "3:drop-item.3": LOOP + "an_error_result_of_our_own_has_the_form_of_a_servers",
            "3:text.3": LOOP + "an_error_result_of_our_own_has_the_form_of_a_servers",
        },
    ),
    **beyond(
        "the default limit; the checks set their own",
        "agent_loop.py:MAX_STEPS",
        {
            "1:constant": LOOP + "the_usual_step_limit_is_ten",
            "1:constant.2": LOOP + "the_usual_step_limit_is_ten",
        },
    ),
    **beyond(
        "frozen guards against a slip in later code; nothing here changes one",
        "agent_loop.py:Transcript",
        {
            "0:constant": "",
        },
    ),
    **beyond(
        "what the model is told of servers that are down, beside what the exercise asks; in check 9 none is",
        "agent_loop.py:run_agent",
        {
            "5:text.2": LOOP + "an_answer_without_calls_ends_the_turn_at_once",
            "5:text.3": LOOP + "an_answer_without_calls_ends_the_turn_at_once",
            "6:delete-statement": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "6:negate-condition": LOOP + "an_answer_without_calls_ends_the_turn_at_once",
            "7:delete-statement": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "7:text": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:delete-statement": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:constant": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:swap-arguments": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:text": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:drop-item": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:text.2": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:drop-item.2": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
            "8:text.3": LOOP + "the_model_is_told_what_is_down_and_sees_the_tools_that_are_left",
        },
    ),
    **beyond(
        "a call without arguments, and the wording of an error result",
        "agent_loop.py:run_call",
        {
            "5:text": LOOP + "each_call_gets_its_one_message_whatever_happens",
        },
    ),
    **beyond(
        "the tool's name beside its result, which some providers want; the checks pair by id",
        "agent_loop.py:tool_message",
        {
            "6:text": LOOP + "each_call_gets_its_one_message_whatever_happens",
            "6:drop-item": LOOP + "each_call_gets_its_one_message_whatever_happens",
        },
    ),
    **beyond(
        "a block that is no text and holds a `text`, which the specification does not know",
        "agent_loop.py:result_text",
        {
            "6:drop-operand": "",
        },
    ),
    **beyond(
        "a result that is no plain text, or very long; the mock servers send short texts",
        "agent_loop.py:result_text",
        {
            "6:text": LOOP + "every_result_becomes_one_readable_text",
            "6:compare-negated": LOOP + "every_result_becomes_one_readable_text",
            "6:text.2": LOOP + "every_result_becomes_one_readable_text",
            "6:and-or": LOOP + "every_result_becomes_one_readable_text",
            "6:drop-operand.2": LOOP + "every_result_becomes_one_readable_text",
            "6:text.3": LOOP + "every_result_becomes_one_readable_text",
            "6:empty-loop": LOOP + "every_result_becomes_one_readable_text",
            "7:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "7:text": LOOP + "every_result_becomes_one_readable_text",
            "7:drop-operand": LOOP + "every_result_becomes_one_readable_text",
            "7:compare-negated": LOOP + "every_result_becomes_one_readable_text",
            "7:and-or": LOOP + "every_result_becomes_one_readable_text",
            "7:drop-not": LOOP + "every_result_becomes_one_readable_text",
            "7:drop-operand.2": LOOP + "every_result_becomes_one_readable_text",
            "8:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "8:text": LOOP + "every_result_becomes_one_readable_text",
            "9:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "9:text": LOOP + "every_result_becomes_one_readable_text",
            "9:drop-operand.2": LOOP + "every_result_becomes_one_readable_text",
            "9:text.2": LOOP + "every_result_becomes_one_readable_text",
            "10:delete-statement": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "10:compare-boundary": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "10:compare-negated": LOOP + "every_result_becomes_one_readable_text",
            "11:delete-statement": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "11:drop-operand": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "11:arithmetic": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "12:delete-statement": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "12:text": LOOP + "a_text_is_cut_only_when_it_is_longer_than_the_limit",
            "12:drop-slice": LOOP + "three_megabytes_of_text_are_cut_and_the_cut_is_counted",
        },
    ),
    **beyond(
        "structured content without a text; the mock servers send a text with it",
        "agent_loop.py:structured_text",
        {
            "3:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "3:return-none": LOOP + "every_result_becomes_one_readable_text",
            "3:constant": LOOP + "every_result_becomes_one_readable_text",
            "5:delete-statement": LOOP + "structured_content_as_deep_as_the_decoder_goes_does_not_end_the_turn",
            "5:raise-on": LOOP + "structured_content_as_deep_as_the_decoder_goes_does_not_end_the_turn",
            "5:return-none": LOOP + "structured_content_as_deep_as_the_decoder_goes_does_not_end_the_turn",
        },
    ),
    **beyond(
        "the words for content that is nested too deep",
        "agent_loop.py:structured_text",
        {
            "5:text": "",
        },
    ),
    **beyond(
        "content that is no text; the mock servers send texts",
        "agent_loop.py:block_text",
        {
            "3:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "3:text": LOOP + "every_result_becomes_one_readable_text",
            "3:compare-negated": LOOP + "every_result_becomes_one_readable_text",
            "3:text.2": LOOP + "every_result_becomes_one_readable_text",
            "4:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "5:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "5:text": LOOP + "every_result_becomes_one_readable_text",
            "5:swap-arguments": LOOP + "every_result_becomes_one_readable_text",
            "5:drop-argument": LOOP + "every_result_becomes_one_readable_text",
            "6:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "6:drop-operand": LOOP + "every_result_becomes_one_readable_text",
            "6:negate-condition": LOOP + "every_result_becomes_one_readable_text",
            "6:swap-arguments": LOOP + "every_result_becomes_one_readable_text",
            "6:and-or": LOOP + "every_result_becomes_one_readable_text",
            "6:drop-operand.2": LOOP + "every_result_becomes_one_readable_text",
            "6:swap-arguments.2": LOOP + "every_result_becomes_one_readable_text",
            "6:text": LOOP + "every_result_becomes_one_readable_text",
            "7:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "7:return-none": LOOP + "every_result_becomes_one_readable_text",
            "7:text": LOOP + "every_result_becomes_one_readable_text",
            "8:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "8:text": LOOP + "every_result_becomes_one_readable_text",
            "8:negate-condition": LOOP + "every_result_becomes_one_readable_text",
            "8:swap-arguments": LOOP + "every_result_becomes_one_readable_text",
            "9:delete-statement": LOOP + "every_result_becomes_one_readable_text",
            "9:drop-item": LOOP + "every_result_becomes_one_readable_text",
            "9:text": LOOP + "every_result_becomes_one_readable_text",
            "9:text.2": LOOP + "every_result_becomes_one_readable_text",
            "9:drop-item.2": LOOP + "every_result_becomes_one_readable_text",
            "9:drop-item.3": LOOP + "every_result_becomes_one_readable_text",
            "9:drop-operand": LOOP + "every_result_becomes_one_readable_text",
            "9:and-or": LOOP + "every_result_becomes_one_readable_text",
            "9:drop-operand.2": LOOP + "every_result_becomes_one_readable_text",
            "9:text.3": LOOP + "every_result_becomes_one_readable_text",
            "10:return-none": LOOP + "every_result_becomes_one_readable_text",
            "10:text": LOOP + "every_result_becomes_one_readable_text",
            "10:text.2": LOOP + "every_result_becomes_one_readable_text",
            "10:empty-loop": LOOP + "every_result_becomes_one_readable_text",
            "10:negate-condition": LOOP + "every_result_becomes_one_readable_text",
            "10:text.3": LOOP + "every_result_becomes_one_readable_text",
        },
    ),
    **beyond(
        "a text block that holds no text, which the specification does not allow",
        "agent_loop.py:block_text",
        {
            "4:drop-argument": "",
            "4:text.2": "",
        },
    ),
}
