#!/usr/bin/env python3
"""What of a release can be wrong without a build: refusals, archives, the image, the template, bills and sums."""
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "release"), str(ROOT / "tests" / "release")]

import typed  # noqa: E402
from lib import archives, bills, context, crates, notices, oci, sam, versions  # noqa: E402

VERSION = context.version()
LATER = 1_800_000_000


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Repository(Folder):
    """A repository with the scripts of a release and with what they read, and nothing that they could build."""

    def setUp(self):
        super().setUp()
        for name in {name for name, *_ in versions.PLACES} | {".gitignore", "CHANGELOG.md", f"tests/golden/{VERSION}/agent.json"}:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes((ROOT / name).read_bytes())
        for path in (ROOT / "release").rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                copy = self.folder / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
                copy.chmod(path.stat().st_mode)
        # A release has a date in place of `unreleased`.
        self.dated(f"## [{VERSION}] - 2027-01-31")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "all")

    def dated(self, heading):
        changelog = self.folder / "CHANGELOG.md"
        changelog.write_text(versions.HEADING.sub(heading, changelog.read_text(), count=1))

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test", *words], cwd=self.folder, check=True)


class Refusals(Repository):
    def refused(self, expected, *words, **environment):
        done = subprocess.run([self.folder / "release" / "build", *words], capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, **environment})
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertEqual("", done.stdout)
        self.assertFalse((self.folder / "dist").exists())

    def test_a_version_that_is_not_in_cargo_toml_is_refused(self):
        self.refused(f"VERSION is 9.9.9, but Cargo.toml has {VERSION}", "9.9.9")
        self.refused("VERSION is 'v1', but must be three numbers such as 1.2.3", "v1")
        self.refused("VERSION is '', but must be three numbers", "")

    def test_one_place_with_another_version_is_refused(self):
        package = self.folder / "infra" / "cdk" / "package.json"
        package.write_text(package.read_text().replace(f'"version": "{VERSION}"', '"version": "9.9.9"'))
        self.git("commit", "--all", "--quiet", "--message", "another version")
        self.refused(f"infra/cdk/package.json has 9.9.9, not {VERSION}", VERSION)

    def test_a_change_that_is_not_committed_is_refused(self):
        (self.folder / "left-over").write_text("")
        self.refused("the tree has 1 changes that are not committed, the first one: ?? left-over", VERSION)

    def test_a_file_that_git_status_is_told_to_hide_is_refused(self):
        self.git("config", "status.showUntrackedFiles", "no")
        (self.folder / ".git" / "info" / "exclude").write_text(".cargo\n")
        (self.folder / ".cargo").mkdir()
        (self.folder / ".cargo" / "config.toml").write_text("[profile.release]\nopt-level = 0\n")
        self.refused("the tree has 1 changes that are not committed", VERSION)

    def test_a_key_that_cannot_be_read_is_refused(self):
        key = self.folder.parent / f"{self.folder.name}-key"
        self.refused(f"KEY is {key}, but must be a private key", VERSION, "--key", str(key))
        self.addCleanup(lambda: [path.unlink() for path in (key, key.with_suffix(".pub"))])
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "a passphrase", "-f", key], check=True)
        self.refused("that can be read without a passphrase", VERSION, "--key", str(key))

    def test_values_outside_of_their_rules_are_refused_by_name(self):
        self.refused("TARGETS has riscv64gc-unknown-linux-gnu, but must be of", VERSION, "--targets", "riscv64gc-unknown-linux-gnu")
        for moment in ("today", "0", "315532799", "4354819200"):
            self.refused(f"SOURCE_DATE_EPOCH is '{moment}', but must be whole seconds", VERSION, SOURCE_DATE_EPOCH=moment)
        self.refused("REPOSITORY is 'git@host:a/b', but must be an address", VERSION, REPOSITORY="git@host:a/b")

    def test_a_written_version_is_in_every_place(self):
        subprocess.run([self.folder / "release" / "version", "1.2.3"], check=True, capture_output=True)
        self.assertEqual([], versions.others("1.2.3", self.folder))
        self.assertIn(f"Cargo.toml has 1.2.3, not {VERSION}", versions.others(VERSION, self.folder))

    def test_a_version_that_the_rules_of_upgrades_cannot_count_is_refused(self):
        for version in ("1.2.3-01", "1.2.3-rc.1", "1.2", "01.2.3", ""):
            with self.assertRaises(context.Refusal, msg=version):
                versions.check(version)

    def test_a_version_lower_than_the_present_one_is_not_written(self):
        with self.assertRaisesRegex(context.Refusal, f"VERSION is 0.0.9, but must not be lower than {VERSION} in Cargo.toml"):
            versions.write("0.0.9", self.folder)

    def test_the_changelog_has_one_unreleased_version_at_most(self):
        for version, headings in (("1.2.3", [("1.2.3", "unreleased"), (VERSION, "2027-01-31")]),
                                  ("1.3.0", [("1.3.0", "unreleased"), (VERSION, "2027-01-31")])):
            versions.write(version, self.folder)
            self.assertEqual(headings, versions.HEADING.findall((self.folder / "CHANGELOG.md").read_text()))

    def test_a_signed_release_has_a_date_in_the_changelog(self):
        self.assertEqual([], versions.unready(VERSION, True, self.folder))
        self.dated(f"## [{VERSION}] - unreleased")
        self.assertEqual([], versions.unready(VERSION, False, self.folder))
        [lacks] = versions.unready(VERSION, True, self.folder)
        self.assertIn(f"CHANGELOG.md has `unreleased` for {VERSION}", lacks)

    def test_a_release_without_its_heading_or_its_golden_files_is_refused(self):
        self.dated("## [0.0.9] - 2027-01-31")
        self.git("mv", f"tests/golden/{VERSION}", "tests/golden/other")
        self.git("commit", "--all", "--quiet", "--message", "neither")
        self.refused(f"CHANGELOG.md begins with 0.0.9, not {VERSION}; tests/golden/{VERSION} is missing: run make golden", VERSION)

    def test_the_golden_files_of_a_tagged_version_are_not_written_again(self):
        asked = lambda: subprocess.run([self.folder / "release" / "version", "--unreleased"], capture_output=True, text=True)
        self.assertEqual(0, asked().returncode)
        self.git("tag", f"v{VERSION}")
        self.assertIn(f"v{VERSION} is tagged: raise the version", asked().stderr)

    def test_the_commands_of_the_readme_have_the_written_version(self):
        """README.md says which files to unpack: those of the release that it is in."""
        (self.folder / "README.md").write_bytes((ROOT / "README.md").read_bytes())
        subprocess.run([self.folder / "release" / "version", "7.8.9"], check=True, capture_output=True)
        left = [line for line in (self.folder / "README.md").read_text().splitlines() if VERSION in line]
        self.assertEqual([], left)

    def test_a_version_is_written_everywhere_or_nowhere(self):
        (self.folder / "docs" / "upgrade.md").write_text("no answer of doctor")
        with self.assertRaisesRegex(context.Refusal, "docs/upgrade.md has a version 0 times where at least 1 is known"):
            versions.write("1.2.3", self.folder)
        self.assertIn(f'version = "{VERSION}"', (self.folder / "Cargo.toml").read_text())


