"""Configuration: the models with their defaults. `sweeper.config.file` finds, reads and merges it.

The docstring below a field is its description in the JSON Schema that ships (`sweeper.schema.json`).
The check's own configuration is never read from here: it comes from the base commit.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sweeper.commands import argv
from sweeper.config.types import (
    BranchTemplate,
    Bytes,
    Command,
    CommandLine,
    Environment,
    HostPort,
    Inside,
    MessageTemplate,
    Pattern,
    Seconds,
    SomeCommand,
    SweepName,
    TitleTemplate,
)

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")  # environment variables of the known providers


class Model(BaseModel):
    # Strict, so that `slots = true` or `slots = "4"` in a file is an error and not a guess.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class ClocksConfig(Model):
    """The three clocks of a sandbox. A number is seconds; strings such as "90s", "10m", "1h" work too."""

    first_output: Seconds | None = None
    """Longest wait for the first byte of output."""
    idle: Seconds | None = None
    """Longest silence between two outputs."""
    wall: Seconds = Field(default=600.0, gt=0)
    """Longest life of the command."""


class RungConfig(Model):
    """One rung of a ladder: how to try."""

    agent: str = Field(default="command", min_length=1)
    """Which agent: "command" runs `run`."""
    run: Command = ""
    """The command of agent = "command"; "{files}" expands to the unit's paths."""
    provider: str = ""
    """Whose model it uses: a name of [provider]; without it the agent's usual one. On a command: it gets one, too."""
    model: str = ""
    """The model; without it the agent's usual one."""
    prompt: str = "standard"
    """Name of a prompt template."""
    attempts: int = Field(default=1, ge=1, le=10)
    """Tries on this rung before the next one, one a round."""
    candidates: int = Field(default=1, ge=1, le=16)
    """Agents that try at once; the best verified change is taken."""
    pilot: int | None = Field(default=None, ge=0, le=1000)
    """Units of each rule that try this rung before the others may; 0: none. By default 5 on a rung with a model."""
    pilot_floor: float = Field(default=0.2, ge=0, le=1)
    """The share of the pilot's units that must be mended; with fewer the rule's units are held."""
    budget_usd: float | None = Field(default=None, ge=0)
    """Money for one attempt on this rung; without it limits.usd_per_attempt."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens of one attempt on this rung, in and out; needed for a model whose price nobody knows."""
    max_turns: int = Field(default=40, ge=1)
    """Turns of one attempt, for agents that can count them."""
    clocks: ClocksConfig = ClocksConfig()
    """The clocks of this rung's agent."""
    env: Environment = {}
    """Environment variables of the agent; never a place for a credential."""
    inject: Literal["", "file", "stdin"] = ""
    """For a program that can't use the gateway: the provider's real key goes into its sandbox, in the file that
    $SWEEPER_KEY_FILE names or on stdin. Needs `egress` and `budget_usd`, which each attempt is charged in full."""
    egress: list[HostPort] = []
    """The only addresses, as "host:port", that a program with an injected key reaches, by $HTTPS_PROXY."""

    def usd(self, usual: float) -> float:
        """Dollars that one attempt may spend; `usual` where this rung names none."""
        return usual if self.budget_usd is None else self.budget_usd

    @model_validator(mode="after")
    def _complete(self) -> RungConfig:
        if self.agent == "command" and not argv(self.run):
            raise ValueError('a rung with agent = "command" needs `run`')
        if self.egress and not self.inject:
            raise ValueError("`egress` is for a rung with `inject`: any other has no network")
        if self.inject and (self.agent != "command" or not self.provider):
            raise ValueError('`inject` is for agent = "command" with a `provider`: the other agents use the gateway')
        if self.inject and (not self.egress or self.budget_usd is None):
            raise ValueError(
                "`inject` needs `egress`, the addresses it may reach, and `budget_usd`, as nobody can meter it"
            )
        return self


