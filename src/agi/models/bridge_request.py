"""Tools and options as pydantic-ai takes them; what a model would ignore is left out, and nothing is asked twice.

Pure. May import: errors, protocol, models.base; needs the extra.
"""

from __future__ import annotations

from copy import deepcopy
from typing import cast, get_args

from pydantic_ai.messages import InstructionPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings, ThinkingEffort
from pydantic_ai.tools import ToolDefinition as ForeignTool

from agi.errors import ModelError
from agi.models.base import ModelRequest
from agi.protocol.parts import Json
from agi.protocol.tools import ToolDefinition

_SAME = ("temperature", "max_tokens", "top_p", "seed")
_EFFORTS = frozenset(get_args(ThinkingEffort))


def parameters_of(request: ModelRequest, model: Model) -> ModelRequestParameters:
    """The system prompt, the tools and, where one is asked for, the schema of the answer. Raises ModelError."""
    schema = request.options.get("schema")
    wanted = OutputObjectDefinition(deepcopy(schema)) if isinstance(schema, dict) else None
    if wanted and not model.profile.get("supports_json_schema_output", False):
        message = f"{model.model_name} cannot be held to a JSON schema."
        raise ModelError(message, code="schema_refused", hint="Choose another model, or ask without a schema.")
    return ModelRequestParameters(
        function_tools=[_tool(tool) for tool in request.tools],
        instruction_parts=[InstructionPart(request.system)] if request.system else [],
        output_mode="native" if wanted else "text",
        output_object=wanted,
    )


def settings_of(options: Json, model: Model) -> ModelSettings:
    """The options this model does not ignore, in pydantic-ai's words."""
    wanted: Json = {name: options[name] for name in _SAME if options.get(name) is not None}
    stop, effort = options.get("stop"), options.get("reasoning_effort")
    if stop is not None:
        wanted["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if effort in _EFFORTS:
        wanted["thinking"] = effort
    wanted["max_retries"] = 0  # asking again is the loop's business
    ignored = model.unsupported_settings | frozenset(_ignored_by_profile(model))
    return cast("ModelSettings", {name: value for name, value in wanted.items() if name not in ignored})


def _ignored_by_profile(model: Model) -> tuple[str, ...]:
    names = model.profile.get("openai_unsupported_model_settings", ())
    return tuple(names) if isinstance(names, tuple | list | set | frozenset) else ()


def _tool(tool: ToolDefinition) -> ForeignTool:
    # Not strict: that would rewrite the schema, and the tool checks its input itself.
    schema = deepcopy(tool.input_schema)
    return ForeignTool(name=tool.name, parameters_json_schema=schema, description=tool.description, strict=False)
