"""What the tests of editing share: a folder with files, and a patch applied to it."""

import pytest

from agi.editing.changing import change_files
from agi.editing.drafts import Draft
from agi.editing.patches import paths_of
from agi.editing.reading import read_patch
from agi.editing.sections import take_patch
from agi.workspace.handle import Workspace


def envelope(*lines):
    """A patch in the envelope form."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


class Folder:
    """A workspace with files in it."""

    def __init__(self, path):
        self.root = path / "proj"
        self.root.mkdir()
        self.notes = path / "unfinished"
        self.workspace = Workspace.open(self.root)

    def write(self, path, content, mode=0o644):
        """Put a file there."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)
        return file

    def tree(self):
        """All files with their bytes."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}

    def draft(self, patch, seen=None):
        """A patch worked out, with nothing written."""
        worked_out = Draft(self.workspace, seen)
        take_patch(worked_out, read_patch(patch, self.workspace.exists))
        return worked_out

    def apply(self, patch, **more):
        """A patch carried out."""
        sections = read_patch(patch, self.workspace.exists)
        paths = [path for section in sections for path in paths_of(section)]
        return change_files(self.workspace, paths, lambda draft: take_patch(draft, sections), notes=self.notes, **more)


@pytest.fixture
def folder(tmp_path):
    fresh = Folder(tmp_path)
    yield fresh
    fresh.workspace.close()
