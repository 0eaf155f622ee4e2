"""Words of code that silence, skip or hide: the table that `lexical` counts. Matched where neither a comment nor the
content of a string is, so that a quote's content reads as blanks.
"""

from __future__ import annotations

from sweeper.policy.detours import CHECKED, DEBUG, DYNAMIC, IGNORED, JS, LOOSE, NEVER, Rows
from sweeper.policy.marks import NAMED_CAST

TRIVIAL = ("test_weakened", "an assertion that always holds")
SKIP = ("test_skipped", "a test is skipped")
DUMMY = ("dummy_use", "a use that does nothing")
ENDS = ("forged_verdict", "the process is ended, or what is loaded is replaced")
UNCHECKED = ("unchecked", "something is taken for granted")
WIDE = ("wide_type", "a type that admits anything")
REACH = ("new_reach", "network, a process, the environment or a deletion")
BUILD = ("unchecked", "code that is compiled only under a condition")

IN_CODE: Rows = (
    ("python", DEBUG, r"(?<![\w.])(?:p?print|breakpoint|ic|pp)\s*\(|\bi?pdb\.set_trace\s*\(|^\s*import\s+i?pdb\b"),
    ("python", DYNAMIC, r"(?<![\w.])(?:exec|eval|__import__|setattr|delattr)\s*\(|\bimportlib\.import_module\s*\("
     r"|\bglobals\(\)|\bvars\(\s*\w*\s*\)\s*\[|\blocals\(\)|\b(?:getattr)\s*\(\s*[\w.]+\s*,\s*[\"']"),
    ("python", ENDS, r"\bos\._exit\s*\(|\batexit\.register|\bsys\.(?:modules|meta_path|path_hooks|path)\b\s*(?:\[|="
                     r"|\.\w+\()"
     r"|\bsys\.std(?:out|err)\s*=|\bimportlib\.reload|\bsys\.exit\s*\(\s*(?:0\s*)?\)|\bsys\.settrace|\bos\.kill\s*\("),
    ("python", DUMMY, r"^[ \t]*(?:_\w*[ \t]*=[ \t]*[\w.]+|del[ \t]+\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*$"
     r"|^[ \t]*_(?:[ \t]*,[ \t]*_)*[ \t]*=[ \t]*\S"),
    ("python", NEVER, r"^[ \t]*(?:el)?if[ \t]+(?:False|0|None|not[ \t]+True"
                      r"|not[ \t]+(?:typing\.)?TYPE_CHECKING)[ \t]*(?:and\b[^\n]*)?:"
     r"|^[ \t]*while[ \t]+(?:False|0)[ \t]*:|\bFalse[ \t]+and\b|\bTrue[ \t]+or\b"),
    ("python", SKIP, r"@(?:pytest\.)?mark\.(?:skip(?:if)?|xfail)\b|@(?:unittest\.)?(?:skip(?:If|Unless)?"
                     r"|expectedFailure)\b"
     r"|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\.skipTest\s*\(|\bpytest\.mark\.(?:skip(?:if)?|xfail)\b"
     r"|\b__test__\s*=\s*False|\bcollect_ignore(?:_glob)?\b|\bSkipTest\b|\bpytestmark\s*="),
    ("python", TRIVIAL, r"\bassert[ \t]+(?:True|1|not[ \t]+(?:False|None|\[\]))[ \t]*(?:,|$)"
                        r"|\bassert\b[^\n]*\bor[ \t]+True\b"
     r"|\bassertTrue\(\s*True\b|\bassertFalse\(\s*False\b|\bassertIsNone\(\s*None\b"
     r"|\bassert\w*Equals?\(\s*([\w.]+)\s*,\s*\1\s*[,)]"
     r"|\bassert[ \t]+([\w.()\[\]]+)[ \t]*(?:==|is|>=|<=)[ \t]*\2[ \t]*(?:,|$)"
     r"|\bassert[ \t]*\([^\n]*,[ \t]*[\"'][^\n]*\)[ \t]*$"),
    ("python", LOOSE, r"\bmock\.ANY\b|\bANY\b(?=\s*[,)])|\bmonkeypatch\.setattr|\bpatch(?:\.object)?\s*\("
                      r"|\bpytest\.approx\(|(?:\bsuppress\s*\(|\bexcept\b)[^\n:]*\bAssertionError\b"),
    ("python", UNCHECKED, r"\bTYPE_CHECKING[ \t]*=[ \t]*\w|^[ \t]+if[ \t]+(?:typing\.)?TYPE_CHECKING\b"),
    ("python", WIDE, r"\bAny[ \t]+as[ \t]+\w|=[ \t]*(?:typing\.|t\.)?(?:Any|object)[ \t]*$"),
    ("python", IGNORED, r"\bfinally[ \t]*:\s*(?:return|break|continue)\b|\bsuppress[ \t]+as\b"),
    ("python", REACH, r"\bos\.(?:system|popen|environ|getenv|exec\w+|spawn\w+|remove|unlink|rmdir|chmod)\b"
                      r"|\b(?:subprocess|socket|requests|httpx)\b(?!\.(?:\w*(?:Error|Exception|Expired|Timeout)|timeout|error)\b)"
     r"|\burllib\.request\b|\bhttp\.client\b|\bshutil\.rmtree\b|\bctypes\b|\bpickle\.loads?\b"
     r"|\bmarshal\b"),
    (JS, IGNORED, r"\bfinally\s*\{\s*(?:return|break|continue)\b"),
    (JS, REACH, r"\bfetch\s*\(|\bXMLHttpRequest\b|\bchild_process\b|\bprocess\.env\b|\bexecSync\b"
                r"|\bspawn(?:Sync)?\s*\(|\bWebSocket\b|\bsendBeacon\b"
     r"|\b(?:unlink|rm|rmdir)(?:Sync)?\s*\(|\binnerHTML\b|\bdangerouslySetInnerHTML\b|\bdocument\.cookie\b"
     r"|\blocalStorage\b"),
    ("go", REACH, r"\bexec\.Command|\bhttp\.(?:Get|Post|NewRequest|DefaultClient)\w*|\bnet\.Dial|\bos\.(?:Getenv"
                  r"|Environ|Remove\w*|Chmod)\b|\bsyscall\."),
    ("rust", REACH, r"\bCommand::new\b|\bTcpStream\b|\breqwest\b|\benv::vars?\b|\bfs::remove_\w+|\bureq\b"),
    ("java", REACH, r"\bRuntime\.getRuntime\b|\bProcessBuilder\b|\bHttpClient\b|\bURL\s*\(|\bSocket\s*\("
                    r"|\bSystem\.getenv\b|\bFiles\.delete\w*|\bObjectInputStream\b"),
    ("java", IGNORED, r"\bfinally\s*\{\s*return\b"),
    ("ruby", REACH, r"(?<![\w.])(?:system|exec|spawn|fork)[ (]|`|%x|\bOpen3\b|\bNet::HTTP\b|\bENV\b"
                    r"|\bFileUtils\.rm\w*|\bFile\.(?:delete|unlink)\b|\bMarshal\.load\b|\bURI\.open\b"),
    ("ruby", IGNORED, r"\bensure\s+return\b"),
    ("bash", REACH, r"(?<![\w-])(?:curl|wget|nc|ssh|scp|sudo|chmod|chown|dd|mkfs)[ \t]|\brm[ \t]+-\w*[rf]"),
    ("c cpp", REACH, r"(?<![\w.])(?:system|popen|exec[lv]\w*|fork|socket|connect|getenv|unlink|remove|dlopen)\s*\("),
    ("c cpp", BUILD, r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef)\b"),
    ("rust", BUILD, r"#\s*!?\[\s*cfg(?:_attr)?\s*\((?!\s*test\s*\))"),
    ("rust", IGNORED, r"\bmap_err\(\s*\|_\w*\|[ \t]*(?:\(\)|\w+::default)|\bResult<\w*(?:\(\))?,[ \t]*\(\)>"
                      r"|\.err\(\)[ \t]*;"),
    ("go", IGNORED, r"^[ \t]*go[ \t]+[\w.]+\("),
    (JS, DEBUG, r"\bconsole\.(?:log|debug|info|dir|trace|table|warn|error)\s*\(|\bdebugger\b|(?<![\w.])alert\s*\("
                r"|process\.stdout\.write"),
    (JS, DYNAMIC, r"(?<![\w.])eval\s*\(|\bnew\s+Function\s*\(|(?<![\w.])Function\s*\(|\bset(?:Timeout"
                  r"|Interval)\s*\(\s*[\"'`]"
     r"|\b(?:globalThis|window|global)\s*\[|\brequire\s*\(\s*[^\s\"'`)]|\bvm\.run|\bwith\s*\("),
    (JS, ENDS, r"\bprocess\.(?:exit|abort|kill|reallyExit)\s*\(|\bprocess\.exitCode\s*=|\bModule\._(?:load|resolve)"
     r"|\brequire\.cache\b|\bprocess\.std(?:out|err)\.\w+\s*="),
    (JS, DUMMY, r"^[ \t]*void[ \t]+[\w$.]+[ \t]*;?[ \t]*$"
     r"|^[ \t]*_\w*[ \t]*=[ \t]*[\w$.]+[ \t]*;?[ \t]*$|^[ \t]*void[ \t(]"),
    (JS, NEVER, r"\b(?:if|while)\s*\(\s*(?:false|0|!1|!true|null|undefined|)\s*(?:&&[^\n]*)?\)|\bfalse\s*&&"
                r"|\btrue\s*\|\||\{\s*false\s*\}"),
    (JS, SKIP, r"\b(?:it|test|describe|context|suite|bench)\.(?:skip|todo|only|failing|fixme|fails|skipIf|runIf)\b"
     r"|(?<![\w.])(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|ftest)\s*[.(]|\bthis\.skip\s*\("
     r"|(?<![\w.])pending\s*\("
     r"|\btest\.(?:skip|fixme)\s*\(|\bt\.(?:skip|todo)\s*\("
     r"|(?<![\w.])(?:it|test|describe|suite)\s*\([^\n]{0,300},\s*\{[^}\n]{0,200}\b(?:skip|todo|only|ignore)\s*:(?!\s*false\b)"),
    (JS, TRIVIAL, r"\bexpect\(\s*(true|false|null|undefined|\d+|[\w.]+)\s*\)\s*\.\s*(?:toBe|toEqual"
                  r"|toStrictEqual)\(\s*\1\s*\)"
     r"|\bexpect\(\s*(?:true|1)\s*\)\s*\.\s*(?:toBeTruthy|toBeDefined|to\.be\.(?:true|ok)|not\.toBe)"
     r"|\bassert(?:\.ok)?\(\s*(?:true|1)\s*[,)]"
     r"|\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual)\(\s*([\w.]+)\s*,\s*\2\s*[,)]"
     r"|\bexpect\([^()]*\|\|\s*true\s*\)|\bexpect\.assertions\(\s*0\s*\)"),
    (JS, LOOSE, r"\bexpect\.(?:anything|any|objectContaining|arrayContaining|stringContaining|stringMatching)\s*\("
                r"|\.toBe(?:Truthy|Defined|Falsy)\s*\("
     r"|\b(?:jest|vi|sinon)\.(?:mock|fn|spyOn|stub|doMock)\s*\(|\.toMatchSnapshot\s*\(|\.not\.toThrow\s*\("),
    ("go", DEBUG, r"\bfmt\.Print(?:ln|f)?\s*\(|\bspew\.\w+\s*\(|(?<![\w.])print(?:ln)?\s*\(|\blog\.Print"),
    ("go", DYNAMIC, r"\breflect\.\w+|\bunsafe\.\w+"),
    ("go", ENDS, r"\bos\.Exit\s*\(\s*0|\bsyscall\.(?:Exit|Kill)|\bruntime\.Goexit"),
    ("go", DUMMY, r"^[ \t]*_(?:[ \t]*,[ \t]*_)*[ \t]*=[ \t]*[\w.]+(?:[ \t]*,[ \t]*[\w.]+)*[ \t]*$"
                  r"|^[ \t]*var[ \t]+_\b[^\n]*="),
    ("go", IGNORED, r"^[^\n=]*\b_[ \t]*(?:,[ \t]*\w+[ \t]*)*:?=[ \t]*[^\n]*\(|\brecover\(\)|\berr\s*!=\s*nil\s*\{\s*\}"
     r"|\bfunc\(\)[ \t]*\{[ \t]*_[ \t]*="),
    ("go", NEVER, r"\bif[ \t]+(?:false|!true)\b|\bfor[ \t]+false\b|\bfalse[ \t]*&&"),
    ("go", SKIP, r"\b[tbf]\.Skip(?:f|Now)?\s*\(|\btesting\.Short\s*\("),
    ("go", TRIVIAL, r"\b(?:assert|require)\.(?:True\(\s*t\s*,\s*true|False\(\s*t\s*,\s*false|Nil\(\s*t\s*,\s*nil"
                    r"|(?:Equal|Same)\(\s*t\s*,\s*([\w.]+)\s*,\s*\1)"
     r"|\bif[ \t]+(\w+)[ \t]*!=[ \t]*\2[ \t]*\{"),
    ("go", LOOSE, r"\.(?:NotNil|NotEmpty|Contains|NotPanics)\s*\("),
    ("rust", DEBUG, r"\bdbg!\s*[\(\[{]|\be?print(?:ln)?!\s*[\(\[{]"),
    ("rust", WIDE, r"\bdyn\s+(?:std::any::|any::)?Any\b"),
    ("rust", DUMMY, r"^[ \t]*let[ \t]+_\w*[ \t]*=[ \t]*&?(?:mut[ \t]+)?[\w.]+[ \t]*;"
                    r"|^[ \t]*(?:mem::)?drop\(\s*&?\w+\s*\)|\bblack_box\s*\(|^[ \t]*_[ \t]*=[ \t]"),
    ("rust", IGNORED, r"^[ \t]*let[ \t]+_[ \t]*(?::[^=\n]*)?=|\.ok\(\)[ \t]*;|\.unwrap_or_default\(\)"
                      r"|\.unwrap_or_else\(\s*\|_\|"
     r"|\bErr\(\s*_?\w*\s*\)[ \t]*=>[ \t]*(?:\{\s*\}|\(\))|\bcatch_unwind\b|\bif[ \t]+let[ \t]+Ok\b|\bforget\s*\("),
    ("rust", UNCHECKED, r"\.unwrap\(\)|\.expect\s*\(|\bunsafe\b|\btransmute\b|\bunwrap_unchecked\b"
                        r"|\bunreachable_unchecked\b|\.clone\(\)\.clone\("),
    ("rust", NEVER, r"\bif[ \t]+(?:false|!true)\b|\bcfg!?\s*\(\s*(?:any|FALSE)\s*\(\s*\)|\bwhile[ \t]+false\b"
                    r"|\bfalse[ \t]*&&"
     r"|#\s*!?\[\s*cfg\s*\(\s*(?:any\(\)|not\(\s*(?:test|all\(\))|feature\s*=|FALSE)"),
    ("rust", SKIP, r"#\s*\[\s*ignore\b|#\s*\[\s*should_panic\b|\bcfg_attr\([^\n]*\bignore\b"),
    ("rust", TRIVIAL, r"\b(?:debug_)?assert!\s*\(\s*(?:true|1\s*==\s*1)\b"
                      r"|\b(?:debug_)?assert_eq!\s*\(\s*([\w.]+)\s*,\s*\1\s*[,)]|\bassert!\s*\([^\n]*\|\|\s*true\b"),
    ("rust", LOOSE, r"\bdebug_assert(?:_eq|_ne)?!|\bassert!\s*\([^\n]*\.is_(?:ok|some|err|none)\(\)"),
    ("rust", ENDS, r"\bprocess::(?:exit|abort)\s*\("),
    ("java", DEBUG, r"\bSystem\.(?:out|err)\.\w+\s*\(|\.printStackTrace\s*\(\s*\)"),
    ("java", WIDE, r"<\s*\?\s*>"),
    ("java", DYNAMIC, r"\bClass\.forName\s*\(|\.setAccessible\s*\(\s*true|\.getDeclared(?:Method|Field)\s*\("),
    ("java", ENDS, r"\bSystem\.exit\s*\(|\bRuntime\.getRuntime\(\)\.(?:halt|exit)"),
    ("java", DUMMY, r"^[ \t]*(?:Objects\.(?:hash|isNull|nonNull)|String\.valueOf)\([^\n]*\);[ \t]*$"
                    r"|\bunused\w*[ \t]*="),
    ("java", IGNORED, r"\bthrows\s+(?:[\w.]+\s*,\s*)*(?:Exception|Throwable)\b|@\s*SneakyThrows\b"
                      r"|\bcatch\s*\([^)]*\bignored?\s*\)"),
    ("java", NEVER, r"\b(?:if|while)\s*\(\s*(?:false|!true)\b|\bfalse\s*&&"),
    ("java", SKIP, r"@\s*(?:[\w.]+\.)?(?:Disabled\w*|Ignore\b)|\bAssumptions?\.\w+|\bassumeTrue\s*\("
                   r"|@\s*Test\s*\([^)]*(?:enabled\s*=\s*false|expected\s*=)"),
    ("java", TRIVIAL, r"\bassertTrue\s*\(\s*(?:[^,()]*,\s*)?true\s*[,)]|\bassertFalse\s*\(\s*false"
                      r"|\bassert\w*Equals\s*\(\s*([\w.]+)\s*,\s*\1\s*[,)]|\bassertNull\s*\(\s*null"
     r"|\bassert(?:Not)?Null\s*\(\s*(?:new\b|\")|\bassert\s+true\b"),
    ("java", LOOSE, r"\bcatch\s*\([^)]*\bAssertion\w*Error\b"
                    r"|\bassertNotNull\s*\(|\bassertDoesNotThrow\s*\(|\bany(?:String|Int|Long)?\(\)|\bMockito\.mock"),
    ("ruby", DEBUG, r"^[ \t]*(?:puts|pp?|print|warn)(?:[ \t]+\S|\()|\bbinding\.(?:pry|irb)\b|\bbyebug\b"
                    r"|^[ \t]*debugger\b|\$std(?:out|err)\.puts"),
    ("ruby", WIDE, r"\bT\.untyped\b"),
    ("ruby", UNCHECKED, r"\bT\.(?:unsafe|must|cast|let)\b"),
    ("ruby", DYNAMIC, r"\b(?:instance_|class_|module_)?eval\b|\.(?:public_|__)?send(?:__)?\b|\bconst_get\b"
                      r"|\bdefine_method\b|\binstance_variable_[gs]et\b|\bObjectSpace\b"),
    ("ruby", ENDS, r"\bexit!|\bat_exit\b|(?<![\w.])exit[ \t]*\(?[ \t]*(?:0|true)|\$LOADED_FEATURES|\$LOAD_PATH"
                   r"|\bKernel\.exit"),
    ("ruby", DUMMY, r"^[ \t]*_\w*[ \t]*=[ \t]*[\w.]+[ \t]*$"),
    ("ruby", NEVER, r"\b(?:if|while|elsif)[ \t]+(?:false|nil)\b|\b(?:unless|until)[ \t]+true\b|\bfalse[ \t]*&&"),
    ("ruby", SKIP, r"^[ \t]*(?:xit|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext|pending|skip)\b"
                   r"|,[ \t]*:(?:skip|pending|focus)\b|\b(?:skip|pending|focus):[ \t]*(?:true|[\"'])"),
    ("ruby", TRIVIAL, r"\bexpect\(?[ \t]*\(?true\)?\)?\.to[ \t]+(?:be\b|eq\b)|^[ \t]*assert[ \t]+true\b"
                      r"|\bassert_equal\(?[ \t]*([\w.:]+),[ \t]*\1[ \t]*\)?$"
                      r"|\bexpect\(([\w.]+)\)\.to[ \t]+eq[ \t(]*\2\b|\bassert\(?[^\n]*\|\|[ \t]*true"),
    ("ruby", LOOSE, r"\b(?:be_truthy|be_present|not_to[ \t]+(?:be_nil|raise_error)|anything|be_a"
                    r"|allow_any_instance_of)\b"),
    ("bash", IGNORED, r"\|\|[ \t]*(?:true|:|/bin/true|exit[ \t]+0|return[ \t]+0|echo|printf)"
                      r"|\bset[ \t]+\+[a-z]*[eux]|\bset[ \t]+\+o\b|[2&]>+[ \t]*/dev/null"
     r"|>[ \t]*/dev/null[ \t]+2>&1|\btrap[ \t]+(?:[\"'][ \t]*[\"']|:|true)|;[ \t]*true[ \t]*$|\|[ \t]*cat[ \t]*$"
     r"|^[ \t]*exit[ \t]+0\b"),
    ("bash", DYNAMIC, r"(?<![\w-])eval[ \t]|\bsource[ \t]+/dev/(?:fd|stdin)|\b(?:ba)?sh[ \t]+-c\b|\$\{!\w"),
    ("bash", DEBUG, r"\bset[ \t]+-[a-z]*[xv]\b|^[ \t]*echo\b(?=[^\n]*(?:DEBUG|debug))"),
    ("bash", SKIP, r"^[ \t]*skip\b"),
    ("bash", NEVER, r"\b(?:if|while|elif)[ \t]+(?:false|!\s*true|!\s*:|\[\[?[ \t]+(?:0[ \t]+-eq[ \t]+1"
                    r"|1[ \t]+-eq[ \t]+0|-n[ \t]+[\"'][ \t]*[\"'][ \t]))|(?:^|;)[ \t]*false[ \t]*&&"
                    r"|\bif[ \t]+\(\([ \t]*0[ \t]*\)\)|<<-?[ \t]*[\"']?\w*(?:COMMENT|DISABLED|UNUSED|EOC)"),
    ("bash", DUMMY, r"^[ \t]*:[ \t]+[\"$]|^[ \t]*export[ \t]+\w+[ \t]*$|^[ \t]*(?:readonly|declare"
                    r"|unset)[ \t]+(?:-\w+[ \t]+)?\w+[ \t]*$|^[ \t]*_=\S"),
    ("c cpp", DEBUG, r"(?<![\w.>])(?:printf|puts|perror)\s*\(|\bfprintf\s*\(\s*stderr|\bstd::c(?:out|err|log)\b"
                     r"|\bqDebug\b|\bcout\b\s*<<"),
    ("c cpp", WIDE, r"\bvoid\s*\*|\bstd::any\b"),
    ("c cpp", DUMMY, r"\(\s*void\s*\)\s*&?[\w.\[\]>-]+\s*;|\bmaybe_unused\b|__attribute__\s*\(\(\s*_*unused"
                     r"|\bstd::ignore\b|\bQ_UNUSED\s*\(|\bUNUSED\s*\("),
    ("c cpp", IGNORED, r"\(\s*void\s*\)\s*[\w:.>-]+\s*\("),
    ("cpp", UNCHECKED, r"\b(?:reinterpret|const|bit)_cast\s*<|\bconst_cast\b"),
    ("cpp", NAMED_CAST, r"\b(?:static|dynamic)_cast\s*<"),
    ("c cpp", UNCHECKED, r"\b__builtin_(?:unreachable|assume)\b|\bvolatile\b|\basm\b|__asm__"),
    ("c cpp", NEVER, r"^[ \t]*#[ \t]*(?:if[ \t]+(?:0\b|false\b|!\s*1\b|defined[ \t(]*(?:NEVER|__cppcheck__"
                     r"|__clang_analyzer__|UNUSED|DISABLED))|ifdef[ \t]+(?:NEVER\w*|UNUSED\w*|DISABLED\w*|NOT_\w+"
                     r"|XXX\w*|__never\w*|TODO\w*)"
     r"|ifn?def[ \t]+(?:__clang_analyzer__|CPPCHECK|__CPPCHECK__|__cppcheck__|S_SPLINT_S|__COVERITY__|PVS_STUDIO))"
     r"|\b(?:if|while)\s*\(\s*(?:0|false|!1)\s*\)"),
    ("c cpp", SKIP, r"\bGTEST_SKIP\s*\(|\bDISABLED_\w+|\bSKIP\s*\(|\bTEST_IGNORE\w*\s*\("),
    ("c cpp", TRIVIAL, r"\b(?:EXPECT|ASSERT)_(?:TRUE\(\s*(?:true|1)|FALSE\(\s*(?:false|0))"
                       r"|(?<![\w.])assert\s*\(\s*(?:1|true)\s*(?:\)|&&|\|\|)|\b(?:EXPECT"
                       r"|ASSERT)_EQ\(\s*([\w.]+)\s*,\s*\1\s*\)|\bassert\s*\([^\n;]*\|\|\s*(?:1|true)\s*\)"),
    ("c cpp", LOOSE, r"\b(?:EXPECT|ASSERT)_(?:ANY|NO)_THROW\b"),
    ("c cpp", DYNAMIC, r"^[ \t]*#[ \t]*(?:define[ \t]+(?:NDEBUG|assert|static_assert|if|while|free|malloc|return)\b"
                       r"|undef[ \t]+assert\b|line\b)|^[ \t]*#[ \t]*include[ \t]+\S*\.(?:inc|c|cc|cpp)\b"),
    ("c cpp", ENDS, r"(?<![\w.])(?:_exit|_Exit|exit|quick_exit)\s*\(\s*(?:0|EXIT_SUCCESS)\s*\)"),
)  # fmt: skip

