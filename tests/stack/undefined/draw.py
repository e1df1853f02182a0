"""Draws random JSON values: of a JSON Schema, of an AWS API's output, or of any shape."""

_NUMBERS, _TEXTS = (0, 1, 7, 60, 900, 1.5, -1), ("", "a", "x y", "2026-03-01T06:00:00Z", "arn:aws:states:eu-west-1:1:execution:m:e")
_TIME = 1_772_345_678_901


class Draw:
    def __init__(self, random, schemas):
        self.random, self.schemas = random, schemas

    def one(self, values):
        return self.random.choice(list(values))

    def chance(self, share):
        return self.random.random() < share

    def anything(self, depth=2):
        """Returns a JSON value of any type."""
        kind = self.random.randrange(6 if depth else 4)
        if kind == 4:
            return [self.anything(depth - 1) for _ in range(self.random.randrange(3))]
        if kind == 5:
            return {name: self.anything(depth - 1) for name in self.random.sample(("a", "lock", "Name", "status"), 2)}
        return (None, self.chance(0.5), self.one(_NUMBERS), self.one(_TEXTS))[kind]

    def of_schema(self, name):
        root = self.schemas[name]
        return self._of(root, root)

    def of_part(self, name, part):
        """Returns a value of a definition in a schema."""
        root = self.schemas[name]
        return self._of(root["$defs"][part], root)

    def _of(self, schema, root):
        if "$ref" in schema:
            target = root
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target[part]
            made = self._of(target, root)
            return {**made, **self._fields(schema, root)} if isinstance(made, dict) else made
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                made = self._of(self.one(schema[choice]), root)
                return {**made, **self._fields(schema, root)} if isinstance(made, dict) else made
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.one(schema["enum"])
        return self._typed(schema, root)

    def _typed(self, schema, root):
        kinds = schema.get("type", "object" if "properties" in schema else None)
        kind = self.one(kinds) if isinstance(kinds, list) else kinds
        if kind == "object":
            return self._fields(schema, root)
        if kind == "array":
            return [self._of(schema["items"], root) for _ in range(self.random.randrange(3))]
        if kind in ("integer", "number"):
            low = int(schema.get("minimum", 0))
            return self.random.randint(low, min(int(schema.get("maximum", low + 1000)), low + 1000))
        if kind == "string":
            return self.one(_TEXTS[1:])
        return {"boolean": self.chance(0.5), "null": None}[kind] if kind else self.anything()

    def _fields(self, schema, root):
        needed = schema.get("required", [])
        return {name: self._of(field, root) for name, field in schema.get("properties", {}).items()
                if name in needed or self.chance(0.5)}

    def of_shape(self, shape, always, path=""):
        """Returns an answer of an API in PascalCase. It has all fields of `always`, and each other field at random."""
        kind = shape.type_name
        if kind == "structure":
            made = {}
            for name, member in shape.members.items():
                key = name[:1].upper() + name[1:]
                where = f"{path}.{key}".lstrip(".")
                if where in always or self.chance(0.3):
                    made[key] = always.get(where, lambda draw, member=member, where=where: draw.of_shape(member, always, where))(self)
            return made
        if kind == "list":
            return [self.of_shape(shape.member, always, path) for _ in range(self.random.randrange(1, 3))]
        if kind == "map":
            return {"key": self.of_shape(shape.value, always, path)}
        if kind in ("integer", "long", "float", "double"):
            return self.random.randrange(3)
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "timestamp":
            return _TIME
        return self.one(shape.enum) if getattr(shape, "enum", None) else self.one(_TEXTS)

    def bent(self, value):
        """Returns the value with one field replaced or left out, at any depth."""
        if isinstance(value, dict) and value:
            name = self.one(value)
            if self.chance(0.4) and isinstance(value[name], (dict, list)):
                return {**value, name: self.bent(value[name])}
            return {key: self.anything() if key == name else item for key, item in value.items() if key != name or self.chance(0.7)}
        return self.anything()
