"""More words of code that get round a finding, in the manner of `lexicon`: the same thing by a name no linter knows."""

from __future__ import annotations

JS = "javascript typescript tsx"
DEBUG = ("debug_output", "debug output")
DYNAMIC = ("dynamic_code", "code or names made at run time")
IGNORED = ("error_ignored", "a result or an error is ignored")
MUTED = ("error_ignored", "messages, warnings or errors are turned off")
CUT = ("unchecked", "bits of a value are cut off, or one that does not fit is replaced")
LOOSER = ("unchecked", "less is checked than before")
PART = ("meaning_changed", "only a part is looked at")

_MASK = r"&=?\s*\(?\s*(?:0x(?:0*[137]?[fF]+)[uUlL]*\b|0b1{2,}\b|255\b|65_?535\b|\w*(?:MASK|_MAX|::MAX)\b)"

# (languages, rule and what, pattern)
IN_CODE: tuple[tuple[str, tuple[str, str], str], ...] = (
    ("python", DEBUG, r"\bsys\.(?:__)?std(?:out|err)(?:__)?\.write|\bos\.write\s*\(|\bprint_exc\s*\(|\bpprint\.\w+\s*\("
                      r"|=\s*print\b|(?<=[(,])\s*print\s*(?=[,)])|\bicecream\b"),
    ("python", DYNAMIC, r"(?<![\w.])compile\s*\(|\b__builtins__\b|\bbuiltins\s*[.\[]|\b(?:FunctionType|CodeType)\b"
                        r"|\brunpy\b|\bInteractiveConsole\b|\b__(?:subclasses|globals|dict)__\b"
                        r"|\b(?:attrgetter|methodcaller)\s*\(|(?<![\w.])(?:eval|exec)\b(?!\s*[(=:])"),
    ("python", MUTED, r"\bwarnings\.(?:filterwarnings|simplefilter|catch_warnings)|\blogging\.disable\b"
                      r"|\.(?:disabled|propagate)\s*=|\bsys\.(?:excepthook|unraisablehook)\s*=|\bNullHandler\b"
                      r"|\.push\(\s*lambda\b|\breturn_exceptions\s*=\s*True"),
    ("python", CUT, _MASK + r"|\bctypes\.c_\w+\(|\berrors\s*=\s*[\"']"),
    ("python", PART, r"\[\s*:\s*-?\d+\s*\]|\bislice\s*\("),
    (JS, DEBUG, r"\bprocess\.(?:stderr\.write|_rawDebug|emitWarning)|\butil\.debuglog|\bconsole\s*\["
                r"|(?<=[(,])\s*console\.\w+\s*(?=[,)])|=\s*console\b"),
    (JS, DYNAMIC, r"\beval\b(?!\s*[(:])|\b(?:globalThis|window|self|global|top)\s*\??\.\s*(?:eval|Function)\b"
                  r"|\.constructor\b(?!\s*\.name|\s*[=!]==?)|\bReflect\.(?:get|apply|construct)\b"
                  r"|\bimport\s*\(\s*[^\s\"'`)]|\bdocument\.write|\bAsyncFunction\b|\bimportScripts\s*\("),
    (JS, MUTED, r"\bPromise\.allSettled\b|\bon\(\s*[\"']\s*(?:uncaughtException|unhandledRejection)?\s*[\"']\s*,\s*\(\)"
                r"|\bremoveAllListeners\b|\bconsole\.\w+\s*=[^=]|\bonerror\s*=|\bpreventDefault\b"),
    (JS, CUT, _MASK + r"|\|\s*0\b|>>>?\s*0\b|~~|\b(?:Number|parseInt|parseFloat)\([^()\n]*\)\s*(?:\|\||\?\?)\s*0\b"),
    (JS, PART, r"\.slice\(\s*0\s*,|\.(?:splice|at)\(\s*0\b"),
    ("typescript tsx", LOOSER, r"\w\?\s*:\s*[\w{\"'(]|\[\s*\w+\s*:\s*(?:string|number|symbol)\s*\]\s*:"
                    r"|!\s*:|\bdeclare\b"),
    ("go", DEBUG, r"\bos\.Std(?:out|err)\.Write\w*|\bfmt\.Fprint\w*\(\s*os\.Std|\bdebug\.PrintStack"),
    ("go", DYNAMIC, r"\bplugin\.Open\b|//go:linkname"),
    ("go", IGNORED, r"[{;][ \t]*go[ \t]+[\w.]+\("),
    ("go", MUTED, r"\b(?:io|ioutil)\.Discard\b"),
    ("go", CUT, _MASK + r"|\bbinary\.(?:Little|Big)Endian\b|\bmath\.(?:Float\w+bits|Max\w+|Min\w+)\b|<<\s*\d+\s*>>"),
    ("rust", DEBUG, r"\b(?:io::)?std(?:out|err)\(\)"),
    ("rust", MUTED, r"\bset_hook\b|\bResult::ok\b|\.filter_map\(\s*\|\w+\|\s*\w+\.ok\(\)|\.flatten\(\)"),
    ("rust", CUT, _MASK + r"|\.to_[lbn]e_bytes\(\)|\b(?:wrapping|overflowing|saturating)_\w+\("
                  r"|\btry_(?:into|from)\s*\([^;\n]{0,200}\)\s*\.\s*unwrap_or\w*\(\s*(?!\w+::MAX)"
                    r"|\.unwrap_or\(\s*0\s*\)"
                  r"|\bWrapping\b|\bfrom_[lbn]e_bytes\b|\bas_\w+_unchecked\b"),
    ("rust", PART, r"\.(?:take|nth|skip)\s*\("),
    ("java", DEBUG, r"\bSystem\.console\(\)|\bnew\s+PrintStream\b|\bFileDescriptor\.(?:out|err)\b"),
    ("java", DYNAMIC, r"\bScriptEngine\w*|\bMethodHandles\b|\bURLClassLoader\b|\bdefineClass\b|\.getMethods?\s*\("
                      r"|\.invoke\s*\(|\bnewProxyInstance\b"),
    ("java", MUTED, r"\bUncaughtExceptionHandler\b|\bLevel\.OFF\b|\bcompleteOnTimeout\b|\.exceptionally\s*\("),
    ("java", CUT, _MASK + r"|\.(?:int|short|byte|float)Value\s*\(\)|\b(?:int|long)\s+\w+\s*[-+*|&]=|>>>"),
    ("ruby", DEBUG, r"\$std(?:out|err)\s*(?:\.|<<)|\bSTD(?:OUT|ERR)\b|\bKernel\.(?:puts|print|p|warn)\b|\bpp\b"),
    ("ruby", DYNAMIC, r"\b(?:instance|class|module)_exec\b|\bconst_set\b|\.method\s*\(|\bInstructionSequence\b"
                      r"|\bTOPLEVEL_BINDING\b|\bERB\.new\b|(?<![\w.])(?:load|syscall)[ (]|\.to_proc\b|\bbinding\b"),
    ("ruby", MUTED, r"\$VERBOSE\s*=|\$std(?:err|out)\s*=|\breport_on_exception\b|&\.\w"),
    ("ruby", CUT, _MASK),
    ("bash", IGNORED, r"(?<![&|<>0-9])&[ \t]*$|(?:^|;)[ \t]*(?:if|until|while)[ \t]+[\w./-]+[ \t]*;[ \t]*(?:then|do)"
                      r"[ \t]*(?::|true|echo)?[ \t]*;?[ \t]*(?:fi|done)"),
    ("bash", DEBUG, r">[ \t]*/dev/(?:tty|stderr|stdout)"),
    ("bash", DYNAMIC, r"\b(?:ba|da|z|k)?sh[ \t]+<<<|(?:^|[;&|])[ \t]*(?:source|\.)[ \t]+(?:<\(|/dev/)"
                    r"|\|[ \t]*(?:ba)?sh\b"
                      r"|\b(?:python3?|perl|ruby|node|awk)[ \t]+-[ce]\b|\bprintf[ \t]+-v\b|\bdeclare[ \t]+-n\b"
                      r"|\bxargs\b|^[ \t]*\$\{?\w+\}?(?:[ \t]|$)|\benv[ \t]+-S\b"),
    ("bash", PART, r"\|[ \t]*(?:head|tail)\b"),
    ("c cpp", DEBUG, r"(?<![\w.>])(?:write\s*\(\s*[12]\s*,|(?:fputs|fwrite|putchar|dprintf|syslog)\s*\()"),
    ("c cpp", DYNAMIC, r"\bdlsym\s*\(|\bdlopen\s*\("),
    ("c cpp", CUT, _MASK + r"|\b(?:__builtin_)?memcpy\s*\(\s*&\w+\s*,\s*&|<<\s*\d+\s*\)?\s*>>|\bunion\b"),
    ("c cpp", LOOSER, r"(?<![\w.])(?:strcpy|strcat|sprintf|vsprintf|gets|alloca|stpcpy|atoi|atol)\s*\("),
    ("cpp", CUT, r"\bnoexcept\b(?!\s*\(\s*false)|\bstd::launder\b|\b(?:ranges::)?views::take\b"),
    ("css", ("meaning_changed", "something is hidden or forced"), r"(?:\bdisplay|\bcontent)\s*:\s*none\b"
                    r"|\bvisibility\s*:\s*hidden"
            r"|\bopacity\s*:\s*0\s*[;}]|!\s*important\b"),
    ("sql", LOOSER, r"(?i:\b(?:where|and|on|or|having|when)\s+\(?\s*(?:true\b|(\w+)\s*=\s*\1\b(?!\.)|not\s+false\b))"),
    ("sql", ("new_reach", "rows or rights are changed"),
     r"(?i:\b(?:drop|truncate|delete\s+from|alter|grant|update)\b)"),
)  # fmt: skip

