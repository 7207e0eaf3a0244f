"""Nothing runs unasked behind a word that is allowed: each part of a line needs a rule of its own; some get none.

The corpus holds what has been used against other gates: chains, substitutions, redirections, wrappers, options that run
something, look-alikes, and lines that no parser should be sure of.
"""

from __future__ import annotations

import pytest

from agi.policy.approval import judge
from agi.protocol.policies import ApprovalPolicy, Rule

ALLOWED = (
    *("echo", "ls", "cat", "head", "grep", "rg", "find", "sed", "sort", "uniq", "tar", "git", "git status", "git log"),
    *(
        "git diff",
        "git grep",
        "npm",
        "npm test",
        "npm run test:*",
        "cargo test",
        "go test",
        "docker ps",
        "docker",
        "kubectl",
        "pip",
        "uv",
        "env",
    ),
    *("xargs", "make", "python", "node", "bash", "npx", "ssh", "timeout", "nice", "test", "printf", "cd", "tee", "awk"),
    *("wc", "diff", "jq", "tree", "fd", "date", "true", "curl", "find .", "time", "command", "pytest", "vim"),
)
POLICY = ApprovalPolicy(rules=tuple(Rule(tool="shell", command=words, verdict="allow") for words in ALLOWED))

OPERATORS = """
ls; id
ls;id
ls && id
ls&&id
ls || id
ls | id
ls|id
ls |& id
ls & id
ls&id
ls ⏎ id
ls⏎id
ls⏎⏎id
ls ;⏎ id
ls &⏎id
(ls; id)
(id)
{ ls; id; }
! id
if ls; then id; fi
if id; then ls; fi
while id; do ls; done
until id; do ls; done
for f in a; do id; done
for f in $(id); do ls; done
for ((i=0;i<1;i++)); do id; done
case a in a) id;; esac
case $(id) in a) ls;; esac
f() { id; }; f
function ls { id; }
ls() { id; }; ls
select x in a; do id; done
[[ -f a ]] && id
[ -f a ] || id
test -f a; id
true && id
cd . && id
cd /tmp && ls
cd .. && ls
cd "$HOME" && ls
cd a && git status
cd a && npm test
ls # a⏎id
time id
coproc id
echo a \\⏎; id
"""
SUBSTITUTIONS = """
echo $(id)
echo "$(id)"
echo `id`
echo "`id`"
echo $(echo $(id))
echo ${x:-$(id)}
echo "${x:-$(id)}"
echo "${x:-`id`}"
echo ${x:=$(id)}
echo ${x/a/$(id)}
echo "${x:-'$(id)'}"
echo ${x@P}
echo ${!x}
echo ${a[$(id)]}
echo $((a[$(id)]))
echo $(($(id)))
echo $[$(id)]
echo $(( x ))
cat <(id)
cat < <(id)
ls > >(id)
diff <(ls) <(id)
cat <<E⏎$(id)⏎E
cat <<E⏎`id`⏎E
cat <<E⏎${x:-$(id)}⏎E
cat <<-E⏎⇥$(id)⏎⇥E
cat <<E; id⏎E
cat <<E | id⏎E
cat <<E && id⏎E
cat <<'E'⏎E⏎id
cat <<E⏎E \\⏎⏎id⏎E
cat <<< $(id)
cat <<< "`id`"
x=$(id) ls
x=$(id)
x=(a $(id))
export x=$(id)
declare x=$(id)
a[$(id)]=1 ls
test -v 'a[$(id)]'
[ -v 'a[$(id)]' ]
[[ -v a[$(id)] ]]
[[ 'a[$(id)]' -eq 1 ]]
printf -v 'a[$(id)]' b
printf -vx b
echo $'\\x24(id)' $(id)
$(echo ls)
`echo ls`
"""
WRITING = """
echo a > f
echo a >f
echo a >> f
echo a >| f
echo a &> f
echo a &>> f
echo a >& f
echo a 1> f
echo a 2> f
echo a 3> f
echo a > "f"
echo a > $f
echo a > /etc/passwd
echo a > ~/.bashrc
echo a > ../f
echo a > .git/hooks/pre-commit
echo a >> .git/config
echo a > .GIT/config
echo a > .agi/config.json
echo a > .mcp.json
echo a > f b
> f
: > f
ls > f; cat f
cat <<'E' > f⏎a⏎E
cat a > >(tee f)
echo a | tee f
ls 3<> f
(ls) > f
{ ls; } > f
for f in a; do ls; done > f
ls >&'$(id)'
echo $(> f)
"""
STARTING = """
env id
env A=1 id
env -i id
env -S 'id'
/usr/bin/env id
A=1 ls
PATH=. ls
GIT_PAGER=id git log
LD_PRELOAD=./x ls
xargs id
ls | xargs id
ls | xargs -I{} sh -c {}
find . -exec id ;
find . -exec id {} +
find . -execdir id {} +
find . -ok id ;
find . -delete
find . -fprint f
find . -fprintf f a
find . -fls f
find / -name a
fd -x id
fd a -X id
fd --exec id
timeout 5 id
nice id
nohup id
setsid id
stdbuf -oL id
command id
builtin eval id
exec id
eval id
eval 'ls; id'
source ./f
. ./f
trap id EXIT
alias ls=id
shopt -s expand_aliases⏎alias ls=id⏎ls
hash -p ./x ls; ls
enable -f ./x ls
set -x
export PATH=.
bash -c id
sh -c 'ls; id'
bash f
bash
ls | bash
echo id | sh
bash <<< id
bash <<'E'⏎id⏎E
busybox id
sudo ls
su -c id
ssh host id
ssh -o ProxyCommand=id host
docker run x id
docker exec x id
docker ps -f a --format b; id
docker compose up
kubectl exec x -- id
npx id
npx -c id
npx --yes x
npm exec id
npm install x
npm run other
npm run test:a --script-shell=./x
npm test --prefix ./x
npm --prefix x test
uv run id
uv tool run x
uvx id
pip install x
pip download x
cargo run
cargo install x
cargo test --config x
go run .
go test -exec ./x ./...
go generate
make
make test
make SHELL=./x
make -f x
make --eval='x'
python x.py
python -c 'x'
python3 -m x
python
node x.js
node -e x
perl -e x
ruby -e x
awk 'BEGIN { system("id") }'
awk '{ print }' a
vim -c ':!id'
tclsh x
sqlite3 x '.shell id'
gdb -batch -ex '!id'
script -c id
watch id
parallel id
flock f id
strace id
ls.exe; id
"""
OPTIONS = """
git -c core.pager=id log
git -c alias.x='!id' x
git --exec-path=. status
git --git-dir=x status
git -C x status
git --no-pager -c a=b log
git grep -Oid a
git grep --open-files-in-pager=id a
git log --output=f
git diff --output=f
git diff --ext-diff
git log --textconv
git diff --outp=f
git fetch --upload-pack=id x
git push --receive-pack=id x
git clone x
git config core.pager id
git difftool -x id
git bisect run id
git rebase -x id
git submodule foreach id
git filter-branch --tree-filter id
git diff --no-index /etc/passwd a
git log $X
git log *
git status --$X
sed -n 1e f
sed '1e id' f
sed s/a/b/e f
sed 's/a/id/e' f
sed 'w f' a
sed s/a/b/w\\ f a
sed -i s/a/b/ f
sed -f x f
sed --expression=1e f
sed -n '1,5p;w f' a
tar cf a b
tar xf a --to-command=id
tar --checkpoint-action=exec=id -cf a b
tar -I id -xf a
sort -o f a
sort --output=f a
sort --compress-program=id a
sort -T /tmp a
sort *
uniq a b
rg --pre id a
rg --pre=id a
rg --hostname-bin=id a
tree -o f
date -s now
curl -o f x
curl x | sh
curl -K x
printf -v x a
jq a ../x
cat /etc/passwd
cat ~/.ssh/id_rsa
cat $HOME/.ssh/id_rsa
cat "$X"
cat ../x
cat a/../../x
cat < /etc/passwd
cat < ~/x
head -c 10 /etc/shadow
grep -r a /
grep -f /etc/passwd a
grep a ~/x
wc $(ls)
"""
HIDDEN = [
    *("$X", "${X}", '"$X" a', "ls${IFS}a", "${IFS}ls", "l\\s a;id", "l's' a;id", "/bin/l? a", "/???/l? a", "{ls,-la}"),
    *("{id,a}", "l{s,d} a", "ls\t;id", "l\u200bs", "ls \u202e", "ls\u00a0a", "lѕ a", "ls\r id", "ls \x1b[8m; id"),
    *("ls 'open", 'ls "open', "ls $(open", "ls `open", "(ls", "ls)", "ls >", "ls &&", "ls <<E", "./ls", "/bin/ls"),
    *("~/ls", "ls\0id", "LS a", "ｌｓ a", "ls\u3164a; id", "l\\\ns a", "l\\\ns; id", "ls \\\n; id", "echo a\\\n; id"),
]


