"""What is linked into a binary, by three sources: the bill of materials, cargo's tree, and the list in the binary itself."""
import hashlib
import json
import platform
import re
import urllib.parse

from lib import context

# What is linked into a binary, and what its build uses: macros, build scripts, and what they are made of.
LINKED, USED = "normal,no-proc-macro", "normal,build"


def crates(tree, package, target, edges):
    """The crates of a package by cargo's own tree, with the features that a build of this package alone has."""
    lines = context.output("cargo", "tree", "--locked", "--edges", edges, "--package", package, "--target", target,
                           "--prefix", "none", "--no-dedupe", "--format", "{p}", cwd=tree)
    return named(lines)


def named(lines):
    """`name version` of each line of cargo tree: "serde v1.0.229", also with a path or (*) behind it."""
    return {" ".join(line.replace(" v", " ", 1).split()[:2]) for line in lines.splitlines() if line.strip()}


def embedded(binary):
    """The crates that cargo-auditable has listed in a binary. Those of its build are there with another kind."""
    listed = json.loads(context.output("rust-audit-info", binary))["packages"]
    return {f"{one['name']} {one['version']}" for one in listed if one.get("kind", "runtime") == "runtime"}


def named_as(component):
    return f"{component['name']} {component['version']}"


def packages(bill):
    """The crates that are linked by a bill. The described binary is one, by the name of its package."""
    own = bill["metadata"]["component"]["purl"].removeprefix("pkg:cargo/").partition("?")[0].replace("@", " ")
    return {own, *(named_as(one) for one in bill["components"] if one["scope"] == "required")}


def pruned(bill, linked, used):
    """The bill without what the package does not use, and with the scope `excluded` for what only its build uses.

    cargo-cyclonedx asks `cargo metadata`, which turns on every feature that any package of the workspace asks for, its tests
    among them: it lists crates that are in no build of this package. It gives `excluded` to build scripts, not to macros."""
    kept = [one for one in bill["components"] if named_as(one) in used]
    for one in kept:
        one["scope"] = "required" if named_as(one) in linked else "excluded"
    references = {one["bom-ref"] for one in (*kept, bill["metadata"]["component"])}
    dependencies = [{**one, **({"dependsOn": sorted(set(one["dependsOn"]) & references)} if "dependsOn" in one else {})}
                    for one in bill["dependencies"] if one["ref"] in references]
    return {**bill, "components": kept, "dependencies": dependencies}


def read(text, tree):
    """A bill of cargo-cyclonedx, without the folder that it was made in."""
    return json.loads(re.sub(r'\?download_url=file:[^"]*', "", text.replace(f"file://{tree}", "file:///lockstep")))


def rust():
    """The standard library of Rust, which is linked into each binary: name, version and purl."""
    version = context.output("rustc", "--version").split()[1]
    return "rust-std", version, f"pkg:generic/rust-std@{version}"


def glibc(target):
    """The glibc that is linked into the static command, by the package of the distribution."""
    package = context.glibc(target)
    version = context.output("dpkg-query", "--show", "--showformat=${Version}", package)
    return "glibc", version, f"pkg:deb/{platform.freedesktop_os_release()['ID']}/{package}@{urllib.parse.quote(version)}"


def completed(bill, binary, others):
    """The bill with the digest of its binary, and with what is linked and is no crate: name, version and purl of each."""
    own = bill["metadata"]["component"]
    hashes = [{"alg": "SHA-256", "content": hashlib.sha256(binary).hexdigest()}]
    added = [{"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "scope": "required"}
             for name, version, purl in others]
    purls = [purl for _, _, purl in others]
    dependencies = [{**one, "dependsOn": sorted([*one.get("dependsOn", ()), *purls])} if one["ref"] == own["bom-ref"] else one
                    for one in bill["dependencies"]]
    return {**bill, "metadata": {**bill["metadata"], "component": {**own, "hashes": hashes}},
            "components": [*bill["components"], *added], "dependencies": [*dependencies, *({"ref": purl} for purl in purls)]}


def locked(tree):
    """The crates of Cargo.lock, whose advisories `make audit` reads."""
    return {f"{name} {version}" for name, version in
            re.findall(r'^name = "([^"]+)"\nversion = "([^"]+)"$', (tree / "Cargo.lock").read_text(), re.MULTILINE)}


def differences(name, billed, linked, inside, locked):
    """Sentences about what the sources of one binary do not agree on.

    The list in the binary has more than is linked, for the same reason as the bill before it is pruned. It lacks nothing, and
    has no crate that is not in Cargo.lock."""
    found = [f"{name}: {crate} is linked, but not in the bill" for crate in sorted(linked - billed)]
    found += [f"{name}: {crate} is in the bill, but not linked" for crate in sorted(billed - linked)]
    found += [f"{name}: {crate} is linked, but not in the binary" for crate in sorted(linked - inside)]
    found += [f"{name}: {crate} is in the binary, but not in Cargo.lock" for crate in sorted(inside - locked)]
    return found
