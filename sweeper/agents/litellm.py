"""How programs on litellm (aider, mini-swe-agent) are told of their model."""

from __future__ import annotations

from sweeper.agents.contract import Model


def environment(model: Model) -> dict[str, str]:
    own = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    if model.protocol == "openai":
        return own | {"OPENAI_API_KEY": model.token, "OPENAI_API_BASE": f"{model.base_url}/v1"}
    return own | {"ANTHROPIC_API_KEY": model.token, "ANTHROPIC_API_BASE": model.base_url}