class Builds(Repository):
    """Builds whose steps make nothing."""

    def setUp(self):
        super().setUp()
        for name in ("tools", "licences", "command", "functions", "stacks", "image", "constructs", "crates", "bills"):
            (self.folder / "release" / name).write_text("#!/bin/sh\n")
        self.git("commit", "--all", "--quiet", "--message", "steps that make nothing")

    def built(self, *words):
        return subprocess.run([self.folder / "release" / "build", VERSION, *words], capture_output=True, text=True, cwd=self.folder)

    def test_a_tree_that_changes_during_the_build_is_refused(self):
        # Each step reads the tree, HEAD or both, and they take an hour together.
        change = "git -c user.name=test -c user.email=test commit --allow-empty --quiet --message later\n"
        for name, line in (("another commit", change), ("a change", "echo >> Cargo.toml\n")):
            with self.subTest(name):
                (self.folder / "release" / "image").write_text(f"#!/bin/sh\n{line}")
                self.git("commit", "--all", "--quiet", "--message", name)
                done = self.built()
                self.assertEqual(1, done.returncode, done.stdout)
                self.git("checkout", "--quiet", ".")

    def test_flags_of_the_caller_do_not_reach_the_build(self):
        flags = {"CARGO_ENCODED_RUSTFLAGS": "", "RUSTC_WRAPPER": "sccache", "RUSTFLAGS": "-g", "CARGO_PROFILE_RELEASE_LTO": "off", "CC": "clang",
                 "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER": "ld", "RUSTUP_TOOLCHAIN": "nightly", "CARGO_BUILD_JOBS": "1"}
        (self.folder / "release" / "image").write_text("#!/usr/bin/env python3\nimport os, sys\nsys.path.insert(0, 'release')\nfrom lib import context\n"
                                                       "open('dist/seen', 'w').write(' '.join(os.environ))\n")
        self.git("commit", "--all", "--quiet", "--message", "a step that writes its environment")
        with unittest.mock.patch.dict(os.environ, flags):
            self.built()
        self.assertEqual({"CARGO_BUILD_JOBS"}, flags.keys() & set((self.folder / "dist" / "seen").read_text().split()))

    def test_the_mask_of_the_caller_does_not_reach_the_build(self):
        (self.folder / "release" / "constructs").write_text("#!/bin/sh\numask > dist/mask\n")
        self.git("commit", "--all", "--quiet", "--message", "a step that writes its mask")
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.built()
        self.assertEqual(0o022, int((self.folder / "dist" / "mask").read_text(), 8))

    def test_a_path_with_a_space_is_refused_before_anything_is_removed(self):
        spaced = self.folder / "with a space"
        subprocess.run(["git", "clone", "--quiet", self.folder, spaced], check=True)
        (spaced / "dist").mkdir()
        (spaced / "dist" / "of-an-earlier-build").write_text("")
        done = subprocess.run([spaced / "release" / "build", VERSION], capture_output=True, text=True, cwd=spaced)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertTrue((spaced / "dist" / "of-an-earlier-build").exists())

    def test_a_release_that_leaves_a_target_out_says_so(self):
        done = self.built("--targets", context.own())
        self.assertEqual(1, done.returncode)
        [line] = (self.folder / "dist" / "INCOMPLETE").read_text().splitlines()
        self.assertRegex(line, "^[a-z0-9_]+-unknown-linux-gnu is missing. It needs to be in TARGETS$")


