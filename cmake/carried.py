#!/usr/bin/env python3
"""Collects the licences of what shim and analyzer carry, and lists it as SPDX 2.3.

    carried.py VERSION BUILD FOLDER PROCESSOR

Debian's packages and those of npm in BUILD say what version they are of; libraries for another machine do so in
BUILD/sysroot.versions. Standard library only."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Debian's package and its licence as SPDX names it.
LIBRARIES = {
    "libbz2-dev": "bzip2-1.0.6",
    "libcli11-dev": "BSD-3-Clause",
    "libdw-dev": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "libelf-dev": "GPL-2.0-or-later OR LGPL-3.0-or-later",
    "libfmt-dev": "MIT",
    "libiberty-dev": "LGPL-2.0-or-later",
    "liblzma-dev": "LicenseRef-xz-public-domain",
    "libncurses-dev": "X11-distribute-modifications-variant",
    "libprotozero-dev": "BSD-2-Clause AND Apache-2.0",
    "libspdlog-dev": "MIT",
    "libsqlite3-dev": "blessing",
    "libunwind-dev": "MIT",
    "libxxhash-dev": "BSD-2-Clause",
    "nlohmann-json3-dev": "MIT",
    "zlib1g-dev": "Zlib",
}
# Headers of the CUDA Toolkit whose code is compiled in; all others only declare.
NVTX = ("nvtx", "3", "Apache-2.0 WITH LLVM-exception", Path("/usr/share/common-licenses/Apache-2.0"))
COMPILER_LICENSE = "GPL-3.0-or-later WITH GCC-exception-3.1"
NPM = {"page": ("preact", "d3-hierarchy"), "grammars": ("tree-sitter", "tree-sitter-cuda", "tree-sitter-python")}  # compiled in, by folder
TEXTS = ("GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "LGPL-3")  # what the libraries' own words refer to


def debian(package, form):
    return subprocess.run(["dpkg-query", "-W", "-f", f"${{{form}}}", package], check=True, capture_output=True, text=True).stdout


def carried(build, processor):
    """(name, version, licence, file with the licence's text) of each."""
    versions = build / "sysroot.versions"
    others = dict(line.split() for line in versions.read_text().splitlines()) if versions.exists() else {}
    for package, license_name in LIBRARIES.items():
        if package == "libunwind-dev" and processor == "aarch64":
            continue # its header only
        version = others.get(package) or debian(package, "source:Version")
        yield debian(package, "source:Package"), version, license_name, Path(f"/usr/share/doc/{package}/copyright")
    yield NVTX
    gcc = subprocess.run(["c++", "-dumpversion"], check=True, capture_output=True, text=True).stdout.split(".")[0].strip()
    package = f"libstdc++-{gcc}-dev" + ("-arm64-cross" if processor == "aarch64" != platform.machine() else "")
    yield f"gcc-{gcc}", debian(package, "source:Version"), COMPILER_LICENSE, Path(f"/usr/share/doc/{package}/copyright")
    for kind, names in NPM.items():
        for folder in (build / kind / "node_modules" / name for name in names):
            if folder.is_dir():
                about = json.loads((folder / "package.json").read_text())
                yield folder.name, about["version"], about["license"], folder / "LICENSE"


    unicode = build / "grammars/node_modules/tree-sitter/vendor/tree-sitter/lib/src/unicode/LICENSE"
    if unicode.is_file():
        yield "icu-utf", "in tree-sitter", "ICU", unicode


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, license_name):
    return {"SPDXID": spdx_id(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": license_name, "licenseDeclared": license_name, "copyrightText": "NOASSERTION"}


def document(version, parts):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"umadvisor-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/umadvisor-{version}-{created}",
        "creationInfo": {"created": created, "creators": ["Tool: umadvisor carried.py"]},
        "packages": [package("umadvisor", version, "Apache-2.0"), *(package(*part) for part in parts)],
        "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-xz-public-domain", "extractedText": "liblzma is in the public domain."}],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": spdx_id("umadvisor")},
                          *({"spdxElementId": spdx_id("umadvisor"), "relationshipType": "CONTAINS", "relatedSpdxElement": spdx_id(name)}
                            for name, *_ in parts)],
    }


def main():
    version, build, folder, processor = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    shutil.rmtree(folder, ignore_errors=True)
    licences = folder / "licences"
    licences.mkdir(parents=True)
    parts = {}
    for name, its_version, license_name, text in carried(build, processor):
        parts[name] = (name, its_version, license_name)
        shutil.copyfile(text, licences / name)
    for name in TEXTS:
        shutil.copyfile(f"/usr/share/common-licenses/{name}", licences / name)
    (folder / "umadvisor.spdx.json").write_text(json.dumps(document(version, list(parts.values())), indent=1) + "\n")


if __name__ == "__main__":
    main()
