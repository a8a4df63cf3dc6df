# Makes manual pages from comments: all comments of a C header, or the first comment of a shell script.
#
#     awk -v name=sealane -v section=3 -v version=1.2.3 -v summary=... -f packaging/manual.awk include/sealane.h
#
# A paragraph is text up to an empty line. A line with two spaces, a word and two spaces opens an item of a list.
# Lines with four spaces or more are an example.

# This uses split, because awks treat a backslash in gsub's replacement differently.
function replaced(text, separator, by, parts, n, i) {
    n = split(text, parts, separator)
    text = parts[1]
    for (i = 2; i <= n; i++) text = text by parts[i]
    return text
}

function escaped(text) {
    text = replaced(replaced(text, "\\\\", "\\e"), "-", "\\-")
    if (text ~ /^[.']/) text = "\\&" text
    return text
}

function prose(text) {
    if (code) print ".EE\n.RE"
    code = 0
    if (text == "") {
        item = 0
        print ".PP"
    } else if (section == 3 && text ~ /^ ? ?[a-z][a-z ]*[a-z]  +[^ ]/) {
        sub(/^ +/, "", text)
        match(text, /  +/)
        print ".TP\n.B " escaped(substr(text, 1, RSTART - 1)) "\n" escaped(substr(text, RSTART + RLENGTH))
        item = 1
    } else if (text ~ /^    / && !item) {
        example(text)
    } else {
        sub(/^ +/, "", text)
        print escaped(text)
    }
}

function example(text) {
    if (!code) print ".RS 4\n.EX"
    code = 1
    if (section != 3) sub(/^    /, "", text)
    print escaped(text)
}

BEGIN {
    printf ".TH %s %s \"\" \"sealane %s\" \"sealane\"\n.SH NAME\n%s \\- %s\n", toupper(name), section, version, name, escaped(summary)
    if (section == 3) print ".SH SYNOPSIS\n.B #include <sealane.h>\n.br\nLink with \\fI\\-lsealane\\fP."
    print ".SH DESCRIPTION"
}

# A script.
section != 3 && NR > 1 && !/^#/ { exit }
section != 3 && NR > 1 { sub(/^# ?/, ""); prose($0) }
section != 3 { next }

# In a header, comments that begin a line are prose, and the text between them is declarations.
/^#/ && /\\$/ { directive = 1; next }
directive { directive = /\\$/; next }
/^\/\* / {
    if (code) print ".EE\n.RE"
    code = 0
    if (NR > 1) print ".sp"
    comment = 1
}
comment {
    ended = /\*\/$/
    gsub(/^\/\* |^ \* ?| ?\*\/$/, "")
    prose($0)
    if (ended) comment = 0
    next
}
/^#define SEALANE_[A-Z0-9_]+ +[0-9"]/ { example($0); next }
/^#|^$|^extern "C"|^}$/ { next }
{
    sub(/^SEALANE_API (SEALANE_CHECKED )?/, "")
    example($0)
}
END { if (code) print ".EE\n.RE" }
