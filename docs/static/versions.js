// The versions that lie beside this one: docs/gather_versions.py writes them here when they are published.
window.subbandVersions = [];
