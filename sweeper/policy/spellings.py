"""How suppressions are spelled: the table that everything else of the policy reads.

A spelling is a regular expression, compared without regard to case. Group `codes` (or `codes2`) is what it
suppresses; without it, or empty, that is everything. Every spelling holds at least one of WORDS, and nothing in
it is scanned further than 500 characters, or than where the next match could begin, before a match fails.
"""

from __future__ import annotations

# tool -> spelling in a comment, in any language but for ONLY.
COMMENTS: dict[str, str] = {
    # Python
    "noqa": r"#\s*nopep8\b|#\s*(?:[\w-]+\s*[:=]\s*)?noqa(?::\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?",
    "ruff": r"ruff\s*:\s*(?:file-ignore|ignore|disable)(?:\s*\[(?P<codes>[^\]]{0,500})\])?",
    "type": r"type\s*:\s*ignore(?:\s*\[(?P<codes>[^\]]{0,500})\])?",
    "mypy": r"#\s*mypy\s*:\s*(?P<codes>[^\n]*)",
    # a setting stands anywhere in the list; the search for it ends where the next one of these comments begins
    "pyright": r"\b(?:based)?pyright\s*:(?:\s*ignore(?:\s*\[(?P<codes>[^\]]{0,500})\])?"
    r"|(?=\s*(?:basic|standard|off|report\w+\s*=)|(?:(?!pyright)[^\n])*?(?:,\s*(?:basic|standard|off)\b"
    r"|\b(?:report|strict|enable|disable|analyze)\w+\s*=\s*(?:false|none|warning|information)\b))(?P<codes2>[^\n]*))",
    "pyre": r"\bpyre-(?:ignore|fixme|unsafe|ignore-all-errors)\b(?:\s*\[(?P<codes>[^\]]{0,500})\])?",
    "ty": r"\b(?:ty|pyrefly|zuban|pytype)\s*:\s*(?:ignore|disable)(?:\s*[\[=](?P<codes>[^\]]{0,500}))?",
    "pylint": r"\bpylint\s*:\s*(?:disable(?:-next|-msg)?|skip-file|disable-all)\b(?:\s*=\s*(?P<codes>[\w,\s-]*))?",
    "formatter": r"\b(?:fmt|yapf|autopep8|black)\s*:\s*(?:off|skip|disable)\b",
    "isort": r"\bisort\s*:\s*(?:skip_file|skip|off|split|dont-add-imports?)\b",
    "bandit": r"#\s*nosec\b(?:[:\s]\s*(?P<codes>B[0-9]+(?:[,\s]+B[0-9]+)*))?",
    "pycharm": r"\bnoinspection\b\s*(?P<codes>[\w,]*)",
    # any language
    "nolint": r"\b(?-i:NOLINT(?:NEXTLINE|BEGIN)?)\b(?:\((?P<codes>[^)]{0,500})\))?",
    "golangci": r"\b(?-i:nolint)\b(?::\s*(?P<codes>[\w,-]*))?",
    "sonar": r"\bNOSONAR\b",
    "semgrep": r"\bnosem(?:grep)?\b(?::\s*(?P<codes>[\w.,\s-]*))?",
    "codeql": r"\b(?:lgtm|codeql)\s*\[(?P<codes>[^\]]{0,500})\]",
    "secrets": r"\bpragma\s*:\s*(?:allow|white)list(?:\s+nextline)?\s+secret\b"
    r"|\b(?:gitleaks|trufflehog):(?:allow|ignore)\b",
    "coverage": r"\bpragma\s*:\s*no\s*(?:cover|branch|mutate)\b"
    r"|\b(?:istanbul|c8|v8)\s+ignore\b(?!\s+(?:end|stop))|:nocov:",
    "spelling": r"\b(?:cspell|spell-?checker|codespell|typos)\s*:\s*(?:disable|ignore|off)[\w-]*",
    "editorconfig": r"\beditorconfig-checker-disable(?:-\w+)*\b",
    # JavaScript, TypeScript, styles
    "eslint": r"\b(?:es|ox)lint-disable(?:-next-line|-line)?\b(?P<codes>(?:(?!\s--\s|\*/|-->)[^\n])*)",
    "eslint-config": r"^(?-i:/\*\s*(?:eslint(?:-env)?|globals?|exported|jshint|jslint)"
    r"|//\s*jshint(?=\s+(?:[-+]W\d|\w+\s*:)))\s++(?!\*/)(?P<codes>(?:(?!\*/)[\s\S])+)",
    "typescript": r"@ts-(?:ignore|expect-error|nocheck)\b",
    "flow": r"\$Flow(?:FixMe|Ignore|Issue|ExpectedError)\b(?:\[(?P<codes>[^\]]{0,500})\])?|@noflow\b|\bflowlint\b",
    "biome": r"\b(?:biome|rome)-ignore(?!-end)(?:-all|-start)?\b\s*(?P<codes>[\w/]*)",
    "prettier": r"\b(?:prettier|dprint|stylua|rumdl|textlint)(?:-|:\s*)(?:ignore|disable)(?!-end)(?:-start|-file)?\b",
    "stylelint": r"\bstylelint-disable(?:-next-line|-line)?\b(?P<codes>(?:(?!\s--\s|\*/)[^\n])*)",
    "tslint": r"\b(?:tslint|solhint|jscs|jshint|csslint)[:\s-]\s*(?:disable|ignore)(?:-\w+)*\b:?(?P<codes>[\w\s,-]*)",
    "deno": r"\b(?:deno-lint|svelte)-ignore(?:-file)?\b(?P<codes>[\w\s,/-]*)",
    # Go, C, Rust, JVM, .NET, Swift, Dart
    "staticcheck": r"//\s*lint:(?:file-)?ignore\b\s*(?P<codes>[\w,]*)",
    "revive": r"\brevive:disable(?:-\w+)*\b:?(?P<codes>[\w-]*)",
    "gosec": r"#nosec\b",
    "cppcheck": r"\bcppcheck-suppress(?:-\w+)?\b\s*\[?(?P<codes>[\w,\s]*)",
    "clang-format": r"\bclang-format\s+off\b",
    "iwyu": r"\bIWYU\s+pragma\s*:\s*\w+",
    "checkstyle": r"\b(?:CHECKSTYLE|scalastyle)[:.\s]*(?:OFF|SUPPRESS)\b|@formatter:off",
    "pmd": r"\bNOPMD\b",
    "ktlint": r"\b(?:ktlint-disable|detekt:disable)\b(?P<codes>[\w\s-]*)",
    "swiftlint": r"\bswiftlint:disable(?::\w+)?\b(?P<codes>[\w\s]*)",
    "resharper": r"\bReSharper\s+disable\b(?:\s+(?:once|All))?\s*(?P<codes>\w*)",
    "dart": r"^///?\s*ignore(?:_for_file)?:\s*(?P<codes>[\w,\s]*)",
    # Ruby, PHP, shell, data, documents
    "rubocop": r"\b(?:rubocop|standard|haml-lint|erb_lint)\s*:\s*(?:disable|todo)\b\s*(?P<codes>(?:(?!--)[\w/,\s])*)",
    "ruby": r":reek:\w+|\bsteep:ignore\b|^#\s*typed:\s*(?:false|ignore)\b",
    "php": r"@(?:phpstan-ignore[\w-]*|psalm-suppress|phan-(?:file-)?suppress|codingStandardsIgnore\w*|SuppressWarnings)"
    r"\b(?P<codes>[\w\s.,()\\-]*)|\bphpcs:(?:ignore(?:File)?|disable)\b(?P<codes2>[\w\s.,]*)",
    "shellcheck": r"\bshellcheck\s(?:(?!\bshellcheck\s)[^\n])*?\bdisable=(?P<codes>[\w,-]*(?:\s+[\w-]+=[^\s#]*)*)",
    "hadolint": r"\bhadolint\s+(?:global\s+)?ignore=(?P<codes>[\w,]*)",
    "yamllint": r"\byamllint\s+disable(?:-line|-file)?\b(?P<codes>[\w\s:-]*)",
    "infrastructure": r"\b(?:checkov:skip|(?:tfsec|trivy|kics|terrascan):\s*(?:ignore|skip)|tflint-ignore(?:-file)?)\b"
    r"[=:]?\s*(?P<codes>[\w.,-]*)",
    "workflow": r"\b(?:zizmor|actionlint|pinact):\s*ignore\b(?:\[(?P<codes>[^\]]{0,500})\])?",
    "sqlfluff": r"--\s*noqa\b(?::\s*(?P<codes>[\w.,\s]*))?|\bsqlfluff:\s*\w",
    "markdownlint": r"\b(?:markdownlint|vale|htmlhint|djlint|pyml|mdformat)[\s:-]*(?:disable|off)(?:-\w+)*\b"
    r"(?P<codes>[\w\s./-]*)|\bmarkdownlint-configure-file\b(?P<codes2>(?:(?!-->)[\s\S])*)",
    "remark": r"<!--\s*lint\s+(?:disable|ignore)\b(?P<codes>[\w\s-]*)",
    "lua": r"\b(?:luacheck:\s*(?:ignore|push|globals)|selene:\s*allow)\b(?P<codes>[\w\s().,]*)",
    "credo": r"\bcredo:disable-for-\S+(?P<codes>[\s\w.]*)",
    "hlint": r"(?:\bHLINT\s+ignore|\bno\s+critic|\{-#\s*(?:OPTIONS_GHC|ANN))\b(?P<codes>[^\n}]{0,500})",
    "buf": r"\b(?:buf:lint:ignore|verilator\s+lint_off|verible\s+lint:\s*waive|buildifier:\s*disable=)\s*"
    r"(?P<codes>[\w-]*)",
}  # fmt: skip

