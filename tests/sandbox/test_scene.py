"""What a command sees and may change on the rungs that keep it in."""

import asyncio
import errno
import os
import shutil
import subprocess
import sys

import pytest

from agi.errors import Unavailable

SECRET = "a key"
KEYS = (".ssh/id", ".aws/credentials", ".config/agi/config.json", ".netrc", ".cargo/credentials.toml")


@pytest.fixture
def home(elsewhere):
    """A home folder with keys, tools and settings in it."""
    for name in (*KEYS, "notes"):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text(SECRET)
    for name in (".cargo/bin/tool", "own/bin/other", "bin/mine"):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text("#!/bin/sh\necho found $0\n")
        (elsewhere / name).chmod(0o755)
    return elsewhere


def at(home):
    path = f"{home}/.cargo/bin:{home}/own/bin:{home}/bin:{home}/.ssh:/usr/bin:/bin"
    return {"HOME": str(home), "PATH": path}


async def test_home_is_not_there_but_for_the_tools_path_names(confined, home):
    """Keys, settings and notes are hidden; programs run, and even beside them a key is not shown."""
    keys = " ".join(f"{home}/{name}" for name in KEYS)
    result = await confined(f"tool; other; mine; cat {home}/.*/* {keys} {home}/notes", env=at(home))

    assert result.stdout.head.splitlines()[:3] == [
        f"found {home}/{name}" for name in (".cargo/bin/tool", "own/bin/other", "bin/mine")
    ]
    assert SECRET not in result.stdout.head


async def test_a_key_that_comes_between_two_commands_is_hidden_from_the_second(confined, home):
    """What is hidden is what is there now."""
    (home / ".cargo/credentials").unlink(missing_ok=True)
    await confined("true", env=at(home))
    (home / ".cargo/credentials").write_text(SECRET)

    result = await confined(f"cat {home}/.cargo/credentials; tool", env=at(home))

    assert SECRET not in result.stdout.head
    assert "found" in result.stdout.head


async def test_home_and_tmp_are_empty_folders_of_ones_own(apart, home):
    """Programs that keep things at home work, and what they keep is gone with them."""
    await apart("mkdir -p ~/.cache/x && echo y > ~/.cache/x/z && echo y > /tmp/left", env=at(home))
    result = await apart("ls -A ~ /tmp /run; echo $TMPDIR", env=at(home))

    assert ".cache" not in result.stdout.head
    assert "left" not in result.stdout.head
    assert result.stdout.head.endswith("/tmp\n")
    assert sorted(os.listdir(home)) == [".aws", ".cargo", ".config", ".netrc", ".ssh", "bin", "notes", "own"]


async def test_a_private_tmp_lasts_from_command_to_command(confined, tmp_path):
    """Where the caller keeps one."""
    tmp = tmp_path / "private"
    tmp.mkdir()
    await confined("echo kept > $TMPDIR/left", tmp=tmp)
    result = await confined("cat $TMPDIR/left", tmp=tmp)

    assert result.stdout.head == "kept\n"


async def test_places_that_are_named_may_be_read_or_changed(confined, home, tmp_path):
    """The caller has the last word on single places."""
    more = tmp_path / "more"
    more.mkdir()
    result = await confined(
        f"cat {home}/notes; echo x > {home}/notes; echo new > {more}/file",
        env=at(home),
        readable=(home / "notes",),
        writable=(more,),
    )

    assert result.stdout.head == SECRET
    assert (home / "notes").read_text() == SECRET
    assert (more / "file").read_text() == "new\n"


async def test_hidden_places_are_hidden_wherever_they_are(apart, elsewhere, workspace):
    """Outside the workspace and inside it, folders and files."""
    (elsewhere / "state").mkdir()
    (workspace / "state").mkdir()
    places = [elsewhere / "state/token", elsewhere / "alone", workspace / "state/token", workspace / "alone"]
    for place in places:
        place.write_text(SECRET)
    hidden = (elsewhere / "state", elsewhere / "alone", workspace / "state", workspace / "alone")

    result = await apart(f"cat {' '.join(map(str, places))}; rm -rf state alone", hidden=hidden)

    assert SECRET not in result.stdout.head
    assert all(place.read_text() == SECRET for place in places)


