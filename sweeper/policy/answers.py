"""What answers a finding only by its look: the table that `evaded` reads.

A row's words are harmless anywhere else; where a finding asked for their contrary they say the same in other words.
"""

from __future__ import annotations

# (what a finding says, what a new line says in answer to it)
ANSWERS: tuple[tuple[str, str], ...] = (
    # weak hashes, decoders that run what they read
    (r"\bS324\b|\bB(?:303|324)\b|\bG40[15]\b|\bmd5\b|\bsha-?1\b|(?:weak|insecure|broken)\W.{0,20}hash",
     r"(?i:\bmd5|_md5|\bsha1\b|_sha1|[\"'](?:md5|sha-?1)[\"'])(?!.*usedforsecurity\s*=\s*False)"),
    (r"\bS30[12]\b|\bB301\b|pickle|marshal\b|deseriali",
     r"\b_?c?(?:pickle|marshal|dill|cloudpickle|shelve|jsonpickle)\b"),
    (r"\b[SB]506\b|yaml\.?load|unsafe.{0,20}yaml", r"\b(?:unsafe|full)_load|\b(?:Unsafe|Full)?Loader\b"),
    # a shell behind a list, a statement put together otherwise, a page's raw text
    (r"\b[SB]60[2-7]\b|shell\s*=\s*True|child_process|detect-child|command.injection",
     r"[\"'](?:/\S*/)?(?:ba|z|da|k)?sh[\"']\s*,\s*(?:\[\s*)?[\"']-\w*c|\bcmd(?:\.exe)?[\"']\s*,\s*[\"']/c"
     r"|\bget(?:status)?output\b|\bpopen\b|\bshell\s*[=:]\s*(?!False|false)"),
    (r"\b[SB]608\b|\bsql.?injection|G20[12]\b",
     r"\brepr\(|(?<!path)\.join\((?!.*[\"'(]\s*[?%:])|(?<!\))\.format\(|\+\s*[\w.]+\s*\+"),
    (r"no-danger|innerHTML|no-v-html|\bxss\b|no-html",
     r"dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|insertAdjacentHTML"),
    (r"no-await-in-loop", r"\bfor\s+await\b|\.reduce\(\s*async\b"),
    (r"\beqeqeq\b",
     r"\}`\s*[!=]==\s*`\$\{|\bString\([^()]*\)\s*[!=]==\s*String\(|\.toString\(\)\s*[!=]==.*\.toString\("),
    # what only looks random, local or bounded
    (r"\b[SB]311\b|pseudo-?random|insecure.?random|\bG404\b",
     r"\btime(?:_ns)?\(|\b(?:utc)?now\(|\.now\(|\bstrftime\(|\buuid1\b|\bgetpid\(|\bid\(|\bhash\(|\bnp\.random|\bnumpy\b|\bhrtime\b|\bperformance\."),
    (r"\bDTZ0|without a `?tz|time ?zone|naive.{0,9}date",
     r"^(?!.*(?:%z|UTC|utc\b|timezone|ZoneInfo|tzinfo\s*=\s*(?!None)))"
     r".*(?:\bstrf?p?time\b|\blocaltime\b|\bctime\b|\butcnow\b|tzinfo\s*=\s*None)"),
    (r"\bS113\b|\bB113\b|\btime-?out",
     r"(?i:timeout\w*\s*[=:(]\s*\(?\s*(?:\d[\d_]{5,}|\d+\s*\*\*|\d+e[5-9]|[\w.(\"']*\b(?:inf|maxsize|max_value)\b))"),
    (r"memory|\bcpu\b|resource",
     r"(?i:^\s*[\"']?(?:memory|cpu)[\"']?\s*:\s*[\"']?(?:\d{4,}(?:[gt]i?)?|\d{3,}(?:gi?|ti?)|\d+(?:ti?|pi?|ei?))[\"']?\s*$)"),
    # literals by a detour
    (r"\bPLR2004\b|magic.?(?:number|value)",
     r"\b(?:len|int|float|ord|Number|parseInt|parseFloat)\(\s*[\"'`]|[\"'`]\.length\b"),
    (r"\bS10[5-7]\b|\bB10[5-7]\b|hard-?coded|gitleaks|detect-secrets|api.?key|Secret Keyword|possible secret",
     r"^(?!.*(?:environ|getenv|process\.env)).*(?:\bfromhex\b|\b(?:un|a2b_)(?:hexlify|hex|base64)\b|\bb(?:16|32|64|85)decode\b"
     r"|\bcodecs\.|\bchr\b|\batob\(|fromCharCode|\[::-1\]|\bbytes(?:array)?\(\s*[\[(]|[\"']\.join\(|\breverse\("
     r"|:-[^}\s]|[\"']base64[\"'])"),
    # versions, users, pipes and health of an image
    (r"\bDL30(?:08|13|16|18|33)\b|[Pp]in (?:your )?version|unpinned|unversioned",
     r"[=<>~@^]=?\s*[\"']?v?(?:\*|latest\b)|[>~]=?\s*0(?:\.0)*\b(?![.\d])|\bcurl\b.*\|\s*(?:ba)?sh\b"),
    (r"\bDL3007\b|\blatest\b", r"[:=]\s*[\"']?latest\b|:-latest\b"),
    (r"\bDL3002\b|\broot\b|non.?root",
     r"\bUSER\s+[\"']?(?:root|0)\b|(?:--uid|\buseradd\b.*\s-u)[ =]?0\b|--non-unique|\brunAsUser[\"']?\s*:\s*0\b"),
    (r"\bDL4006\b|pipefail", r"(?:^|\s)(?:/\S*/)?(?:ba|da|z|k)?sh\s+-\w*c\b.*\||\|\|\s*(?:true|:)|\|&"),
    (r"\bDL3004\b|\bsudo\b", r"\b(?:su|doas|gosu|runuser|su-exec|pkexec)\s+\S|\\sudo|/sudo\b"),
    (r"\bDL3057\b|HEALTHCHECK|(?:liveness|readiness|health).{0,3}(?:probe|check)",
     r"(?:HEALTHCHECK.*CMD|command[\"']?\s*:|test[\"']?\s*:|^\s*-)[\s\[\"',a-zA-Z/-]*?"
     r"(?:\btrue\b|\bexit\s+0\b|(?<![\w:]):(?=[\s\"'\]]*$)|\becho\b)|HEALTHCHECK\s+NONE"),
    (r"\bSC2012\b", r"\b(?:v?dir|ls)\b"),
    # texts that say nothing, or say the same
    (r"alt-text|\bMD045\b|\balt(?:ernat\w+)?[ -](?:text|prop|attribute)",
     r"(?i:(?:\balt=\{?[\"'`]|!\[)\s*(?:(?:(?:an?|the|my)\s+)?(?:images?|img|picture|photo|icon|logo|alt|alt text|text"
     r"|todo|tbd|description|graphic|untitled|screenshot|[^\w\"'`\]]+|\w)|[\w-]+\.(?:png|jpe?g|gif|svg|webp))\s*[\"'`\]])"),
    (r"\bMD036\b|[Ee]mphasis used instead", r"^\s*(?:\*\*|__|\*\S|_\S|<b\b|<strong\b|<em\b)"),
    (r"codespell|\btypos\b|spell|==>", r"\w(?:&#?\w+;|<!--|\u200b|\u00ad)\w|-->\w"),
    (r"-events-have-|interactive|keyboard listener|static-element",
     r"\bon[A-Z]\w*=\{\s*\(?\w*\)?\s*=>\s*(?:\{\s*\}|undefined|null|void 0)\s*\}"),
    # tests that were made the only ones, and are skipped now
    (r"no-(?:focused|only|exclusive)-tests?|[Ff]ocus(?:ed)? tests?|\.only\b",
     r"\.(?:skip|todo|fixme|failing)\b|\bx(?:it|test|describe)\b|\b(?:skip|todo)\s*:"),
    # trust in a certificate, and rights of a file, put together otherwise
    (r"\b[SB]501\b|\bG402\b|verify\s*=\s*False|certificate|\bTLS\b|\bSSL\b",
     r"\b(?:verify|check_hostname|rejectUnauthorized|InsecureSkipVerify)[\"']?\]?\s*(?:[:=]|,)\s*(?:bool\(|int\(|not\b|!|0\b|1\b"
     r"|None\b|\"\"|''|null\b)|\bCERT_NONE\b|_create_unverified|\bNODE_TLS_REJECT"),
    (r"\bG30[1267]\b|\b[SB]103\b|(?:file|directory) permissions|permissive",
     r"\b\w+\s*\|=|<<|>>|\b0?o?[0-7]?[67]6[67]\b|\b0?o?[0-7]?7[57]7\b|\b0x1[fF][fF]\b|\b(?:511|438|493)\b|\bModePerm\b|\bS_I[RWX](?:WX)?O\b"),
    # results and panics under another name
    (r"unused_(?:io_amount|must_use)|must be (?:used|handled)|amount is not handled",
     r"^\s*let\s+_\w+\s*(?::[^=\n]*)?="),
    (r"\bunwrap_used\b|`unwrap\(\)`",
     r"\.expect\(\s*\"\W*(?:unwrap|expect|error|fail(?:ed|ure)?|todo|oops|panic|bug)?\W*\"\s*\)|\bunwrap_unchecked\b"),
    (r"no-explicit-any|no-unsafe-|[Uu]nexpected any\b", r"\bas\s+unknown\s+as\b|\bas\s+never\b|<never>|:\s*never\b"),
)  # fmt: skip
