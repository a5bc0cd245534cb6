"""Sphinx: `make docs` builds the pages into docs/_build/html, offline and without warnings."""

from __future__ import annotations

import sys
from pathlib import Path

import survgauge

# Sphinx looks for leaderboard.run in a module of this name, which is a name of the package only.
sys.modules["survgauge.leaderboard"] = survgauge.leaderboard

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
(HERE / "_generated" / "pages").mkdir(parents=True, exist_ok=True)  # filled by _ext/example.py

project = "survgauge"
author = "The survgauge developers"
copyright = "the survgauge developers, MIT licence"
version = release = survgauge.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "mathml",
    "backticks",
    "code_blocks",
    "example",
]
exclude_patterns = ["_build", "_generated", "results/*_template.md"]
templates_path = ["_templates"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are run by the tests
suppress_warnings = ["config.cache"]
# A command and what it prints share a block in places; such a block is text to the highlighter.
highlight_language = "python"
pygments_style = "default"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_title = "survgauge"
html_static_path = ["_static"]
html_extra_path = ["_generated/pages"]
html_favicon = "_static/logo.svg"
html_css_files = ["survgauge.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "survgauge",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "show_toc_level": 2,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": []}