_VALIDATES = (
    r"|\b(?:check|verify|validate|ensure|sanitize|escape|authoriz|authenticat|assert|require_|is_?valid"
    r"|has_?permission)"
    r"\w*\s*\("
)
# What must not become fewer.
GONE: Rows = (
    ("python", CHECKED, r"\braise\b|\bassert\b" + _VALIDATES),
    (JS, CHECKED, r"\bthrow\b|\breject\s*\(" + _VALIDATES.replace("|require_", "")),
    ("go", CHECKED, r"\berr\w*[ \t]*!=[ \t]*nil\b|\bpanic\s*\(|\berrors\.(?:New|Is|As)\b|\bfmt\.Errorf\b|\bdefer\b"
                    r"|\.R?Unlock\(|\.R?Lock\(" + _VALIDATES),
    ("rust", CHECKED, r"\?[ \t]*[;.)\n]|\bErr\s*\(|\bpanic!|\bbail!|\bensure!|\bassert\w*!"
                      r"|\bdebug_assert\w*!" + _VALIDATES),
    ("java", CHECKED, r"\bthrow\b|\bsynchronized\b|\brequireNonNull\b|@(?:NotNull|NonNull|Valid|Override"
                      r"|PreAuthorize|Transactional)\b" + _VALIDATES),
    ("ruby", CHECKED, r"(?<![\w.])raise\b|(?<![\w.])fail\b|\bvalidates?\w*|\bbefore_action\b|\bbefore_filter\b"
                      r"|\bfreeze\b" + _VALIDATES),
    ("bash", CHECKED, r"\bset[ \t]+-[a-z]*e|\berrexit\b"),
    ("bash", CHECKED, r"\bset[ \t]+-[a-z]*u|\bnounset\b"),
    ("bash", CHECKED, r"\bpipefail\b"),
    ("bash", CHECKED, r"\b(?:exit|return)[ \t]+[\"$1-9]"
                      r"|\|\|[ \t]*(?:exit|return|die|fail)\b|\btrap\b" + _VALIDATES),
    ("c cpp", CHECKED, r"\bthrow\b|\breturn[ \t]*\(?-|\babort\s*\(|\bfree\s*\(|\bif\s*\(\s*!|[!=]=\s*NULL\b"
                       r"|\bnullptr\b|\block\w*\s*[({]|\bstatic_assert\b" + _VALIDATES),
)  # fmt: skip