@pytest.mark.threat("T33")
async def test_of_our_folder_only_what_belongs_to_the_project_is_seen(apart, workspace):
    """The log and the token are not; settings that hold a key are not; nothing of it can be changed."""
    ours = workspace / ".agi"
    (ours / "sessions/s").mkdir(parents=True)
    (ours / "tools/t").mkdir(parents=True)
    for name in ("agi.sqlite", "daemon.json", "sessions/s/events.ndjson"):
        (ours / name).write_text(SECRET)
    (ours / "tools/t/tool.py").write_text("code")
    (ours / "agents.json").write_text("{}")
    (ours / "config.json").write_text('{"providers": {"x": {"apiKey": "sk"}}}')

    result = await apart(
        "find .agi -type f | sort; cat .agi/*; echo x > .agi/agents.json; echo x > .agi/new; rm -rf .agi; mv .agi a"
    )

    assert result.stdout.head.splitlines()[:3] == [".agi/agents.json", ".agi/tools/t/tool.py", "{}"]
    assert SECRET not in result.stdout.head
    assert sorted(os.listdir(ours)) == ["agents.json", "agi.sqlite", "config.json", "daemon.json", "sessions", "tools"]
    assert (ours / "agents.json").read_text() == "{}"


@pytest.mark.threat("T27")
async def test_a_file_in_the_place_of_our_folder_is_not_made_a_folder(confined, workspace):
    """A repository may hold one by that name, which is no reason to let a command make settings there."""
    (workspace / ".agi").write_text("theirs")

    await confined("rm .agi; mv .agi x; mkdir .agi; echo '{}' > .agi/config.json; echo x > .agi")

    assert (workspace / ".agi").read_text() == "theirs"


async def test_a_tool_of_the_projects_can_be_shown_to_be_run(apart, workspace):
    """What lies in a hidden folder can be named as readable."""
    tool = workspace / ".agi/private/tool.py"
    tool.parent.mkdir(parents=True)
    tool.write_text("print('ran')")

    result = await apart("python3 .agi/private/tool.py", readable=(tool,))

    assert result.stdout.head == "ran\n"


async def test_a_workspace_may_be_only_looked_at(confined, workspace):
    """For questions; nothing is made in it, not even for a moment."""
    (workspace / "file").write_text("content")

    result = await confined("cat file; echo x > file; touch new; mkdir .git", read_only=True)

    assert result.stdout.head == "content"
    assert os.listdir(workspace) == ["file"]
    assert (workspace / "file").read_text() == "content"


async def test_a_workspace_that_is_a_home_folder_hides_its_keys(apart, home):
    """Home cannot be hidden from those who work in it, but what is there of keys is, and no start-up file changes."""
    (home / ".bashrc").write_text("# theirs\n")
    result = await apart(
        "cat .ssh/id .aws/credentials .config/agi/config.json .netrc; cat notes; echo evil >> .bashrc; echo ok > new",
        workspace=home,
        env=at(home),
    )

    assert result.stdout.head == SECRET
    assert (home / ".bashrc").read_text() == "# theirs\n"
    assert (home / "new").read_text() == "ok\n"
    assert (home / ".ssh/id").read_text() == SECRET


PLANT = (
    "mkdir -p .config/agi .ssh; echo '{}' > .config/agi/config.json; echo key > .ssh/authorized_keys;"
    "for file in .bashrc .bash_profile .netrc .gitconfig; do echo evil > $file; done; mkdir -p set/tings; ln -s x .aws;"
    "echo ok > new"
)


@pytest.mark.threat("T27")
@pytest.mark.parametrize("inner", ["", "one/me"])
async def test_in_a_home_folder_what_is_not_there_cannot_be_made(apart, elsewhere, inner):
    """Keys, settings and start-up files; also where the workspace holds the home folder, and nothing of ours stays."""
    home = elsewhere / inner
    home.mkdir(parents=True, exist_ok=True)
    hidden = (home / "set/tings", home / ".config/agi")

    await apart(f"cd {home}; {PLANT}", workspace=elsewhere, env={"HOME": str(home)}, hidden=hidden)

    assert os.listdir(home) == ["new"]


