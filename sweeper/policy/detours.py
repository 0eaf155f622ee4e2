"""More words of code that get round a finding, in the manner of `lexicon`: the same thing by a name no linter knows."""

from __future__ import annotations

Rows = tuple[tuple[str, tuple[str, str], str], ...]  # (languages, rule and what, pattern)

JS = "javascript typescript tsx"
CHECKED = ("check_removed", "a check, a guard or an error that was raised is gone")
DEBUG = ("debug_output", "debug output")
DYNAMIC = ("dynamic_code", "code or names made at run time")
IGNORED = ("error_ignored", "a result or an error is ignored")
MUTED = ("error_ignored", "messages, warnings or errors are turned off")
CUT = ("unchecked", "bits of a value are cut off, or one that does not fit is replaced")
LOOSER = ("unchecked", "less is checked than before")
PART = ("meaning_changed", "only a part is looked at")
CATCHES_ALL = ("dynamic_code", "whatever name is asked for is there")
GLUED = ("dynamic_code", "a word put together out of literals")
ANY_ERROR = ("error_ignored", "every error, under another name")
FOR_EFFECT = ("new_reach", "something is loaded for its effect alone")
MAY_FAIL = ("error_ignored", "a step may fail")
CONDITIONAL = ("unchecked", "a step runs only under a condition")
NEVER = ("code_disabled", "a condition that never holds")
ASKED = ("unchecked", "a name is used only if it exists")
UNBOUNDED = ("unchecked", "a bound taken from what it should bound")
ASSIGNS = ("unchecked", "an assignment is a condition")
LAUNDERED = ("wide_type", "a type is lost on a way round")
NAMELESS = ("wide_type", "arguments that have no names")
JOINED = ("unsafe_setting", "a statement is put together out of values")
UNSEEN = ("meaning_changed", "hidden from those who do not see it")
SHARED = ("unchecked", "one value is shared by all calls")
KEPT = ("unchecked", "a value of an earlier render is kept")
ALWAYS = ("dummy_use", "a condition that always holds")
LEAVES_TEST = ("test_changed", "a test may end before it asserts")
LOOSE = ("test_changed", "a looser assertion, or a mock")
TESTED = ("unchecked", "something else is done where it is tested")
OF_NAMES = ("dummy_use", "a list of names that nobody reads")
NO_USE = ("dummy_use", "a use that changes no value")
ITSELF = ("dummy_use", "a value is compared with itself")
AS_A_LIST = ("dummy_use", "several statements as one list")
BY_TEXT = ("unchecked", "an error is known by its text alone")
SUCCEEDS = ("error_ignored", "an error is answered with success")
NO_BRANCH = ("error_ignored", "a condition that nothing depends on")
OPTIONAL = ("error_ignored", "of an error is left that there was one")
AT_ONCE = ("unchecked", "a function that is called where it is written")
OWN_CHANCE = ("unchecked", "random numbers made by hand")
UNNAMED = ("dynamic_code", "a risky function under another name")
ANY_THROWN = ("test_changed", "whatever is thrown satisfies a test")

_MASK = r"&=?\s*\(?\s*(?:0x(?:0*[137]?[fF]+)[uUlL]*\b|0b1{2,}\b|255\b|65_?535\b|\w*(?:MASK|_MAX|::MAX)\b)"

_BRACED = "c cpp java go rust " + JS
_EVERY = "python ruby " + _BRACED
_SQL = r"(?:SELECT|INSERT|UPDATE|DELETE)"

