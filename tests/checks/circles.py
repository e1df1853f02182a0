"""Finds circles of files: files that import themselves through other files.

A `use` between a module and the modules of its own folder does not count, since they are one idea in several files. A name is
followed through re-exports to the file that defines it."""
import re

USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
INLINE = re.compile(r"\b((?:crate|super|self)(?:::\w+)+)")
TYPESCRIPT = re.compile(r"\bfrom '\./([\w/-]+)'")


def leaves(tree, prefix=()):
    """Yields the paths of a `use` tree, each with the name that it imports."""
    parts, depth, part = [], 0, ""
    for letter in tree:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    for part in filter(None, map(str.strip, [*parts, part])):
        head, brace, rest = part.partition("{")
        if brace:
            names = tuple(name for name in head.strip().rstrip(":").split("::") if name)
            yield from leaves(rest.rsplit("}", 1)[0], prefix + names)
            continue
        path, _, alias = part.partition(" as ")
        whole = prefix + tuple(name.strip() for name in path.split("::"))
        whole = whole[:-1] if whole[-1] == "self" else whole
        yield whole, alias.strip() or whole[-1]


class Crate:
    """The modules of one crate, as tuples of names, with their texts and exports."""

    def __init__(self, texts):
        self.texts = texts
        self.exports = {
            module: {name: path for match in USE.finditer(text) if match[1] for path, name in leaves(match[2])}
            for module, text in texts.items()
        }

    def file(self, module, path, seen=()):
        """Returns the module that defines what `path` means in `module`, or None if it is not in this crate."""
        at, rest = module, path
        if path[0] == "crate":
            at, rest = (), path[1:]
        elif path[0] == "self":
            rest = path[1:]
        elif path[0] != "super" and module + path[:1] not in self.texts:
            return None
        while rest and rest[0] == "super":
            at, rest = at[:-1], rest[1:]
        for used, name in enumerate(rest):
            if at + (name,) in self.texts:
                at += (name,)
            elif name in self.exports.get(at, {}) and (at, name) not in seen:
                return self.file(at, self.exports[at][name] + rest[used + 1:], (*seen, (at, name))) or at
            else:
                break
        return at if at in self.texts else None

    def edges(self):
        """Yields each module with the modules that it uses, without those of its own folder."""
        for module, text in self.texts.items():
            paths = [path for match in USE.finditer(text) for path, _ in leaves(match[2])]
            paths += [tuple(match[1].split("::")) for match in INLINE.finditer(USE.sub("", text))]
            targets = {self.file(module, path) for path in paths} - {None}
            yield module, {to for to in targets if to[:len(module)] != module and module[:len(to)] != to}


def rust(root, product):
    """Returns the files of a crate, each with the files that it uses. `product` removes the tests from a text."""
    files = {}
    for path in sorted(root.rglob("*.rs")):
        inside = path.relative_to(root)
        if "tests" not in inside.parts and inside.name != "tests.rs":
            module = inside.with_suffix("").parts
            files[() if module in (("lib",), ("main",)) else module] = path
    crate = Crate({module: product(path.read_text()) for module, path in files.items()})
    return {files[module]: {files[target] for target in targets} for module, targets in crate.edges()}


def typescript(root):
    """Returns the files of a folder, each with the files that it imports."""
    return {path: {root / f"{name}.ts" for name in TYPESCRIPT.findall(path.read_text())} for path in root.glob("*.ts")}


def circle(graph):
    """Returns a shortest path from a file back to itself, or None."""
    best = None
    for start in graph:
        ways, known = [[start]], {start}
        for way in ways:
            for target in sorted(graph.get(way[-1], ())):
                if target == start and (best is None or len(way) < len(best)):
                    best = way
                if target not in known:
                    known.add(target)
                    ways.append([*way, target])
    return best


def circles(root, crates, product):
    """Yields a line for each crate or folder that has a circle."""
    graphs = [rust(root / crate, product) for crate in crates]
    for graph in [*graphs, typescript(root / "infra/cdk/lib")]:
        names = {str(file.relative_to(root)): {str(to.relative_to(root)) for to in uses} for file, uses in graph.items()}
        way = circle(names)
        if way:
            yield " -> ".join([*way, way[0]])