@pytest.mark.threat("T27")
async def test_what_is_hidden_is_not_shown_by_moving_a_folder_above_it(apart, elsewhere):
    """The next command would find it under another name, where nobody looks for it."""
    for name in (".cargo/credentials.toml", "deep/er/state"):
        (elsewhere / name).parent.mkdir(parents=True)
        (elsewhere / name).write_text(SECRET)
    reach = {"workspace": elsewhere, "env": {"HOME": str(elsewhere)}, "hidden": (elsewhere / "deep/er/state",)}

    await apart("mv .cargo a; mv deep b; mv deep/er deep/c; mkdir -p .cargo deep/er", **reach)
    result = await apart("cat a/* b/*/* deep/c/* .cargo/* deep/er/*; echo x > deep/er/new", **reach)

    assert SECRET not in result.stdout.head
    assert (elsewhere / "deep/er/new").exists()


async def test_a_disk_without_room_for_what_protects_a_name_runs_nothing(apart, workspace, monkeypatch):
    """It is said; a command that made room could take the name."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("agi.sandbox.holding._make_new", full)
    with pytest.raises(Unavailable, match="could not be kept from the command: No space left"):
        await apart("touch ran")

    assert os.listdir(workspace) == []


async def test_commands_at_the_same_time_hold_the_names_of_a_home_folder_together(apart, elsewhere):
    """The first that ends does not give them free for the other."""
    reach = {"workspace": elsewhere, "env": {"HOME": str(elsewhere)}, "hidden": (elsewhere / "set/tings",)}
    long = f"touch ready; until [ -e go ]; do sleep 0.01; done; {PLANT}"
    slow = asyncio.create_task(apart(long, **reach))
    await apart("until [ -e ready ]; do sleep 0.01; done", **reach)
    (elsewhere / "go").touch()
    await slow

    assert sorted(os.listdir(elsewhere)) == ["go", "new", "ready"]


async def test_where_names_cannot_be_held_a_home_folder_is_put_back(in_landlock, elsewhere):
    """What was put there is set aside, and that is said."""
    (elsewhere / ".profile").write_text("theirs")

    result = await in_landlock(f"{PLANT}; echo evil > .profile", workspace=elsewhere, env={"HOME": str(elsewhere)})

    left = {name for name in os.listdir(elsewhere) if ".refused-" not in name}
    assert left == {".profile", "new", "set"}
    assert (elsewhere / ".profile").read_text() == "theirs"
    assert ".bashrc" in result.notes[0]


async def test_a_linked_start_up_file_is_put_back(apart, elsewhere):
    """As where someone keeps them in a repository."""
    (elsewhere / "dots").mkdir()
    (elsewhere / "dots/rc").write_text("theirs")
    (elsewhere / ".bashrc").symlink_to("dots/rc")

    result = await apart("rm .bashrc; echo evil > .bashrc", workspace=elsewhere, env={"HOME": str(elsewhere)})

    assert os.readlink(elsewhere / ".bashrc") == "dots/rc"
    assert ".bashrc" in result.notes[0]


@pytest.fixture
def virtual_environment(workspace):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", workspace / ".venv"], check=True)


@pytest.mark.usefixtures("virtual_environment")
async def test_a_virtual_environment_in_the_workspace_works(confined, workspace):
    """Its Python may lie in a home folder."""
    result = await confined(".venv/bin/python -c 'import sys, json, ctypes; print(sys.prefix)'")

    assert (result.stdout.head, result.stderr.head) == (f"{workspace}/.venv\n", "")


async def test_a_virtual_environment_cannot_show_another_folder(apart, workspace, home):
    """Where its link leads is the workspace's word, which may be hostile."""
    (workspace / ".venv/bin").mkdir(parents=True)
    (home / ".ssh/bin").mkdir()
    (home / ".ssh/bin/python3.11").write_text("")
    (workspace / ".venv/bin/python").symlink_to(home / ".ssh/bin/python3.11")

    result = await apart(f"cat {home}/.ssh/id", env=at(home))

    assert SECRET not in result.stdout.head


MAKEFILE = "all: hello\n\t./hello\nhello: hello.c\n\t$(CC) -o $@ $<\n"
HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
PACKAGE = '{"name": "x", "version": "1.0.0", "scripts": {"test": "node test.js"}}'
NODE = (
    "const {Worker} = require('worker_threads');"
    "console.log(require('child_process').execSync('echo child').toString().trim());"
    "new Worker('require(\"worker_threads\").parentPort.postMessage(42)', {eval: true}).on('message', console.log)"
)


def version_of(program, folder):
    """What it says of itself, if it runs at all."""
    return subprocess.run([program, "version" if program == "go" else "--version"], capture_output=True, cwd=folder)