IN_CODE: Rows = (
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
    ("python", CATCHES_ALL, r"\bdef[ \t]+__getattr(?:ibute)?__\b"),
    ("python", DYNAMIC, r"\.__dict__\s*\[|^[ \t]*(?:import|from)[ \t]+builtins\b"),
    ("python", ANY_ERROR, r"^[ \t]*\w+(?:[ \t]*:[^\n=]*)?[ \t]*=[ \t]*\(?(?:[\w.]+[ \t]*,[ \t]*)*(?:Base)?Exception\b"
                          r"(?![\w.(])"),
    ("python", OF_NAMES, r"^_\w*[ \t]*=[ \t]*[(\[{][ \t]*[A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*)*[ \t]*,?[ \t]*"
                         r"[)\]}][ \t]*$"),
    ("python", LAUNDERED, r"\b(?:json|pickle|marshal)\.loads\(\s*(?:json|pickle|marshal)\.dumps\("
                          r"|\bliteral_eval\(\s*(?:repr|str)\("),
    ("python", ALWAYS, r"\b(?:assert|if|while)\b[^\n:]*?(?:\b(\w+)\s+or\s+not\s+\1\b"
                       r"|\bnot\s+(\w+)\s+or\s+\2\b(?![.(\[])"
                       r"|(?<![\w.])(\w+)\s+(?:is|==)\s+\3\b(?![.(\[]))"),
    ("python", LEAVES_TEST, r"^[ \t]+return[ \t]*$"),
    ("python", LOOSE, r"\bmonkeypatch\.(?:setitem|delattr|delitem)\b"),
    ("python", NAMELESS, r"\bdef\s+\w+\s*\((?:[^()]|\([^()]*\)){0,500}\*\*?\s*\w"),
    ("python", SHARED, r"^(\w+)[ \t]*(?::[^\n=]*)?=[ \t]*(?:\[\]|\{\}|(?:list|dict|set)\(\))[ \t]*$"
                       r"[\s\S]{0,1000}?\bdef\b[^\n]{0,300}=\s*\1\b"),
    ("python", JOINED, r"\b(?:execute|executemany|raw|query)\s*\(\s*[^,\n]{0,200}\.join\s*\("),
    (JS, DEBUG, r"\bprocess\.(?:stderr\.write|_rawDebug|emitWarning)|\butil\.debuglog|\bconsole\s*\["
                r"|(?<=[(,])\s*console\.\w+\s*(?=[,)])|=\s*console\b"),
    (JS, DYNAMIC, r"\beval\b(?!\s*[(:])|\b(?:globalThis|window|self|global|top)\s*\??\.\s*(?:eval|Function)\b"
                  r"|\.constructor\b(?!\s*\.name|\s*[=!]==?)|\bReflect\.(?:get|apply|construct)\b"
                  r"|\bimport\s*\(\s*[^\s\"'`)]|\bdocument\.write|\bAsyncFunction\b|\bimportScripts\s*\("),
    (JS, MUTED, r"\bPromise\.allSettled\b|\bon\(\s*[\"']\s*(?:uncaughtException|unhandledRejection)?\s*[\"']\s*,\s*\(\)"
                r"|\bremoveAllListeners\b|\bconsole\.\w+\s*=[^=]|\bonerror\s*=|\bpreventDefault\b"),
    (JS, CUT, _MASK + r"|\|\s*0\b|>>>?\s*0\b|~~|\b(?:Number|parseInt|parseFloat)\([^()\n]*\)\s*(?:\|\||\?\?)\s*0\b"),
    (JS, CATCHES_ALL, r"\bnew\s+Proxy\s*\("),
    (JS, DYNAMIC, r"=\s*(?:globalThis|window|self|global)\b(?!\s*[.\[(])"),
    (JS, KEPT, r"\buseRef\s*(?:<[^<>\n]*>)?\(\s*(?!(?:null|undefined|false|true)\b)[A-Za-z_$]"),
    (JS, LEAVES_TEST, r"^[ \t]+(?:if\b[^\n]*)?\breturn[ \t]*;?[ \t]*$"),
    ("javascript tsx", DYNAMIC, r"\{\s*\.\.\.\s*\{"),
    (JS, ASSIGNS, r"\b(?:if|while)\s*\(\s*\(\s*[\w.$\[\]]+\s*=(?![=>])"),
    ("typescript tsx", LAUNDERED, r"\bJSON\.parse\s*\(\s*JSON\.stringify|<\s*typeof\s+(?:JSON|Reflect|eval)\b"),
    (JS, PART, r"\.slice\(\s*0\s*,|\.(?:splice|at)\(\s*0\b"),
    ("typescript tsx", LOOSER, r"\w\?\s*:\s*[\w{\"'(]|\[\s*\w+\s*:\s*(?:string|number|symbol)\s*\]\s*:"
                    r"|!\s*:|\bdeclare\b"),
    (_EVERY, ITSELF, r"(?<![\w.>\])-])([A-Za-z_]\w*+)\s*+(?:(?:[!=]==?|<=|>=)|&&\s*+!)\s*+\1(?![\w.(\[:-])"),
    ("python ruby " + JS, AS_A_LIST, r"\[[^\[\]\n]{0,200}\)\s*,[^\[\]\n]{0,200}\]\s*"
                                     r"(?:\.\s*(?:last|first|pop|at)\b|\[\s*-?\d)"),
    ("c cpp", NO_USE, r"(?<![\w.])0\s*\*\s*[(\w]|\*\s*0\s*[;)+,]|\bsizeof\b[^;\n]{0,100}==\s*0\b"),
    ("cpp", NAMELESS, r"\b(?:typename|class|auto)\s*&{0,2}\s*\.\.\."),
    (_EVERY, OWN_CHANCE, r"\b(?:6364136223846793005|2862933555777941757|1103515245|1664525|22695477|214013|16807|48271"
                         r"|0x5DEECE66D)"),
    (_BRACED, NO_BRANCH, r"\bif\b[^{}\n]{0,200}\([^{}\n]{0,200}\{\s{0,200}\}(?!\s*else)"),
    ("c cpp", NO_BRANCH, r"\bif\s*\([^{}\n;]{0,300}\)\s*;"),
    ("go", BY_TEXT, r"\.Error\(\)\s*[!=]=|\bstrings\.\w+\(\s*\w+\.Error\(\)"),
    ("java", BY_TEXT, r"\.get(?:Localized)?Message\(\)\s*\.\s*(?:equals|contains|startsWith|endsWith|matches)\w*\("),
    ("ruby", BY_TEXT, r"\.message\s*(?:[!=]=|=~|\.(?:include|start_with|end_with|match)\?)"),
    ("rust", BY_TEXT, r"\b(?:e|err|error)\.to_string\(\)\s*(?:[!=]=|\.\s*(?:contains|starts_with)\()"),
    ("go", SUCCEEDS, r"\berr\w*\s*!=\s*nil\s*\{\s*return\s+(?:[^\n{}]{0,200},\s*)?nil\s*\}"),
    ("go", AT_ONCE, r"^[ \t]*(?:_[ \t]*=[ \t]*)?func\([^()\n]{0,200}\)[^{}\n]{0,200}\{[^{}\n]{0,200}\}\("),
    ("go", UNNAMED, r"\b(?:rand\.(?:U?Int\w*|Float\w*|Perm|Read)|exec\.Command\w*|(?:md5|sha1)\.(?:New|Sum))\b"
                    r"(?!\s*\()"),
    ("rust", OPTIONAL, r"\.map_or\(\s*\(\)\s*,|\.ok\(\)\s*\.\s*(?:map|iter|into_iter|unwrap_or\w*)\b"
                       r"|^[ \t]*let[ \t]+_\w+[^=\n]{0,200}=[^;\n]{0,300}\.is_(?:ok|err|some|none)\(\)[ \t]*;"),
    ("rust", OF_NAMES, r"#\s*\[\s*used\b|^[ \t]*(?:mem::)?drop\(\s*\("),
    ("java", ANY_THROWN, r"\bassertThrows(?:Exactly)?\s*\(\s*(?:Throwable|Exception|RuntimeException|Error)\.class"),
    ("ruby", ANY_THROWN, r"\b(?:assert_raises|raise_error)[ (]+(?:StandardError|Exception)\b"),
    ("go", DEBUG, r"\bos\.Std(?:out|err)\.Write\w*|\bfmt\.Fprint\w*\(\s*os\.Std|\bdebug\.PrintStack"),
    ("go", DYNAMIC, r"\bplugin\.Open\b|//go:linkname"),
    ("go", IGNORED, r"\bfunc\b[^\n{]{0,300}\b_[ \t]+error\b|^[ \t]*err\w*[ \t]*=[ \t]*nil[ \t]*$"),
    ("go", IGNORED, r"[{;][ \t]*go[ \t]+[\w.]+\("),
    ("go", MUTED, r"\b(?:io|ioutil)\.Discard\b"),
    ("go", CUT, _MASK + r"|\bbinary\.(?:Little|Big)Endian\b|\bmath\.(?:Float\w+bits|Max\w+|Min\w+)\b|<<\s*\d+\s*>>"),
    ("rust", DYNAMIC, r"\bmacro_rules!"),
    ("rust", OF_NAMES, r"^[ \t]*(?:const|static)[ \t]+_\w*[ \t]*:"),
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
    ("ruby", CATCHES_ALL, r"\bdef[ \t]+(?:self\.)?(?:method_missing|const_missing|respond_to_missing\?)"),
    ("ruby", ANY_ERROR, r"=[ \t]*(?:::)?(?:Exception|StandardError)[ \t]*$"),
    ("ruby", MUTED, r"\$VERBOSE\s*=|\$std(?:err|out)\s*=|\breport_on_exception\b|&\.\w"),
    ("ruby", CUT, _MASK),
    ("bash", IGNORED, r"(?<![&|<>0-9])&[ \t]*$|(?:^|;)[ \t]*(?:if|until|while)[ \t]+[\w./-]+[ \t]*;[ \t]*(?:then|do)"
                      r"[ \t]*(?::|true|echo)?[ \t]*;?[ \t]*(?:fi|done)"),
    ("bash", IGNORED, r"\|\|[ \t]*\w+=(?:\"\"|'')?[ \t]*$"),
    ("bash", DEBUG, r">[ \t]*/dev/(?:tty|stderr|stdout)"),
    ("bash", DYNAMIC, r"\b(?:ba|da|z|k)?sh[ \t]+<<<|(?:^|[;&|])[ \t]*(?:source|\.)[ \t]+(?:<\(|/dev/)"
                    r"|\|[ \t]*(?:ba)?sh\b"
                      r"|\b(?:python3?|perl|ruby|node|awk)[ \t]+-[ce]\b|\bprintf[ \t]+-v\b|\bdeclare[ \t]+-n\b"
                      r"|\bxargs\b|^[ \t]*\$\{?\w+\}?(?:[ \t]|$)|\benv[ \t]+-S\b"),
    # a shell that reads its program from what it is fed
    ("bash", DYNAMIC, r"(?:^|[;&|(])[ \t]*(?:\w+=\S*[ \t]+)*(?:ba|da|z|k)?sh(?:[ \t]+-s?)?[ \t]*(?=<<|$|[;&|)])"),
    ("bash", FOR_EFFECT, r"^[ \t]*(?:export|declare[ \t]+-x)[ \t]+\w+="),
    ("bash", PART, r"\|[ \t]*(?:head|tail)\b"),
    ("c cpp", DEBUG, r"(?<![\w.>])(?:write\s*\(\s*[12]\s*,|(?:fputs|fwrite|putchar|dprintf|syslog)\s*\()"),
    ("c cpp", DYNAMIC, r"\bdlsym\s*\(|\bdlopen\s*\(|\w[ \t]*##[ \t]*\w"
                       r"|(?<![\w.])(?:strcpy|strcat|sprintf|vsprintf|gets|system|popen)\b(?!\s*\()"),
    ("c cpp", UNBOUNDED, r"\bstrn(?:cpy|cat)\s*\([^,;\n]+,\s*(\w+)\s*,[^;\n]*\bstrlen\s*\(\s*\1\b"),
    ("c cpp", ASSIGNS, r"\b(?:if|while)\s*\(\s*\(\s*\*?[\w.\[\]>+-]+\s*=(?!=)"),
    ("c cpp", CUT, _MASK + r"|\b(?:__builtin_)?memcpy\s*\(\s*&\w+\s*,\s*&|<<\s*\d+\s*\)?\s*>>|\bunion\b"),
    ("c cpp", LOOSER, r"(?<![\w.])(?:strcpy|strcat|sprintf|vsprintf|gets|alloca|stpcpy|atoi|atol)\s*\("),
    ("cpp", CUT, r"\bnoexcept\b(?!\s*\(\s*false)|\bstd::launder\b|\b(?:ranges::)?views::take\b"),
    ("yaml", MAY_FAIL, r"\b(?:continue-on-error|continueOnError|ignore_errors|ignore_unreachable|allow_failures?"
                       r"|soft_fail)[\"']?[ \t]*:(?![ \t]*[\"']?(?:false|no|off)\b)"
                       r"|\bfailed_when[ \t]*:[ \t]*[\"']?(?:false|no|never)\b"
                       r"|\|\|[ \t]*(?:true|:|exit[ \t]+0|echo)\b|\bset[ \t]+\+e\b|\bexit[ \t]+0\b"),
    ("yaml", NEVER, r"^[ \t-]*(?:if|when)[ \t]*:[ \t]*[\"']?(?:\$\{\{[ \t]*)?(?:false|no|never|0)\b"),
    ("yaml", CONDITIONAL, r"^[ \t-]*(?:if|when|rules|only|except|paths-ignore|branches-ignore)[ \t]*:"),
    ("css", ("meaning_changed", "something is hidden or forced"), r"(?:\bdisplay|\bcontent)\s*:\s*none\b"
                    r"|\bvisibility\s*:\s*hidden"
            r"|\bopacity\s*:\s*0\s*[;}]|!\s*important\b"),
    ("sql", LOOSER, r"(?i:\b(?:where|and|on|or|having|when)\s+\(?\s*(?:true\b|(\w+)\s*=\s*\1\b(?!\.)|not\s+false\b))"),
    ("sql", ("new_reach", "rows or rights are changed"),
     r"(?i:\b(?:drop|truncate|delete\s+from|alter|grant|update)\b)"),
)  # fmt: skip