# The same, where the words are inside of a string.
IN_TEXT: tuple[tuple[str, tuple[str, str], str], ...] = (
    (JS, DYNAMIC, r"\[\s*[\"'`](?:constructor|eval|Function|exec\w*|require|process|__proto__)[\"'`]\s*\]"
                  r"|\[\s*[\"'`]\w*[\"'`]\s*\+|\bon\(\s*[\"'](?:data:text)|[\"'`]data:text/javascript"),
    (JS, DYNAMIC, r"\bjavascript:"),
    ("python", DYNAMIC, r"\[\s*[\"']\w*[\"']\s*\+|[\"'](?:eval|exec|__import__|__builtins__)[\"']"),
    ("ruby", DYNAMIC, r"[:\"'](?:instance_|class_|module_)?eval\b|%[wi]\[[^\]\n]{0,200}\beval\b"),
    ("java", DYNAMIC, r"\"(?:nashorn|js|javascript|groovy|java\.lang\.Runtime)\""),
)  # fmt: skip

# Must not become rarer.
GONE: tuple[tuple[str, tuple[str, str], str], ...] = (
    ("bash", ("check_removed", "a check, a guard or an error that was raised is gone"), r"\$\{\w+:?\?"),
    ("sql", ("check_removed", "a condition, a join or a bound is gone"),
     r"(?i:\b(?:where|having|on|and|using|exists)\b)"),
    ("sql", ("check_removed", "a join keeps other rows"), r"(?i:\bleft\b|\bright\b|\bfull\b)"),
    ("sql", ("check_removed", "rows are counted more often, or more of them"),
     r"(?i:\bdistinct\b|\blimit\b|\bgroup\s+by\b)"),
)  # fmt: skip
