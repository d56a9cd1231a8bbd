"""What `.env` and the environment may say about the model, and the sentence that names a variable which is wrong.

Nothing is sent and nothing started. The sentences as the command shows them are in test_host_main.py and
test_models_end_to_end.py.
"""

from __future__ import annotations

import re
import string
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from kit import LAB, ROOT

sys.path.insert(0, str(LAB))

from host.models import SETTINGS, ModelNotConfigured, choose_model
from host.models.real import RealModel
from host.words import LANGUAGES, WORDS

GOOD = {"MODEL_API": "openai", "MODEL_NAME": "m"}
NO_FILE = Path("/nowhere/.env")


def chosen(**variables: str) -> Any:
    """The real model that these variables make, over a working pair."""
    return choose_model(False, GOOD | variables, NO_FILE)


def settings(**variables: str) -> Any:
    return chosen(**variables)._settings


def test_two_variables_are_enough_for_a_real_model() -> None:
    model = chosen()
    assert isinstance(model, RealModel)
    assert model.name == "m @ https://api.openai.com/v1"
    assert chosen(MODEL_API="anthropic").name == "m @ https://api.anthropic.com"


def test_the_api_may_be_written_in_any_case_and_spaces_around_a_value_do_not_count() -> None:
    assert chosen(MODEL_API=" OpenAI ", MODEL_NAME=" qwen3:4b ").name.startswith("qwen3:4b @ https://api.openai.com")


def test_an_env_file_is_enough_and_the_environment_goes_before_it(tmp_path: Path) -> None:
    env_file = tmp_path / ".env"
    env_file.write_text(
        "MODEL_API=anthropic\nMODEL_NAME=from-file\nMODEL_API_KEY=sk-file-12345678\n"
        "MODEL_BASE_URL=http://127.0.0.1:8080 # a comment\nMODEL_OPTIONS='{\"max_tokens\": 100}'\n",
        encoding="utf-8",
    )
    found: Any = choose_model(False, {}, env_file)
    assert found.name == "from-file @ http://127.0.0.1:8080"
    assert (found._settings.api_key, found._settings.options) == ("sk-file-12345678", {"max_tokens": 100})
    found = choose_model(False, {"MODEL_NAME": "from-environment", "MODEL_API": "openai"}, env_file)
    assert found.name == "from-environment @ http://127.0.0.1:8080"


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:11434/v1", "http://localhost:8080", "https://api.deepseek.com", "http://[::1]:8000/v1/"),
        *(
            "https://open.bigmodel.cn/api/paas/v4",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "http://主机/v1",
        ),
    ],
)
def test_a_base_url_is_taken_as_it_is_written(url: str) -> None:
    assert settings(MODEL_BASE_URL=url).base_url == url


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:11434/v1", "127.0.0.1", "//host/v1", "ftp://host/v1", "http://", "http:///v1", "http://host:port"),
        *(
            "http://host:99999",
            "http://[::1",
            "http://me:secret@host/v1",
            "https://host/v1?key=secret",
            "http://host/#x",
        ),
        *("http://ho st/v1", "http://host/v1\\chat", "http://host/\u2028v1", "https://host:0/v1"),
    ],
)
def test_a_base_url_that_cannot_be_one_or_holds_a_secret_names_its_variable_and_not_its_value(url: str) -> None:
    said = refused(MODEL_BASE_URL=url)
    assert said.startswith("MODEL_BASE_URL (in ") and "secret" not in said


@pytest.mark.parametrize("key", ["sk-1 sk-2", "Bearer sk-12345678", "sk-1\nsk-2", "sk-é", "密钥", "sk-\x00", "“sk-1”"])
def test_a_key_that_no_header_can_carry_names_its_variable_and_not_its_value(key: str) -> None:
    said = refused(MODEL_API_KEY=key)
    assert said.startswith("MODEL_API_KEY (in ") and "sk-" not in said and "密钥中" not in said


