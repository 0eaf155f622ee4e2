"""Names in a repository that configure an agent program: settings, hooks, tool servers, plugins, commands.

All are hidden from every agent, because many agents read each other's. Instructions in prose (CLAUDE.md, AGENTS.md)
stay: they are data for the model like any other file, and can start nothing. A name with a slash is a path's end.
"""

from __future__ import annotations

MASKED = frozenset({
    ".claude", ".claude.json", ".mcp.json", ".codex", ".gemini", ".geminiignore", ".qwen", ".qwenignore", ".opencode",
    "opencode.json", "opencode.jsonc", ".pi", ".copilot", ".cursor", ".agents", ".aider.conf.yml",
    ".aider.conf.yaml", ".aider.model.settings.yml", ".aider.model.metadata.json", ".aiderignore", ".mini-swe-agent",
    ".env", ".vscode/mcp.json",
    ".github/copilot", ".github/hooks", ".github/mcp.json", ".github/agents", ".github/extensions",
})  # fmt: skip
FOLDERS = frozenset(name.partition("/")[0] for name in MASKED if "/" in name)


def hides(path: str, masked: frozenset[str], *, link: bool = False) -> bool:
    """Whether a path (repository-relative) or a folder of it is masked. Letter case doesn't matter.

    `link`: it is a symbolic link, which may lead to a folder with a masked name in it.
    """
    parts = path.lower().split("/")
    if link and parts[-1] in FOLDERS:
        return True
    return any(part in masked or (index and f"{parts[index - 1]}/{part}" in masked) for index, part in enumerate(parts))
