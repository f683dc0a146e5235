"""The vendors' own types for requests and replies, from their SDKs, as validators that forbid members outside the schema.

The SDKs describe requests as `TypedDict`s that a type checker reads. `strict` turns one into a type that pydantic enforces:
members outside the schema are refused, every element of a list is looked at, and what only exists in Python (open files, objects
of the SDK's own classes) is left out.
"""

import collections.abc
import functools
import json
import os
import pathlib
import types
import typing

import pydantic
import typing_extensions
from typing_extensions import Annotated, NotRequired, Required, TypedDict

UNIONS = (typing.Union, types.UnionType)
PYTHON_ONLY = (pydantic.BaseModel, typing.IO, os.PathLike, pathlib.Path, bytes)


def is_python_only(one):
    """Returns true for types that no JSON body can hold."""
    if typing.get_origin(one) in UNIONS:
        return all(is_python_only(each) for each in typing.get_args(one))
    if typing.get_origin(one) is Annotated:
        return is_python_only(typing.get_args(one)[0])
    origin = typing.get_origin(one) or one
    return isinstance(origin, type) and issubclass(origin, PYTHON_ONLY)


def is_tagged(one, tag):
    """Returns true for records that say by this member which they are. With such a tag, only that variant is tried."""
    if not typing_extensions.is_typeddict(one) or tag not in one.__required_keys__:
        return False
    found = typing_extensions.get_type_hints(one)[tag]
    return typing.get_origin(found) in (typing.Literal, typing_extensions.Literal)


class Types:
    """Strict types by the SDK's type, so that types that contain themselves end."""

    def __init__(self):
        self.made = {}

    def strict(self, one):
        """Returns the type that pydantic enforces in place of `one`."""
        origin, arguments = typing.get_origin(one), typing.get_args(one)
        if typing_extensions.is_typeddict(one):
            return self.record(one)
        if origin is Annotated:
            return self.strict(arguments[0])
        if origin in UNIONS:
            kept = [self.strict(each) for each in arguments if not is_python_only(each)]
            union = typing.Union[tuple(kept)]
            tag = next((tag for tag in ("type", "role") if all(is_tagged(each, tag) for each in kept)), None)
            return Annotated[union, pydantic.Discriminator(tag)] if tag and len(kept) > 1 else union
        if origin in (collections.abc.Iterable, collections.abc.Sequence, list):
            return typing.List[self.strict(arguments[0])]
        if origin is not None and getattr(origin, "__name__", "") == "SequenceNotStr":
            return typing.List[self.strict(arguments[0])]
        if origin in (dict, collections.abc.Mapping):
            return typing.Dict[str, self.strict(arguments[1])]
        return typing.Any if one is object else one

    def record(self, one):
        """Returns a `TypedDict` with the same members under their names on the wire."""
        if one in self.made:
            return self.made[one]
        name = f"{one.__name__}_{len(self.made)}"
        # Members may lead back to this type; pydantic resolves the name when all is there.
        self.made[one] = typing.ForwardRef(name)
        members = {}
        for member, found in typing_extensions.get_type_hints(one, include_extras=True).items():
            required = member in one.__required_keys__
            while typing.get_origin(found) in (Required, NotRequired, typing.Required, typing.NotRequired):
                required = typing.get_origin(found) in (Required, typing.Required)
                found = typing.get_args(found)[0]
            wire_name = member
            if typing.get_origin(found) is Annotated:
                aliases = (getattr(each, "alias", None) for each in typing.get_args(found)[1:])
                wire_name = next(filter(None, aliases), member)
            found = self.strict(found)
            members[wire_name] = Required[found] if required else NotRequired[found]
        made = TypedDict(name, members)
        allows = getattr(one, "__pydantic_config__", {}).get("extra")
        made.__pydantic_config__ = pydantic.ConfigDict(extra=allows or "forbid", strict=True)
        made.__module__ = __name__
        globals()[name] = made
        self.made[one] = made
        return made


TYPES = Types()