# Packs the manifests that it finds, and writes down what it would upload.
CARGO = """\
#!/usr/bin/env python3
import pathlib, sys
given = sys.argv[1:]
folder = pathlib.Path(given[given.index("--target-dir") + 1])
for word, name in zip(given, given[1:]):
    if word == "-p":
        place = {"lockstep-aws": "shared"}.get(name, name.removeprefix("lockstep-"))
        manifest = (pathlib.Path(place) / "Cargo.toml").read_text()
        (folder / "package").mkdir(parents=True, exist_ok=True)
        if given[0] == "package":
            (folder / "package" / f"{name}-VERSION.crate").write_text(manifest)
        else:
            with open("UPLOADED", "a") as file:
                file.write(f"{name} {'repository' in manifest}\\n")
"""


class Publishes(Repository):
    """The upload of crates by a cargo that has no registry."""

    def setUp(self):
        super().setUp()
        self.other = tempfile.TemporaryDirectory()
        self.addCleanup(self.other.cleanup)
        self.uploaded = Path(self.other.name) / "uploaded"
        (Path(self.other.name) / "cargo").write_text(CARGO.replace("VERSION", VERSION).replace("UPLOADED", str(self.uploaded)))
        (Path(self.other.name) / "cargo").chmod(0o755)
        for folder in crates.CRATES:
            (self.folder / folder).mkdir()
            (self.folder / folder / "Cargo.toml").write_bytes((ROOT / folder / "Cargo.toml").read_bytes())
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "manifests")
        self.git("tag", f"v{VERSION}")
        (self.folder / "dist").mkdir()
        packed = {f"{name}-{VERSION}.crate": (ROOT / folder / "Cargo.toml").read_text() for folder, name in crates.CRATES.items()}
        named = {name: text.replace("\nversion.workspace", '\nrepository = "https://host/owner/name"\nversion.workspace', 1) for name, text in packed.items()}
        lines = [f"{sha(text.encode())}  {name}\n" for name, text in named.items()]
        (self.folder / "dist" / "SHA256SUMS").write_text("".join(lines))

    def published(self, repository):
        environment = {**os.environ, "PATH": f"{self.other.name}:{os.environ['PATH']}", "REPOSITORY": repository, "CARGO_HOME": self.other.name}
        return subprocess.run([self.folder / "release" / "publish", VERSION], capture_output=True, text=True, env=environment)

    def test_the_crates_of_the_release_are_published_in_order(self):
        done = self.published("https://host/owner/name")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("".join(f"lockstep-{name} True\n" for name in ("core", "aws", "operate", "weave", "cli")), self.uploaded.read_text())

    def test_cargo_builds_against_no_crate_of_another_commit(self):
        sources = Path(self.other.name) / "registry" / "src" / "-1"
        for name in (f"lockstep-core-{VERSION}", f"lockstep-cli-{VERSION}", "lockstep-core-0.0.9", "serde-1.0.0"):
            (sources / name).mkdir(parents=True)
        self.published("https://host/owner/name")
        self.assertEqual({"lockstep-core-0.0.9", "serde-1.0.0"}, {path.name for path in sources.iterdir()})

    def test_crates_that_the_release_has_not_are_not_published(self):
        for repository in ("", "https://host/another/name"):
            self.assertIn("is not the one of dist/SHA256SUMS", self.published(repository).stderr)
        self.assertFalse(self.uploaded.exists())

    def test_only_the_tagged_commit_is_published(self):
        self.git("commit", "--allow-empty", "--quiet", "--message", "later")
        self.assertIn(f"HEAD has no tag v{VERSION}", self.published("https://host/owner/name").stderr)
        self.assertFalse(self.uploaded.exists())


