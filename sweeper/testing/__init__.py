"""Shipped fakes for tests of Sweeper and of configurations: the scripted agent.

A script is JSON: `{"fix": [["BAD", "GOOD"]], "units": {"pkg/*.py": ["nothing", "fix"]}, "default": ["fix"]}`.
`units` maps a glob over unit titles to steps by attempt number (the last one repeats); the first match counts.
A step is a word or a list of words, done in order:

    fix            apply every (pattern, replacement) of "fix" to the unit's files
    fix_some       the same, but only the first half of the matches of each file (at least one stays)
    fix_lines      the same as fix, but only on lines that a finding of the unit is on
    nothing        change nothing
    run ARGV...    run a program, its files appended (as one list: ["run", "ruff", "check", "--fix"])
    append TEXT    append TEXT to the unit's first file
    sleep SECONDS  wait
    edit_other     append a line to a tracked file outside the unit
    new_file PATH  create a file
    delete         delete the unit's files
    empty          truncate them
    suppress       append a suppression comment to every line with a finding
    hang           ignore SIGTERM and wait for ever
    crash          die by SIGSEGV
    exit CODE      end with that code
    fork_bomb      fork until it fails
    eat_memory     allocate until it fails
    fill_disk      write until it fails
    flood          print until it is stopped
    commit         git commit -a
    claim TEXT     say TEXT (agents claim things)
"""
