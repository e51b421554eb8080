"""What the distribution serves: a folder of its own, and a sentence where it is not built."""

import quoteway_console
from quoteway import Site


def test_its_site_is_a_folder_of_the_package():
    site = quoteway_console.quoteway_site(context=None)
    assert isinstance(site, Site)
    assert (site.folder.parent / "__init__.py").samefile(quoteway_console.__file__)
    assert "make console" in site.missing