def validator(one):
    """Returns a validator for a body of this request type."""
    return pydantic.TypeAdapter(TYPES.strict(one))


@functools.cache
def request(kind, is_stream):
    """Returns the validator of a kind of request; the SDKs have a type of their own for those that ask for a stream."""
    return REQUESTS[kind](is_stream)


def messages(is_stream):
    from anthropic.types import message_create_params as params

    return validator(params.MessageCreateParamsStreaming if is_stream else params.MessageCreateParamsNonStreaming)


def messages_beta(is_stream):
    from anthropic.types.beta import message_create_params as params

    return validator(params.MessageCreateParamsStreaming if is_stream else params.MessageCreateParamsNonStreaming)


def count_tokens(is_stream):
    from anthropic.types import message_count_tokens_params as params

    return validator(params.MessageCountTokensParams)


def chat(is_stream):
    from openai.types.chat import completion_create_params as params

    return validator(params.CompletionCreateParamsStreaming if is_stream else params.CompletionCreateParamsNonStreaming)


def responses(is_stream):
    from openai.types.responses import response_create_params as params

    return validator(params.ResponseCreateParamsStreaming if is_stream else params.ResponseCreateParamsNonStreaming)


def gemini(is_stream):
    from google.genai import types as google

    class GenerateContent(Gemini):
        contents: list[google.Content]
        systemInstruction: google.Content | None = None
        tools: list[google.Tool] | None = None
        toolConfig: google.ToolConfig | None = None
        safetySettings: list[google.SafetySetting] | None = None
        generationConfig: google.GenerationConfig | None = None
        cachedContent: str | None = None

    return pydantic.TypeAdapter(GenerateContent)


def cached_content(is_stream):
    from google.genai import types as google

    class CachedContent(Gemini):
        model: str | None = None
        contents: list[google.Content] | None = None
        systemInstruction: google.Content | None = None
        tools: list[google.Tool] | None = None
        toolConfig: google.ToolConfig | None = None
        displayName: str | None = None
        ttl: str | None = None
        expireTime: str | None = None

    return pydantic.TypeAdapter(CachedContent)


class Gemini(pydantic.BaseModel):
    """A request of the Gemini API: its SDK has a type for each member, and none for the whole body."""

    model_config = pydantic.ConfigDict(extra="forbid")


REQUESTS = {
    "messages": messages,
    "messages-beta": messages_beta,
    "count-tokens": count_tokens,
    "chat": chat,
    "responses": responses,
    "gemini": gemini,
    "cached-content": cached_content,
}


@functools.cache
def reply(kind, is_stream):
    """Returns the validator of a whole reply, or of one event of a stream."""
    return REPLIES[kind](is_stream)


class ByType:
    """A validator of events: each names its type by a member."""

    def __init__(self, union):
        variants = typing.get_args(typing.get_args(union)[0])
        self.variants = {typing.get_args(each.model_fields["type"].annotation)[0]: each for each in variants}

    def validate_json(self, text):
        found = self.variants.get(json.loads(text)["type"])
        if found is None:
            raise pydantic.ValidationError.from_exception_data("event", [{"type": "literal_error", "loc": ("type",), "input": None, "ctx": {"expected": "a type of event"}}])
        return found.model_validate_json(text)


def messages_reply(is_stream):
    from anthropic.types import Message, RawMessageStreamEvent

    return ByType(RawMessageStreamEvent) if is_stream else pydantic.TypeAdapter(Message)


def chat_reply(is_stream):
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    return pydantic.TypeAdapter(ChatCompletionChunk if is_stream else ChatCompletion)


def responses_reply(is_stream):
    from openai.types.responses import Response, ResponseStreamEvent

    return ByType(ResponseStreamEvent) if is_stream else pydantic.TypeAdapter(Response)


def gemini_reply(is_stream):
    from google.genai import types as google

    return pydantic.TypeAdapter(google.GenerateContentResponse)


REPLIES = {
    "messages": messages_reply,
    "chat": chat_reply,
    "responses": responses_reply,
    "gemini": gemini_reply,
}