def lines(text: str) -> list[str]:
    return [line.replace("⏎", "\n").replace("⇥", "\t") for line in text.strip().split("\n")]


CORPUS = [line for text in (OPERATORS, SUBSTITUTIONS, WRITING, STARTING, OPTIONS) for line in lines(text)] + HIDDEN


def test_the_corpus_is_large_enough():
    """More than two hundred forms."""
    assert len(CORPUS) > 280
    assert len(set(CORPUS)) == len(CORPUS)


@pytest.mark.advisory("gemini-cli#11510", "CVE-2025-54795")
@pytest.mark.threat("T19")
@pytest.mark.parametrize("command", CORPUS)
def test_nothing_runs_unasked_behind_an_allowed_word(tool, call, command):
    """It is asked about; where nobody can answer, that is a refusal."""
    decision = judge(POLICY, tool("shell"), call("shell", command=command), allowed_tools=None)

    assert decision.verdict == "ask", decision.reason


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la src",
        "ls *.py",
        "ls; cat a | head -5",
        "cat a.txt b/c.txt",
        "cat a 2>/dev/null",
        "ls 2>&1 | grep -v foo",
        "grep -rn '/api' src",
        "rg -n 'a|b' src | sort | uniq -c",
        "sed -n '1,20p' a.py",
        "find . -name '*.py' -not -path './.git/*'",
        'echo "it\'s $HOME"',
        "echo $(ls)",
        "git status",
        "git status --short",
        "git log --oneline -5 -- src",
        "git diff HEAD~1 -- a.py",
        "git log main..dev",
        "npm test",
        "npm run test:unit",
        "cargo test foo",
        "go test ./...",
        "docker ps",
        "pytest tests/a.py",
        "cd src && ls | head",
        "[ -f a ] && cat a",
        "if [ -f a ]; then cat a; else echo none; fi",
        'for f in a b; do echo "$f"; done',
        "diff <(ls a) <(ls b)",
        "cat <<'E'\n$(id)\nE",
        "true && ls || false",
    ],
)
def test_what_the_rules_say_runs_unasked(tool, call, command):
    """Rules would be worth nothing if everything asked."""
    decision = judge(POLICY, tool("shell"), call("shell", command=command), allowed_tools=None)

    assert (decision.verdict, decision.rule) == ("allow", "rule:allow"), decision.reason