def test_a_key_is_optional_and_never_part_of_what_the_settings_show() -> None:
    assert settings().api_key is None
    assert settings(MODEL_API_KEY="sk-12345678").api_key == "sk-12345678"
    assert "sk-12345678" not in repr(settings(MODEL_API_KEY="sk-12345678"))


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "1", '"text"', "temperature=0", "{'temperature': 0}", '{"temperature": NaN}', "[" * 100_000),
        *('{"model": "x"}', '{"stream": false}', '{"messages": []}', '{"tools": []}', '{"system": "x"}'),
    ],
)
def test_options_that_are_no_fields_of_a_request_name_their_variable(text: str) -> None:
    said = refused(MODEL_OPTIONS=text)
    assert said.startswith("MODEL_OPTIONS (in ") and "without model, messages, system, tools, stream" in said


@pytest.mark.parametrize(("text", "shown"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_shaping_is_shown_on_request(text: str, shown: bool) -> None:
    assert settings(SHOW_SHAPING=text).show_shaping is shown


def test_asking_to_see_the_shaping_does_not_count_as_half_a_model() -> None:
    with pytest.raises(ModelNotConfigured, match="no model is configured"):
        choose_model(False, {"SHOW_SHAPING": "1"}, NO_FILE)


def test_an_api_that_is_not_known_is_told_with_those_that_are() -> None:
    assert "is not one of: anthropic, openai" in refused(MODEL_API="gemini")


def refused(**variables: str) -> str:
    """The sentence, which must be there in both languages and show the way out."""
    with pytest.raises(ModelNotConfigured) as caught:
        chosen(**variables)
    for language in LANGUAGES:
        said = caught.value.message.text(language)
        assert "MOCK=1" in said and "\n" not in said
    return caught.value.message.text("en")


# The example


def test_the_example_names_every_setting_and_sets_none() -> None:
    """It is copied to .env and filled in; as it is, it is as good as no file."""
    example = ROOT / ".env.example"
    assert dotenv_values(example) == {}
    text = example.read_text(encoding="utf-8")
    assert all(f"{name}=" in text for name in SETTINGS)
    with pytest.raises(ModelNotConfigured, match="no model is configured"):
        choose_model(False, {}, example)


def test_each_example_in_the_example_works_when_its_marks_are_taken_away(tmp_path: Path) -> None:
    """`#NAME=value` is an example, `# text` is a comment; a blank line ends a group that belongs together."""
    groups = (ROOT / ".env.example").read_text(encoding="utf-8").split("\n\n")
    found = 0
    for group in groups:
        lines = [line.removeprefix("#") for line in group.splitlines() if line.startswith("#MODEL_")]
        if any(line.startswith("MODEL_API=") for line in lines):
            env_file = tmp_path / f"{found}.env"
            env_file.write_text("\n".join(lines), encoding="utf-8")
            assert isinstance(choose_model(False, {}, env_file), RealModel)
            found += 1
    assert found >= 3


@pytest.mark.parametrize("page", ["local-model.md", "local-model.zh-CN.md"])
def test_the_settings_in_the_pages_about_local_models_need_no_key_and_work(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```ini\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        env_file = tmp_path / "settings.env"
        env_file.write_text(textwrap.dedent(block), encoding="utf-8")
        model: Any = choose_model(False, {}, env_file)
        assert model.name.partition(" @ ")[2].startswith("http://127.0.0.1:") and model._settings.api_key is None


# What it costs those who do not use it


def test_the_mock_model_needs_no_http() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import host.models, host.command; print('httpx2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code, str(LAB)], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_every_sentence_about_models_and_shaping_is_there_in_both_languages_with_the_same_places() -> None:
    for key, (english, chinese) in WORDS.items():
        if key.startswith(("model_", "shape_", "bad_")):
            places = [
                {place for _, place, _, _ in string.Formatter().parse(text) if place} for text in (english, chinese)
            ]
            assert places[0] == places[1], key
