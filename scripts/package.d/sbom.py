"""The bill of materials of the program: CycloneDX 1.5, as JSON. The same build makes the same bytes, and so the
serial number is made of the rest: another bill has another."""

import datetime
import hashlib
import json
import urllib.parse
import uuid

import licences

NUMBERS = uuid.uuid5(uuid.NAMESPACE_DNS, "muster.invalid")  # serial numbers are unique in this name space


def document(release, packages):
    program = component_of_program(release)
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(release.date, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "muster scripts/package"}]},
            "component": program,
        },
        "components": [component_of(package, release.distribution) for package in packages],
        "dependencies": [
            {
                "ref": program["bom-ref"],
                "dependsOn": [purl(package, release.distribution) for package in packages],
            }
        ],
    }
    number = uuid.uuid5(NUMBERS, json.dumps(bill, sort_keys=True))
    return json.dumps(bill | {"serialNumber": f"urn:uuid:{number}"}, indent=2, ensure_ascii=False) + "\n"


def component_of_program(release):
    content = (release.build.folder / "muster").read_bytes()
    return {
        "type": "application",
        "bom-ref": f"muster@{release.version}",
        "name": "muster",
        "version": release.version,
        "description": release.summary,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
        "properties": [{"name": "muster:architecture", "value": release.architecture.name}],
    }


def component_of(package, distribution):
    return {
        "type": "library",
        "bom-ref": purl(package, distribution),
        "name": package.name,
        "version": package.version,
        "licenses": [{"expression": licences.name_of(package)}],
        "purl": purl(package, distribution),
        "properties": [
            {"name": "debian:source", "value": package.source},
            {"name": "debian:source-version", "value": package.source_version},
        ],
    }


def purl(package, distribution):
    """`upstream` is the source package: that is what security notices are written for."""

    def quoted(text):
        return urllib.parse.quote(text, safe=":")

    upstream = quoted(f"{package.source}@{package.source_version}")
    return (
        f"pkg:deb/debian/{quoted(package.name)}@{quoted(package.version)}"
        f"?arch={package.architecture}&distro={distribution}&upstream={upstream}"
    )