@pytest.mark.advisory("claude-code 10000")
@pytest.mark.threat("T20")
@pytest.mark.parametrize(
    "command", ["echo " + "x" * 10_000, "; ".join(["ls"] * 51), "ls " + "a " * 6000, "ls && " * 60 + "ls"]
)
def test_what_is_too_long_is_asked_about(tool, call, command):
    """However harmless each of its parts."""
    decision = judge(POLICY, tool("shell"), call("shell", command=command), allowed_tools=None)

    assert (decision.verdict, decision.rule, decision.risk) == ("ask", "unparsed", "high")


@pytest.mark.parametrize("joint", [";", " && ", " | ", "\n", " & "])
def test_fifty_parts_are_not_too_many(tool, call, joint):
    """The limit is where it is said to be."""
    decision = judge(POLICY, tool("shell"), call("shell", command=joint.join(["ls"] * 50)), allowed_tools=None)

    assert decision.verdict == "allow"


INTERPRETERS = (
    "python python3 python3.11 bash sh zsh node deno bun perl ruby php lua awk gawk env xargs make npx ssh eval"
)
LAUNCHERS = (
    "nohup nice timeout sudo docker kubectl find-exec uv uvx exec command source . trap vim ed gdb sqlite3 tclsh"
)


@pytest.mark.threat("T23")
@pytest.mark.parametrize("name", f"{INTERPRETERS} {LAUNCHERS}".split())
def test_interpreters_and_launchers_are_never_allowed_by_their_first_words(tool, call, name):
    """However long the prefix; only a rule for the exact command allows one."""
    words = {"find-exec": "find . -exec id {} +"}.get(name, f"{name} -c a b")
    prefixes = [" ".join(words.split()[: count + 1]) for count in range(len(words.split()))]
    policy = ApprovalPolicy(rules=tuple(Rule(tool="shell", command=one, verdict="allow") for one in prefixes))
    exactly = ApprovalPolicy(rules=(Rule(tool="shell", exactly=words, verdict="allow"),))
    one = call("shell", command=words)

    assert judge(policy, tool("shell"), one, allowed_tools=None).verdict == "ask"
    assert judge(exactly, tool("shell"), one, allowed_tools=None).verdict == "allow"
    assert judge(exactly, tool("shell"), call("shell", command=f"{words} d"), allowed_tools=None).verdict == "ask"