class Sources(unittest.TestCase):
    """What a crate needs to build from its archive."""

    def test_a_crate_includes_no_file_from_outside_of_its_folder(self):
        outside = []
        for folder in crates.CRATES:
            packed = re.search(r"^include = (.*)$", (ROOT / folder / "Cargo.toml").read_text(), re.MULTILINE)
            packed = json.loads(packed[1]) if packed else ["/"]
            for source in (ROOT / folder / "src").rglob("*.rs"):
                # Tests are not compiled there.
                text = source.read_text().split("#[cfg(test)]")[0]
                for name in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', text):
                    path = "/" + os.path.relpath(os.path.normpath(source.parent / name), ROOT / folder)
                    if not any(path.startswith(part) for part in packed):
                        outside.append(f"{source.relative_to(ROOT)}: {name}")
        self.assertEqual([], outside)


class Workflow(unittest.TestCase):
    def text(self):
        return (ROOT / ".github" / "workflows" / "release.yaml").read_text()

    def test_the_draft_has_each_file_of_the_sums(self):
        [upload] = [line.strip() for line in self.text().splitlines() if "gh release create" in line]
        upload = upload.replace("gh release create", "echo")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("one.zip", "two.crate", "SHA256SUMS"):
                (Path(folder) / name).write_text("")
            told = subprocess.run(["sh", "-c", upload], cwd=folder, capture_output=True, text=True, check=True).stdout
        for name in ("one.zip", "two.crate", "SHA256SUMS"):
            self.assertIn(name, told)

    def test_only_a_tag_that_is_a_version_is_built(self):
        check = next(line.strip() for line in self.text().splitlines() if line.strip().startswith("[["))
        self.assertLess(self.text().index(check), self.text().index("actions/checkout"))
        for tag, expected in (("v1.2.3", 0), ("v10.20.30", 0), ("v1.2.3`id`", 1), ("v1.2.3-rc.1", 1), ("v1.2", 1), ("v01.2.3", 1), ("1.2.3", 1)):
            asked = subprocess.run(["bash", "-ec", check], env={**os.environ, "TAG": tag})
            self.assertEqual(expected, asked.returncode, tag)

    def test_the_name_of_a_tag_is_no_command(self):
        # Git allows each of these characters in a tag, and the workflow makes VERSION of what follows the v.
        for version in ("0.1.0`id`", '0.1.0";id;"', "0.1.0$(id)"):
            told = subprocess.run(["make", "--no-print-directory", "--dry-run", "release", f"VERSION={version}"], cwd=ROOT,
                                  capture_output=True, text=True).stdout
            [line] = [line for line in told.splitlines() if "release/build" in line]
            self.assertNotIn("id", line.removeprefix("release/build"), version)


