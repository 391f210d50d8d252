#!/usr/bin/env python3
"""The committed schemas against the corpora: they accept every valid file and refuse every file
named schema-*; files named rule-* break rules that no schema here can say, so they pass."""
import json
import os
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    print("skip: python3-jsonschema is not installed")
    sys.exit(77)

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.S)
TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])', re.S)


def load(path):
    text = path.read_text(encoding="utf-8-sig")
    text = TOKEN.sub(lambda m: m[0] if m[0][0] == '"' else " ", text)
    return json.loads(TRAILING.sub(lambda m: m[1] or "", text))


def check(validator, path):
    expected = not path.name.startswith("schema-")
    if validator.is_valid(load(path)) == expected:
        return 0
    print(f"{path}: the schema should {'accept' if expected else 'refuse'} it")
    return 1


def main():
    root = pathlib.Path(os.environ["SOURCE_DIR"])
    checked = failed = 0
    for kind in "cpspec", "cpsession":
        schema = json.loads((root / f"schemas/{kind}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        files = [*root.glob(f"tests/data/*/*/*.{kind}"), *root.glob(f"specs/*.{kind}")]
        for path in sorted(files):
            if not path.name.startswith("syntax-"):
                failed += check(validator, path)
                checked += 1
    print(f"{checked} files checked, {failed} wrong")
    return failed > 0 or checked < 130


if __name__ == "__main__":
    sys.exit(main())
