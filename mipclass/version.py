"""The version of the package, which results and certificates carry."""

VERSION = "0.2.0"