# What ends a suppression's region: its loss widens the region. The tool is that of COMMENTS.
ENDINGS: dict[str, str] = {
    "ruff": r"ruff\s*:\s*enable\b",
    "pylint": r"\bpylint\s*:\s*enable\b",
    "formatter": r"\b(?:fmt|yapf|autopep8|black)\s*:\s*(?:on|enable)\b",
    "isort": r"\bisort\s*:\s*on\b",
    "nolint": r"\bNOLINTEND\b",
    "eslint": r"\b(?:es|ox)lint-enable\b",
    "biome": r"\bbiome-ignore-end\b",
    "prettier": r"\b(?:prettier|dprint)-ignore-end\b|\b(?:rumdl|textlint)-enable\b",
    "stylelint": r"\bstylelint-enable\b",
    "tslint": r"\b(?:tslint|solhint|jscs)[:-]\s*enable\b",
    "revive": r"\brevive:enable\b",
    "clang-format": r"\bclang-format\s+on\b",
    "checkstyle": r"\b(?:CHECKSTYLE|scalastyle)[:.\s]*ON\b|@formatter:on",
    "swiftlint": r"\bswiftlint:enable\b",
    "resharper": r"\bReSharper\s+restore\b",
    "rubocop": r"\b(?:rubocop|standard|haml-lint|erb_lint)\s*:\s*enable\b",
    "php": r"\bphpcs:enable\b|@codingStandardsIgnoreEnd",
    "yamllint": r"\byamllint\s+enable\b",
    "markdownlint": r"\b(?:markdownlint|vale|djlint|pyml)[\s:-]*(?:enable|on)\b",
    "coverage": r"\b(?:istanbul|c8|v8)\s+ignore\s+(?:end|stop)\b",
    "spelling": r"\b(?:cspell|spell-?checker)\s*:\s*enable\b",
    "lua": r"\bluacheck:\s*pop\b",
    "buf": r"\bverilator\s+lint_on\b",
}