class Sums(Repository):
    def setUp(self):
        super().setUp()
        self.dist = self.folder / "dist"
        self.dist.mkdir()
        (self.dist / "one.zip").write_bytes(b"one")
        (self.dist / "two.crate").write_bytes(b"two")

    def test_the_sums_are_of_every_file_and_only_of_them(self):
        for _ in range(2):
            subprocess.run([self.folder / "release" / "sums"], check=True)
        self.assertEqual(f"{sha(b'one')}  one.zip\n{sha(b'two')}  two.crate\n", (self.dist / "SHA256SUMS").read_text())
        self.assertFalse((self.dist / "SHA256SUMS.sig").exists())

    def test_a_folder_that_a_draft_cannot_have_is_refused(self):
        (self.dist / "crates").mkdir()
        done = subprocess.run([self.folder / "release" / "sums"], capture_output=True, text=True)
        self.assertIn("dist/ has the folder crates", done.stderr)

    def test_a_signature_fits_the_sums_that_were_signed_and_no_others(self):
        key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        (self.folder / "allowed_signers").write_text("release " + (self.folder / "key.pub").read_text())
        subprocess.run([self.folder / "release" / "sums", key], check=True, capture_output=True)
        self.assertTrue(self.verified())
        (self.dist / "SHA256SUMS").write_text(f"{sha(b'three')}  one.zip\n")
        self.assertFalse(self.verified())

    def verified(self):
        """Whether the signature fits, by the command of docs/release.md."""
        [command] = [line for line in (ROOT / "docs" / "release.md").read_text().splitlines() if line.startswith("ssh-keygen -Y verify")]
        command = command.replace("allowed_signers", str(self.folder / "allowed_signers"))
        return subprocess.run(["sh", "-c", command], cwd=self.dist, capture_output=True).returncode == 0


class Targets(Folder):
    def test_a_target_that_lacks_something_is_named_with_what_it_needs(self):
        (self.folder / "rustup").write_text("#!/bin/sh\necho x86_64-unknown-linux-gnu\n")
        (self.folder / "rustup").chmod(0o755)
        before, os.environ["PATH"] = os.environ["PATH"], str(self.folder)
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        with unittest.mock.patch("platform.machine", return_value="x86_64"):
            self.assertEqual([], context.lacking("x86_64-unknown-linux-gnu"))
            library, linker = context.lacking("aarch64-unknown-linux-gnu")
        self.assertIn("rustup target add aarch64-unknown-linux-gnu", library)
        self.assertEqual("aarch64-linux-gnu-gcc and a static glibc: Debian's gcc-aarch64-linux-gnu and libc6-dev-arm64-cross", linker)

    def test_the_linker_of_another_processor_has_its_name_in_debian(self):
        # A package has hyphens for the underscore of x86_64, its program has not: /usr/bin/x86_64-linux-gnu-gcc.
        for machine, target, linker in (("x86_64", "aarch64-unknown-linux-gnu", "aarch64-linux-gnu-gcc"),
                                        ("aarch64", "x86_64-unknown-linux-gnu", "x86_64-linux-gnu-gcc")):
            with unittest.mock.patch("platform.machine", return_value=machine):
                self.assertEqual(linker, context.linker(target))

    def test_a_machine_that_is_no_target_is_named(self):
        with unittest.mock.patch("platform.machine", return_value="riscv64"):
            with self.assertRaisesRegex(context.Refusal, "this machine is riscv64, but a release is built on x86_64 or aarch64"):
                context.own()


