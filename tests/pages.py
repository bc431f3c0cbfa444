"""What tests of HTML pages share."""

import re


def external_references(page: str) -> list[str]:
    """Whatever a browser would fetch from another place than the page itself."""
    addresses = re.findall(r"""\b(?:src|srcset|poster)\s*=\s*["']?([^"'\s>]+)""", page)
    addresses += re.findall(r"""url\(\s*["']?([^"')]+)""", page)
    fetched = [address for address in addresses if not address.startswith(("data:", "#"))]
    return fetched + re.findall(r"<link\b[^>]*>|@import[^;]*", page)