# The same, where the words are inside of a string.
IN_TEXT: Rows = (
    ("python", TESTED, r"(?:pytest|unittest)[\"']\s+(?:not\s+)?in\s+sys\.modules|PYTEST_CURRENT_TEST\b"),
    (JS, TESTED, r"(?:JEST_WORKER_ID|VITEST)\b|NODE_ENV\b[\"'\])]*\s*[!=]==?\s*[\"'`]test[\"'`]"),
    ("bash", TESTED, r"BATS_(?:TEST|RUN|VERSION)\w*"),
    ("go rust", TESTED, r"testing\.Testing\(\)|cfg!\s*\(\s*test\b"),
    (JS, DYNAMIC, r"\[\s*[\"'`](?:constructor|eval|Function|exec\w*|require|process|__proto__)[\"'`]\s*\]"
                  r"|\[\s*[\"'`]\w*[\"'`]\s*\+|\bon\(\s*[\"'](?:data:text)|[\"'`]data:text/javascript"),
    (JS, DYNAMIC, r"\bjavascript:"),
    (JS, ASKED, r"\btypeof\s+\w+\s*[!=]==?\s*[\"'`](?:function|undefined)[\"'`]"),
    (JS, UNSEEN, r"\brole=\{?[\"'](?:presentation|none)\b|\baria-hidden="
                 r"|\bkey=\{[^}\n]{0,200}(?:\bMath\.random|\bDate\.now|\buuid)"),
    ("python ruby java go rust " + JS, GLUED, r"[\"'`]\w{1,12}[\"'`]\s*(?:\+|\.\s*concat\s*\()\s*[\"'`]\w{1,12}[\"'`]"
                       r"|[\"']{2}\.join\(\s*[(\[]\s*[\"']\w{1,12}[\"']\s*,|\]\s*\.\s*join\(\s*[\"']{2}\s*\)"),
    ("go", FOR_EFFECT, r"^[ \t]*(?:import[ \t]+)?_[ \t]+\""),
    ("c cpp", MUTED, r"^[ \t]*#[ \t]*(?:line[ \t]+)?\d+[ \t]+\""),
    ("java go ruby rust " + JS, JOINED, r"(?i:\b(?:format!?|sprintf)\s*\(\s*\"\s*" + _SQL + r"\b[^\"\n]{0,300}['= ]%s"
                       r"|[\"'`]\s*" + _SQL + r"\b[^\"\n]{0,300}[\"'`]\s*\.\s*(?:concat|formatted|format)\s*\()"),
    ("python", DYNAMIC, r"\[\s*[\"']\w*[\"']\s*\+|[\"'](?:eval|exec|__import__|__builtins__)[\"']"),
    ("ruby", DYNAMIC, r"[:\"'](?:instance_|class_|module_)?eval\b|%[wi]\[[^\]\n]{0,200}\beval\b"),
    ("java", DYNAMIC, r"\"(?:nashorn|js|javascript|groovy|java\.lang\.Runtime)\""),
)  # fmt: skip

# Must not become rarer.
GONE: Rows = (
    ("bash", CHECKED, r"\$\{\w+:?\?"),
    ("sql", ("check_removed", "a condition, a join or a bound is gone"),
     r"(?i:\b(?:where|having|on|and|using|exists)\b)"),
    ("sql", ("check_removed", "a join keeps other rows"), r"(?i:\bleft\b|\bright\b|\bfull\b)"),
    ("sql", ("check_removed", "rows are counted more often, or more of them"),
     r"(?i:\bdistinct\b|\blimit\b|\bgroup\s+by\b)"),
)  # fmt: skip