class Archives(Folder):
    def files(self, moment, order):
        """Two files with the time and in the order that are given."""
        folder = self.folder / str(moment)
        folder.mkdir()
        for name in order:
            (folder / name).write_text(name * 1000)
            os.utime(folder / name, (moment, moment))
        return {name: (folder / name, mode) for name, mode in zip(order, (0o755, 0o755))}

    def test_archives_depend_on_content_and_epoch_alone(self):
        made = []
        for moment, order in ((1_000_000_000, "ab"), (LATER, "ba")):
            files, out = self.files(moment, order), self.folder / f"out-{moment}"
            archives.write_tar(out / "one.tar.gz", files, LATER)
            archives.write_zip(out / "one.zip", files, LATER)
            made.append([(out / name).read_bytes() for name in ("one.tar.gz", "one.zip")])
        self.assertEqual(made[0], made[1])

    def test_an_archive_has_modes_and_the_given_time_and_no_owner(self):
        files = {"bootstrap": (b"program", 0o755), "LICENSE": (b"text", 0o644)}
        archives.write_tar(self.folder / "made.tar.gz", files, LATER)
        archives.write_zip(self.folder / "made.zip", files, LATER)
        with tarfile.open(self.folder / "made.tar.gz") as made:
            self.assertEqual([("made/LICENSE", 0o644, 0, "", LATER), ("made/bootstrap", 0o755, 0, "", LATER)],
                             [(one.name, one.mode, one.uid, one.uname, one.mtime) for one in made])
        # The time in the header of gzip.
        self.assertEqual(bytes(4), (self.folder / "made.tar.gz").read_bytes()[4:8])
        with zipfile.ZipFile(self.folder / "made.zip") as made:
            self.assertEqual({time.gmtime(LATER)[:6]}, {one.date_time for one in made.infolist()})
            self.assertEqual([0o644, 0o755], [one.external_attr >> 16 & 0o777 for one in made.infolist()])
            self.assertEqual(b"program", made.read("bootstrap"))


class Typed(unittest.TestCase):
    """What `make release-bare` types on the machine of a user."""

    def test_each_command_of_a_user_is_on_its_page_once_and_fits_the_machine(self):
        steps = [step for _, step, _ in typed.UNPACK + typed.DEPLOY]
        for step in (*steps, *typed.STARTS, typed.CONSTRUCTS, typed.STACK, typed.BATCH):
            for architecture in context.TARGETS.values():
                here = step.here(architecture)
                for other in {"VERSION", "~/lockstep/infra", *(f"sam-{one}" for one in context.TARGETS.values() if one != architecture)}:
                    self.assertNotIn(other, here)
        self.assertIn("--max-run 2h", typed.DEPLOY[0][1].text(), "a command that a backslash continues is one")

    def test_a_command_that_its_page_has_twice_or_not_at_all_is_refused(self):
        for beginning in ("lockstep init", "lockstep nothing"):
            with self.assertRaisesRegex(context.Refusal, f"docs/first-lock.md has '{beginning}'"):
                typed.Typed("first-lock.md", beginning).text()

    def test_the_path_that_an_app_leaves_out_is_one_line_of_its_page(self):
        self.assertEqual(1, typed.STACK.text().count("\n  functionsPath: "))