class SweepConfig(Model):
    """One sweep: a named backlog with its check, partition, ladder and scope."""

    check: SomeCommand
    """The check command, by shell quoting rules but without a shell; or a list of words."""
    unit_check: Command = ""
    """The check of one unit, with "{files}"; without it the whole check is run and filtered."""
    format: str = "auto"
    """The check's output format; "auto" recognises it."""
    pattern: Pattern = ""
    """A Python regular expression for a format of your own: what matches a line from its start is a finding. Named
    groups: path and line, and perhaps column, rule, message, severity. It takes the place of `format`."""
    project_wide: bool = False
    """Whether findings of one file depend on others (type checkers that are not known by name)."""
    verify_batch: int = Field(default=16, ge=1)
    """Units that one check of the whole project may judge together, where single files can't be; 1: each its own."""
    root: Inside = "."
    """The folder of a monorepo that the check runs in."""
    partition: Literal["file", "directory", "rule", "owner"] = "file"
    """What becomes a unit; "owner": by the base commit's CODEOWNERS."""
    max_findings_per_unit: int = Field(default=40, ge=1)
    """A unit with more findings is split into chunks, of whole files or of a file's ranges of lines."""
    scope: list[str] = []
    """Globs (gitignore syntax, from the repository's top) that a unit may change beyond its own paths."""
    allow: list[str] = []
    """Globs that lift the denial of workflow, agent-instruction and check-configuration files."""
    policy: dict[str, Literal["reject", "review", "off"]] = {}
    """What a broken rule of the policy leads to, by its name (docs/policy.md): "reject", "review" or "off"."""
    test: Command = ""
    """The project's tests, run by the gate."""
    unit_test: Command = ""
    """A quick test of one unit, with "{files}": a verified change that breaks it is no fix."""
    test_junit: Inside | Literal[""] = ""
    """Path of a JUnit file that `test` writes: a red base is then compared test by test."""
    setup: list[CommandLine] = []
    """Commands that make the toolchain: run once, networked, without credentials."""
    toolchain: str = "python"
    """The image that docker builds: generic, go, node, python, ruby, rust or shell."""
    image: str = ""
    """An image to use instead of the toolchain's."""
    slots: int | None = Field(default=None, ge=1)
    """Agents of this sweep at once; without it limits.slots."""
    max_rounds: int = Field(default=10, ge=1)
    """Rounds of one run; where units take turns with a file, so many for each turn."""
    ladder: list[RungConfig] = []
    """The rungs in order; without the key the check's own fixer, then an agent whose key is set. With an empty list
    what the check finds is held for a person."""

    @model_validator(mode="after")
    def _complete(self) -> SweepConfig:
        if self.test_junit and not argv(self.test):
            raise ValueError("`test_junit` needs `test`")
        return self


class LimitsConfig(Model):
    """Limits, reserved before dispatch and settled after."""

    slots: int = Field(default=4, ge=1)
    """Agents at once."""
    verifiers: int | None = Field(default=None, ge=1)
    """Verifiers at once beyond the agents; without it as many as slots."""
    units_per_fire: int | None = Field(default=None, ge=1)
    """Attempts that one fire may start."""
    wall: Seconds | None = None
    """Wall time of one fire."""
    usd_per_attempt: float = Field(default=0.50, ge=0)
    """Money of one attempt."""
    usd_per_fire: float = Field(default=5.0, ge=0)
    """Money of one fire."""
    usd_per_day: float = Field(default=20.0, ge=0)
    """Money of one day (UTC)."""
    ramp: Seconds = 0.0
    """Start ramp: the time over which the slots open one by one."""


class ProviderConfig(Model):
    """Where models are. "anthropic", "openai" and "gemini" are known; each field changes one thing of them."""

    base_url: str = ""
    """The address, with or without /v1."""
    key: str = ""
    """The NAME of the environment variable that holds the key; never the key."""
    protocol: Literal["", "anthropic", "openai", "gemini"] = ""
    """What it speaks."""


