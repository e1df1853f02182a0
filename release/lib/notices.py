"""The text of THIRD-PARTY-LICENCES.txt: each text once, with the crates that have it, and what no crate says.

The texts are the files of the crates, with the names of their authors, and not those of a list of licences.
"""
import html
import re
import textwrap
from pathlib import Path

from lib import context

RULE = "=" * 80
NAMES = re.compile(r"(?i)(licen[cs]e|copying|copyright|notice|unlicense)")
MIT = """\
MIT License

Copyright (c) {holders}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do
so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
GLIBC = "/usr/share/doc/libc6-dev/copyright"
LGPL = "/usr/share/common-licenses/LGPL-2.1"


def of_crate(package):
    """The texts that a crate brings along, wherever in it. Without one, the text of a licence that it names."""
    folder = Path(package["manifest_path"]).parent
    found = [path.read_text(errors="replace").strip() for path in sorted(folder.rglob("*"))
             if NAMES.match(path.name) and path.suffix != ".rs" and path.is_file()]
    if found := [text for text in found if text]:
        return found
    named = package["license"] or ""
    if "MIT" in named.split():
        return [MIT.format(holders=", ".join(package["authors"]) or f"The authors of {package['name']}")]
    if "Apache-2.0" in named.split():
        return [(context.ROOT / "LICENSE").read_text().strip()]
    raise context.Refusal(f"crate {package['name']} {package['version']} has no text of its licence, {named or 'which it does not name'}")


def crates(packages, linked):
    """Sections of the crates that are linked: a text, with the crates that have it and what they say of their licence."""
    known = {f"{one['name']} {one['version']}": one for one in packages}
    users = {}
    for name in sorted(linked):
        for text in of_crate(known[name]):
            users.setdefault(text, []).append(f"{name} ({known[name]['license'] or 'see below'})")
    return sorted((names, text) for text, names in users.items())


def rust():
    """The notices of the standard library, which the toolchain brings as a page."""
    page = Path(context.output("rustc", "--print", "sysroot").strip()) / "share" / "doc" / "rust" / "COPYRIGHT-library.html"
    text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))
    return "The standard library of Rust", re.sub(r"\n\s*\n+", "\n\n", text).strip()


def glibc():
    """The notices of glibc, which is linked statically. LGPL-2.1 asks for its text, and for a way to link with another glibc."""
    text = Path(GLIBC).read_text().strip() + "\n\n" + Path(LGPL).read_text().strip()
    return ("The GNU C Library, linked statically. To link with another version of it, build the command from the source of this "
            "version: `make binary`", text)


def text(subject, packages, linked, others):
    """The whole file."""
    parts = [f"Third-party software in {subject}, with its licences"]
    for names, body in crates(packages, linked):
        parts.append(f"{RULE}\n{textwrap.fill(', '.join(names), 100)}\n{RULE}\n\n{body}")
    for name, body in others:
        parts.append(f"{RULE}\n{textwrap.fill(name, 100)}\n{RULE}\n\n{body}")
    return "\n\n".join(parts) + "\n"