@pytest.mark.parametrize(
    ("program", "files", "command", "says"),
    [
        ("gcc", {"Makefile": MAKEFILE, "hello.c": HELLO}, "make -s CC=gcc", "hello\n"),
        ("node", {"test.js": NODE}, "node test.js", "child\n42\n"),
        ("npm", {"package.json": PACKAGE, "test.js": NODE}, "npm test --silent", "child\n42\n"),
        ("perl", {}, "perl -e 'print 6*7, qq(\\n)'", "42\n"),
        ("git", {}, "git --version | cut -c1-3", "git\n"),
        ("cargo", {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\n', "src/main.rs": "fn main() {}\n"},
         "cargo build -q --offline && ls target/debug/x", "target/debug/x\n"),
        ("go", {"go.mod": "module x\n", "main.go": 'package main\nfunc main() { println("x") }\n'},
         "go run . 2>&1", "x\n"),
    ],
)  # fmt: skip
async def test_ordinary_tools_work(confined, workspace, program, files, command, says):
    """Compilers, runtimes and package managers, as far as they are installed here."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    asked = version_of(program, workspace)
    if asked.returncode:
        pytest.skip(f"{program} is installed and does not work here: {asked.stderr.decode(errors='replace')[:200]}")
    for name, content in files.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(content)

    result = await confined(command, timeout_s=100)

    assert (result.stdout.head, result.exit_code) == (says, 0), result.stderr.head


async def test_a_test_suite_works(confined, workspace):
    """With temporary folders, processes of its own and shared memory."""
    (workspace / "test_it.py").write_text(
        "import multiprocessing\n"
        "def test_it(tmp_path):\n"
        "    (tmp_path / 'x').write_text('y')\n"
        "    with multiprocessing.Pool(2) as pool:\n"
        "        assert pool.map(abs, [-1, 2]) == [1, 2]\n"
    )

    result = await confined(f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py", timeout_s=100)

    assert result.exit_code == 0, result.stdout.head + result.stderr.head


@pytest.mark.threat("T33")
async def test_no_key_of_the_daemons_is_found_by_a_command(on_every_rung, monkeypatch, workspace):
    """Neither in its own environment nor in that of any process it can see, by name or by value."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-for-this-test")
    result = await on_every_rung("env; tr '\\0' '\\n' < /proc/self/environ")

    assert "sk-planted" not in result.stdout.head


@pytest.fixture
def holder():
    """A process with a key in its environment, as the daemon may be one."""
    process = subprocess.Popen(["sleep", "60"], env={"OPENAI_API_KEY": "sk-planted-elsewhere"})
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.threat("T33")
async def test_the_daemons_environment_cannot_be_read(confined, holder):
    """Whoever started the daemon may have given it keys."""
    result = await confined(f"cat /proc/{holder}/environ /proc/{os.getpid()}/environ /proc/[0-9]*/environ")

    assert "sk-planted-elsewhere" not in result.stdout.head


async def test_a_command_may_signal_every_process_it_sees(apart):
    """As `pkill python` does: the first process inside is one of ours, and goes on until the command has ended."""
    result = await apart("kill -TERM 1; kill -HUP 1; kill -INT 1; kill -KILL 1; sleep 0.3; echo here")

    assert (result.exit_code, result.stdout.head, result.leftovers) == (0, "here\n", False)


async def test_folders_that_are_made_in_it_can_be_changed_by_their_user_only(apart):
    """Also those on the way to one that is wanted; devices are everybody's all the same."""
    home = "/tmp/on/the/way/home"
    made = ["/tmp/on", "/tmp/on/the", "/tmp/on/the/way", home, "/dev/shm"]

    result = await apart(f"stat -c '%a %n' {' '.join(made)} /dev/null", env={"HOME": home})

    assert result.stdout.head.splitlines() == [*(f"755 {path}" for path in made), "666 /dev/null"]


@pytest.mark.threat("T27")
async def test_on_a_disk_where_names_cannot_be_held_nothing_runs(apart, workspace, monkeypatch):
    """Where another user's times cannot be set, as on some network disks, a command could make what we cannot."""

    def refused(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refused)
    with pytest.raises(Unavailable) as said:
        await apart("echo '{}' > .mcp.json")

    assert (said.value.code, os.listdir(workspace)) == ("sandbox_failed", [])
    assert "chmod" not in str(said.value.hint)