# Suppressions that are code, by file name extension. What is too long to be looked through counts as one.
CODE: dict[str, str] = {
    "rs": r"#!?\s*\[\s*+(?:[^\]]{0,500}?\b(?:allow|expect|rustfmt\s*::\s*skip)\b\s*\(?(?P<codes>[\w\s,:]*)"
    r"|cfg_attr\b(?:[^\]\[]{0,500}\[|[^\]]{501})(?P<codes2>[^\]]*))",
    "c cc cpp cxx h hh hpp m mm cu": r"(?:#\s*|_)[Pp]ragma\b(?:[^\n]{0,500}?"
    r"\b(?:ignored|disable|suppress|system_header)\b(?P<codes>[^\n]*)|[^\n]{501}(?P<codes2>[^\n]*))",
    "java kt kts scala groovy": r"@\s*(?:\w+\s*:\s*)?(?:\[[^\]@]*?\b|(?:\w+\s*\.\s*)*)"
    r"(?:Suppress\w*|nowarn|Generated)\b"
    r"(?P<codes>\s*\([^)]{0,500}\))?",
    "cs fs": r"\[[^\]]{0,500}?\bSuppressMessage\b(?P<codes>[^\]]{0,500})"
    r"|#\s*pragma\s+warning\s+disable\b(?P<codes2>[^\n]*)"
    r"|#\s*nullable\s+disable\b",
    "py pyi": r"\bno_type_check(?:_decorator)?\b",  # its import as well: what it is called then does not matter
    "php": r"#\[[^\]]{0,500}?\bSuppressWarnings\b(?P<codes>[^\]]{0,500})",
    "ps1 psm1": r"\bSuppressMessageAttribute\b(?P<codes>[^\]]{0,500})",
}
# Strings and comments hold nothing that these need: they are read without.
CODE_ALONE = frozenset({"rs"})
# Lines that end in a backslash go on in the next one.
CONTINUED = frozenset(["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "m", "mm", "cu"])
CODE_BY_SUFFIX = {suffix: pattern for suffixes, pattern in CODE.items() for suffix in suffixes.split()}

# Spellings that are plain words elsewhere: tool -> file name extensions.
ONLY: dict[str, frozenset[str]] = {"dart": frozenset({"dart"}), "sqlfluff": frozenset({"sql"})}

WORDS = (
    "noqa", "ignore", "disable", "suppress", "nolint", "nosec", "nosem", "noinspection", "nosonar", "nopmd", "lgtm",
    "codeql", "pragma", "mypy", "pyright", "pyre-", "fixme", "skip", "off", "eslint", "global", "exported", "@ts-",
    "$flow", "noflow", "flowlint", "allow", "expect", "todo", "no_type_check", "nowarn", "waive", "nocov", "reek",
    "typed:", "critic", "options_ghc", "ann", "luacheck", "sqlfluff", "dont-add", "nullable", "enable", "restore",
    "fmt", "yapf", "autopep8", "black", "isort", "clang-format", "checkstyle", "scalastyle", "@formatter", "vale",
    "djlint", "pyml", "lint_on", "nopep8", "jshint", "jslint", "configure-file", "cfg_attr", "generated",
)  # fmt: skip