class Image(unittest.TestCase):
    def setUp(self):
        layout = oci.Layout("lockstep", "1.2.3", LATER)
        for processor in ("amd64", "arm64"):
            layout.image(processor, {"lockstep": (processor.encode(), 0o755)}, {"title": "lockstep"})
        self.files = {name: data for name, (data, _) in layout.finished().items()}

    def blob(self, descriptor):
        """The blob of a descriptor, which has to have its digest and its size."""
        data = self.files["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]
        self.assertEqual((descriptor["digest"], descriptor["size"]), (f"sha256:{sha(data)}", len(data)))
        return data

    def test_each_descriptor_has_the_digest_and_size_of_its_blob(self):
        seen = {"oci-layout", "index.json", "manifest.json"}
        [index] = json.loads(self.files["index.json"])["manifests"]
        descriptors = [index, *json.loads(self.blob(index))["manifests"]]
        for image in descriptors[1:]:
            manifest = json.loads(self.blob(image))
            descriptors += [manifest["config"], *manifest["layers"]]
        seen.update("blobs/sha256/" + one["digest"].removeprefix("sha256:") for one in descriptors)
        for descriptor in descriptors:
            self.blob(descriptor)
        self.assertEqual(seen, self.files.keys())

    def test_the_image_of_each_platform_has_its_binary(self):
        [index] = json.loads(self.files["index.json"])["manifests"]
        self.assertEqual("1.2.3", index["annotations"]["org.opencontainers.image.ref.name"])
        images = json.loads(self.blob(index))["manifests"]
        self.assertEqual(["amd64", "arm64"], [one["platform"]["architecture"] for one in images])
        for image in images:
            manifest = json.loads(self.blob(image))
            config = json.loads(self.blob(manifest["config"]))
            with tarfile.open(fileobj=io.BytesIO(self.blob(manifest["layers"][0]))) as layer:
                self.assertEqual(image["platform"]["architecture"].encode(), layer.extractfile("lockstep").read())
            self.assertEqual(image["platform"]["architecture"], config["architecture"])
            self.assertEqual(["/lockstep"], config["config"]["Entrypoint"])

    def test_an_engine_that_reads_the_index_finds_the_name_of_the_image(self):
        # With the image store of containerd, `docker load` reads index.json and never manifest.json. Without this annotation, the image is
        # named after the other one: 1.2.3.
        [index] = json.loads(self.files["index.json"])["manifests"]
        self.assertEqual("docker.io/library/lockstep:1.2.3", index["annotations"].get("io.containerd.image.name"))

    def test_a_diff_id_is_the_digest_of_the_layer_unpacked(self):
        for load in json.loads(self.files["manifest.json"]):
            config = json.loads(self.files[load["Config"]])
            unpacked = [archives.gzip.decompress(self.files[layer]) for layer in load["Layers"]]
            self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{sha(layer)}" for layer in unpacked])


class Template(unittest.TestCase):
    def setUp(self):
        from samcli.yamlhelper import yaml_parse
        self.parse = yaml_parse

    def test_the_application_reads_only_what_lies_beside_it(self):
        template = self.parse(sam.template("x86_64"))
        properties = [one["Properties"] for one in template["Resources"].values()]
        self.assertEqual({f"{name}.zip" for name in context.FUNCTIONS}, {one["CodeUri"] for one in properties if "CodeUri" in one})
        self.assertEqual({f"{name}.asl.json" for name in sam.DEFINITIONS},
                         {one["DefinitionUri"] for one in properties if "DefinitionUri" in one})
        self.assertEqual("x86_64", template["Parameters"]["Architecture"]["Default"])
        self.assertNotIn("../", json.dumps(template["Resources"], default=str))

    def test_the_templates_of_the_pages_lie_beside_the_application(self):
        found = sam.beside()
        self.assertEqual({"team.yaml", "slack.yaml", "schedule.yaml", "table.yaml"}, found.keys())
        for text in found.values():
            self.assertTrue(self.parse(text)["Resources"])
            self.assertNotRegex(text, r"(Uri|Template\w*): *\.\.?/")
            self.assertNotIn("infra/", text)
        self.assertIn("DefinitionUri: exclusive-run.asl.json", found["team.yaml"])

    def test_the_application_names_a_repository_only_if_there_is_one(self):
        without, named = ({**self.parse(sam.template("arm64", repository))["Metadata"]}["AWS::ServerlessRepo::Application"]
                          for repository in (None, "https://host/owner/name"))
        self.assertEqual({"HomePageUrl", "SourceCodeUrl"}, named.keys() - without.keys())
        self.assertEqual((VERSION, "Apache-2.0"), (without["SemanticVersion"], without["SpdxLicenseId"]))

    def test_a_template_that_has_changed_is_refused(self):
        with self.assertRaisesRegex(context.Refusal, "has CodeUri 1 times, not 2"):
            sam.replaced("CodeUri: one", "CodeUri", "", 2)


class Bills(unittest.TestCase):
    def test_a_line_of_cargo_tree_is_a_name_and_a_version(self):
        lines = "serde v1.0.229\nlockstep-core v0.1.0 (/home/me/core)\nserde v1.0.229 (*)\n\nserde_derive v1.0.229 (proc-macro)\n"
        self.assertEqual({"serde 1.0.229", "lockstep-core 0.1.0", "serde_derive 1.0.229"}, bills.named(lines))

    def test_a_crate_in_one_source_only_is_named(self):
        linked = {"a 1", "b 1"}
        locked = {"a 1", "b 1", "c 1"}
        self.assertEqual([], bills.differences("lockstep", linked, linked, locked, locked))
        self.assertEqual(["lockstep: b 1 is linked, but not in the bill", "lockstep: c 1 is in the bill, but not linked",
                          "lockstep: b 1 is linked, but not in the binary", "lockstep: d 1 is in the binary, but not in Cargo.lock"],
                         bills.differences("lockstep", {"a 1", "c 1"}, linked, {"a 1", "d 1"}, locked))

    def test_packages_of_cargo_lock_are_read_with_their_versions(self):
        self.assertTrue({f"lockstep-core {VERSION}", f"lockstep-cli {VERSION}"} <= bills.locked(ROOT))

    def test_a_bill_has_macros_as_excluded_and_nothing_that_is_unused(self):
        component = lambda name: {"bom-ref": name, "name": name, "version": "1", "scope": "required"}
        bill = {"metadata": {"component": {**component("lockstep"), "purl": "pkg:cargo/lockstep-cli@1?download_url=file://."}},
                "components": [component("serde"), component("serde_derive"), component("of-a-test")],
                "dependencies": [{"ref": "lockstep", "dependsOn": ["of-a-test", "serde"]}, {"ref": "of-a-test"}, {"ref": "serde"}]}
        made = bills.pruned(bill, {"lockstep-cli 1", "serde 1"}, {"lockstep-cli 1", "serde 1", "serde_derive 1"})
        self.assertEqual({"lockstep-cli 1", "serde 1"}, bills.packages(made))
        self.assertEqual(["required", "excluded"], [one["scope"] for one in made["components"]])
        self.assertEqual([{"ref": "lockstep", "dependsOn": ["serde"]}, {"ref": "serde"}], made["dependencies"])

    def test_a_bill_has_its_binary_and_what_is_linked_and_is_no_crate(self):
        text = '{"purl": "pkg:cargo/lockstep-cli@1?download_url=file://.#src/main.rs", "bom-ref": "path+file:///tmp/a/cli#1"}'
        self.assertEqual({"purl": "pkg:cargo/lockstep-cli@1", "bom-ref": "path+file:///lockstep/cli#1"}, bills.read(text, Path("/tmp/a")))
        bill = {"metadata": {"component": {"bom-ref": "own"}}, "components": [], "dependencies": [{"ref": "own", "dependsOn": ["serde"]}]}
        made = bills.completed(bill, b"program", [("glibc", "2.36", "pkg:deb/debian/libc6-dev@2.36")])
        self.assertEqual([{"alg": "SHA-256", "content": sha(b"program")}], made["metadata"]["component"]["hashes"])
        self.assertEqual([("glibc", "2.36", "required")], [(one["name"], one["version"], one["scope"]) for one in made["components"]])
        self.assertEqual([{"ref": "own", "dependsOn": ["pkg:deb/debian/libc6-dev@2.36", "serde"]}, {"ref": "pkg:deb/debian/libc6-dev@2.36"}],
                         made["dependencies"])

    def test_what_cargo_links_into_a_function_has_no_macro(self):
        linked = bills.crates(ROOT, "acquire-lock", "aarch64-unknown-linux-gnu", bills.LINKED)
        self.assertIn(f"lockstep-aws {VERSION}", linked)
        self.assertEqual(set(), {one for one in linked if one.split()[0] in ("serde_derive", "thiserror-impl", "cc")})


class Notices(Folder):
    def package(self, name, licence, **files):
        """A crate as cargo metadata describes it, with files."""
        folder = self.folder / name
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(text)
        return {"name": name, "version": "1", "license": licence, "authors": ["Ada"], "manifest_path": str(folder / "Cargo.toml")}

    def test_crates_with_one_text_share_a_section_and_unlinked_ones_have_none(self):
        packages = [self.package("a", "MIT", LICENSE="of a and b"), self.package("b", "MIT", COPYING=" of a and b "),
                    self.package("of-a-test", "MIT", LICENSE="of a test")]
        self.assertEqual([(["a 1 (MIT)", "b 1 (MIT)"], "of a and b")], notices.crates(packages, {"a 1", "b 1"}))

    def test_a_crate_without_a_text_has_that_of_the_licence_it_names(self):
        [(_, text)] = notices.crates([self.package("a", "Apache-2.0 OR MIT", LICENSE=" ")], {"a 1"})
        self.assertIn("Copyright (c) Ada", text)

    def test_a_linked_crate_without_a_known_text_is_refused(self):
        with self.assertRaisesRegex(context.Refusal, "crate a 1 has no text of its licence, MPL-2.0"):
            notices.crates([self.package("a", "MPL-2.0")], {"a 1"})


if __name__ == "__main__":
    unittest.main()