class SandboxConfig(Model):
    """The sandboxes. A size is bytes, or a string such as "512MB" or "2GiB"."""

    backend: Literal["auto", "docker", "bubblewrap"] = "auto"
    """"auto": docker if an engine answers and has the toolchain's image, else bubblewrap."""
    memory: Bytes = 2 << 30
    """Memory of one sandbox."""
    cpus: float = Field(default=1.0, gt=0)
    """Cores of one sandbox."""
    pids: int = Field(default=512, ge=16)
    """Processes and threads of one sandbox."""
    disk: Bytes = 1 << 30
    """What one sandbox may write."""
    output: Bytes = 64 << 20
    """What one sandbox may print; the rest is cut off."""
    ca_certificates: str = ""
    """A PEM file of extra certificate authorities, for image builds and set-up commands."""
    runtime: str = ""
    """The engine's OCI runtime."""


class LedgerConfig(Model):
    """The durable state."""

    url: str = ""
    """A postgresql:// URL; without it SQLite in the state folder."""


class DispatcherConfig(Model):
    """The coordinator that holds a sweep."""

    lease: Seconds = Field(default=60.0, ge=3)
    """How long a claim lives without renewal."""


class PullRequestConfig(Model):
    """The pull request of a sweep, opened by `sweeper run --pull-request` and `sweeper pr`."""

    remote: str = Field(default="origin", min_length=1)
    """The remote that is pushed to: a name, or a URL."""
    repository: Annotated[str, Field(pattern=r"^([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)?$")] = ""
    """"owner/name" on the forge; without it the remote's URL says."""
    api: Annotated[str, Field(pattern=r"^(https?://.+)?$")] = ""
    """Base address of an Enterprise API, such as https://HOST/api/v3; without it the remote's host says."""
    token: Annotated[str, Field(pattern=r"^[A-Za-z_0-9]*$")] = ""
    """The NAME of the environment variable that holds the token; never the token. Without it GH_TOKEN, GITHUB_TOKEN or
    `gh auth token` (another host than GitHub's: GH_ENTERPRISE_TOKEN, GITHUB_ENTERPRISE_TOKEN)."""
    base: str = ""
    """The branch to merge into; without it the one that is checked out, if the remote has it, else the default one."""
    branch: BranchTemplate = "sweeper/{sweep}"
    """The branch that is pushed, with "{sweep}"; a further part's name is added to it."""
    commits: Literal["unit", "rule", "squash"] = "unit"
    """One commit per unit (and round), per set of rules, or one in all."""
    message: MessageTemplate = ""
    """A commit's message, with {sweep}, {title}, {rules}, {units}, {before}, {after}, {rung}."""
    title: TitleTemplate = ""
    """The pull request's title, with {sweep}, {part}, {fixed}, {remaining}, {units}."""
    sign_off: bool = False
    """Add Signed-off-by to every commit."""
    split: Annotated[str, Field(pattern=r"^(none|owners|directory|rule|max_files *= *[1-9][0-9]{0,5})$")] = "none"
    """Several pull requests: "owners" (CODEOWNERS), "directory", "rule" or "max_files = N"."""
    draft: Literal["until-drained", "always", "never"] = "until-drained"
    """A draft until nothing more is tried, for ever, or never."""
    labels: list[str] = []
    """Labels of a new pull request."""
    reviewers: list[str] = []
    """Who is asked for a review of a new one: people, or teams as "org/team"."""
    assignees: list[str] = []
    """Whom a new one is assigned to."""
    milestone: str = ""
    """Milestone of a new one: its title or number."""
    auto_close: bool = False
    """Close our open pull request when there is nothing left to change, unless a person's commits are on it."""


class Config(Model):
    """The whole of sweeper.toml."""

    sweep: dict[SweepName, SweepConfig] = {}
    limits: LimitsConfig = LimitsConfig()
    provider: dict[SweepName, ProviderConfig] = {}
    sandbox: SandboxConfig = SandboxConfig()
    ledger: LedgerConfig = LedgerConfig()
    dispatcher: DispatcherConfig = DispatcherConfig()
    pull_request: PullRequestConfig = PullRequestConfig()
